"""A sorted list that stays quick when it is long: blocks, so that putting one in moves a few hundred and not all."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Generic, TypeVar

BLOCK = 512
Scored = TypeVar("Scored", bound=tuple[Any, ...])


class Heads(Generic[Scored]):
    """One tuple for each shelf that has somebody, in order. The first of a tuple is a score: scores stand beside the
    tuples in arrays, as looking for a place touches many of them, and memory that is not at hand is what costs time.
    """

    __slots__ = ("_blocks", "_lasts", "_scores")

    def __init__(self, things: Iterable[Scored] = ()) -> None:
        ordered = sorted(things)
        self._blocks = [ordered[start : start + BLOCK] for start in range(0, len(ordered), BLOCK)]
        self._scores = [array("d", [thing[0] for thing in block]) for block in self._blocks]
        self._lasts = [block[-1] for block in self._blocks]

    def __iter__(self) -> Iterator[Scored]:
        """Do not change it while you go through it."""
        return chain.from_iterable(self._blocks)

    def add(self, thing: Scored) -> None:
        if not self._blocks:
            self._blocks, self._scores, self._lasts = [[thing]], [array("d", thing[:1])], [thing]
            return
        place = min(bisect_left(self._lasts, thing), len(self._blocks) - 1)
        block, scores = self._blocks[place], self._scores[place]
        at = self._place_in(block, scores, thing)
        block.insert(at, thing)
        scores.insert(at, thing[0])
        if len(block) > 2 * BLOCK:
            self._blocks[place : place + 1] = [block[:BLOCK], block[BLOCK:]]
            self._scores[place : place + 1] = [scores[:BLOCK], scores[BLOCK:]]
            self._lasts[place : place + 1] = [block[BLOCK - 1], block[-1]]
        else:
            self._lasts[place] = block[-1]

    def remove(self, thing: Scored) -> None:
        """It has to be there."""
        place = bisect_left(self._lasts, thing)
        block, scores = self._blocks[place], self._scores[place]
        at = self._place_in(block, scores, thing)
        del block[at], scores[at]
        if block:
            self._lasts[place] = block[-1]
        else:
            del self._blocks[place], self._scores[place], self._lasts[place]

    @staticmethod
    def _place_in(block: list[Scored], scores: "array[float]", thing: Scored) -> int:
        score = thing[0]
        at = bisect_left(scores, score)
        if at == len(scores) or scores[at] != score or block[at] is thing:
            return at
        return bisect_left(block, thing, at, bisect_right(scores, score, at))
