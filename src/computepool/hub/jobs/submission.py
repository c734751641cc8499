"""From what a renter sent to a job: read the spec, refuse what cannot be done, store it once."""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from computepool.hub.artifacts.parts import PART_BYTES, count_parts
from computepool.hub.artifacts.service import SHARED_KINDS
from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.core.context import Context
from computepool.hub.core.http import Principal
from computepool.hub.core.idempotency import claim
from computepool.hub.jobs import service
from computepool.hub.jobs.brief import JobBrief, Rerun, as_rerun, brief_of, replicated, with_ceiling, with_signature
from computepool.hub.jobs.errors import BadBundle, BadInputs, BadOwnJob, BadSpec, NotSupportedYet
from computepool.hub.jobs.repository import OpenJob
from computepool.hub.jobs.service import Lease, NewJob, Outcome
from computepool.hub.jobs.verification import Role
from computepool.hub.market.known_cards import nearest_names, unknown_names
from computepool.protocol.errors import FieldError
from computepool.protocol.own_job import OWN_JOB, OWN_JOB_LIMIT_BYTES, OwnJob, Work
from computepool.protocol.signing import Signed
from computepool.protocol.spec import JobSpec, Resources, SpecError, Trust, not_supported_yet, parse_spec
from computepool.protocol.spec_input import join_path
from computepool.protocol.units import about_bytes

SUBMIT_ROUTE = "POST jobs"
INPUT_PARTS_LIMIT = 4_000
SCRIPT_WITHIN = re.compile(r"(\S+)[^<]*<<-?\s*['\"]?\w+['\"]?$")
"""A program and the script that it reads, as a shell writes both (a here document)."""
"""Each part of an input is a signed URL in the offer to a node, and an offer is one message."""
StoreJob = Callable[[Session, NewJob, list[Lease]], str | Outcome]
"""Stores the job, and those of the leases that can be paid; or returns the id of the one that the same request made
before."""


@dataclass(frozen=True)
class Request:
    """One request to create a job, made repeatable by its key."""

    principal: Principal
    idempotency_key: str | None
    body_digest: str
    own_job: str | None = None
    """The signature that came with it."""
    owner_id: str | None = None
    """Whose the job will be. None: the caller's own, or that of a service account's team."""

    @property
    def owner(self) -> str:
        return self.owner_id or self.principal.home_id


def read_spec(raw: bytes, cards: Collection[str]) -> JobSpec:
    """`cards` are the GPUs of the price table and the fleet. Raises BadSpec, NotSupportedYet."""
    try:
        data = json.loads(raw, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        raise BadSpec([FieldError(field="(body)", message="is not JSON", hint="Send the spec as JSON.")]) from None
    if not isinstance(data, dict):
        raise BadSpec([FieldError(field="(body)", message="must be a mapping", hint='Such as {"run": "nvidia-smi"}.')])
    return check_spec(data, cards)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two equal keys JSON's reader drops one in silence, and the job would not be what was asked for."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadSpec([FieldError(field=key[:100], message="appears twice", hint="Keep one of them.")])
        found[key] = value
    return found


def check_spec(data: dict[str, Any], cards: Collection[str]) -> JobSpec:
    """A new job's spec. One that was stored is read by `parse_spec`: what is known of it may change."""
    try:
        spec = parse_spec(data)
    except SpecError as error:
        raise BadSpec([problem.to_error() for problem in error.problems]) from None
    if spec.verify is not None and (spec.where.trust is Trust.MINE or spec.where.node is not None):
        message = "needs nodes of several owners, but `where` allows only one owner"
        raise BadSpec([FieldError(field="verify", message=message, hint="Remove where.trust: mine and where.node.")])
    missing = not_supported_yet(spec)
    if missing:
        raise NotSupportedYet([problem.to_error() for problem in missing])
    _check_gpu_names(spec, cards)
    return spec


def _check_gpu_names(spec: JobSpec, cards: Collection[str]) -> None:
    """A job that asks only for GPUs that nobody knows would wait for ever."""
    gpu = spec.resources.gpu
    if gpu is None or len(unknown := unknown_names(gpu, cards)) < len(gpu.choices):
        return
    message = f"{', '.join(unknown)} {'is not a GPU' if len(unknown) == 1 else 'are not GPUs'} that this pool knows"
    near = list(dict.fromkeys(name for wanted in unknown for name in nearest_names(wanted, cards)))
    hint = f"The nearest known: {', '.join(near)}. " if near else ""
    hint += "See the GPUs of the pool with `computepool offers`, or ask for memory, such as gpu: 24GB.."
    raise BadSpec([FieldError(field="resources.gpu", message=message, value=str(gpu)[:80], hint=hint)])


def find_bundle(session: Session, artifact_id: str, owner_id: str) -> dict[str, Any]:
    row = session.execute(
        select(Artifact.id, Artifact.digest, Artifact.size_bytes, Artifact.state).where(
            Artifact.id == artifact_id, Artifact.owner_id == owner_id
        )
    ).first()
    if row is None:
        raise BadBundle(f"There is no artifact {artifact_id} of yours.", hint="Upload the bundle first.")
    if row.state != "stored":
        raise BadBundle(f"The upload of {artifact_id} is not complete.", hint="Finish it, then submit the job.")
    return {"id": row.id, "digest": row.digest, "size_bytes": row.size_bytes}


def artifacts_of(spec: JobSpec, bundle_id: str | None) -> list[str]:
    """Stored ones that a job is given."""
    given = [bundle_id, *(source.artifact_id for source in spec.inputs.values())]
    return list(dict.fromkeys(artifact_id for artifact_id in given if artifact_id is not None))


def find_inputs(session: Session, spec: JobSpec, owner_id: str) -> dict[str, Any] | None:
    """The stored artifacts that a spec names as inputs, by path; None if it names none. Raises BadInputs."""
    wanted = {path: source.artifact_id for path, source in spec.inputs.items() if source.artifact_id is not None}
    if not wanted:
        return None
    rows = session.execute(
        select(Artifact.id, Artifact.digest, Artifact.size_bytes, Artifact.state, Artifact.kind).where(
            Artifact.id.in_(set(wanted.values())),
            Artifact.owner_id == owner_id,
            Artifact.state != ArtifactState.ABANDONED,
        )
    )
    known = {row.id: row for row in rows}
    problems, found = [], {}
    for path, artifact_id in wanted.items():
        row = known.get(artifact_id)
        problem = _input_problem(artifact_id, row)
        if problem is not None:
            problems.append(
                FieldError(field=join_path("inputs", path), message=problem[0], value=artifact_id, hint=problem[1])
            )
        elif row is not None:
            found[path] = {"id": row.id, "digest": row.digest, "size_bytes": row.size_bytes}
    if problems:
        raise BadInputs(problems)
    _check_sizes([each["size_bytes"] for each in found.values()], spec.resources)
    return found


def _input_problem(artifact_id: str, row: Row[*tuple[Any, ...]] | None) -> tuple[str, str] | None:
    """What is wrong, and what to do."""
    if row is None or row.kind not in SHARED_KINDS:
        return f"There is no artifact {artifact_id} of yours.", "Upload it: computepool run --input PATH=FILE."
    if row.state != ArtifactState.STORED:
        return f"The upload of {artifact_id} is not complete.", "Finish it, then submit the job."
    return None


def _check_sizes(sizes: list[int], asked: Resources) -> None:
    disk_bytes = asked.disk.minimum
    if sum(sizes) > disk_bytes and "disk" not in asked.by_share:
        message = f"The inputs are {about_bytes(sum(sizes))}, but the job's disk is only {about_bytes(disk_bytes)}."
        hint = "Request more disk, including space for what the job writes: resources: {disk: …}."
        raise BadInputs([FieldError(field="resources.disk", message=message, hint=hint)])
    if sum(map(count_parts, sizes)) > INPUT_PARTS_LIMIT:
        message = f"The inputs are too large: at most {about_bytes(INPUT_PARTS_LIMIT * PART_BYTES)} in all."
        raise BadInputs([FieldError(field="inputs", message=message, hint="Split the inputs between slices.")])


def prepare(
    context: Context,
    request: Request,
    spec: JobSpec,
    bundle: dict[str, Any] | None,
    inputs: dict[str, Any] | None = None,
    retry_of: str | None = None,
    slice_indices: tuple[int, ...] | None = None,
) -> "tuple[NewJob, JobBrief, StoreOnce]":
    """What the scheduler needs to place and store it. `slice_indices` are those of the spec's slices that are run, if
    not all of them."""
    owner_id, own_job = request.owner, _read_own_job(request.own_job)
    if own_job is not None and retry_of is None:
        _check_own_job(own_job, context.hub_id, spec, bundle, inputs)
    job_id, wire, digest = context.new_id("job"), spec.to_wire(), spec.digest()
    job = NewJob(
        id=job_id,
        owner_id=owner_id,
        submitted_by=request.principal.user_id,
        name=spec.name or _short_name(spec),
        spec=wire,
        spec_digest=digest,
        bundle=bundle,
        priority=spec.priority,
        retries_allowed=spec.retries,
        slices=spec.slices if slice_indices is None else len(slice_indices),
        retry_of=retry_of,
        slice_indices=slice_indices,
        inputs=inputs,
        role=role_of(spec),
        replica_ids=tuple(context.new_id("job") for _ in range(spec.verify.replicas - 1)) if spec.verify else (),
        own_job=request.own_job,
    )
    submitter = request.principal.user_id
    brief = brief_of(job_id, owner_id, job.name, spec, digest, bundle, inputs, submitted_by=submitter)
    brief = replace(brief, role=job.role)
    brief = with_signature(brief, own_job)
    if job.role == Role.REPLICATED:
        brief = replicated(brief, Role.REPLICATED, None)
    return job, brief, StoreOnce(request, context.now())


def _read_own_job(header: str | None) -> Signed | None:
    if header is None:
        return None
    if len(header) > OWN_JOB_LIMIT_BYTES:
        raise BadOwnJob(f"it has more than {OWN_JOB_LIMIT_BYTES} bytes")
    try:
        signed = Signed.model_validate_json(header)
    except ValidationError:
        raise BadOwnJob("it is not a signed JSON envelope") from None
    if signed.type != OWN_JOB:
        raise BadOwnJob(f"it is of type {signed.type!r}")
    return signed


def _check_own_job(
    signed: Signed, hub_id: str, spec: JobSpec, bundle: dict[str, Any] | None, inputs: dict[str, Any] | None
) -> None:
    """Whether it is of this job. Whether it holds is for nodes to say, which know the key."""
    try:
        statement = OwnJob.model_validate_json(signed.body)
    except ValidationError:
        raise BadOwnJob("it does not sign a job") from None
    if statement.hub_id != hub_id:
        raise BadOwnJob(f"it is for the hub {statement.hub_id}, but this is {hub_id}")
    artifacts = {each["id"]: each["digest"] for each in (inputs or {}).values()}
    work = Work.asked_for(spec, bundle["digest"] if bundle is not None else None, artifacts)
    if statement.work != work.digest():
        raise BadOwnJob("the signed job differs from the one that was sent")


class StoreOnce:
    """Stores a job in the transaction of its idempotency key, and remembers what it stored."""

    def __init__(self, request: Request, now: datetime) -> None:
        self.now = now
        self.stored: tuple[NewJob, list[Lease]] | None = None
        """None if the same request made a job before."""
        self._request = request

    def store(self, session: Session, job: NewJob, leases: list[Lease]) -> str | Outcome:
        key, user_id = self._request.idempotency_key, self._request.principal.user_id
        if key is not None:
            earlier = claim(session, user_id, key, SUBMIT_ROUTE, self._request.body_digest, job.id, self.now)
            if earlier is not None:
                return earlier
        leased = service.submit(session, job, leases, self.now)
        self.stored = (job, [one for one in leases if one.attempt_id in leased.granted])
        return leased


def brief_of_row(job: OpenJob, known: dict[str, JobSpec]) -> JobBrief:
    """A stored job's brief, for the memory that is rebuilt on start. `known`: specs that were read already."""
    spec = known.get(job.spec_digest)
    if spec is None:
        spec = known[job.spec_digest] = parse_spec(job.spec)
    brief = brief_of(
        job.id,
        job.owner_id,
        job.name,
        spec,
        job.spec_digest,
        job.bundle,
        job.inputs,
        image_digest=job.image_digest,
        submitted_by=job.submitted_by,
    )
    brief = with_signature(brief, _read_own_job(job.own_job))
    brief = replace(with_ceiling(brief, job.ceiling_micros), role=job.role)
    if job.role in (Role.REPLICATED, Role.REPLICA):
        return replicated(brief, job.role, job.rerun_of)
    if job.rerun is not None and job.role is not None and job.rerun_of is not None:
        return as_rerun(brief, job.role, job.rerun_of, Rerun.of(job.rerun))
    return brief


def role_of(spec: JobSpec) -> Role | None:
    if spec.verify is not None:
        return Role.REPLICATED
    return Role.AUDITED if spec.deterministic else None


def _short_name(spec: JobSpec) -> str:
    """The first command of it, without comments. A script within it (`python3 - <<'END'`) is named for its program."""
    text = spec.run if isinstance(spec.run, str) else " ".join(spec.run)
    lines = (line.strip() for line in text.splitlines())
    line = next((line for line in lines if line and not line.startswith("#")), "job")
    if script := SCRIPT_WITHIN.match(line):
        line = f"{script[1]} script"
    return line if len(line) <= 40 else line[:39] + "…"
