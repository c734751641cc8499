"""Buckets of a fixed step: how many samples, their sum, the least and the greatest, exactly.

Bucket `n` of step `s` covers the seconds from `n * s` to `(n + 1) * s` of the epoch. So two series of one step merge
bucket by bucket, and a series becomes one of any multiple of its step, in any order of merges, with the same result.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PLAIN, PACKED = b"\x01", b"\x02"
COMPRESSION = 6
UNPACKED_LIMIT_BYTES = 1024**2


class Cell(NamedTuple):
    """The samples of one metric in one bucket."""

    samples: int
    total: int
    least: int
    most: int

    def __add__(self, other: object) -> "Cell":
        if not isinstance(other, Cell):
            return NotImplemented
        return Cell(
            self.samples + other.samples,
            self.total + other.total,
            min(self.least, other.least),
            max(self.most, other.most),
        )


Bucket = dict[int, Cell]
"""By the code of a metric."""


class BadChunk(Exception):
    """Not what `encode` wrote."""


@dataclass
class Series:
    step: int
    """In seconds."""
    buckets: dict[int, Bucket] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.buckets)

    def __len__(self) -> int:
        return len(self.buckets)

    def add(self, at: float, values: Mapping[int, int]) -> None:
        """One sample of each metric, at an instant of the epoch."""
        if values:
            self._put(int(at // self.step), {code: Cell(1, value, value, value) for code, value in values.items()})

    def merge(self, other: "Series") -> None:
        """Add all samples of a series whose step divides this one's."""
        if self.step % other.step:
            raise ValueError(f"a step of {other.step} s does not divide {self.step} s")
        ratio = self.step // other.step
        for index, bucket in other.buckets.items():
            self._put(index // ratio, bucket)

    def at_step(self, step: int) -> "Series":
        """The same samples in wider buckets."""
        wider = Series(step)
        wider.merge(self)
        return wider

    def between(self, since: float, until: float) -> "Series":
        """The buckets that have a part in this time."""
        kept = {
            n: bucket for n, bucket in self.buckets.items() if (n + 1) * self.step > since and n * self.step < until
        }
        return Series(self.step, kept)

    def split(self, seconds: int) -> "dict[int, Series]":
        """By the start of each stretch of so many seconds, as a second of the epoch."""
        parts: dict[int, Series] = {}
        for index, bucket in self.buckets.items():
            start = index * self.step // seconds * seconds
            parts.setdefault(start, Series(self.step)).buckets[index] = bucket
        return parts

    def _put(self, index: int, bucket: Mapping[int, Cell]) -> None:
        known = self.buckets.setdefault(index, {})
        for code, cell in bucket.items():
            before = known.get(code)
            known[code] = cell if before is None else before + cell


def merged(*parts: Series) -> Series:
    """All samples of series whose steps are multiples of one another, at the widest of their steps."""
    whole = Series(max(part.step for part in parts))
    for part in parts:
        whole.merge(part)
    return whole


def bounded(series: Series, buckets: int) -> Series:
    """In the finest step, doubled as often as needed, at which the series spans at most so many buckets."""
    while series and max(series.buckets) - min(series.buckets) >= buckets:
        series = series.at_step(2 * series.step)
    return series


# ── as bytes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def encode(series: Series) -> bytes:
    """Numbers of seven bits a byte; compressed where that is shorter."""
    codes = sorted({code for bucket in series.buckets.values() for code in bucket})
    plain = b"".join(_varint(number) for number in _numbers(series, codes))
    packed = zlib.compress(plain, COMPRESSION)
    return PACKED + packed if len(packed) < len(plain) else PLAIN + plain


def _numbers(series: Series, codes: list[int]) -> Iterator[int]:
    yield from (series.step, len(codes), *codes, len(series.buckets))
    before = 0
    for index in sorted(series.buckets):
        yield index - before
        before = index
        for code in codes:
            cell = series.buckets[index].get(code)
            if cell is None:
                yield 0
            else:
                yield from (cell.samples, cell.least, cell.most - cell.least, cell.total - cell.samples * cell.least)


def decode(data: bytes) -> Series:
    """Raises BadChunk."""
    try:
        return _decode(data)
    except (ValueError, StopIteration, zlib.error) as error:
        raise BadChunk(f"a chunk of history cannot be read: {error}") from error


def _decode(data: bytes) -> Series:
    body = data[1:]
    if data[:1] == PACKED:
        body = zlib.decompressobj().decompress(body, UNPACKED_LIMIT_BYTES)
    elif data[:1] != PLAIN:
        raise ValueError("it begins with an unknown version")
    numbers = _read(body)
    step = next(numbers)
    if not step:
        raise ValueError("its step is 0")
    codes = [next(numbers) for _ in range(next(numbers))]
    series, index = Series(step), 0
    for _ in range(next(numbers)):
        index += next(numbers)
        bucket: Bucket = {}
        for code in codes:
            samples = next(numbers)
            if samples:
                least, spread, rest = next(numbers), next(numbers), next(numbers)
                bucket[code] = Cell(samples, rest + samples * least, least, least + spread)
        series.buckets[index] = bucket
    return series


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read(data: Iterable[int]) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0
