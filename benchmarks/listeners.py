"""`python -m benchmarks.listeners FILE`: one open event stream for each token of a file, in one process, until it is
ended. Says how many are open by the size of FILE.open, a byte each."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

AT_ONCE = 64


async def _listen(url: str, token: str, first: asyncio.Semaphore, opened: Path) -> None:
    async with first:
        socket = await connect(url, additional_headers={"Authorization": f"Bearer {token}"}, compression=None)
        await socket.recv()
        with opened.open("ab") as file:
            file.write(b".")
    async with socket:
        async for _message in socket:
            pass


async def main(plan: Any, file: Path) -> None:
    first, opened = asyncio.Semaphore(AT_ONCE), file.with_suffix(".open")
    await asyncio.gather(*(_listen(plan["url"], token, first, opened) for token in plan["tokens"]))


if __name__ == "__main__":
    named = Path(sys.argv[1])
    asyncio.run(main(json.loads(named.read_text()), named))
