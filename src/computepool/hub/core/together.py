"""Requests that come while another is under way wait for it, and are then answered as one.

Alone, a request is as quick as ever. Under load the database has one transaction for many of them, with as many
statements as for one, instead of many transactions that stand in each other's way.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

import structlog

log = structlog.get_logger()

A = TypeVar("A")
R = TypeVar("R")

MOST = 64
"""That share a transaction: bounds how long the first of them waits."""
PATIENCE_SECONDS = 0.25
"""For one that is under way. It may wait itself, for a lock that concerns nobody else."""


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
        self._turn: _Turn | None = None
        """Who is under way, and is waited for."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, request: A) -> R:
        if self._turn is not None:
            answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            self._waiting.append((request, answer))
            return await answer
        turn = self._begin_turn()
        try:
            return await self._alone(request)
        finally:
            self._end_turn(turn)

    def _begin_turn(self) -> "_Turn":
        self._turn = turn = _Turn()
        turn.patience = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._end_turn, turn)
        return turn

    def _end_turn(self, turn: "_Turn") -> None:
        """Whoever still waits is next. Whoever went away meanwhile is left out."""
        if turn is not self._turn:
            return  # nobody waited for it any longer
        turn.patience.cancel()
        self._turn = None
        group: list[tuple[A, asyncio.Future[R]]] = []
        while self._waiting and len(group) < self._most:
            request, answer = self._waiting.popleft()
            if not answer.done():
                group.append((request, answer))
        if group:
            self._spawn(self._answer(group, self._begin_turn()))

    async def _answer(self, group: Sequence[tuple[A, asyncio.Future[R]]], turn: "_Turn") -> None:
        left = []
        try:
            results = await self._ask_many([request for request, _ in group])
            for (request, answer), result in zip(group, results, strict=True):
                if result is None:
                    left.append((request, answer))
                elif not answer.done():
                    answer.set_result(result)
            await asyncio.sleep(0)  # whoever has the next request at once is not alone
        except BaseException:
            for _, answer in group:
                answer.cancel()
            raise
        finally:
            self._end_turn(turn)
        for request, answer in left:
            if not answer.done():
                self._spawn(self._ask_alone(request, answer))

    async def _ask_many(self, requests: Sequence[A]) -> Sequence[R | None]:
        if len(requests) > 1:
            try:
                return await self._many(requests)
            except Exception as error:  # whose doing it was, each will say for itself
                log.warning("together.asked_alone", requests=len(requests), error=str(error))
        return [None] * len(requests)

    async def _ask_alone(self, request: A, answer: "asyncio.Future[R]") -> None:
        try:
            result = await self._alone(request)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        except BaseException:
            answer.cancel()
            raise
        else:
            if not answer.done():
                answer.set_result(result)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself keeps none
        task.add_done_callback(self._tasks.discard)


class _Turn:
    patience: asyncio.TimerHandle
