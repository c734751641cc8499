"""What agents report about attempts, and the answer to each. Every report is fenced and may come twice.

A report about an attempt that the node does not hold under that fence changes nothing: not the state, not the log, not
the outputs. It is refused, and the agent ends the attempt.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import structlog
from pydantic import ValidationError

from computepool.hub.artifacts.checkpoints import CheckpointFiles, CheckpointIncomplete
from computepool.hub.artifacts.errors import StorageExceeded
from computepool.hub.artifacts.logs import LogGap, LogLimit, LogStore
from computepool.hub.artifacts.outputs import Outputs, OutputsRefused
from computepool.hub.artifacts.store import is_digest
from computepool.hub.core.context import Context
from computepool.hub.jobs import checkpoints, service
from computepool.hub.jobs.deciding import End
from computepool.hub.jobs.ending import Applied
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.policy import OUT_OF_STORAGE, PREEMPTED, Ending, ending_of
from computepool.hub.jobs.receipts import Order, find_key_of_order, find_order
from computepool.hub.jobs.storage import StorageWatch
from computepool.hub.scheduling.fleet import FleetNode, Held
from computepool.hub.scheduling.leases import LeaseKeeper, was_our_fault
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.messages import (
    LEASE_OVER,
    AttemptRef,
    CheckpointSaved,
    Finished,
    Gone,
    LogAck,
    LogChunk,
    Refused,
    ReportAck,
    Update,
    UploadGrant,
    UploadRequest,
)
from computepool.protocol.model import Wire
from computepool.protocol.receipt import RECEIPT, EndReason, Receipt
from computepool.protocol.signing import SignatureRefused, key_id_of, load_public_key, verify
from computepool.protocol.states import BEFORE_RUNNING, AttemptState, Verdict

log = structlog.get_logger()

Report = Update | LogChunk | UploadRequest | CheckpointSaved | Finished | Gone
OWNER_REASONS = frozenset({"owner", "paused", "drained", "the agent was stopped"})


class Reports:
    def __init__(
        self,
        context: Context,
        scheduler: Scheduler,
        leases: LeaseKeeper,
        logs: LogStore,
        outputs: Outputs,
        checkpoints: CheckpointFiles,
        storage: StorageWatch,
    ) -> None:
        self._context = context
        self._scheduler = scheduler
        self._leases = leases
        self._logs = logs
        self._outputs = outputs
        self._checkpoints = checkpoints
        self._storage = storage
        self._background: set[asyncio.Task[None]] = set()

    async def handle(self, node: FleetNode, sign_key: bytes, message: Report) -> Sequence[Wire]:
        held = node.attempts.get(message.attempt_id)
        if held is not None and held.fence == message.fence:
            held.told_of(self._context.clock.monotonic())  # when it was said: our database may be slow
        if isinstance(message, Finished):
            return [await self._finished(node, sign_key, message)]
        if isinstance(message, Gone):
            return [await self._gone(node, message)]
        if held is None or held.fence != message.fence:
            return [_refused(message, "stale_lease", "This attempt is not this node's any more.")]
        if isinstance(message, LogChunk):
            return [await self._log(node, held, message)]
        if isinstance(message, UploadRequest):
            return [await self._upload(held, message)]
        if isinstance(message, CheckpointSaved):
            return [await self._checkpoint(node, held, message)]
        return [await self._update(node, held, message)]

    async def _update(self, node: FleetNode, held: Held, message: Update) -> Wire:
        told = message.image_digest
        image_digest = told if told is not None and is_digest(told) else None
        try:
            state = await self._context.db.run(
                service.report,
                message.attempt_id,
                message.fence,
                node.traits.node_id,
                AttemptState(message.state),
                message.isolation,
                self._context.now(),
                image_digest,
            )
        except StaleLease as stale:
            return _refused(message, stale.code, stale.message)
        if state is AttemptState.RUNNING and image_digest is not None:
            self._scheduler.image_pinned(held.job_id, image_digest)
        now = self._context.clock.monotonic()
        if state is AttemptState.RUNNING and held.state in BEFORE_RUNNING:
            self._scheduler.tally.began.append(held.start_seconds(now))
        held.note(state, now)
        return ReportAck(attempt_id=message.attempt_id, fence=message.fence, sequence=message.sequence)

    async def _log(self, node: FleetNode, held: Held, message: LogChunk) -> Wire:
        try:
            offset = await self._logs.append(message.attempt_id, message.offset, message.data)
        except LogGap as gap:
            offset = gap.expected
        except LogLimit as limit:
            return _refused(message, "log_limit", str(limit))
        brief = self._scheduler.briefs.get(held.job_id)
        if brief is not None:
            try:
                await self._storage.log_grew(brief.owner_id, message.attempt_id, message.fence, offset)
            except StorageExceeded as exceeded:
                return await self._end_for_storage(node, held, message, offset, exceeded)
        return LogAck(attempt_id=message.attempt_id, fence=message.fence, offset=offset)

    async def _end_for_storage(
        self, node: FleetNode, held: Held, message: LogChunk, log_bytes: int, exceeded: StorageExceeded
    ) -> Wire:
        """Its renter may store no more, and a job cannot be told to be silent."""
        ended = Ending(Verdict.RENTER, OUT_OF_STORAGE, detail=exceeded.message)
        end = End(message.attempt_id, message.fence, node.traits.node_id, ended, {"log_bytes": log_bytes})
        try:
            result = await self._scheduler.endings.end(end, held.job_id)
        except StaleLease as stale:
            return _refused(message, stale.code, stale.message)
        self._scheduler.ended(node.traits.node_id, result)
        self._later(message.attempt_id)
        return _refused(message, exceeded.code, exceeded.message)

    async def _upload(self, held: Held, message: UploadRequest) -> Wire:
        brief = self._scheduler.briefs.get(held.job_id)
        if brief is None:
            return _refused(message, "job_over", "The job has ended.")
        try:
            if message.purpose == "checkpoint":
                targets = await self._checkpoints.grant(
                    brief.job_id,
                    held.order.slice_index,
                    brief.owner_id,
                    message.files,
                    disk_bytes=held.grant.disk_bytes,
                    copies=checkpoints.KEPT + 1,  # those that are kept, and the one that is coming
                )
            else:
                targets = await self._outputs.grant(
                    message.attempt_id, brief.owner_id, message.files, held.grant.disk_bytes
                )
        except OutputsRefused as refused:
            return UploadGrant(
                attempt_id=message.attempt_id, fence=message.fence, request=message.request, refused=str(refused)
            )
        return UploadGrant(
            attempt_id=message.attempt_id, fence=message.fence, request=message.request, targets=tuple(targets)
        )

    async def _checkpoint(self, node: FleetNode, held: Held, message: CheckpointSaved) -> Wire:
        """Saved means that it can be restored: the hub has every byte of it."""
        problem = None
        try:
            files = await self._checkpoints.complete(held.job_id, held.order.slice_index, message.files)
            unused = await self._context.db.run(
                checkpoints.save,
                message.attempt_id,
                message.fence,
                node.traits.node_id,
                message.number,
                files,
                message.running_seconds,
                self._context.now(),
            )
            if unused:
                self._in_background(self._checkpoints.free(unused))
        except CheckpointIncomplete as incomplete:
            problem = str(incomplete)
        except StaleLease as stale:
            return _refused(message, stale.code, stale.message)
        return ReportAck(attempt_id=message.attempt_id, fence=message.fence, sequence=message.sequence, problem=problem)

    async def _gone(self, node: FleetNode, message: Gone) -> Wire:
        held = node.attempts.get(message.attempt_id)
        if message.reason in OWNER_REASONS:
            ended = Ending(Verdict.OWNER, "taken_back_by_owner", detail=message.reason, lost=True)
        elif message.reason == PREEMPTED:
            ended = Ending(Verdict.PREEMPTED, PREEMPTED, lost=True)
        elif message.reason == LEASE_OVER and held is not None and not held.renewed:
            # It had to end because nobody renewed its lease, and that may have been us: nobody is blamed. Whether it
            # is paid for, our own clock says.
            ours = was_our_fault(held)
            ended = Ending(Verdict.HUB, "hub_downtime", detail=message.reason, lost=True, is_hubs_fault=ours)
        else:
            ended = Ending(Verdict.HOST, "agent_restarted", detail=message.reason, lost=True)
        if await self._leases.lose(node, message.attempt_id, message.fence, ended) is None:
            return _refused(message, StaleLease.code, "This attempt is not this node's any more.")
        return ReportAck(attempt_id=message.attempt_id, fence=message.fence, sequence=message.sequence)

    async def _finished(self, node: FleetNode, sign_key: bytes, message: Finished) -> Wire:
        """The receipt is checked first; then one transaction gives the attempt its verdict and all that follows."""
        try:
            ended, facts = await self._judge(node, sign_key, message)
            end = End(message.attempt_id, message.fence, node.traits.node_id, ended, facts)
            held = node.attempts.get(message.attempt_id)
            result = await self._scheduler.endings.end(end, held.job_id if held is not None else None)
        except StaleLease as stale:
            return _refused(message, stale.code, stale.message)
        if result.applied is not Applied.DUPLICATE:
            self._scheduler.ended(node.traits.node_id, result)
            self._later(message.attempt_id)
        self._storage.log_ended(message.attempt_id)
        return ReportAck(attempt_id=message.attempt_id, fence=message.fence, sequence=message.sequence)

    async def _judge(self, node: FleetNode, sign_key: bytes, message: Finished) -> tuple[Ending, dict[str, object]]:
        """What the receipt says, if it can be believed; else the host's verdict."""
        facts: dict[str, object] = {"receipt": message.receipt.model_dump_json()}
        try:
            if message.receipt.key_id != key_id_of(sign_key):
                # Signed before the node replaced its key, and not heard of until now.
                found = await self._context.db.read(
                    find_key_of_order, node.traits.node_id, message.attempt_id, message.receipt.key_id
                )
                sign_key = found or sign_key
            body = verify(message.receipt, RECEIPT, {key_id_of(sign_key): load_public_key(sign_key)})
            receipt = Receipt.model_validate_json(body)
        except (SignatureRefused, ValidationError) as error:
            return Ending(Verdict.HOST, "bad_receipt", detail=str(error)), facts
        order, counts = await self._order(node, message)
        problem = await self._mismatch(order, node.traits.node_id, message, receipt)
        if problem is not None:
            log.warning("receipt.mismatch", attempt_id=message.attempt_id, problem=problem)
            return Ending(Verdict.HOST, "receipt_mismatch", receipt.exit_code, detail=problem), facts
        facts |= {"log_bytes": receipt.log_bytes, "log_digest": receipt.log_digest, "isolation": receipt.isolation}
        facts["usage"] = receipt.usage
        if receipt.outputs and counts:
            missing = await self._outputs.complete(message.attempt_id, receipt.outputs)
            if missing is not None:
                return Ending(Verdict.HOST, "outputs_missing", receipt.exit_code, detail=missing), facts
        return ending_of(EndReason(receipt.reason), receipt.exit_code, receipt.detail), facts

    async def _order(self, node: FleetNode, message: Finished) -> tuple[Order, bool]:
        """What the node was told to do, and whether that still counts. Only one that was given up is not in memory."""
        held = node.attempts.get(message.attempt_id)
        if held is not None and held.fence == message.fence:
            return held.order, True
        found = await self._context.db.read(find_order, message.attempt_id, node.traits.node_id, message.fence)
        if found is None:
            raise StaleLease(message.attempt_id, message.fence, "finished")
        return found

    async def _mismatch(self, order: Order, node_id: str, message: Finished, receipt: Receipt) -> str | None:
        claims = (receipt.attempt_id, receipt.fence, receipt.node_id, receipt.job_id, receipt.spec_digest)
        facts = (message.attempt_id, message.fence, node_id, order.job_id, order.spec_digest)
        if claims != facts:
            return "the receipt is of another attempt"
        if receipt.manifest_digest != order.manifest_digest:
            return "the receipt is of another manifest"
        ran = receipt.exit_code is not None
        if ran and (receipt.isolation is None or receipt.isolation.rank < order.isolation.rank):
            return f"it ran at {receipt.isolation or 'no level'}, below {order.isolation}"
        if await self._logs.size(message.attempt_id) != receipt.log_bytes:
            return "the log is not whole"
        if receipt.log_bytes and await self._logs.digest(message.attempt_id) != receipt.log_digest:
            return "the log's digest does not match"
        return None

    def _later(self, attempt_id: str) -> None:
        """Sealing the log is not what the agent waits for."""
        self._in_background(self._seal(attempt_id))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _seal(self, attempt_id: str) -> None:
        try:
            await self._logs.seal(attempt_id)
        except Exception:
            log.exception("log.seal_failed", attempt_id=attempt_id)  # it is whole all the same, in pieces
        finally:
            self._logs.forget(attempt_id)
        await self._outputs.give_up_unfinished(attempt_id)


def _refused(ref: AttemptRef, code: str, message: str) -> Refused:
    return Refused(attempt_id=ref.attempt_id, fence=ref.fence, code=code, message=message)
