"""A real browser without a screen."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support import engines
from support.waiting import patience
from websockets.asyncio.client import ClientConnection, connect

BROWSER = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
]


def page_in_browser(url: str, profile: Path) -> str:
    """The page as its scripts have made it after a few (virtual) seconds."""
    engines.require("chromium")
    command = [*BROWSER, f"--user-data-dir={profile}", "--virtual-time-budget=6000", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience()).stdout


class PageGone(Exception):
    """The browser did not do it: most often the page was left meanwhile."""


class Browser:
    """One that stays open and is told what to do (Chrome DevTools Protocol)."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire = wire
        self._sent = 0

    async def open(self, url: str) -> "Tab":
        """A new tab, when its page has been loaded."""
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        tab = Tab(self, session)
        await tab.go(url)
        return tab

    async def call(self, method: str, session: str | None = None, **params: Any) -> Any:
        self._sent += 1
        command = {"id": self._sent, "method": method, "params": params}
        await self._wire.send(json.dumps(command | ({"sessionId": session} if session else {})))
        async with asyncio.timeout(patience()):
            while True:
                answer = json.loads(await self._wire.recv())
                if answer.get("id") == self._sent:
                    if "error" in answer:
                        raise PageGone(f"{method}: {answer['error']}")
                    return answer["result"]


class Tab:
    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    async def go(self, url: str) -> None:
        went = await self._browser.call("Page.navigate", self._session, url=url)
        assert not went.get("errorText"), f"{url}: {went['errorText']}"
        place = json.dumps(url.partition("#")[0])
        await self.until(f"location.href.split('#')[0] === {place} && document.readyState === 'complete'")

    async def run(self, script: str) -> Any:
        """The value of an expression in the page, or what its promise comes to."""
        answer = await self._browser.call(
            "Runtime.evaluate", self._session, expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, script: str) -> None:
        async with asyncio.timeout(patience()):
            while not await self._holds(script):  # noqa: ASYNC110 (a page does not tell by itself)
                await asyncio.sleep(0.05)

    async def _holds(self, script: str) -> bool:
        try:
            return bool(await self.run(script))
        except PageGone:
            return False


@asynccontextmanager
async def browser(profile: Path, *options: str) -> AsyncIterator[Browser]:
    engines.require("chromium")
    command = [*BROWSER, f"--user-data-dir={profile}", "--remote-debugging-port=0", *options, "about:blank"]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        async with asyncio.timeout(patience()):
            while b"DevTools listening on " not in (line := await process.stderr.readline()):
                assert line, "Chromium ended before it was ready"
        draining = asyncio.create_task(process.stderr.read())
        address = line.decode().partition("listening on ")[2].strip()
        async with connect(address, max_size=None, ping_interval=None) as wire:
            yield Browser(wire)
        draining.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
