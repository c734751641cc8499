"""Sorted lists that stay quick when they are long: blocks, so that putting one in moves a few hundred and not all."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from heapq import merge
from itertools import chain, pairwise
from typing import Any, Generic, TypeVar

BLOCK = 512
MERGING = 2
"""How much longer it takes to go on in several lists at once, for each of them."""
Scored = TypeVar("Scored", bound=tuple[Any, ...])
Passing = Iterator[tuple[Scored | None, int]]


class Heads(Generic[Scored]):
    """One tuple for each shelf that has somebody, in order: a score first, the shelf's number fifth. Both stand beside
    the tuples in arrays, as going through them touches many, and memory that is not at hand is what costs time.
    """

    __slots__ = ("_blocks", "_last_scores", "_lasts", "_numbers", "_scores", "size", "tied")

    def __init__(self) -> None:
        self._blocks: list[list[Scored]] = []
        self._scores: list[array[float]] = []
        self._numbers: list[array[int]] = []
        self._lasts: list[Scored] = []
        self._last_scores: array[float] = array("d")
        self.size = 0
        self.tied: set[float] = set()
        """Scores that two had at once, and perhaps some that only one has by now."""

    def __iter__(self) -> Iterator[Scored]:
        """Do not change it while you go through it."""
        return chain.from_iterable(self._blocks)

    def those_in(self, raw: bytes) -> Iterator[tuple[Scored | None, int]]:
        """Those of the shelves that have their bit there, each with how many were gone past; None at times, for whoever
        does not want to go on."""
        passed = 0
        for block, numbers in zip(self._blocks, self._numbers, strict=True):
            for at, number in enumerate(numbers):
                if raw[number >> 3] >> (number & 7) & 1:
                    yield block[at], passed + at
                elif at & 63 == 63:
                    yield None, passed + at
            passed += len(numbers)

    def add(self, thing: Scored) -> None:
        self.size += 1
        if not self._blocks:
            self._blocks, self._scores, self._numbers = [[thing]], [array("d", thing[:1])], [array("q", thing[4:5])]
            self._lasts, self._last_scores = [thing], array("d", thing[:1])
            return
        place = min(self._block_of(thing), len(self._blocks) - 1)
        block, scores, numbers = self._blocks[place], self._scores[place], self._numbers[place]
        at = self._place_in(block, scores, thing)
        self._note_tie(place, at, thing[0])
        block.insert(at, thing)
        scores.insert(at, thing[0])
        numbers.insert(at, thing[4])
        if len(block) > 2 * BLOCK:
            self._blocks[place : place + 1] = [block[:BLOCK], block[BLOCK:]]
            self._scores[place : place + 1] = [scores[:BLOCK], scores[BLOCK:]]
            self._numbers[place : place + 1] = [numbers[:BLOCK], numbers[BLOCK:]]
            self._lasts[place : place + 1] = [block[BLOCK - 1], block[-1]]
            self._last_scores[place : place + 1] = array("d", (block[BLOCK - 1][0], block[-1][0]))
        elif at == len(block) - 1:
            self._lasts[place], self._last_scores[place] = thing, thing[0]

    def remove(self, thing: Scored) -> None:
        """It has to be there."""
        self.size -= 1
        place = self._block_of(thing)
        block, scores = self._blocks[place], self._scores[place]
        at = self._place_in(block, scores, thing)
        del block[at], scores[at], self._numbers[place][at]
        if not block:
            del self._blocks[place], self._scores[place], self._numbers[place]
            del self._lasts[place], self._last_scores[place]
        elif at == len(block):
            self._lasts[place], self._last_scores[place] = block[-1], block[-1][0]

    def replace(self, thing: Scored, other: Scored) -> None:
        """Of the same score, which nobody else has."""
        place = self._block_of(thing)
        block = self._blocks[place]
        at = self._place_in(block, self._scores[place], thing)
        block[at], self._numbers[place][at] = other, other[4]
        if at == len(block) - 1:
            self._lasts[place] = other

    def _block_of(self, thing: Scored) -> int:
        """The first that does not end before it; one too many if all do."""
        lasts, score = self._last_scores, thing[0]
        place = bisect_left(lasts, score)
        while place < len(lasts) and lasts[place] == score and self._lasts[place] < thing:
            place += 1
        return place

    def _note_tie(self, place: int, at: int, score: float) -> None:
        """Of one that is to be put in there."""
        scores = self._scores[place]
        before = scores[at - 1] if at > 0 else self._last_scores[place - 1] if place > 0 else None
        if before == score or (at < len(scores) and scores[at] == score):
            if len(self.tied) > 2 * self.size:
                in_order = [one for some in self._scores for one in some]
                self.tied = {one for one, other in pairwise(in_order) if one == other}
            self.tied.add(score)

    @staticmethod
    def _place_in(block: list[Scored], scores: "array[float]", thing: Scored) -> int:
        score = thing[0]
        at = bisect_left(scores, score)
        if at == len(scores) or scores[at] != score or block[at] is thing:
            return at
        return bisect_left(block, thing, at, bisect_right(scores, score, at))


class Families(Generic[Scored]):
    """Heads of all shelves, and those of each family by themselves: whoever wants one kind of cards does not go past
    all the others."""

    __slots__ = ("_by_family", "all")

    def __init__(self) -> None:
        self.all: Heads[Scored] = Heads()
        self._by_family: dict[int | None, Heads[Scored]] = {}

    def add(self, thing: Scored, family: int | None) -> None:
        self.all.add(thing)
        if family is not None:
            self._add_to(family, thing)

    def remove(self, thing: Scored, family: int | None) -> None:
        self.all.remove(thing)
        if family is not None:
            self._by_family[family].remove(thing)

    def move(self, thing: Scored, family: int | None, to: int | None) -> None:
        self.remove(thing, family)
        self.add(thing, to)

    def replace(self, thing: Scored, family: int | None, other: Scored, to: int | None) -> None:
        """By one with the same score, which nobody else has; the two may be of different families."""
        self.all.replace(thing, other)
        if family == to:
            if family is not None:
                self._by_family[family].replace(thing, other)
            return
        if family is not None:
            self._by_family[family].remove(thing)
        if to is not None:
            self._add_to(to, other)

    def _add_to(self, family: int, thing: Scored) -> None:
        heads = self._by_family.get(family)
        if heads is None:
            heads = self._by_family[family] = Heads()
        heads.add(thing)

    def of_these(self, families: Collection[int | None] | None, raw: bytes) -> tuple[Passing[Scored], int]:
        """Those of the shelves that have their bit in `raw`, which are all of these families, as `Heads.those_in`; and
        among how many they are looked for. None for all families."""
        if families is not None:
            some = [heads for one in families if (heads := self._by_family.get(one)) is not None and heads.size]
            if len(some) == 1:
                return some[0].those_in(raw), some[0].size
            size = sum(heads.size for heads in some)
            if len(some) * size * MERGING < self.all.size:
                return _those_in(merge(*some), raw), size
        return self.all.those_in(raw), self.all.size


def _those_in(heads: Iterable[Scored], raw: bytes) -> Passing[Scored]:
    for passed, head in enumerate(heads):
        number = head[4]
        yield (head if raw[number >> 3] >> (number & 7) & 1 else None), passed
