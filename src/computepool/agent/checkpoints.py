"""Saves a job's checkpoint folder: on a period while it runs, and once more when it left in an orderly way.

Saved means that the hub has every byte and has said so. What has not changed is not sent again. The copy is taken while
the job stands still, and preferably when it has just stopped writing: then even a job that writes its files in place is
caught between two of them, not within one.

The copy counts against the disk that the job was granted: it is not made where it does not fit, and given up when the
job wants the room. The last checkpoint needs none: nobody writes there any more.
"""

import asyncio
import contextlib
import logging
import os
import time
from enum import StrEnum
from pathlib import Path

from computepool.agent.attempt import Attempt
from computepool.agent.faults import FaultPlace, reason_of
from computepool.agent.outputs import Collected, OutputsRefused
from computepool.agent.pieces import in_pieces
from computepool.agent.placement import checkpoint_place
from computepool.agent.ports import TransferFailed
from computepool.agent.resting import RestReason
from computepool.agent.sandbox.interface import SandboxError
from computepool.agent.sandbox.space import folder_bytes
from computepool.agent.sandbox.watchdog import DISK_SECONDS, pause_after
from computepool.agent.snapshots import FILES, FileLook, Known, copy_files, find_changed, hash_files, look_at
from computepool.agent.trees import ENTRY_BYTES, Uncountable, open_folder
from computepool.agent.uploads import UploadFailed, Uploads
from computepool.agent.workshop import Workshop, ask_for_places
from computepool.protocol.checkpoint_list import find_list_problem
from computepool.protocol.manifest import SavedFile
from computepool.protocol.messages import CheckpointSaved, UploadFile, UploadGrant
from computepool.protocol.receipt import EndReason
from computepool.protocol.timing import LAST_CHECKPOINT_SECONDS

log = logging.getLogger(__name__)

QUIET_SECONDS = 1.0
"""Nothing in the folder changed for so long: the job is not in the middle of writing."""
QUIET_PATIENCE_SECONDS = 60.0
"""A job that never stops writing is caught in the middle all the same."""
LAST_TRIES = 2
"""Of a last checkpoint that the hub does not take: it may have let some of its files go meanwhile."""
DIGEST = "sha256:" + 64 * "0"
"""Stands for those that are not known yet."""


class LastSave(StrEnum):
    SAVED = "saved"
    """All that the job saved is at the hub."""
    REFUSED = "refused"
    """It is too large, or cannot be read: the renter's to mend."""
    UNSENT = "unsent"


class Checkpoints:
    """Of one attempt."""

    def __init__(self, shop: Workshop, attempt: Attempt, folder: Path) -> None:
        self._shop = shop
        self._attempt = attempt
        self._folder = folder
        self._place = checkpoint_place(attempt.manifest)
        self._staging = shop.staging / attempt.id
        self._number = self._reported = attempt.manifest.saved.number if attempt.manifest.saved else 0
        self._known: dict[str, Known] = {}
        self._refused: str | None = None
        self._is_refused = False
        self._uploads: Uploads | None = None
        self._last_timeout: asyncio.Timeout | None = None
        self._copied = False
        self._turn = asyncio.Lock()

    async def keep(self) -> None:
        """While the command runs: save what changed, now and then. Never raises for the job's or the hub's trouble."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._attempt.manifest.checkpoint_seconds):
                    await self._attempt.save_soon.wait()
            self._attempt.save_soon.clear()
            looks = await self._until_quiet()
            # One that was asked to end needs its grace for itself.
            if looks and self._is_new(looks) and self._attempt.ending is None:
                await self._save()

    async def save_last(self) -> LastSave:
        """The command is gone, and left in an orderly way."""
        self._uploads = None
        try:
            async with asyncio.timeout(LAST_CHECKPOINT_SECONDS) as self._last_timeout:
                looks = await self._look()
                if not looks or not self._is_new(looks):
                    return LastSave.REFUSED if self._is_refused else LastSave.SAVED
                self._shop.tell_finishing(self._attempt)
                for _ in range(LAST_TRIES):
                    if await self._save(in_place=True):
                        return LastSave.SAVED
                    if not self._is_refused:
                        return LastSave.UNSENT
                return LastSave.REFUSED
        except TimeoutError:
            log.warning("checkpoint.given_up", extra={"attempt_id": self._attempt.id})
            # What could not be read in time, or went forward, was only too much of it. A line on which nothing goes
            # forward is the node's.
            return LastSave.REFUSED if self._is_too_much() else LastSave.UNSENT
        finally:
            self._last_timeout = None

    def _is_too_much(self) -> bool:
        return self._uploads is None or self._uploads.parts_put > 0

    @property
    def problem(self) -> str:
        """Why the newest one was not saved."""
        return self._refused or "it took too long to read or to send"

    async def close(self) -> None:
        """Away with the copy."""
        if self._copied:
            self._copied = False
            await self._shop.unremoved.remove([str(self._staging)])

    def _is_new(self, looks: dict[str, FileLook]) -> bool:
        return looks != {path: known.look for path, known in self._known.items()}

    async def _look(self) -> dict[str, FileLook]:
        try:
            return await self._look_at()
        except Exception as error:
            self._failed(error)
            return {}

    async def _look_at(self) -> dict[str, FileLook]:
        limit_bytes = self._attempt.manifest.grant.disk_bytes
        return await in_pieces(self._shop.offload, look_at(self._folder, self._place, limit_bytes))

    async def _until_quiet(self) -> dict[str, FileLook]:
        waited = 0.0
        looks = await self._look()
        while looks and waited < QUIET_PATIENCE_SECONDS:
            await asyncio.sleep(QUIET_SECONDS)
            waited += QUIET_SECONDS
            again = await self._look()
            if again == looks:
                break
            looks = again
        return looks

    async def _save(self, *, in_place: bool = False) -> bool:
        """With `in_place` nobody writes to the folder any more."""
        async with self._turn:
            try:
                await (self._save_in_place() if in_place else self._save_copy())
                is_saved = True
            except Exception as error:
                self._known.clear()
                self._failed(error)
                is_saved = False
            await self.close()
            return is_saved

    async def _save_in_place(self) -> None:
        looks = await self._look_well()
        await self._send(looks, find_changed(looks, self._known), self._folder, self._place)

    async def _save_copy(self) -> None:
        looks, changed = await self._copy()
        copied_bytes = _copy_bytes(looks, changed)
        sending = asyncio.ensure_future(self._send(looks, changed, self._staging, FILES))
        watching = asyncio.ensure_future(self._until_no_room(copied_bytes))
        try:
            await asyncio.wait([sending, watching], return_when=asyncio.FIRST_COMPLETED)
            await (sending if sending.done() else watching)
        finally:
            for task in (sending, watching):
                task.cancel()
            await asyncio.gather(sending, watching, return_exceptions=True)

    async def _send(self, looks: dict[str, FileLook], changed: list[str], folder: Path, place: str) -> None:
        files = await in_pieces(self._shop.offload, hash_files(folder, place, changed))
        seconds = self._attempt.ran_seconds(self._shop.clock.monotonic())
        if self._last_timeout is not None:
            # How long it takes to read the files, the job decides: the line has its time for itself.
            self._last_timeout.reschedule(asyncio.get_running_loop().time() + LAST_CHECKPOINT_SECONDS)
        self._uploads = Uploads(folder, self._shop.transfer, self._ask)
        await self._uploads.put_all(list(files.values()))
        await self._report(looks, files, seconds)

    def _failed(self, error: Exception) -> None:
        """The job decides what is in the folder: only the node's own disk, sandbox and uplink are not its doing."""
        is_nodes = reason_of(FaultPlace.SAVE, error, within_grant=True) is EndReason.NODE_DISK
        self._is_refused = not is_nodes and not isinstance(error, UploadFailed | TransferFailed | SandboxError)
        self._tell_refused(str(error) or type(error).__name__)

    async def _look_well(self) -> dict[str, FileLook]:
        """Raises OutputsRefused."""
        looks = await self._look_at()
        files = [SavedFile(path=path, digest=DIGEST, size_bytes=0) for path in looks]
        problem = await self._shop.offload(find_list_problem, files)
        if problem is not None:
            raise OutputsRefused(problem)
        return looks

    async def _copy(self) -> tuple[dict[str, FileLook], list[str]]:
        """All that is there, and what of it was copied. While it is copied the job stands still."""
        rest = self._attempt.rest
        try:
            await rest.hold(RestReason.COPY)
            # Once more: it may have written since.
            looks = await self._look_well()
            changed = find_changed(looks, self._known)
            await self._check_room(_copy_bytes(looks, changed))
            self._copied = True
            await in_pieces(self._shop.offload, copy_files(self._folder, self._place, changed, self._staging))
            return looks, changed
        finally:
            await rest.let_go(RestReason.COPY)

    async def _check_room(self, copied_bytes: int) -> None:
        """Raises OutputsRefused."""
        disk_bytes = self._attempt.manifest.grant.disk_bytes
        room_bytes = disk_bytes - copied_bytes
        root = open_folder(self._folder)
        try:
            has_room = room_bytes >= 0 and await folder_bytes(root, enough=room_bytes) <= room_bytes
        except Uncountable:
            has_room = False
        finally:
            os.close(root)
        if not has_room:
            raise OutputsRefused(
                f"a copy of what changed does not fit on the job's disk ({disk_bytes} bytes) beside the rest: ask for"
                " more with resources.disk"
            )

    async def _until_no_room(self, copied_bytes: int) -> None:
        """While the copy is sent the job goes on, and may write: its disk is for both. Raises OutputsRefused."""
        pause = DISK_SECONDS
        while True:
            await asyncio.sleep(pause)
            started = time.monotonic()
            # What cannot be opened now is the watchdog's to judge.
            with contextlib.suppress(OSError):
                await self._check_room(copied_bytes)
            pause = pause_after(time.monotonic() - started)

    async def _report(self, looks: dict[str, FileLook], sent: dict[str, Collected], seconds: float) -> None:
        shop, attempt = self._shop, self._attempt
        files = {path: sent.get(path) or self._known[path].file for path in looks}
        # Never one that was said before: its answer may still be on its way.
        number = self._reported = self._reported + 1
        report = CheckpointSaved(
            attempt_id=attempt.id,
            fence=attempt.manifest.fence,
            # Beside the count of reports: those settle all that came before them, a checkpoint does not.
            sequence=-number,
            number=number,
            files=tuple(
                SavedFile(path=path, digest=file.digest, size_bytes=file.size_bytes) for path, file in files.items()
            ),
            running_seconds=max(0.0, seconds),
        )
        if attempt.owner.trusted and shop.own_jobs is not None and shop.own_jobs.checkpoints is not None:
            await shop.own_jobs.checkpoints.note(attempt.manifest, report.files)
        answer = attempt.report_saved(report, shop.clock.monotonic())
        shop.outgoing.put(report)
        problem = await answer
        if problem is not None:
            raise OutputsRefused(problem)
        self._number = number
        self._known = {path: Known(look, files[path]) for path, look in looks.items()}
        self._refused, self._is_refused = None, False
        log.info("checkpoint.saved", extra={"attempt_id": attempt.id, "number": number, "files": len(files)})

    async def _ask(self, files: tuple[UploadFile, ...]) -> UploadGrant:
        return await ask_for_places(self._shop, self._attempt, files, "checkpoint")

    def _tell_refused(self, why: str) -> None:
        """Once for each reason: the job goes on, and may mend it."""
        if why != self._refused:
            self._refused = why
            log.warning("checkpoint.failed", extra={"attempt_id": self._attempt.id, "reason": why})
            if self._attempt.spool.sealed is None:
                self._attempt.say(f"the checkpoint was not saved: {why}")


def _copy_bytes(looks: dict[str, FileLook], paths: list[str]) -> int:
    return sum(max(ENTRY_BYTES, looks[path].disk_bytes) for path in paths)
