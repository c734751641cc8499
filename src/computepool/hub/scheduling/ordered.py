"""A dictionary that is gone through in the order of its keys, however large it is and whatever is taken out of it."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Any)
V = TypeVar("V")


class Ordered(Generic[K, V]):
    def __init__(self) -> None:
        self._keys: list[K] = []
        """In order. Some are only still here because taking one out of the middle is slow."""
        self._values: dict[K, V] = {}
        self._gone: set[K] = set()
        self._start = 0
        """Before it, all keys are gone."""

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[V]:
        """Do not change it while you go through it."""
        self._skip_those_gone()
        keys = self._keys
        for place in range(self._start, len(keys)):
            if keys[place] in self._values:
                yield self._values[keys[place]]

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        if key not in self._values:
            place = len(self._keys) if not self._keys or key > self._keys[-1] else bisect_left(self._keys, key)
            if key in self._gone:
                self._gone.discard(key)
            else:
                self._keys.insert(place, key)
            self._start = min(self._start, place)
        self._values[key] = value

    def pop(self, key: K) -> V:
        value = self._values.pop(key)
        self._gone.add(key)
        if len(self._gone) * 2 > len(self._keys):
            self._keys = [key for key in self._keys if key in self._values]
            self._gone.clear()
            self._start = 0
        return value

    def _skip_those_gone(self) -> None:
        while self._start < len(self._keys) and self._keys[self._start] not in self._values:
            self._start += 1
