"""Requests that come while another is under way wait for it, and are then answered as one.

Alone, a request is as quick as ever. Under load the database has one transaction for many of them, with as many
statements as for one, instead of many transactions that stand in each other's way.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger()

A = TypeVar("A")
R = TypeVar("R")

MOST = 64
"""That share a transaction: bounds how long the first of them waits."""


class Together(Generic[A, R]):
    def __init__(
        self,
        alone: Callable[[A], Awaitable[R]],
        many: Callable[[Sequence[A]], Awaitable[Sequence[R | None]]],
        most: int = MOST,
    ) -> None:
        """`many` answers None for a request that has to be asked alone. If it fails, nothing of it has happened, and
        all of them are asked alone: one that is refused refuses no other."""
        self._alone = alone
        self._many = many
        self._most = most
        self._waiting: deque[tuple[A, asyncio.Future[R]]] = deque()
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, request: A) -> R:
        if self._busy:
            answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            self._waiting.append((request, answer))
            return await answer
        self._busy = True
        try:
            return await self._alone(request)
        finally:
            self._go_on()

    def _go_on(self) -> None:
        """With whoever still waits: whoever went away meanwhile is left out."""
        group: list[tuple[A, asyncio.Future[R]]] = []
        while self._waiting and len(group) < self._most:
            request, answer = self._waiting.popleft()
            if not answer.done():
                group.append((request, answer))
        self._busy = bool(group)
        if group:
            task = asyncio.get_running_loop().create_task(self._answer(group))
            self._tasks.add(task)  # the loop itself keeps none
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, group: Sequence[tuple[A, asyncio.Future[R]]]) -> None:
        try:
            results = await self._ask_many([request for request, _ in group])
            for (request, answer), result in zip(group, results, strict=True):
                if result is not None:
                    _give(answer, result)
                else:
                    await self._ask_alone(request, answer)
            await asyncio.sleep(0)  # whoever has the next request at once is not alone
        finally:
            for _, answer in group:
                answer.cancel()  # this was ended before them; those that have their answer keep it
            self._go_on()

    async def _ask_many(self, requests: Sequence[A]) -> Sequence[R | None]:
        if len(requests) > 1:
            try:
                return await self._many(requests)
            except Exception as error:  # whose doing it was, each will say for itself
                log.warning("together.asked_alone", requests=len(requests), error=str(error))
        return [None] * len(requests)

    async def _ask_alone(self, request: A, answer: "asyncio.Future[R]") -> None:
        if answer.done():
            return
        try:
            result = await self._alone(request)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        else:
            _give(answer, result)


def _give(answer: "asyncio.Future[R]", result: R) -> None:
    if not answer.done():
        answer.set_result(result)
