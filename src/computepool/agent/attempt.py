"""One attempt that this node holds, in memory: where it is, what it still has to tell, how it was asked to end."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from computepool.agent.journal import Ended
from computepool.agent.logs import LogSender
from computepool.agent.own_jobs import STRANGERS, OwnerCheck
from computepool.agent.reports import Reports
from computepool.agent.resting import Rest
from computepool.agent.spool import LogSpool
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import AttemptRef, CheckpointSaved, Holding, UploadGrant, UploadRequest
from computepool.protocol.receipt import EndReason
from computepool.protocol.signing import Signed
from computepool.protocol.states import BEFORE_RUNNING, AttemptState, IsolationLevel
from computepool.protocol.timing import FREEZE_AFTER_SECONDS


class EndMode(StrEnum):
    FINISH = "finish"
    """The hub gets a receipt that says why."""
    GONE = "gone"
    """The node gives it back: no receipt, only word that it is gone."""
    FORGET = "forget"
    """The hub does not want to hear of it any more."""


@dataclass(frozen=True)
class EndRequest:
    mode: EndMode
    reason: EndReason = EndReason.CANCELED
    detail: str = ""
    grace_seconds: float = 0.0

    def outranks(self, other: "EndRequest | None") -> bool:
        """A later wish counts only where it goes further: who was told to forget an attempt does not report on it."""
        order = list(EndMode)
        return other is None or order.index(self.mode) > order.index(other.mode)


@dataclass(eq=False)
class Attempt:
    signed: Signed
    manifest: Manifest
    downloads: dict[str, tuple[str, ...]]
    spool: LogSpool
    log: LogSender
    rest: Rest
    owner: OwnerCheck = STRANGERS
    reports: Reports = field(default_factory=Reports)
    state: AttemptState = AttemptState.LEASED
    folder: str | None = None
    """The job's folder, once it was made."""
    room_bytes: int = 0
    """What may lie in its folder beside the disk that it was granted: what `setup` installed."""
    ended: Ended | None = None
    """Set once the command is gone, or never was: the attempt uses no room from then on."""
    command_over_at: float | None = None
    """When its last command was over, on the elapsed-time clock."""
    told_finishing: bool = False
    unwritten: bool = False
    """How it ended is not in the journal, which had no room for it."""
    ending: EndRequest | None = None
    on_end_request: Callable[[EndRequest], None] | None = None
    """What can be interrupted right now: the running command, a download, an upload."""
    uploading: UploadRequest | None = None
    asked_at: float = 0.0
    """When it was last said, on the elapsed-time clock."""
    granted: asyncio.Future[UploadGrant] | None = None
    upload_requests: int = 0
    gone: bool = False
    task: asyncio.Task[None] | None = None
    over_at: float = 0.0
    """When its result was ready, on the elapsed-time clock: results are kept for a day."""
    started_monotonic: float | None = None
    _capped_from: float | None = None
    """How long it had run when the power of its GPUs was capped."""
    _capped_seconds: float = 0.0
    renewed_monotonic: float | None = None
    """When the hub last renewed its lease, or gave it."""
    isolation: IsolationLevel | None = None
    """Where it runs, once that was decided."""
    network_bytes: Callable[[], int] | None = None
    """What passed its ways out so far; None where it has the host's own network, which nobody counts."""
    progress: dict[str, object] | None = None
    """What is being fetched for it: `what`, and as far as it is known `done_bytes` and `total_bytes`."""
    save_soon: asyncio.Event = field(default_factory=asyncio.Event)
    """Its checkpoint is to be saved without waiting for the period."""
    saving: CheckpointSaved | None = None
    """A checkpoint that was uploaded and that the hub has not yet acknowledged."""
    saving_said_at: float = 0.0
    saved: asyncio.Future[str | None] | None = None
    """Why it does not count, or None if it does."""

    @property
    def own(self) -> bool:
        """It is the owner's own, by the owner's signature."""
        return self.owner.own

    @property
    def id(self) -> str:
        return self.manifest.attempt_id

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(attempt_id=self.manifest.attempt_id, fence=self.manifest.fence)

    @property
    def holding(self) -> Holding:
        return Holding(attempt_id=self.manifest.attempt_id, fence=self.manifest.fence, state=self.state, gone=self.gone)

    def is_named_by(self, message: AttemptRef) -> bool:
        return message.attempt_id == self.manifest.attempt_id and message.fence == self.manifest.fence

    @property
    def is_preparing(self) -> bool:
        """It was taken, and its command does not run yet. Each step until then has a time limit of its own."""
        return self.state in BEFORE_RUNNING and not self.gone

    @property
    def takes_room(self) -> bool:
        return self.ended is None and self.ending is None and not self.gone

    def ran_seconds(self, now: float) -> float:
        """Since its first command began; while it rested it did not run."""
        if self.started_monotonic is None:
            return 0.0
        return now - self.started_monotonic - self.rest.seconds

    def cap_power(self, is_capped: bool, now: float) -> None:
        """From now on one of its GPUs has less power than it could have, or all have theirs again."""
        if is_capped and self._capped_from is None:
            self._capped_from = self.ran_seconds(now)
        elif not is_capped and self._capped_from is not None:
            self._capped_seconds = self.power_capped_seconds(now)
            self._capped_from = None

    def power_capped_seconds(self, now: float) -> float:
        """Of those that it ran."""
        since = 0.0 if self._capped_from is None else self.ran_seconds(now) - self._capped_from
        return self._capped_seconds + since

    def has_lease(self, now: float) -> bool:
        """Soon after, its slice may be given to another node."""
        return self.renewed_monotonic is None or now - self.renewed_monotonic < FREEZE_AFTER_SECONDS

    def say(self, line: str) -> None:
        """A line of the agent's own in the job's log, before its command runs."""
        with contextlib.suppress(OSError):
            self.spool.append(f"[computepool] {line}\n".encode())
            self.log.wrote()

    def request_end(self, request: EndRequest) -> bool:
        """Ask it to end; whether this changed anything."""
        if not request.outranks(self.ending):
            return False
        self.ending = request
        if self.on_end_request is not None:
            self.on_end_request(request)
        return True

    @property
    def was_interrupted(self) -> bool:
        """Tells, in its own task, an interruption asked for here from the end of the agent itself."""
        task = asyncio.current_task()
        return self.ending is not None and (task is None or not task.cancelling())

    def ask(self, request: UploadRequest, now: float) -> "asyncio.Future[UploadGrant]":
        """The request counts as said now; the future is the answer to it."""
        self.uploading, self.asked_at = request, now
        self.granted = asyncio.get_running_loop().create_future()
        return self.granted

    def unanswered_since(self, now: float, seconds: float) -> UploadRequest | None:
        """The request for places, when it was last said that long ago: to be said again."""
        if self.uploading is None or now - self.asked_at < seconds:
            return None
        self.asked_at = now
        return self.uploading

    def report_saved(self, report: CheckpointSaved, now: float) -> "asyncio.Future[str | None]":
        """It counts as said now; the future is the hub's answer to it."""
        self.saving, self.saving_said_at = report, now
        self.saved = asyncio.get_running_loop().create_future()
        return self.saved

    def unsaved_since(self, now: float, seconds: float) -> CheckpointSaved | None:
        if self.saving is None or now - self.saving_said_at < seconds:
            return None
        self.saving_said_at = now
        return self.saving

    def answer_saved(self, sequence: int, problem: str | None) -> None:
        if self.saving is not None and self.saving.sequence == sequence:
            self.saving = None
            if self.saved is not None and not self.saved.done():
                self.saved.set_result(problem)

    def grant(self, grant: UploadGrant) -> None:
        if self.uploading is not None and grant.request == self.uploading.request:
            self.uploading = None
            if self.granted is not None and not self.granted.done():
                self.granted.set_result(grant)
