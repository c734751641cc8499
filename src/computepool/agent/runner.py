"""One attempt's life: prepare, run, and hand over to finishing. It ends in a receipt, whatever happens on the way.

A canceled task is a dead agent: nothing here writes or sends on the way out of a cancellation, so what is on disk is
exactly what a restarted agent would find.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

from computepool.agent.archive import ArchiveLimits, ArchiveRefused, extract
from computepool.agent.attempt import Attempt, EndMode, EndRequest
from computepool.agent.disk import has_no_room_left, is_disk_trouble
from computepool.agent.finishing import finish
from computepool.agent.inputs import InputFailed
from computepool.agent.journal import Ended, Lease
from computepool.agent.logs import LogIntake
from computepool.agent.placement import WORK, choose_sandbox, job_environment, limits_of
from computepool.agent.sandbox.interface import Command, Exit, Process, Sandbox, SandboxError
from computepool.agent.workshop import Workshop
from computepool.protocol.receipt import EndReason

log = logging.getLogger(__name__)

PIPE_PATIENCE_SECONDS = 1.0
"""After the command and all it started are gone, how long to wait for the end of its output."""

_REASONS = {
    "exited": (EndReason.EXITED, ""),
    "memory": (EndReason.MEMORY, "the job used more memory than it asked for"),
    "disk": (EndReason.DISK, "the job wrote more to disk than it asked for"),
    "pids": (EndReason.EXITED, "the job started more processes than it may"),
    "killed": (EndReason.EXITED, "the job was ended from outside"),
    "start_failed": (EndReason.SANDBOX, "the sandbox broke before the command ran"),
    "not_runnable": (EndReason.START_FAILED, ""),
}


class Unstarted(Exception):
    """The command was never run, for this reason."""

    def __init__(self, reason: EndReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


async def run_attempt(shop: Workshop, attempt: Attempt) -> None:
    """From the offer to the signed receipt. Returns early where nobody wants one any more."""
    try:
        ended = await _until_ended(shop, attempt)
    except Unstarted as unstarted:
        ended = _unstarted(shop, attempt, unstarted.reason, unstarted.detail)
    except OSError as error:
        reason = EndReason.NODE_DISK if is_disk_trouble(error) else EndReason.SANDBOX
        log.warning("attempt.node_trouble", extra={"attempt_id": attempt.id, "reason": str(error)})
        ended = _unstarted(shop, attempt, reason, f"trouble on the node: {error}")
    except Exception as error:
        # One attempt's bug is not the other attempts' end.
        log.exception("attempt.fault", extra={"attempt_id": attempt.id})
        ended = _unstarted(shop, attempt, EndReason.SANDBOX, f"fault of the agent: {type(error).__name__}: {error}")
    await _hand_over(shop, attempt, ended)


async def decline(shop: Workshop, attempt: Attempt, detail: str) -> None:
    """An offer that is not taken still gets a receipt that says why."""
    log.info("attempt.declined", extra={"attempt_id": attempt.id, "reason": detail})
    with contextlib.suppress(OSError):
        shop.journal.write_refusal(attempt.id)
    await _hand_over(shop, attempt, _unstarted(shop, attempt, EndReason.DECLINED, detail))


async def _hand_over(shop: Workshop, attempt: Attempt, ended: Ended) -> None:
    attempt.ended = ended
    if attempt.ending is not None and attempt.ending.mode is not EndMode.FINISH:
        return
    try:
        if attempt.folder is not None:
            shop.journal.write_ended(attempt.id, ended)
    except OSError as error:
        # The result is still in memory; only a crash right now would lose it.
        log.warning("journal.failed", extra={"attempt_id": attempt.id, "reason": str(error)})
    await finish(shop, attempt, ended)


async def _until_ended(shop: Workshop, attempt: Attempt) -> Ended:
    manifest = attempt.manifest
    sandbox = _sandbox_for(shop, attempt)
    folder = Path(sandbox.attempts_folder, attempt.id)
    lease = Lease(
        manifest=attempt.signed,
        isolation=sandbox.level,
        folder=str(folder),
        accepted_at=shop.hub_time.now(),
    )
    shop.journal.write_lease(attempt.id, lease)
    attempt.folder = str(folder)
    shop.folders.take(sandbox, attempt.id)
    if manifest.bundle is not None:
        await _prepare(shop, attempt, sandbox, folder)
    command = Command(
        argv=manifest.argv,
        env=job_environment(manifest, sandbox, folder),
        folder=folder,
        limits=limits_of(manifest.grant),
        cwd=WORK,
        gpus=manifest.grant.gpus,
        devices=shop.devices_for(manifest.grant.gpus),
    )
    _raise_if_ending(attempt)
    try:
        process = await sandbox.start(command)
    except SandboxError as error:
        raise Unstarted(EndReason.SANDBOX, str(error)) from None
    try:
        return await _supervise(shop, attempt, sandbox, process)
    except Exception:
        # Whatever went wrong on this side, no command goes on that nobody looks after.
        await process.stop(0)
        raise


def _sandbox_for(shop: Workshop, attempt: Attempt) -> Sandbox:
    manifest = attempt.manifest
    if manifest.network:
        raise Unstarted(EndReason.DECLINED, "this agent does not offer network access to jobs yet")
    sandbox = choose_sandbox(shop.sandboxes, manifest.isolation, own=manifest.own)
    if sandbox is None:
        has = ", ".join(sandbox.level for sandbox in shop.sandboxes) or "nothing"
        raise Unstarted(EndReason.DECLINED, f"isolation {manifest.isolation} or better is asked, this node has {has}")
    return sandbox


async def _prepare(shop: Workshop, attempt: Attempt, sandbox: Sandbox, folder: Path) -> None:
    """Bundle from the cache or the hub, unpacked where the command will run. A stop interrupts it."""
    shop.tell(attempt, "preparing")
    work = asyncio.ensure_future(_unpack_bundle(shop, attempt, sandbox, folder))

    def interrupt(_: EndRequest) -> None:
        work.cancel()

    attempt.on_end_request = interrupt
    try:
        await work
    except asyncio.CancelledError:
        if attempt.was_interrupted:
            _raise_if_ending(attempt)
        raise
    finally:
        attempt.on_end_request = None


async def _unpack_bundle(shop: Workshop, attempt: Attempt, sandbox: Sandbox, folder: Path) -> None:
    bundle = attempt.manifest.bundle
    assert bundle is not None
    try:
        archive = await shop.cache.get(bundle, attempt.downloads.get(bundle.digest, ()))
    except InputFailed as error:
        raise Unstarted(EndReason.INPUT, str(error)) from None
    try:
        limits = ArchiveLimits(disk_bytes=attempt.manifest.grant.disk_bytes)
        await shop.offload(extract, archive, folder / WORK, limits=limits)
    except ArchiveRefused as error:
        raise Unstarted(EndReason.BUNDLE, str(error)) from None
    await shop.offload(sandbox.adopt, folder)


def _raise_if_ending(attempt: Attempt) -> None:
    if attempt.ending is not None:
        raise Unstarted(attempt.ending.reason, attempt.ending.detail)


async def _supervise(shop: Workshop, attempt: Attempt, sandbox: Sandbox, process: Process) -> Ended:
    """The command runs: take its output, keep its time, end it when asked."""
    started_at, started = shop.hub_time.now(), shop.clock.monotonic()
    attempt.started_monotonic = started
    shop.tell(attempt, "running", sandbox.level)
    intake = LogIntake(
        shop.open_output(process), attempt.spool, attempt.log, shop.clock, lambda error: _disk_full(attempt, error)
    )
    intake.start()
    stops: list[asyncio.Task[None]] = []

    def end(request: EndRequest) -> None:
        stops.append(asyncio.ensure_future(process.stop(request.grace_seconds)))

    attempt.on_end_request = end
    if attempt.ending is not None:
        end(attempt.ending)
    timer = asyncio.get_running_loop().call_later(
        attempt.manifest.max_runtime_seconds, attempt.request_end, out_of_time(attempt)
    )
    try:
        exited = await process.wait()
    finally:
        timer.cancel()
        attempt.on_end_request = None
    running_seconds = shop.clock.monotonic() - started
    finished_at = shop.hub_time.now()
    if stops:
        await asyncio.gather(*stops)
    await intake.finish(PIPE_PATIENCE_SECONDS)
    if not exited.ran:
        reason, detail = _why_it_ended(attempt, exited)
        return _unstarted(shop, attempt, reason, ": ".join(filter(None, (detail, process.complaint))))
    sealed = await shop.offload(attempt.spool.seal) if attempt.spool.has_tail else attempt.spool.seal()
    attempt.log.flush()
    reason, detail = _why_it_ended(attempt, exited)
    if reason is EndReason.EXITED and exited.code != 0 and attempt.folder and has_no_room_left(attempt.folder):
        reason, detail = EndReason.NODE_DISK, "the node's disk is full"
    return Ended(
        exit_code=exited.code,
        reason=reason,
        detail=detail,
        isolation=sandbox.level,
        running_seconds=running_seconds,
        cpu_seconds=exited.cpu_seconds,
        peak_memory_bytes=exited.peak_memory_bytes,
        started_at=started_at,
        finished_at=finished_at,
        log=sealed,
    )


def out_of_time(attempt: Attempt) -> EndRequest:
    limit = attempt.manifest.max_runtime_seconds
    return EndRequest(EndMode.FINISH, EndReason.RUNTIME, f"the job ran longer than its {limit:g} s", grace_seconds=5.0)


def _disk_full(attempt: Attempt, error: OSError) -> None:
    log.warning("attempt.disk_full", extra={"attempt_id": attempt.id, "reason": str(error)})
    attempt.request_end(EndRequest(EndMode.FINISH, EndReason.NODE_DISK, f"the node's disk: {error.strerror}"))


def _why_it_ended(attempt: Attempt, exited: Exit) -> tuple[EndReason, str]:
    # A command that left by itself while it was about to be stopped was stopped: its result is not whole.
    if attempt.ending is not None:
        return attempt.ending.reason, attempt.ending.detail
    reason, detail = _REASONS[exited.reason]
    return reason, detail or exited.detail


def _unstarted(shop: Workshop, attempt: Attempt, reason: EndReason, detail: str) -> Ended:
    sealed = attempt.spool.seal()
    attempt.log.flush()
    return Ended(
        exit_code=None,
        reason=reason,
        detail=detail[:500],
        finished_at=shop.hub_time.now(),
        log=sealed,
    )
