"""The owner's signature under a job: what makes it the owner's own on a node, whatever the hub says.

The CLI signs each job that it submits with a key of its own. The hub stores the signature and passes it along in the
manifests for that person's nodes. A node takes a job for its owner's own only if the signature holds under a key that
its owner put on the machine, and covers what the manifest orders.

What is signed is an `OwnJob`: for which hub, for which node if the spec names one, at which isolation at least, until
when, and the digest of the work. The work is all that decides which code runs on which data, and what it can reach. Its
canonical form is JSON with sorted keys, without spaces, in UTF-8 (`Work.canonical_json`). What differs between attempts
is not part of it: ids, fence, grant, the slice's index, the saved checkpoint, the digest that an image's name meant.
Nor is whether a text runs in bash, and stops at the first line that fails: older agents know nothing of that.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field, ValidationError

from computepool.protocol.model import Wire
from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, sign, verify
from computepool.protocol.states import IsolationLevel

if TYPE_CHECKING:
    # The CLI signs, and only agents open: it does not pay for the models of a manifest.
    from computepool.protocol.manifest import Manifest
    from computepool.protocol.spec import JobSpec

OWN_JOB = "own-job"
OWN_JOB_HEADER = "X-Computepool-Own-Job"
"""Carries the signature, an envelope as JSON, with the request that submits the job."""
OWN_JOB_LIMIT_BYTES = 2048
VALID_SECONDS = 7 * 86_400
"""For which a signature holds, beside the time that the job may run: its attempts and retries start within that."""
KEY_PREFIX = "cpk_"

InputParts = tuple[str, str, str | None]
"""An input's path, digest and URL."""


class Work(Wire):
    """What a signature covers of a job. Each field is as in the manifest."""

    argv: tuple[str, ...]
    env: dict[str, str]
    image: str | None
    setup: tuple[str, ...]
    network: bool
    bundle: str | None
    """The archive's digest."""
    inputs: tuple[InputParts, ...]
    """By path."""
    outputs: tuple[str, ...]
    checkpoint: str | None
    slices: int
    max_runtime_seconds: float
    links: tuple[tuple[str, str], ...] = ()
    """Left out of the canonical form if there are none, as in signatures from before there were any."""

    @classmethod
    def ordered_by(cls, manifest: "Manifest") -> "Work":
        return cls(
            argv=manifest.argv,
            env=manifest.env,
            image=manifest.image,
            setup=manifest.setup,
            network=manifest.network,
            bundle=manifest.bundle.digest if manifest.bundle is not None else None,
            inputs=_by_path((each.path, each.digest, each.url) for each in manifest.inputs),
            outputs=manifest.outputs,
            checkpoint=manifest.checkpoint,
            slices=manifest.slices,
            max_runtime_seconds=manifest.max_runtime_seconds,
            links=tuple(sorted(manifest.links.items())),
        )

    @classmethod
    def asked_for(cls, spec: "JobSpec", bundle: str | None, artifacts: Mapping[str, str]) -> "Work":
        """`bundle` is the archive's digest; `artifacts` are the digests of the stored inputs, by artifact id."""
        inputs: list[InputParts] = []
        for path, source in spec.inputs.items():
            if source.artifact_id is not None:
                inputs.append((path, artifacts[source.artifact_id], None))
            else:
                inputs.append((path, f"sha256:{source.sha256}", source.url))
        return cls(
            argv=spec.argv(),
            env=dict(spec.env),
            image=spec.image,
            setup=spec.setup_argv(),
            network=spec.network,
            bundle=bundle,
            inputs=_by_path(inputs),
            outputs=spec.outputs,
            checkpoint=spec.checkpoint,
            slices=spec.slices,
            max_runtime_seconds=spec.max_runtime_seconds,
            links=tuple(sorted(spec.links.items())),
        )

    def canonical_json(self) -> bytes:
        fields = self.model_dump(mode="json", exclude=None if self.links else {"links"})
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.canonical_json()).hexdigest()


def _by_path(inputs: Iterable[InputParts]) -> tuple[InputParts, ...]:
    return tuple(sorted(inputs, key=lambda parts: parts[0]))


class OwnJob(Wire):
    """The statement that is signed: this work is mine."""

    version: int = 1
    hub_id: str = Field(max_length=80)
    """The only hub that may order it."""
    node_id: str | None = Field(default=None, max_length=80)
    """The only node that may run it, where the spec names one."""
    isolation: IsolationLevel = IsolationLevel.PROCESS
    """The least that the spec accepts."""
    work: str = Field(max_length=80)
    """Its digest."""
    expires_at: datetime
    """No attempt starts as the owner's own later than this."""


def sign_own_job(key: Ed25519PrivateKey, spec: "JobSpec", work: Work, *, hub_id: str, now: datetime) -> Signed:
    statement = OwnJob(
        hub_id=hub_id,
        node_id=spec.where.node,
        isolation=spec.isolation or IsolationLevel.PROCESS,
        work=work.digest(),
        expires_at=now + timedelta(seconds=VALID_SECONDS + spec.max_runtime_seconds),
    )
    return sign(key, key_id_of(key.public_key().public_bytes_raw()), OWN_JOB, statement.to_bytes())


def open_own_job(manifest: "Manifest", keys: Mapping[str, Ed25519PublicKey], *, now: datetime) -> OwnJob:
    """What the node's owner signed about the work that this manifest orders. Raises SignatureRefused.

    The manifest itself was opened before: it is of this node's hub, and for this node. `now` is the machine's own
    clock: a hub that tells the time could keep a signature valid for ever.
    """
    signed = manifest.own_job
    if signed is None:
        raise SignatureRefused("it is not signed")
    try:
        statement = OwnJob.model_validate_json(verify(signed, OWN_JOB, keys))
    except ValidationError:
        raise SignatureRefused("its signature is under something else than a job") from None
    if statement.version != 1:
        raise SignatureRefused(f"its signature is of version {statement.version}, which this agent does not know")
    if statement.hub_id != manifest.hub_id:
        raise SignatureRefused(f"it was signed for the hub {statement.hub_id}")
    if statement.node_id not in (None, manifest.node_id):
        raise SignatureRefused(f"it was signed for the node {statement.node_id}")
    if now > statement.expires_at:
        raise SignatureRefused(f"its signature expired at {statement.expires_at:%Y-%m-%d %H:%M:%S} UTC")
    if not 0 <= manifest.slice_index < manifest.slices:
        raise SignatureRefused(f"it has no slice {manifest.slice_index}")
    if statement.work != Work.ordered_by(manifest).digest():
        raise SignatureRefused("another job was signed than the one that the hub orders")
    return statement


def key_text(key: Ed25519PublicKey) -> str:
    """A public key as people copy it."""
    return KEY_PREFIX + base64.urlsafe_b64encode(key.public_bytes_raw()).decode().rstrip("=")


def read_key(text: str) -> Ed25519PublicKey:
    """Raises ValueError."""
    encoded = text.strip().removeprefix(KEY_PREFIX)
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, binascii.Error):
        key = None
    if key is None or key_text(key) != text.strip():
        raise ValueError(
            f"{text[:60]!r} is not a public key; write what `computepool key` prints, such as {KEY_PREFIX}…"
        )
    return key
