"""What a job was and what proves it: everything to submit it again, its receipts, and whether they hold."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ValidationError
from sqlalchemy.orm import Session

from computepool.hub.api.jobs import ReceiptView, receipt_view
from computepool.hub.core.errors import Forbidden
from computepool.hub.core.http import Caller, Principal, Routes, Scope
from computepool.hub.engine import Engine
from computepool.hub.jobs import permits, queries
from computepool.hub.jobs.errors import BadBundle, NoReceipt, NoSuchJob
from computepool.hub.jobs.papers import JobPapers, find_papers
from computepool.hub.jobs.views import StoredSpec
from computepool.protocol.model import Documented
from computepool.protocol.receipt import Receipt
from computepool.protocol.spec import parse_spec
from computepool.protocol.spec_text import write_yaml
from computepool.protocol.verification import INSTEAD, TITLES, Check, Evidence, verify

PAGE_LIMIT = 100


class GivenFile(Documented):
    """A stored file that a job was given."""

    id: str
    digest: str
    size_bytes: int


class CloneView(Documented):
    """Everything to submit a job again, changed or not: `POST jobs?bundle=ID` with the spec."""

    job_id: str
    spec: StoredSpec
    """In its canonical form."""
    yaml: str
    """The same as YAML, to be changed by hand."""
    bundle: GivenFile | None
    """The archive that is unpacked where the command runs: send its id as `bundle`."""
    inputs: dict[str, GivenFile]
    """By path, the stored files among its inputs. The spec names them."""


class VerifiedCheck(Documented):
    name: str
    """Such as `hub signature`."""
    title: str
    """What holds if it passed."""
    passed: bool
    """Whether it holds."""
    detail: str
    """What was found."""


class VerifiedAttempt(Documented):
    slice: int
    attempt: int
    """Its number; 0 for one of another job whose outputs count instead, because others proved the job's own wrong."""
    node_name: str
    passed: bool
    """All of its checks did."""
    checks: list[VerifiedCheck]
    """In the order in which they were made."""


class JobVerification(Documented):
    """Whether a job's manifests and receipts are valid. `computepool verify` checks it without trusting the hub."""

    job_id: str
    verified: bool
    """All attempts of this page hold, and no slice that succeeded lacks a receipt."""
    items: list[VerifiedAttempt]
    without_receipt: list[int]
    """On the first page: slices that are said to have succeeded, and no receipt says so."""
    next: str | None


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["jobs"])
    context = engine.context

    @routes.get("/jobs/{job_id}/clone", visible="own", scope=Scope.JOBS_WRITE, errors=[NoSuchJob, BadBundle, Forbidden])
    async def clone_job(job_id: str, caller: Caller) -> CloneView:
        """Everything to submit the job again with changes. Nothing is submitted."""
        return await context.db.read(_clone, caller, job_id)

    @routes.get("/jobs/{job_id}/verification", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob, NoReceipt])
    async def verify_job(
        job_id: str,
        caller: Caller,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = PAGE_LIMIT,
        cursor: Annotated[str | None, Query(max_length=80)] = None,
    ) -> JobVerification:
        """Check the signatures under what ran, that orders and answers belong together, and what is stored."""
        keys = list(engine.keyring.public)
        papers = await context.db.read(find_papers, caller, job_id, cursor, limit)
        items = [receipt_view(row, keys) for row in papers.rows]
        return await context.offload(_verified, job_id, papers, items)

    return routes.router


def _clone(session: Session, principal: Principal, job_id: str) -> CloneView:
    job = queries.load_job(session, principal, job_id)
    refused = permits.refuse_clone(permits.facts_of(session, [job_id])[job_id], principal)
    if refused is not None:
        raise refused
    return CloneView(
        job_id=job_id,
        spec=job.spec,
        yaml=write_yaml(job.spec),
        bundle=GivenFile.model_validate(job.bundle) if job.bundle is not None else None,
        inputs={path: GivenFile.model_validate(one) for path, one in (job.inputs or {}).items()},
    )


def _verified(job_id: str, papers: JobPapers, items: list[ReceiptView]) -> JobVerification:
    evidence: dict[tuple[int, int], Evidence] = {}
    for item in items:
        place, receipt, attempt_id = (item.slice, item.attempt), item.receipt, item.attempt_id
        if item.instead is not None:
            place, receipt, attempt_id = (item.slice, INSTEAD), item.instead.receipt, item.instead.attempt_id
        files = papers.stored.get(attempt_id, {})
        if files and files.keys() >= _signed_paths(receipt.body):  # what its owner deleted is not held against it
            evidence[place] = Evidence(outputs=files)
    attempts: dict[tuple[int, int], list[Check]] = {}
    for check in verify(items, job_id=job_id, spec=parse_spec(papers.spec), evidence=evidence):
        attempts.setdefault((check.slice, check.attempt), []).append(check)
    names = {(item.slice, item.attempt): item.node.name for item in items}
    names |= {(item.slice, INSTEAD): item.instead.node.name for item in items if item.instead is not None}
    shown = [_attempt_view(place, names.get(place, ""), checks) for place, checks in attempts.items()]
    return JobVerification(
        job_id=job_id,
        verified=not papers.without_receipt and all(one.passed for one in shown),
        items=shown,
        without_receipt=papers.without_receipt,
        next=papers.next,
    )


def _attempt_view(place: tuple[int, int], node_name: str, checks: list[Check]) -> VerifiedAttempt:
    return VerifiedAttempt(
        slice=place[0],
        attempt=place[1],
        node_name=node_name,
        passed=all(check.passed for check in checks),
        checks=[
            VerifiedCheck(name=check.name, title=TITLES[check.name], passed=check.passed, detail=check.detail)
            for check in checks
        ],
    )


def _signed_paths(body: str) -> set[str]:
    try:
        return {output.path for output in Receipt.model_validate_json(body).outputs}
    except ValidationError:
        return set()  # which its check says
