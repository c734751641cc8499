"""One attempt's life: prepare, set up, run, and hand over to finishing. It ends in a receipt, whatever happens.

A canceled task is a dead agent: nothing here writes or sends on the way out of a cancellation, so what is on disk is
exactly what a restarted agent would find.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

from computepool.agent.attempt import Attempt, EndMode, EndRequest
from computepool.agent.checkpoints import Checkpoints, LastSave
from computepool.agent.commands import Commands
from computepool.agent.egress.allowance import for_strangers
from computepool.agent.faults import AttemptOver, FaultPlace, at, plain
from computepool.agent.finishing import finish, note_ended
from computepool.agent.journal import Ended, Lease
from computepool.agent.placement import choose_sandbox, why_no_sandbox
from computepool.agent.preparing import prepare
from computepool.agent.sandbox.interface import Sandbox
from computepool.agent.workshop import Workshop
from computepool.protocol.receipt import CONTINUE_LATER, EndReason
from computepool.protocol.versions import unsafe_software

log = logging.getLogger(__name__)


async def run_attempt(shop: Workshop, attempt: Attempt) -> None:
    """From the offer to the signed receipt. Returns early where nobody wants one any more."""
    for_strangers.set(not attempt.own)
    try:
        async with at(FaultPlace.ACCEPT, attempt):
            sandbox, folder = _accept(shop, attempt)
        async with at(FaultPlace.START, attempt):
            ended = await _until_ended(shop, attempt, sandbox, folder)
    except AttemptOver as over:
        ended = _unstarted(shop, attempt, over)
    await _hand_over(shop, attempt, ended)


async def decline(shop: Workshop, attempt: Attempt, detail: str) -> None:
    """An offer that is not taken still gets a receipt that says why."""
    log.info("attempt.declined", extra={"attempt_id": attempt.id, "reason": detail})
    with contextlib.suppress(OSError):
        shop.journal.write_refusal(attempt.id)
    await _hand_over(shop, attempt, _unstarted(shop, attempt, AttemptOver(EndReason.DECLINED, detail)))


async def _hand_over(shop: Workshop, attempt: Attempt, ended: Ended) -> None:
    attempt.ended = ended
    if attempt.ending is not None and attempt.ending.mode is not EndMode.FINISH:
        return
    note_ended(shop, attempt, ended)
    await finish(shop, attempt, ended)


def _accept(shop: Workshop, attempt: Attempt) -> tuple[Sandbox, Path]:
    """Where it runs. Nothing that the job chose is touched."""
    sandbox = _sandbox_for(shop, attempt)
    folder = Path(sandbox.attempts_folder, attempt.id)
    lease = Lease(
        manifest=attempt.signed,
        isolation=sandbox.level,
        folder=str(folder),
        accepted_at=shop.hub_time.now(),
        own=attempt.own,
    )
    shop.journal.write_lease(attempt.id, lease)
    attempt.folder, attempt.isolation = str(folder), sandbox.level
    shop.folders.take(sandbox, attempt.id)
    return sandbox, folder


async def _until_ended(shop: Workshop, attempt: Attempt, sandbox: Sandbox, folder: Path) -> Ended:
    prepared = await prepare(shop, attempt, sandbox, folder)
    commands = Commands(shop, attempt, sandbox, folder, prepared)
    checkpoints = Checkpoints(shop, attempt, folder)
    try:
        async with at(FaultPlace.RUN, attempt):
            return await _run_commands(attempt, commands, checkpoints)
    except AttemptOver as over:
        return await commands.ended_by(over)
    finally:
        for part in (commands, checkpoints):
            # How it ended is decided: what cannot be put away changes nothing about it.
            try:
                await part.close()
            except Exception as error:
                log.warning("attempt.untidy", extra={"attempt_id": attempt.id}, exc_info=error)


async def _run_commands(attempt: Attempt, commands: Commands, checkpoints: Checkpoints) -> Ended:
    if attempt.manifest.setup and not await commands.set_up():
        return await commands.ended()
    saving = asyncio.ensure_future(checkpoints.keep())
    try:
        await commands.run()
    finally:
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
    ended = await commands.ended()
    # From here on the machine is free again: nobody waits for what is still to be uploaded.
    attempt.ended = ended
    goes_on = commands.left_by_itself and _is_to_be_continued(attempt, ended)
    if goes_on:
        last = await checkpoints.save_last()
        if last is LastSave.UNSENT:
            # Not the renter's doing: another attempt goes on from what the hub has.
            attempt.request_end(EndRequest(EndMode.GONE, detail="its last checkpoint could not be sent"))
        elif last is LastSave.REFUSED:
            # Its log is sealed by now, so the receipt is where the renter learns it.
            detail = "; ".join(filter(None, (ended.detail, f"the checkpoint was not saved: {checkpoints.problem}")))
            ended = attempt.ended = ended.model_copy(update={"detail": plain(detail)})
    return ended


def _is_to_be_continued(attempt: Attempt, ended: Ended) -> bool:
    """It asked for it, or has to make room. One that left by itself has its folder as it wants it."""
    if attempt.ending is not None:
        return attempt.ending.mode is EndMode.GONE
    return ended.exit_code == CONTINUE_LATER


def _sandbox_for(shop: Workshop, attempt: Attempt) -> Sandbox:
    owner = attempt.owner
    unsafe = () if owner.trusted else tuple(one.name for one in unsafe_software(shop.capacity.software))
    sandbox = choose_sandbox(shop.sandboxes, attempt.manifest, shop.least_isolation, unsafe, owner=owner)
    if sandbox is None:
        why = why_no_sandbox(shop.sandboxes, attempt.manifest, shop.least_isolation, owner=owner)
        raise AttemptOver(EndReason.DECLINED, why)
    return sandbox


def _unstarted(shop: Workshop, attempt: Attempt, over: AttemptOver) -> Ended:
    sealed = attempt.spool.seal()
    attempt.log.flush()
    return Ended(
        exit_code=None,
        reason=over.reason,
        detail=over.detail,
        finished_at=shop.hub_time.now(),
        log=sealed,
    )
