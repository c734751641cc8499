"""A supervisor without a line: a test gives it what a hub would say, and reads what it would send."""

import asyncio
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from simulation.virtual_time import VirtualLoop
from support.agents import CAPACITY, enrolled_home, offload_inline
from support.fake_hub import FakeHub
from support.fake_sandbox import FakeOutput, FakeSandbox

from computepool.agent.clock import Clock, HubTime, SystemClock
from computepool.agent.environments import Environments
from computepool.agent.folders import JobFolders
from computepool.agent.inputs import InputCache
from computepool.agent.journal import Journal
from computepool.agent.outgoing import Outgoing
from computepool.agent.ports import Sink
from computepool.agent.supervisor import Supervisor
from computepool.agent.unremoved import UnremovedFolders
from computepool.agent.workshop import Workshop
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import Offer, parse_from_agent
from computepool.protocol.model import Wire
from computepool.protocol.signing import Signed

M = TypeVar("M", bound=Wire)


class LoopClock:
    """The event loop's own time, which may be virtual."""

    skipped = 0.0
    """As after a sleep of the machine: elapsed time jumped, the event loop's timers did not."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time() + self.skipped


def run_in_virtual_time(story: Coroutine[Any, Any, None]) -> None:
    """As `asyncio.run`, but a sleep ends when everything else waits: what follows it does not depend on speed."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story)


class NoTransfer:
    """Takes every upload, and has nothing to download."""

    async def download(self, url: str, *, offset: int, sink: Sink) -> None:
        raise AssertionError(f"nothing to download here: {url}")

    async def upload(
        self, url: str, file: BinaryIO, *, offset: int, size_bytes: int, headers: Mapping[str, str]
    ) -> None:
        pass


class LoneSupervisor:
    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        """It believes its hub, until `shop.own_jobs` is set."""
        clock = clock or SystemClock()
        self.hub = FakeHub()
        self.home, self.node = enrolled_home(self.hub, folder)
        self.sandbox = FakeSandbox(self.home.attempts)
        self.outgoing = Outgoing()
        self.sent: list[Wire] = []
        """What went out since `listen`."""
        self._listening: asyncio.Task[None] | None = None
        transfer = NoTransfer()
        unremoved = UnremovedFolders(offload_inline)
        self.shop = Workshop(
            node=self.home.node(),
            identity=self.home.identity(),
            capacity=CAPACITY,
            clock=clock,
            hub_time=HubTime(clock),
            offload=offload_inline,
            sandboxes=[self.sandbox],
            staging=self.home.staging,
            journal=Journal(self.home.journal),
            folders=JobFolders(offload_inline, unremoved),
            cache=InputCache(self.home.cache, transfer, offload_inline),
            environments=Environments(offload_inline, unremoved),
            unremoved=unremoved,
            transfer=transfer,
            outgoing=self.outgoing,
            open_output=FakeOutput,
        )
        self.supervisor = Supervisor(self.shop, lambda: None)
        self.number = 0

    def give(self, signed: Signed) -> None:
        self.number += 1
        self.supervisor.handle(Offer(number=self.number, manifest=signed))

    @property
    def accepted(self) -> int:
        return len(self.supervisor.attempts)

    def manifest(self, *argv: str, **changes: object) -> Manifest:
        return self.hub.manifest(self.node, argv or ("exit", "0"), **changes)

    def listen(self) -> None:
        """A line comes up that takes everything and answers nothing by itself."""
        self.outgoing.begin()
        self._listening = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        while True:
            message = parse_from_agent(await self.outgoing.next())
            assert message is not None
            self.sent.append(message)

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in self.sent if isinstance(message, kind)]

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        await self.supervisor.close()
