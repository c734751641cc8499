"""Outputs on their way to the hub: ask for places, put the parts, go on where it broke off."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from computepool.agent.outputs import Collected, OutputsRefused, open_collected
from computepool.agent.ports import Transfer, TransferFailed
from computepool.protocol.messages import UploadFile, UploadGrant, UploadTarget

log = logging.getLogger(__name__)

FILES_PER_REQUEST = 64
TRIES_PER_URL = 3
ROUNDS = 30
"""URLs expire and uplinks are slow: so often new ones are asked for before the node gives up."""
RETRY_SECONDS = 1.0
RETRY_LIMIT_SECONDS = 60.0


class UploadFailed(Exception):
    """The outputs did not get through, though the hub was there: this node's trouble."""


Ask = Callable[[tuple[UploadFile, ...]], Awaitable[UploadGrant]]
"""Asks the hub for places; waits as long as the hub is away."""


class Uploads:
    def __init__(self, folder: Path, transfer: Transfer, ask: Ask) -> None:
        self._folder = folder
        self._transfer = transfer
        self._ask = ask
        self._done_parts: dict[str, tuple[int, int]] = {}
        """By path: how many parts are there already, of which size."""

    async def put_all(self, files: Sequence[Collected]) -> None:
        for start in range(0, len(files), FILES_PER_REQUEST):
            await self._put_batch(list(files[start : start + FILES_PER_REQUEST]))

    async def _put_batch(self, files: list[Collected]) -> None:
        for round_number in range(ROUNDS):
            asked = tuple(UploadFile(path=f.path, size_bytes=f.size_bytes, digest=f.digest) for f in files)
            grant = await self._ask(asked)
            if grant.refused is not None:
                raise OutputsRefused(grant.refused)
            targets = {target.path: target for target in grant.targets}
            try:
                while files:
                    await self._put(files[0], targets.get(files[0].path))
                    files.pop(0)
                return
            except TransferFailed as error:
                log.info("output.retry", extra={"path": files[0].path, "reason": str(error)})
            await asyncio.sleep(min(RETRY_SECONDS * 2**round_number, RETRY_LIMIT_SECONDS))
        raise UploadFailed(f"{files[0].path!r} could not be uploaded, {ROUNDS} times over")

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
                offset = number * target.part_bytes
                size = max(0, min(target.part_bytes, file.size_bytes - offset))
                await self._put_part(target.urls[number], opened, offset, size)
                self._done_parts[file.path] = (number + 1, target.part_bytes)

    async def _put_part(self, url: str, file: BinaryIO, offset: int, size: int) -> None:
        for attempt in range(TRIES_PER_URL):
            try:
                await self._transfer.upload(url, file, offset=offset, size_bytes=size)
                return
            except TransferFailed as error:
                if not error.retry or attempt == TRIES_PER_URL - 1:
                    raise
            await asyncio.sleep(RETRY_SECONDS * 2**attempt)
