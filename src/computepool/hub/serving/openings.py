"""WebSockets begin one after the other, so that hundreds that are opened at once do not keep everybody else waiting."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

REST_SECONDS = 0.003
"""After each. To begin one costs about 1 ms."""

Begin = Callable[[], None]


class Openings:
    """The first of a quiet moment begins at once. Those of one address begin in their order; addresses take turns."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, OrderedDict[object, Begin]] = OrderedDict()
        self._is_resting = False

    def enter(self, connection: object, address: str, begin: Begin) -> None:
        self._waiting.setdefault(address, OrderedDict())[connection] = begin
        if not self._is_resting:
            self._next()

    def leave(self, connection: object, address: str) -> None:
        """It gave up. Nothing happens to what never entered, or has begun."""
        queue = self._waiting.get(address)
        if queue is not None and queue.pop(connection, None) is not None and not queue:
            del self._waiting[address]

    def _next(self) -> None:
        self._is_resting = bool(self._waiting)
        if not self._waiting:
            return
        address, queue = self._waiting.popitem(last=False)
        _, begin = queue.popitem(last=False)
        if queue:
            self._waiting[address] = queue  # behind the others
        asyncio.get_running_loop().call_later(REST_SECONDS, self._next)
        begin()
