"""Links of agents that have not proven yet which node they are: how many there may be, and who waits."""

from collections import Counter, OrderedDict
from collections.abc import Callable

Begin = Callable[[], None]


class NewLinks:
    """Each from the beginning of its WebSocket until its node is proven: so many of all, so many of one address.

    Those beyond wait, in the order of their coming for each address, and the addresses take turns.
    """

    def __init__(self, limit: int, limit_per_address: int) -> None:
        self._limit = limit
        self._limit_per_address = limit_per_address
        self._address_of: dict[object, str] = {}
        """Of those that count and those that wait."""
        self._count: Counter[str] = Counter()
        self._waiting: OrderedDict[str, OrderedDict[object, Begin]] = OrderedDict()
        self.total = 0

    def enter(self, link: object, address: str, begin: Begin) -> None:
        """Call `begin` now, or once there is room."""
        self._address_of[link] = address
        self._waiting.setdefault(address, OrderedDict())[link] = begin
        self._admit()

    def leave(self, link: object) -> None:
        """Its sender is known, or it is over. Nothing happens to what never entered."""
        address = self._address_of.pop(link, None)
        if address is None:
            return
        queue = self._waiting.get(address)
        if queue is not None and queue.pop(link, None) is not None:
            if not queue:
                del self._waiting[address]
            return
        self.total -= 1
        self._count[address] -= 1
        if not self._count[address]:
            del self._count[address]
        self._admit()

    def _admit(self) -> None:
        while self.total < self._limit:
            # Addresses without room are few: each of them has its whole share of the limit.
            address = next((each for each in self._waiting if self._has_room(each)), None)
            if address is None:
                return
            queue = self._waiting.pop(address)
            _, begin = queue.popitem(last=False)
            if queue:
                self._waiting[address] = queue  # behind the others
            self.total += 1
            self._count[address] += 1
            begin()

    def _has_room(self, address: str) -> bool:
        return self._count[address] < self._limit_per_address
