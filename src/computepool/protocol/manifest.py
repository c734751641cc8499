"""A manifest: the hub's signed order to one node to run one attempt, and nothing else."""

from collections.abc import Mapping
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import Field

from computepool.protocol.model import Wire
from computepool.protocol.shell import Shell
from computepool.protocol.signing import SignatureRefused, Signed, verify
from computepool.protocol.states import IsolationLevel

MANIFEST = "manifest"
CHECKPOINT_SECONDS = 300.0
"""How often a checkpoint folder is saved while the job runs."""


class BundleRef(Wire):
    """An archive that is unpacked where the command runs."""

    digest: str
    size_bytes: int


class InputRef(Wire):
    """A file that lies at its path below the working folder before any command of the job runs."""

    path: str = Field(max_length=1024)
    digest: str = Field(max_length=80)
    size_bytes: int | None = Field(default=None, ge=0)
    """None where only the URL's server knows: then the job's disk is the limit."""
    url: str | None = None
    """Where the node gets it by itself; None for what the hub keeps."""


class Grant(Wire):
    """What the attempt may use, and what its sandbox enforces."""

    cpus: float
    memory_bytes: int
    disk_bytes: int
    gpus: tuple[str, ...] = ()
    """The ids of whole GPUs on that node."""
    pids: int = 512


class SavedFile(Wire):
    """One file of a checkpoint."""

    path: str = Field(max_length=1024)
    """Below the checkpoint folder."""
    digest: str = Field(max_length=80)
    size_bytes: int = Field(ge=0)
    artifact_id: str = Field(default="", max_length=80)
    """Where the hub keeps it; an agent leaves it out."""


class Saved(Wire):
    """A checkpoint that the hub has whole: an attempt starts with it restored."""

    number: int
    """Of the slice's checkpoints, over all its attempts."""
    files: tuple[SavedFile, ...] = ()


class Manifest(Wire):
    version: int = 1
    hub_id: str
    node_id: str
    job_id: str
    attempt_id: str
    attempt_number: int
    slice_index: int
    slices: int
    fence: int
    issued_at: datetime
    expires_at: datetime
    """Not to be started later than this: an old manifest, replayed, is worth nothing."""
    spec_digest: str
    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    bundle: BundleRef | None = None
    inputs: tuple[InputRef, ...] = ()
    outputs: tuple[str, ...] = ()
    grant: Grant
    isolation: IsolationLevel
    """The weakest level that may run it."""
    own: bool
    """The hub says that the node's owner submitted it. The node believes it only with `own_job`."""
    max_runtime_seconds: float
    network: bool = False
    renter: str = ""
    """Whose job it is. What one renter's `setup` built is never used for another's job."""
    image: str | None = None
    """As the spec names it; None for the node's default sandbox."""
    image_digest: str | None = None
    """What that name meant when the job's first attempt ran; None before that."""
    setup: tuple[str, ...] = ()
    """Runs before `argv`, and may reach package indexes."""
    run_shell: Shell | None = None
    """How `argv` is run if the spec has a text there. None for a program with its arguments, and from older hubs."""
    setup_shell: Shell | None = None
    checkpoint: str | None = None
    """The folder to save, below the job's working folder; None for the one that every job has beside it."""
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    saved: Saved | None = None
    links: dict[str, str] = Field(default_factory=dict, max_length=100)
    """Absolute paths, and paths in the job's home (`~/…`), each leading to a path below the working folder."""
    own_job: Signed | None = None
    """The owner's signature under the job (`own_job.py`), on the owner's own nodes."""


def open_manifest(
    signed: Signed, keys: Mapping[str, Ed25519PublicKey], *, hub_id: str, node_id: str, now: datetime
) -> Manifest:
    """The manifest, if it is intact, fresh and addressed to this node. Anything else is refused."""
    manifest = Manifest.model_validate_json(verify(signed, MANIFEST, keys))
    if manifest.hub_id != hub_id:
        raise SignatureRefused(f"the manifest is of hub {manifest.hub_id}, this node belongs to {hub_id}")
    if manifest.node_id != node_id:
        raise SignatureRefused(f"the manifest is for {manifest.node_id}, not for this node")
    if not manifest.issued_at <= manifest.expires_at:
        raise SignatureRefused("the manifest expires before it was issued")
    if now > manifest.expires_at:
        raise SignatureRefused(f"the manifest expired at {manifest.expires_at:%Y-%m-%d %H:%M:%S} UTC")
    return manifest
