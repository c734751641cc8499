"""Which shelves will do, by one of their properties: sets of shelves as bits of one large integer.

A question (which isolation, which GPU, so much memory) is put to each value that a property has, not to each shelf, and
the answer is kept. Combining the answers for ten thousand shelves is then a handful of operations on a kilobyte.
"""

import sys
from array import array
from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import Any

QUESTIONS_KEPT = 2048


class _Answer:
    __slots__ = ("mask", "no", "seen", "version", "yes")

    def __init__(self) -> None:
        self.yes: list[Hashable] = []
        self.no: list[Hashable] = []
        self.seen = 0
        self.version = -1
        self.mask = 0


class Facet:
    def __init__(self) -> None:
        self._masks: dict[Hashable, int] = {}
        """By value, the shelves that have it. Values stay, even when no shelf has them for a while."""
        self._all = 0
        self._version = 0
        self._answers: dict[Hashable, _Answer] = {}

    def add(self, value: Hashable, bit: int) -> None:
        self._masks[value] = self._masks.get(value, 0) | bit
        self._all |= bit
        self._version += 1

    def drop(self, value: Hashable, bit: int) -> None:
        self._masks[value] &= ~bit
        self._all &= ~bit
        self._version += 1

    def move(self, before: Hashable | None, value: Hashable, bit: int) -> None:
        if before is not None:
            self.drop(before, bit)
        self.add(value, bit)

    def having(self, value: Hashable) -> int:
        return self._masks.get(value, 0)

    def accepting(self, question: Hashable, accepts: Callable[[Any], bool]) -> int:
        """The shelves whose value is accepted. The same question has the same answer, for ever."""
        answer = self._answers.get(question)
        if answer is None:
            if len(self._answers) >= QUESTIONS_KEPT:
                del self._answers[next(iter(self._answers))]
            answer = self._answers[question] = _Answer()
        if answer.version != self._version:
            self._bring_up_to_date(answer, accepts)
        return answer.mask

    def _bring_up_to_date(self, answer: _Answer, accepts: Callable[[Any], bool]) -> None:
        for value in islice(self._masks, answer.seen, None):
            (answer.yes if accepts(value) else answer.no).append(value)
        answer.seen = len(self._masks)
        answer.version = self._version
        fewer = min(answer.yes, answer.no, key=len)
        mask = 0
        for one in fewer:
            mask |= self._masks[one]
        answer.mask = mask if fewer is answer.yes else self._all & ~mask


def raw_of(shelves: int, count: int) -> bytes:
    """The same bits as little-endian bytes, of which one can be looked at without looking at all: eight at a time."""
    return shelves.to_bytes((count + 63) // 64 * 8, "little")


def bits_of(raw: bytes) -> Iterator[int]:
    """The numbers of the bits that are set."""
    words = array("Q", raw)
    if sys.byteorder == "big":
        words.byteswap()
    for place, word in enumerate(words):
        left = word
        while left:
            lowest = left & -left
            yield place * 64 + lowest.bit_length() - 1
            left ^= lowest


def step(value: int, detail: int) -> int:
    """A bucket for a size: exact while it is small, then 2^detail to each doubling. Larger sizes, larger buckets."""
    shift = value.bit_length() - 1 - detail
    return value if shift <= 0 else (shift << detail) + (value >> shift)
