"""Outputs on their way to the hub: ask for places, put the parts, go on where it broke off."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from computepool.agent.outputs import Collected, OutputsRefused, open_collected
from computepool.agent.ports import Transfer, TransferFailed
from computepool.protocol.messages import UploadFile, UploadGrant, UploadTarget

log = logging.getLogger(__name__)

FILES_PER_REQUEST = 64
REQUEST_LIMIT_BYTES = 1024 * 1024
"""Of one request: large files have many parts, each with its digest."""
_DIGEST_BYTES = 80
PUTS_AT_ONCE = 8
"""Of small files: most of the time of one is waiting for the hub's disk."""
SMALL_BYTES = 1024 * 1024
"""Larger files go one after the other: together they would not be quicker."""
TRIES_PER_URL = 3
ROUNDS = 30
"""URLs expire: so often in a row without a single part new ones are asked for before the node gives up. However large
the files are and however slow the uplink is, what goes forward is not given up."""
UPLOAD_SECONDS = 12 * 3600.0
"""For all outputs of an attempt, counted while bytes are on their way. How much there is, the job decides."""
RETRY_SECONDS = 1.0
RETRY_LIMIT_SECONDS = 60.0


class UploadFailed(Exception):
    """The outputs did not get through, though the hub was there: this node's trouble."""


Ask = Callable[[tuple[UploadFile, ...]], Awaitable[UploadGrant]]
"""Asks the hub for places; waits as long as the hub is away."""


class Uploads:
    def __init__(self, folder: Path, transfer: Transfer, ask: Ask, limit_seconds: float | None = None) -> None:
        self._folder = folder
        self._transfer = transfer
        self._ask = ask
        self._done_parts: dict[str, tuple[int, int]] = {}
        """By path: how many parts are there already, of which size."""
        self.parts_put = 0
        self._limit_seconds = self._left_seconds = limit_seconds
        self._under_way = 0
        self._since = 0.0
        """When the first of those that are under way began."""
        self._one_large = asyncio.Lock()

    async def put_all(self, files: Sequence[Collected]) -> None:
        batch: list[Collected] = []
        size = 0
        for file in files:
            announced = len(file.path.encode()) + _DIGEST_BYTES * (2 + len(file.part_digests))
            if batch and (len(batch) == FILES_PER_REQUEST or size + announced > REQUEST_LIMIT_BYTES):
                await self._put_batch(batch)
                batch, size = [], 0
            batch.append(file)
            size += announced
        if batch:
            await self._put_batch(batch)

    async def _put_batch(self, files: list[Collected]) -> None:
        rounds, put = 0, self.parts_put
        while rounds < ROUNDS:
            grant = await self._ask(tuple(_announced(file) for file in files))
            if grant.refused is not None:
                raise OutputsRefused(grant.refused)
            targets = {target.path: target for target in grant.targets}
            try:
                await self._put_together(files, targets)
                return
            except TransferFailed as error:
                log.info("output.retry", extra={"path": files[0].path, "reason": str(error)})
            rounds, put = (rounds + 1, put) if self.parts_put == put else (1, self.parts_put)
            await asyncio.sleep(min(RETRY_SECONDS * 2 ** (rounds - 1), RETRY_LIMIT_SECONDS))
        raise UploadFailed(f"{files[0].path!r} could not be uploaded, {ROUNDS} times over")

    async def _put_together(self, files: list[Collected], targets: Mapping[str, UploadTarget]) -> None:
        """Takes from `files` what is there. Each of the workers goes on until something goes wrong for it."""
        waiting = deque(files)

        async def work() -> None:
            while waiting:
                file = waiting.popleft()
                async with self._one_large if file.size_bytes > SMALL_BYTES else contextlib.nullcontext():
                    await self._put(file, targets.get(file.path))
                files.remove(file)

        ended = await asyncio.gather(*(work() for _ in range(min(PUTS_AT_ONCE, len(files)))), return_exceptions=True)
        errors = [error for error in ended if error is not None]
        # What ends the upload counts before what may be tried again.
        for error in sorted(errors, key=lambda error: isinstance(error, TransferFailed)):
            raise error

    async def _put(self, file: Collected, target: UploadTarget | None) -> None:
        if target is None:
            raise UploadFailed(f"the hub granted no place for {file.path!r}")
        if not target.urls:
            return
        done, part_bytes = self._done_parts.get(file.path, (0, target.part_bytes))
        if part_bytes != target.part_bytes:
            done = 0
        with open_collected(self._folder, file) as opened:
            for number in range(done, len(target.urls)):
                if target.urls[number]:
                    await self._put_part(opened, file.size_bytes, target, number)
                    self.parts_put += 1
                self._done_parts[file.path] = (number + 1, target.part_bytes)

    @contextlib.asynccontextmanager
    async def _within_limit(self) -> AsyncIterator[None]:
        """Raises OutputsRefused, or UploadFailed where nothing has come through."""
        now = asyncio.get_running_loop().time
        if not self._under_way:
            self._since = now()
        left = None if self._left_seconds is None else max(0.0, self._left_seconds - (now() - self._since))
        timeout = asyncio.timeout(left)
        self._under_way += 1
        try:
            async with timeout:
                yield
        except TimeoutError:
            if not timeout.expired():
                raise
            why = f"they were not uploaded in {(self._limit_seconds or 0) / 3600:.1f} hours"
            if self.parts_put:
                raise OutputsRefused(f"{why}, which is the limit: keep less, or pack it") from None
            raise UploadFailed(why) from None
        finally:
            self._under_way -= 1
            if self._left_seconds is not None and not self._under_way:
                self._left_seconds = max(0.0, self._left_seconds - (now() - self._since))

    async def _put_part(self, file: BinaryIO, size_bytes: int, target: UploadTarget, number: int) -> None:
        offset = number * target.part_bytes
        size = max(0, min(target.part_bytes, size_bytes - offset))
        headers = target.headers[number] if number < len(target.headers) else {}
        for attempt in range(TRIES_PER_URL):
            try:
                async with self._within_limit():
                    await self._transfer.upload(
                        target.urls[number], file, offset=offset, size_bytes=size, headers=headers
                    )
                return
            except TransferFailed as error:
                if not error.retry or attempt == TRIES_PER_URL - 1:
                    raise
            await asyncio.sleep(RETRY_SECONDS * 2**attempt)


def _announced(file: Collected) -> UploadFile:
    return UploadFile(path=file.path, size_bytes=file.size_bytes, digest=file.digest, part_digests=file.part_digests)
