"""The attempts that this node holds: takes the hub's messages in, decides, and lets runners do the work.

Knows nothing of links: what is to be said goes into `outgoing`, and is said again when a new line is up.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from pydantic import ValidationError

from computepool.agent.attempt import Attempt, EndMode, EndRequest
from computepool.agent.commands import out_of_time
from computepool.agent.finishing import tell_late
from computepool.agent.folders import START_SECONDS
from computepool.agent.leases import Leases
from computepool.agent.link.handshake import proof_state
from computepool.agent.logs import LogSender
from computepool.agent.placement import is_safe_id, why_no_room, why_not_welcome
from computepool.agent.ports import Offload
from computepool.agent.recovery import recover
from computepool.agent.reports import GONE_SEQUENCE
from computepool.agent.resting import Rest
from computepool.agent.runner import decline, run_attempt
from computepool.agent.spool import LogSpool
from computepool.agent.unremoved import UnremovedFolders
from computepool.agent.workshop import Workshop
from computepool.protocol.benchmark import BenchmarkFromHub
from computepool.protocol.hub_keys import read_announcement
from computepool.protocol.manifest import Grant, Manifest, open_manifest
from computepool.protocol.messages import (
    AttemptRef,
    Availability,
    FromHub,
    Gone,
    Heartbeat,
    HeartbeatAck,
    Holding,
    KeyAnnouncement,
    KeyRetirement,
    LogAck,
    Offer,
    Refused,
    ReportAck,
    Stop,
    UploadGrant,
)
from computepool.protocol.model import Wire
from computepool.protocol.receipt import EndReason
from computepool.protocol.signing import SignatureRefused
from computepool.protocol.states import NodeState
from computepool.protocol.timing import SPOOL_KEPT_SECONDS

log = logging.getLogger(__name__)

REPEAT_SECONDS = 15.0
"""A report that was not acknowledged for this long is said again on the same line."""


class Supervisor:
    def __init__(self, shop: Workshop, save_node: Callable[[], None]) -> None:
        self._shop = shop
        self._save_node = save_node
        self._attempts: dict[str, Attempt] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self.on_idle: Callable[[], None] = lambda: None
        self.state = NodeState.ONLINE
        self.stream_id: str | None = None
        self.cursor = 0
        self._gap_at: int | None = None
        self.leases = Leases(
            shop.clock,
            shop.hub_time,
            attempts=lambda: self.attempts,
            soon=self.soon,
            end=lambda attempt, why: self._end(attempt, EndRequest(EndMode.GONE, detail=why)),
        )
        self._errands: set[asyncio.Task[None]] = set()
        self.availability = Availability()
        self.why_unwelcome: Callable[[Attempt], str | None] = lambda attempt: None
        """What the owner's policy says of work that would begin now."""
        self.on_attempt: Callable[[Attempt], None] = lambda attempt: None
        """Told when an attempt begins, and when its command is over."""
        self.on_benchmark: Callable[[BenchmarkFromHub], None] = lambda message: None
        """Told what the hub wants to know of the machine's speed."""

    # ── what it holds ──

    @property
    def attempts(self) -> list[Attempt]:
        return list(self._attempts.values())

    @property
    def is_busy(self) -> bool:
        return bool(self._attempts)

    async def until_idle(self) -> None:
        await self._idle.wait()

    def holding(self) -> tuple[Holding, ...]:
        """Also what is gone: else the hub would miss it before it hears whose doing that was."""
        return tuple(attempt.holding for attempt in self._attempts.values())

    def heartbeat(self) -> Heartbeat:
        self.leases.beat()
        return Heartbeat(
            cursor=self.cursor,
            holding=tuple(attempt.ref for attempt in self._attempts.values() if not attempt.gone),
            state=proof_state(self.state),
            availability=self.availability,
            preparing=tuple(attempt.ref for attempt in self._attempts.values() if attempt.is_preparing),
        )

    # ── a line comes up ──

    def begin_stream(self, stream_id: str) -> None:
        """The hub's count of commands; a new one begins with each start of the hub."""
        self.leases.new_line()
        if stream_id != self.stream_id:
            self.stream_id, self.cursor, self._gap_at = stream_id, 0, None

    def say_everything_again(self) -> None:
        """On a new line, in order: whatever the hub has not acknowledged."""
        for attempt in self._attempts.values():
            for message in (*attempt.reports.pending(), attempt.uploading, attempt.saving):
                if message is not None:
                    self._shop.outgoing.put(message)
            if not attempt.gone:
                attempt.log.rewind()

    # ── messages ──

    def handle(self, message: FromHub) -> None:
        match message:
            case Offer() | Stop():
                self._command(message)
            case ReportAck():
                self._with_attempt(message, lambda attempt: self._acknowledged(attempt, message))
            case LogAck():
                self._with_attempt(message, lambda attempt: attempt.log.acknowledge(message.offset))
            case UploadGrant():
                self._with_attempt(message, lambda attempt: attempt.grant(message))
            case Refused():
                self._with_attempt(message, lambda attempt: self._refused(attempt, message))
            case HeartbeatAck():
                self._shop.hub_time.set(message.hub_time)
                self._renewed(message)
            case KeyAnnouncement() | KeyRetirement():
                self._follow_keys(message)
            case _ if isinstance(message, BenchmarkFromHub):
                self.on_benchmark(message)
            case _:
                log.debug("link.unexpected", extra={"type": message.type})

    def _with_attempt(self, message: AttemptRef, then: Callable[[Attempt], None]) -> None:
        """A stale fence means nothing here, as it means nothing to the hub."""
        attempt = self._attempts.get(message.attempt_id)
        if attempt is not None and attempt.is_named_by(message):
            then(attempt)

    def _command(self, command: Offer | Stop) -> None:
        if command.number <= self.cursor:
            return
        if self.cursor and command.number > self.cursor + 1 and self._gap_at != self.cursor:
            # Something between was lost. A new line makes the hub send again what lies behind the cursor; if the
            # same gap comes back, the hub left it on purpose.
            self._gap_at = self.cursor
            raise CommandsMissing(f"command {command.number} came after {self.cursor}")
        self.cursor = command.number
        if isinstance(command, Offer):
            self._offer(command)
        else:
            self._with_attempt(command, lambda attempt: self._stop(attempt, command))

    def _offer(self, offer: Offer) -> None:
        shop = self._shop
        try:
            manifest = open_manifest(
                offer.manifest,
                shop.node.keys_at(shop.hub_time.latest()),
                hub_id=shop.node.hub_id,
                node_id=shop.node.node_id,
                now=shop.hub_time.now(),
            )
            if not is_safe_id(manifest.attempt_id):
                raise SignatureRefused(f"{manifest.attempt_id[:100]!r} cannot be an attempt's id")
            if not is_safe_id(manifest.job_id):
                raise SignatureRefused(f"{manifest.job_id[:100]!r} cannot be a job's id")
        except (SignatureRefused, ValidationError) as error:
            log.warning("manifest.refused", extra={"number": offer.number, "reason": str(error).splitlines()[0]})
            return
        if manifest.attempt_id in self._attempts:
            log.info("manifest.repeated", extra={"attempt_id": manifest.attempt_id})
        elif shop.journal.has_seen(manifest.attempt_id):
            # Run once and over, whatever the hub thinks: never run twice, and never waited for either.
            log.warning("manifest.replayed", extra={"attempt_id": manifest.attempt_id})
            shop.outgoing.put(_gone_message(manifest.attempt_id, manifest.fence, "this node had it and has it no more"))
        else:
            self._accept(offer, manifest)

    def _accept(self, offer: Offer, manifest: Manifest) -> None:
        shop = self._shop
        spool = LogSpool(shop.journal.log_path(manifest.attempt_id), limit_bytes=shop.log_limit_bytes)
        attempt = Attempt(
            signed=offer.manifest,
            manifest=manifest,
            downloads=dict(offer.downloads),
            spool=spool,
            log=LogSender(manifest.attempt_id, manifest.fence, spool, shop.outgoing, shop.clock),
            rest=Rest(shop.clock, lambda rests: self._rests(manifest.attempt_id, rests)),
            renewed_monotonic=self.leases.began(manifest),
            owner=shop.whose(manifest),
        )
        taken = [other.manifest.grant for other in self._attempts.values() if other.takes_room]
        self.adopt(attempt)
        shop.journal.note_seen(manifest.attempt_id, manifest.expires_at)
        problem = self._why_not(attempt, taken)
        if problem is not None:
            self.start(attempt, decline(shop, attempt, problem))
        else:
            self.start(attempt, run_attempt(shop, attempt))
            self.on_attempt(attempt)

    def _why_not(self, attempt: Attempt, taken: list[Grant]) -> str | None:
        if self.state is not NodeState.ONLINE:
            return f"the node is {self.state}"
        manifest, rules = attempt.manifest, self._shop.rules
        problem = why_not_welcome(manifest, rules, own=attempt.own) or self.why_unwelcome(attempt)
        if problem is not None and manifest.own and not attempt.own:
            problem = f"{problem}; it does not count as the owner's own: {attempt.owner.why_not}"
        return problem or why_no_room(manifest.grant, self._shop.capacity, taken)

    def _rests(self, attempt_id: str, rests: bool) -> None:
        attempt = self._attempts.get(attempt_id)
        if attempt is not None and attempt.ended is None and not attempt.gone:
            self._shop.tell(attempt, "suspended" if rests else "running")

    @property
    def offload(self) -> Offload:
        return self._shop.offload

    @property
    def unremoved(self) -> UnremovedFolders:
        return self._shop.unremoved

    def monotonic(self) -> float:
        return self._shop.clock.monotonic()

    @property
    def pids(self) -> list[int]:
        """The first process of each job; those in containers do not descend from the agent."""
        return [pid for attempt in self.attempts if (pid := attempt.rest.pid) is not None]

    def say(self, message: Wire) -> None:
        """Once, if a line is up."""
        self._shop.outgoing.put(message)

    def soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errand_over)

    def _errand_over(self, task: asyncio.Task[None]) -> None:
        self._errands.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("errand.fault", exc_info=error)

    def _stop(self, attempt: Attempt, stop: Stop) -> None:
        log.info("attempt.stop", extra={"attempt_id": attempt.id, "reason": stop.reason})
        if stop.reason == "evicted":
            # It makes room for another, and goes on elsewhere from what it saves within its grace.
            self.give_back(attempt, "preempted", max(0.0, stop.grace_seconds))
            return
        detail = f"stopped by the hub: {stop.reason}"
        attempt.request_end(EndRequest(EndMode.FINISH, EndReason.CANCELED, detail, max(0.0, stop.grace_seconds)))

    def _refused(self, attempt: Attempt, refused: Refused) -> None:
        log.info("attempt.refused", extra={"attempt_id": attempt.id, "code": refused.code, "reason": refused.message})
        self._end(attempt, EndRequest(EndMode.FORGET, detail=refused.message))

    def _renewed(self, message: HeartbeatAck) -> None:
        beat_at = self.leases.answered()
        if beat_at is not None:
            for one in message.renewed:
                self._with_attempt(one, lambda attempt: self.leases.renewed(attempt, beat_at))

    def _acknowledged(self, attempt: Attempt, ack: ReportAck) -> None:
        if ack.sequence < 0:
            attempt.answer_saved(ack.sequence, ack.problem)
            return
        report = attempt.reports.acknowledge(ack.sequence)
        if report is not None and report.type in {"finished", "gone"}:
            self.forget(attempt)

    def _follow_keys(self, message: KeyAnnouncement | KeyRetirement) -> None:
        before, now = self._shop.node, self._shop.hub_time.latest()
        try:
            if isinstance(message, KeyAnnouncement):
                node = before.trusting(read_announcement(message.announcement, before.keys_at(now)))
            else:
                node = before.retiring(message.retirement, now)
        except SignatureRefused as error:
            log.warning("key.refused", extra={"reason": str(error).splitlines()[0]})
            return
        if node is not before:
            self._shop.node = node
            self._save_node()
            log.info("keys.changed", extra={"pinned": sorted(node.keys_at(now))})

    # ── lives of attempts ──

    def adopt(self, attempt: Attempt) -> None:
        self._attempts[attempt.id] = attempt
        self._idle.clear()

    def start(self, attempt: Attempt, life: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(life)
        attempt.task = task
        task.add_done_callback(lambda done: self._life_over(attempt, done))

    def _life_over(self, attempt: Attempt, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        self.on_attempt(attempt)
        error = task.exception()
        if error is not None:
            log.error("attempt.fault", exc_info=error, extra={"attempt_id": attempt.id})
            self._gone(attempt, f"fault of the agent: {type(error).__name__}")
        elif attempt.ending is not None:
            self._settle(attempt, attempt.ending)

    def _end(self, attempt: Attempt, request: EndRequest) -> None:
        """End it and leave no receipt. Where the command still runs, the rest happens once it is gone."""
        attempt.request_end(request)
        if attempt.ended is not None:
            # Finishing: nothing of it is worth waiting for.
            if attempt.task is not None and not attempt.task.done():
                attempt.task.cancel()
            self._settle(attempt, request)

    def _settle(self, attempt: Attempt, request: EndRequest) -> None:
        if request.mode is EndMode.FORGET:
            self.forget(attempt)
        elif request.mode is EndMode.GONE:
            self._gone(attempt, request.detail)

    def _gone(self, attempt: Attempt, reason: str) -> None:
        self.tell_gone(attempt, reason)
        self._clear_folder(attempt)

    def _clear_folder(self, attempt: Attempt) -> None:
        if attempt.folder is not None:
            self._shop.folders.give_back(attempt.folder)
            attempt.folder = None

    def tell_gone(self, attempt: Attempt, reason: str) -> None:
        attempt.gone = True
        attempt.uploading = attempt.saving = None
        attempt.log.close()
        attempt.over_at = self._shop.clock.monotonic()
        self._shop.journal.write_gone(attempt.id, reason)
        gone = _gone_message(attempt.id, attempt.manifest.fence, reason)
        attempt.reports.only(gone, attempt.over_at)
        self._shop.outgoing.put(gone)
        log.info("attempt.gone", extra={"attempt_id": attempt.id, "reason": reason})

    def forget(self, attempt: Attempt) -> None:
        """The hub has all of it, or wants none of it."""
        if self._attempts.pop(attempt.id, None) is not None:
            attempt.log.close()
            self._shop.journal.forget(attempt.id)
            attempt.spool.remove()
            self._clear_folder(attempt)
            if not self._attempts:
                self._idle.set()
                self.on_idle()

    # ── the owner's wishes, and time ──

    def give_back_everything(self, reason: str, grace_seconds: float = 0.0) -> None:
        """The machine is taken back: end what runs, now, and say that it is gone. Results on their way still go."""
        for attempt in self.attempts:
            self.give_back(attempt, reason, grace_seconds)

    def give_back(self, attempt: Attempt, reason: str, grace_seconds: float = 0.0) -> None:
        """Within the grace it may save a checkpoint, and leave by itself."""
        if attempt.ended is None and not attempt.gone:
            self._end(attempt, EndRequest(EndMode.GONE, detail=reason, grace_seconds=grace_seconds))

    def tick(self) -> None:
        """Now and then: what time has decided, and what the hub seems to have missed."""
        now = self._shop.clock.monotonic()
        self.leases.keep()
        for attempt in self.attempts:
            if attempt.ended is None and not attempt.rest.is_settled:
                self.soon(attempt.rest.settle())
            if attempt.ended is None and attempt.ran_seconds(now) > attempt.manifest.max_runtime_seconds:
                # The timer of the event loop stands still while the machine sleeps; this clock does not.
                attempt.request_end(out_of_time(attempt))
            tell_late(self._shop, attempt, now)
            if attempt.over_at and now - attempt.over_at > SPOOL_KEPT_SECONDS:
                log.warning("attempt.given_up", extra={"attempt_id": attempt.id})
                self.forget(attempt)
                continue
            for report in attempt.reports.pending_since(now, REPEAT_SECONDS):
                self._shop.outgoing.put(report)
            # A hub that failed on it answers nothing; asked twice, it grants the same places.
            if (request := attempt.unanswered_since(now, REPEAT_SECONDS)) is not None:
                self._shop.outgoing.put(request)
            if (saved := attempt.unsaved_since(now, REPEAT_SECONDS)) is not None:
                self._shop.outgoing.put(saved)
            if not attempt.gone:
                attempt.log.rewind_if_stale()
        if self._shop.hub_time.is_known:
            self._shop.journal.tidy(self._shop.hub_time.now())

    async def recover(self) -> None:
        shop = self._shop
        await recover(self, shop)
        kept = [attempt.folder for attempt in self.attempts if attempt.folder is not None]
        await shop.folders.begin(shop.sandboxes, kept)
        shop.journal.sweep_strays()
        shop.cache.clear_strays()
        await shop.environments.sweep(shop.sandboxes)
        await shop.unremoved.remove([str(shop.staging)], seconds=START_SECONDS)

    async def close(self) -> None:
        """Stop looking after attempts. Nothing is told or written: this is also how an agent dies in a simulation."""
        tasks = [attempt.task for attempt in self.attempts if attempt.task is not None and not attempt.task.done()]
        for task in tasks:
            task.cancel()
        for errand in self._errands:
            errand.cancel()
        await asyncio.gather(*tasks, *self._errands, return_exceptions=True)
        for attempt in self.attempts:
            attempt.log.close()
            attempt.spool.close()
        await self._shop.folders.close()
        self._shop.journal.close()


def _gone_message(attempt_id: str, fence: int, reason: str) -> Gone:
    return Gone(attempt_id=attempt_id, fence=fence, sequence=GONE_SEQUENCE, reason=reason)


class CommandsMissing(Exception):
    """The hub's commands have a gap: the line is not to be trusted any further."""
