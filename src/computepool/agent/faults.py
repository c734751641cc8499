"""Whose doing a failure is: the place where it happened decides, not the class of the exception (ADR 0037).

Until an attempt has its folder, nothing that the job or its spec chose was touched: what fails there is the node's.
After that the agent handles names, files, sizes and images of the job's choosing, and whatever fails is the job's. The
exceptions are few and listed: the node's own disk, while the job is within its grant (`disk.DISK_TROUBLE`) and no job's
log has filled it (`Workshop.is_filled_by_logs`), a sandbox
that does not run a command of the agent's own either (`sandbox.find_fault`), an uplink on which no part of a file
arrives (`uploads.UploadFailed`), and an input from the hub that has another digest.
"""

import contextlib
import logging
import os
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path

from computepool.agent.attempt import Attempt
from computepool.agent.disk import is_disk_trouble, is_full
from computepool.agent.sandbox.space import folder_bytes
from computepool.agent.trees import Uncountable, open_folder
from computepool.protocol.limits import DETAIL_LIMIT_CHARACTERS
from computepool.protocol.receipt import EndReason

log = logging.getLogger(__name__)


class AttemptOver(Exception):
    """The attempt ends here, for this reason."""

    def __init__(self, reason: EndReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = plain(detail)


class FaultPlace(StrEnum):
    """What the agent is doing for an attempt; the value is how a failure there begins in words."""

    ACCEPT = "trouble on the node"
    FETCH = "an input could not be fetched"
    IMAGE = "the image could not be fetched"
    UNPACK = "the bundle could not be unpacked"
    PUT = "an input could not be put into the job's folder"
    RESTORE = "the checkpoint could not be put into the job's folder"
    SETUP = "the environment could not be prepared"
    START = "the agent could not start it"
    RUN = "the command could not be followed and was ended"
    SAVE = "the checkpoint could not be saved"
    COLLECT = "the outputs could not be read"


REASON_AT = {
    FaultPlace.FETCH: EndReason.UNREACHABLE,
    FaultPlace.IMAGE: EndReason.UNREACHABLE,
    FaultPlace.UNPACK: EndReason.BUNDLE,
    FaultPlace.PUT: EndReason.BAD_INPUT,
    FaultPlace.RESTORE: EndReason.BAD_INPUT,
    FaultPlace.SETUP: EndReason.START_FAILED,
    FaultPlace.START: EndReason.START_FAILED,
    FaultPlace.RUN: EndReason.EXITED,
    FaultPlace.SAVE: EndReason.OUTPUTS,
    FaultPlace.COLLECT: EndReason.OUTPUTS,
}
"""Of a failure at a place where the agent handles what the job chose."""
BESIDE_THE_GRANT = frozenset({FaultPlace.FETCH, FaultPlace.IMAGE})
"""What is kept there takes the node's own room, and how much the job decides: a full disk is nobody's fault."""


def reason_of(place: FaultPlace, error: BaseException, *, within_grant: bool) -> EndReason:
    """`within_grant`: the job's folder takes no more of the disk than the job may use."""
    is_machines = isinstance(error, OSError) and is_disk_trouble(error)
    if place is FaultPlace.ACCEPT:
        if isinstance(error, OSError) and is_full(error):
            # Other jobs' logs and files may have filled it, and may be gone in a moment.
            return EndReason.DECLINED
        return EndReason.NODE_DISK if is_machines else EndReason.SANDBOX
    if is_machines and place not in BESIDE_THE_GRANT:
        return EndReason.NODE_DISK if within_grant else EndReason.DISK
    return REASON_AT[place]


@contextlib.asynccontextmanager
async def at(place: FaultPlace, attempt: Attempt) -> AsyncIterator[None]:
    """Whatever fails inside ends the attempt with the reason of its place."""
    try:
        yield
    except AttemptOver:
        raise
    except Exception as error:
        raise await judged(place, attempt, error) from error


async def judged(place: FaultPlace, attempt: Attempt, error: Exception) -> AttemptOver:
    reason = reason_of(place, error, within_grant=await is_within_grant(attempt))
    about = {"attempt_id": attempt.id, "place": place.name.lower(), "reason": reason.value}
    if type(error).__module__.startswith("computepool."):
        log.warning("attempt.failed", extra={**about, "why": str(error)})
        return AttemptOver(reason, str(error))
    # It may be a bug of the agent's: whoever's doing the end is, somebody should see it.
    log.warning("attempt.failed", extra=about, exc_info=error)
    told = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return AttemptOver(reason, f"{place.value}: {told}")


async def is_within_grant(attempt: Attempt, more_bytes: int = 0) -> bool:
    """Whether the job's folder, and `more_bytes` that lie elsewhere, take no more of the disk than it may use."""
    limit = attempt.manifest.grant.disk_bytes + attempt.room_bytes - more_bytes
    if attempt.folder is None:
        return True
    try:
        root = open_folder(Path(attempt.folder))
    except OSError:
        return True
    try:
        return await folder_bytes(root, enough=max(0, limit)) <= limit
    except Uncountable:
        return False
    finally:
        os.close(root)


def plain(text: str) -> str:
    """As a receipt can carry it: names of a job's files need not be UTF-8."""
    return text.encode(errors="backslashreplace").decode()[:DETAIL_LIMIT_CHARACTERS]
