"""A receipt: the node's signed statement of what an attempt ran and produced."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from computepool.protocol.model import Wire
from computepool.protocol.states import IsolationLevel

RECEIPT = "receipt"
CONTINUE_LATER = 85
"""The exit code of a command that has saved its checkpoint and wants to be continued another time."""


class EndReason(StrEnum):
    """Why an attempt ended, as its node saw it. The hub makes the verdict from it."""

    EXITED = "exited"
    MEMORY = "memory"
    DISK = "disk"
    RUNTIME = "runtime"
    CANCELED = "canceled"
    OUTPUTS = "outputs"
    """What was to be kept is too large or cannot be read: the renter's to mend."""
    BUNDLE = "bundle"
    """The renter's archive was refused: it escapes, is a bomb, or is broken."""
    START_FAILED = "start_failed"
    """The command could not be started, and a command of the agent's own could: not found, not executable, no such
    image, or something else of the job's in the way."""
    SANDBOX = "sandbox"
    """The node's sandbox starts not even a command of the agent's own, or broke while the job ran."""
    INPUT = "input"
    """What came from the hub has another digest, on this node."""
    BAD_INPUT = "bad_input"
    """An input is not what the spec says: another digest, too large, nothing at its URL, or in the bundle's way."""
    UNREACHABLE = "unreachable"
    """An input or an image did not come, or there was no room to keep it: neither the renter's doing nor the host's."""
    SLOW_INPUT = "slow_input"
    """An image or an https input came too slowly: the spec chose where it comes from, so it is the renter's."""
    NODE_DISK = "node_disk"
    """The node ran out of disk while the job was within its grant: its own trouble."""
    DECLINED = "declined"
    """Refused before anything ran: no room, paused, level not to be had."""


OLDER_REASONS = {EndReason.SLOW_INPUT: EndReason.BAD_INPUT}
"""Reasons that were added to the protocol, and what a hub is told that does not name them in its welcome: it would
call a receipt with an unknown reason a bad one, and blame the host. The older reason has the same verdict."""


def reason_for(reason: EndReason, known: Collection[str]) -> EndReason:
    """`known`: the added reasons that the hub knows."""
    return reason if reason in known else OLDER_REASONS.get(reason, reason)


class OutputRef(Wire):
    path: str
    digest: str
    size_bytes: int


class Usage(Wire):
    running_seconds: float
    """From the command's start to its exit, on a clock that runs through sleep; suspended time is not in it."""
    cpu_seconds: float = 0.0
    """Of all cores together."""
    peak_memory_bytes: int = 0
    """The most memory that was in use at once."""
    setup_seconds: float = 0.0
    """Part of the running seconds."""
    suspended_seconds: float = 0.0
    """While the owner kept it suspended."""
    network_bytes: int = 0
    """In and out, through the agent's proxy."""
    power_capped_seconds: float = 0.0
    """Of the running seconds, those in which the owner's policy had capped the power of one of its GPUs."""


class Receipt(Wire):
    version: int = 1
    node_id: str
    job_id: str
    attempt_id: str
    fence: int
    spec_digest: str
    """Of the spec, in its canonical form."""
    manifest_digest: str
    """Of the manifest that it was given."""
    isolation: IsolationLevel | None
    """None when the command never started."""
    image_digest: str | None = None
    """Of the image that it ran in."""
    exit_code: int | None = Field(ge=-(2**31), lt=2**31)
    """None when the command never started."""
    reason: EndReason
    detail: str = ""
    log_bytes: int = Field(ge=0)
    log_digest: str = Field(max_length=80)
    """Of the whole log."""
    outputs: tuple[OutputRef, ...] = ()
    """The files that it left."""
    usage: Usage
    """What it used."""
    started_at: datetime | None
    finished_at: datetime
