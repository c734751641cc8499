"""A sorted list that stays quick when it is long: blocks, so that putting one in moves a few hundred and not all."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Any)

BLOCK = 512


class Blocks(Generic[T]):
    """Of things that differ and can be compared."""

    __slots__ = ("_blocks", "_lasts")

    def __init__(self, things: Iterable[T] = ()) -> None:
        ordered = sorted(things)
        self._blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
        self._lasts = [block[-1] for block in self._blocks]

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def __iter__(self) -> Iterator[T]:
        """Do not change it while you go through it."""
        return iter(self._blocks[0]) if len(self._blocks) == 1 else chain.from_iterable(self._blocks)

    @property
    def first(self) -> T | None:
        return self._blocks[0][0] if self._blocks else None

    def add(self, thing: T) -> None:
        if not self._blocks:
            self._blocks, self._lasts = [[thing]], [thing]
            return
        place = min(bisect_left(self._lasts, thing), len(self._blocks) - 1)
        block = self._blocks[place]
        insort(block, thing)
        if len(block) > 2 * BLOCK:
            self._blocks[place : place + 1] = [block[:BLOCK], block[BLOCK:]]
            self._lasts[place : place + 1] = [block[BLOCK - 1], block[-1]]
        else:
            self._lasts[place] = block[-1]

    def remove(self, thing: T) -> None:
        """It has to be there."""
        place = bisect_left(self._lasts, thing)
        block = self._blocks[place]
        del block[bisect_left(block, thing)]
        if block:
            self._lasts[place] = block[-1]
        else:
            del self._blocks[place], self._lasts[place]
