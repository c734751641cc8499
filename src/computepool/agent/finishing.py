"""An attempt's last part: its outputs go up, its log arrives whole, its receipt is signed and handed over."""

import asyncio
import contextlib
import hashlib
import logging
from pathlib import Path

from computepool.agent.attempt import Attempt, EndMode, EndRequest
from computepool.agent.egress.allowance import for_strangers
from computepool.agent.faults import AttemptOver, FaultPlace, at, plain
from computepool.agent.journal import Ended
from computepool.agent.link.base import carried_bytes
from computepool.agent.outputs import Collected, Collection, collect, has_nothing_to_keep
from computepool.agent.pieces import in_pieces
from computepool.agent.uploads import UPLOAD_SECONDS, UploadFailed, Uploads
from computepool.agent.workshop import Workshop, ask_for_places
from computepool.protocol.messages import MESSAGE_LIMIT_BYTES, Finished, UploadFile, UploadGrant
from computepool.protocol.receipt import RECEIPT, EndReason, Receipt, Usage, reason_for
from computepool.protocol.states import AttemptState

log = logging.getLogger(__name__)

FINISHED_LIMIT_BYTES = MESSAGE_LIMIT_BYTES - 4096
"""The rest is for what a polled line's request says beside its message."""
TELL_FINISHING_SECONDS = 5.0
"""After a command's end: most results are there sooner, and a state costs the hub a transaction."""
LOG_LOOKS = 6 * 360
"""So many looks between which some of the log arrived, and not all: 6 hours."""
CANCELED_LOG_LOOKS = 2
"""Of one that was canceled: nobody waits for the rest of its log."""
_KEPT_AFTER = frozenset({EndReason.EXITED, EndReason.MEMORY, EndReason.RUNTIME})
"""Ends after which what the job had written so far is still worth keeping."""


async def finish(shop: Workshop, attempt: Attempt, ended: Ended) -> None:
    """Leaves a `Finished` among the attempt's reports, unless it was told meanwhile that nobody wants one."""
    for_strangers.set(not attempt.own)
    attempt.state = AttemptState.FINISHING
    files: tuple[Collected, ...] = ()
    if ended.started_at is not None and ended.reason in _KEPT_AFTER and attempt.folder is not None:
        ended, files = await _keep_outputs(shop, attempt, ended, Path(attempt.folder))
    ended = await _deliver_log(shop, attempt, ended)
    if attempt.ending is not None and attempt.ending.mode is not EndMode.FINISH:
        return
    finished = _finished(shop, attempt, ended, files)
    if files and carried_bytes(finished.to_bytes().decode()) > FINISHED_LIMIT_BYTES:
        # No line could carry it: each would break, for a day, and with it every other attempt's report.
        ended = _outputs_lost(ended, EndReason.OUTPUTS, "their list does not fit into one message: pack them")
        finished = _finished(shop, attempt, ended, ())
    attempt.over_at = shop.clock.monotonic()
    attempt.reports.add(finished, attempt.over_at)
    shop.outgoing.put(finished)
    log.info(
        "attempt.finished",
        extra={"attempt_id": attempt.id, "reason": ended.reason.value, "exit_code": ended.exit_code},
    )


async def _deliver_log(shop: Workshop, attempt: Attempt, ended: Ended) -> Ended:
    """Until the hub has all of it. How long the log is, the job decides: what takes too long is left out."""
    spent_seconds = 0.0
    while True:
        had = attempt.log.acked_bytes
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(shop.log_look_seconds):
                await attempt.log.delivered()
                return ended
        if attempt.log.acked_bytes > had:
            # While nothing goes forward the hub is away, and counts that time for nobody.
            spent_seconds += shop.log_look_seconds
        is_canceled = attempt.ending is not None and attempt.ending.reason is EndReason.CANCELED
        if spent_seconds >= (CANCELED_LOG_LOOKS if is_canceled else LOG_LOOKS) * shop.log_look_seconds:
            return await _cut_log_off(shop, attempt, ended)


async def _cut_log_off(shop: Workshop, attempt: Attempt, ended: Ended) -> Ended:
    end = await attempt.log.cut_off()
    left_out = ended.log.size_bytes - end
    sealed = await shop.offload(attempt.spool.cut_off, end)
    detail = f"the last {left_out} bytes of the log were left out: they would have taken too long to send"
    log.warning("log.cut_off", extra={"attempt_id": attempt.id, "left_out_bytes": left_out})
    ended = _changed(ended, ended.reason, "; ".join(filter(None, (ended.detail, detail))))
    ended = attempt.ended = ended.model_copy(update={"log": sealed})
    note_ended(shop, attempt, ended)
    return ended


def tell_late(shop: Workshop, attempt: Attempt, now: float) -> None:
    """What could wait: that its command is over, if the result takes a while, and its end, if the journal was full."""
    if attempt.command_over_at is not None and now - attempt.command_over_at >= TELL_FINISHING_SECONDS:
        shop.tell_finishing(attempt)
    if attempt.unwritten and attempt.ended is not None:
        note_ended(shop, attempt, attempt.ended)


def note_ended(shop: Workshop, attempt: Attempt, ended: Ended) -> None:
    """For an agent that is restarted before the hub has heard it."""
    try:
        if attempt.folder is not None:
            shop.journal.write_ended(attempt.id, ended)
        attempt.unwritten = False
    except Exception as error:
        # The result is still in memory, and is written when there is room: only a crash until then would lose it.
        if not attempt.unwritten:
            log.warning("journal.failed", extra={"attempt_id": attempt.id, "reason": repr(error)})
        attempt.unwritten = True


def _finished(shop: Workshop, attempt: Attempt, ended: Ended, files: tuple[Collected, ...]) -> Finished:
    receipt = _receipt(shop, attempt, ended, files)
    return Finished(
        attempt_id=attempt.id,
        fence=attempt.manifest.fence,
        sequence=attempt.reports.next_sequence(),
        receipt=shop.identity.sign(RECEIPT, receipt.to_bytes()),
    )


async def _keep_outputs(
    shop: Workshop, attempt: Attempt, ended: Ended, folder: Path
) -> tuple[Ended, tuple[Collected, ...]]:
    globs = attempt.manifest.outputs
    if has_nothing_to_keep(folder, globs):
        return ended, ()

    async def keep() -> Collection:
        async with at(FaultPlace.COLLECT, attempt):
            return await _collect_and_upload(shop, attempt, folder)

    work = asyncio.ensure_future(keep())

    def interrupt(_: EndRequest) -> None:
        work.cancel()

    attempt.on_end_request = interrupt
    try:
        collection = await work
    except asyncio.CancelledError:
        if attempt.ending is None or not attempt.was_interrupted:
            raise
        return _changed(ended, attempt.ending.reason, attempt.ending.detail), ()
    except AttemptOver as over:
        return _outputs_lost(ended, over.reason, over.detail), ()
    finally:
        attempt.on_end_request = None
    if collection.notes:
        ended = _changed(ended, ended.reason, "; ".join(filter(None, (ended.detail, *collection.notes))))
    return ended, collection.files


async def _collect_and_upload(shop: Workshop, attempt: Attempt, folder: Path) -> Collection:
    manifest = attempt.manifest
    collecting = collect(folder, manifest.outputs, limit_bytes=manifest.grant.disk_bytes)
    collection = await in_pieces(shop.offload, collecting)
    if collection.files:
        shop.tell_finishing(attempt)

        async def ask(files: tuple[UploadFile, ...]) -> UploadGrant:
            return await ask_for_places(shop, attempt, files, "output")

        try:
            await Uploads(folder, shop.transfer, ask, UPLOAD_SECONDS).put_all(collection.files)
        except UploadFailed as error:
            raise AttemptOver(EndReason.SANDBOX, str(error)) from error
    return collection


def _outputs_lost(ended: Ended, reason: EndReason, detail: str) -> Ended:
    """A job that failed anyway keeps its own reason; one that went well did not, without its outputs."""
    if ended.reason is EndReason.EXITED and ended.exit_code == 0:
        return _changed(ended, reason, detail)
    return _changed(ended, ended.reason, f"{ended.detail}; outputs: {detail}".lstrip("; "))


def _changed(ended: Ended, reason: EndReason, detail: str) -> Ended:
    return ended.model_copy(update={"reason": reason, "detail": plain(detail)})


def _receipt(shop: Workshop, attempt: Attempt, ended: Ended, files: tuple[Collected, ...]) -> Receipt:
    manifest = attempt.manifest
    return Receipt(
        node_id=manifest.node_id,
        job_id=manifest.job_id,
        attempt_id=manifest.attempt_id,
        fence=manifest.fence,
        spec_digest=manifest.spec_digest,
        manifest_digest="sha256:" + hashlib.sha256(attempt.signed.body.encode()).hexdigest(),
        isolation=ended.isolation,
        image_digest=ended.image_digest,
        exit_code=ended.exit_code,
        reason=reason_for(ended.reason, shop.hub_end_reasons),
        detail=ended.detail,
        log_bytes=ended.log.size_bytes,
        log_digest=ended.log.digest,
        outputs=tuple(file.ref for file in files),
        usage=Usage(
            running_seconds=ended.running_seconds,
            cpu_seconds=ended.cpu_seconds,
            peak_memory_bytes=ended.peak_memory_bytes,
            setup_seconds=ended.setup_seconds,
            suspended_seconds=ended.suspended_seconds,
            network_bytes=ended.network_bytes,
            power_capped_seconds=ended.power_capped_seconds,
        ),
        started_at=ended.started_at,
        finished_at=ended.finished_at,
    )
