"""A node that is examined: computes what the hub asks for, in virtual time, honestly or not.

Honest is the class as it is; a cheat overrides one method.
"""

import asyncio
from typing import Any

from computepool.agent.benchmark.devices import PythonDevice
from computepool.agent.benchmark.worker import Prover
from computepool.protocol.benchmark import (
    BenchmarkDeclined,
    BenchmarkDigests,
    BenchmarkFilled,
    BenchmarkFromHub,
    BenchmarkNonce,
    BenchmarkOpen,
    BenchmarkOver,
    BenchmarkReady,
    BenchmarkRequest,
    BenchmarkReveal,
    BenchmarkTask,
    LineEcho,
    LineProbe,
    Opening,
)
from computepool.protocol.challenge import product_flops
from computepool.protocol.messages import FromHub

GFLOPS = 0.001
"""Of a node in a test: so slow that the hub asks for few products."""


class Examinee:
    def __init__(self, agent: Any, *, gflops: float = GFLOPS, room_bytes: int = 1024**3) -> None:
        self.agent = agent
        self.gflops = gflops
        """As it says, and as fast as it is."""
        self.room_bytes = room_bytes
        self.asked: list[Any] = []
        self.over: list[BenchmarkOver] = []
        self.line_bytes_per_second = 1_000_000.0
        self.device = PythonDevice()
        self._prover = Prover(self.device)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._serve())

    def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()

    async def _serve(self) -> None:
        while True:
            try:
                message = await self.agent.expect(BenchmarkFromHub)
            except TimeoutError:
                continue  # nobody asks for hours
            self.asked.append(message)
            answer = await self.answer(message)
            if answer is not None:
                await self.agent.send(answer)

    async def answer(self, message: FromHub) -> Any:
        match message:
            case BenchmarkRequest():
                return self.ready(message)
            case BenchmarkTask():
                return await self.fill(message)
            case BenchmarkNonce():
                return await self.digest(message)
            case BenchmarkOpen():
                return self.reveal(message)
            case LineProbe():
                await asyncio.sleep(0.02 + (len(message.ballast) + message.answer_bytes) / self.line_bytes_per_second)
                return LineEcho(number=message.number, ballast=bytes(message.answer_bytes))
            case BenchmarkOver():
                self.over.append(message)
        return None

    def ready(self, request: BenchmarkRequest) -> BenchmarkReady | BenchmarkDeclined:
        return BenchmarkReady(
            challenge_id=request.challenge_id, backend="python", gflops=self.gflops, room_bytes=self.room_bytes
        )

    async def fill(self, task: BenchmarkTask) -> BenchmarkFilled:
        seconds = task.states * product_flops(task.size) / (self.gflops * 1e9)
        self.compute(task)
        await asyncio.sleep(seconds)
        return BenchmarkFilled(challenge_id=task.challenge_id, seconds=seconds)

    def compute(self, task: BenchmarkTask) -> None:
        self._prover.fill(task.seed, task.size, task.rounds, task.segments)

    async def digest(self, question: BenchmarkNonce) -> BenchmarkDigests:
        await asyncio.sleep(0.05)
        root = self._prover.digest(question.nonce)
        return BenchmarkDigests(challenge_id=question.challenge_id, root=root, seconds=0.05)

    def reveal(self, question: BenchmarkOpen) -> BenchmarkReveal:
        shown = [self._prover.open(one.segment, one.round, one.row) for one in question.places]
        openings = tuple(Opening(rows=tuple(a), digests=b, path=tuple(c)) for a, b, c in shown)
        return BenchmarkReveal(challenge_id=question.challenge_id, openings=openings)
