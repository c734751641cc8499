"""Which shelves will do, by one of their properties: sets of shelves as bits of one large integer.

A question (which isolation, which GPU, so much memory) is put to each value that a property has, not to each shelf, and
the answer is kept. Combining the answers for ten thousand shelves is then a handful of operations on a kilobyte.
"""

import sys
from array import array
from collections import deque
from collections.abc import Callable, Hashable
from itertools import compress, islice
from typing import Any

QUESTIONS_KEPT = 2048
NEWS_KEPT = 128
"""Changes that answers can be told one by one. One that missed more is worked out anew."""


class _Answer:
    __slots__ = ("mask", "no", "seen", "version", "yes")

    def __init__(self) -> None:
        self.yes: set[Hashable] = set()
        self.no: set[Hashable] = set()
        self.seen = 0
        self.version = -1
        self.mask = 0


class Facet:
    """A shelf has one value at a time, or, where only `having` is asked, any number of them."""

    def __init__(self) -> None:
        self._masks: dict[Hashable, int] = {}
        """By value, the shelves that have it. Values stay, even when no shelf has them for a while."""
        self._version = 0
        self._news: deque[tuple[Hashable, int]] = deque(maxlen=NEWS_KEPT)
        """What came or went last. Both turn one bit over, so that the order does not matter."""
        self._answers: dict[Hashable, _Answer] = {}

    def add(self, value: Hashable, bit: int) -> None:
        """To a shelf that does not have it."""
        self._turn(value, bit)

    def drop(self, value: Hashable, bit: int) -> None:
        """From a shelf that has it."""
        self._turn(value, bit)

    def move(self, before: Hashable | None, value: Hashable, bit: int) -> None:
        if before is not None:
            self._turn(before, bit)
        self._turn(value, bit)

    def _turn(self, value: Hashable, bit: int) -> None:
        self._masks[value] = self._masks.get(value, 0) ^ bit
        self._news.append((value, bit))
        self._version += 1

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
        if answer.seen < len(self._masks):
            for value in islice(self._masks, answer.seen, None):
                (answer.yes if accepts(value) else answer.no).add(value)
            answer.seen = len(self._masks)
        missed, yes = self._version - answer.version, answer.yes
        if answer.version >= 0 and missed <= min(len(self._news), max(len(yes), 2)):
            mask = answer.mask
            for value, bit in islice(reversed(self._news), missed):
                if value in yes:
                    mask ^= bit
        else:
            mask = 0
            for value in yes:
                mask |= self._masks[value]
        answer.mask, answer.version = mask, self._version


def raw_of(shelves: int, count: int) -> bytes:
    """The same bits as little-endian bytes, of which one can be looked at without looking at all: eight at a time."""
    return shelves.to_bytes((count + 63) // 64 * 8, "little")


def bits_of(raw: bytes) -> list[int]:
    """The numbers of the bits that are set."""
    words = array("Q", raw)
    if sys.byteorder == "big":
        words.byteswap()
    found = []
    for place in compress(range(len(words)), words):
        word, first = words[place], place * 64 - 1
        while word:
            rest = word & (word - 1)
            found.append(first + (word ^ rest).bit_length())
            word = rest
    return found


def step(value: int, detail: int) -> int:
    """A bucket for a size: exact while it is small, then 2^detail to each doubling. Larger sizes, larger buckets."""
    shift = value.bit_length() - 1 - detail
    return value if shift <= 0 else (shift << detail) + (value >> shift)
