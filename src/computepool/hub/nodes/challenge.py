"""Checks what a node revealed of its challenge. Pure Python, a fraction of a second; called off the event loop.

A row z is right if z = x·B. Freivalds: draw a random vector r, and compare z·r with x·(B·r), both modulo 127. B·r is
computed once for all rows; a wrong row passes with a chance of 1 in 127 for each r, and r is drawn after the reveal.
"""

from collections.abc import Sequence
from operator import mul

from computepool.hub.core.ids import RandomBits
from computepool.protocol.benchmark import BenchmarkTask, Opening, Place
from computepool.protocol.challenge import (
    HALF,
    MODULUS,
    SYMBOLS,
    coefficients,
    column_of_b,
    first_row,
    leaf_digest,
    root_from,
)

VECTORS = 4
"""A wrong row passes all of them once in 260 million times."""
_LANE_BYTES = 4
_SQUARED = [value * value % MODULUS - HALF for value in range(MODULUS)]


class Caught(Exception):
    """The answer is not what the task leads to. Says what is wrong."""


def random_bytes(randbits: RandomBits, count: int) -> bytes:
    return randbits(8 * count).to_bytes(count)


def draw_places(task: BenchmarkTask, count: int, randbits: RandomBits) -> tuple[Place, ...]:
    """Known to nobody before the node has committed itself."""

    def below(limit: int) -> int:
        return randbits(64) % limit

    return tuple(
        Place(segment=below(task.segments), round=below(task.rounds), row=below(task.size)) for _ in range(count)
    )


def check_reveal(
    task: BenchmarkTask,
    nonce: bytes,
    root: bytes,
    places: Sequence[Place],
    openings: Sequence[Opening],
    randbits: RandomBits,
) -> None:
    """Raises Caught."""
    if len(openings) != len(places):
        raise Caught(f"{len(places)} rows were asked for, {len(openings)} were shown")
    vectors = [[byte % MODULUS for byte in random_bytes(randbits, task.size)] for _ in range(VECTORS)]
    products = _b_times(task, vectors)
    factors = [[c - HALF for c in one] for one in coefficients(nonce, task.size)]
    for place, opening in zip(places, openings, strict=True):
        _check_commitment(task, root, place, opening)
        last = _check_chain(task, place, opening, vectors, products)
        said = opening.digests[place.row * SYMBOLS : (place.row + 1) * SYMBOLS]
        if said != bytes(sum(map(mul, last, one)) % MODULUS for one in factors):
            raise Caught("a row is not the one that was committed to")


def _check_commitment(task: BenchmarkTask, root: bytes, place: Place, opening: Opening) -> None:
    if len(opening.digests) != task.size * SYMBOLS:
        raise Caught("a state has another number of rows")
    state = place.segment * task.rounds + place.round
    if root_from(leaf_digest(opening.digests), state, task.states, opening.path) != root:
        raise Caught("what was shown is not what was committed to")


def _check_chain(
    task: BenchmarkTask,
    place: Place,
    opening: Opening,
    vectors: Sequence[Sequence[int]],
    products: Sequence[Sequence[int]],
) -> bytes:
    """From what the seed gives, product by product; the last row."""
    if len(opening.rows) != place.round + 1:
        raise Caught("a row was shown without those that it comes from")
    x = [value - HALF for value in first_row(task.seed, place.segment, place.row, task.size)]
    for row in opening.rows:
        if len(row) != task.size or max(row) >= MODULUS:
            raise Caught("a row is not one of this task")
        for vector, product in zip(vectors, products, strict=True):
            if (sum(map(mul, row, vector)) - sum(map(mul, x, product))) % MODULUS:
                raise Caught("a row is not the product that it should be")
        x = [_SQUARED[value] for value in row]
    return opening.rows[-1]


def _b_times(task: BenchmarkTask, vectors: Sequence[Sequence[int]]) -> list[list[int]]:
    """B·r for each r. A column is one long integer, with a number in every fourth byte: multiplied and added whole.

    No number overflows its four bytes: 2048 · 126 · 126 < 2³².
    """
    sums = [0] * len(vectors)
    lanes = bytearray(task.size * _LANE_BYTES)
    for number in range(task.size):
        lanes[::_LANE_BYTES] = column_of_b(task.seed, number, task.size)
        column = int.from_bytes(lanes, "little")
        for which, vector in enumerate(vectors):
            sums[which] += column * vector[number]
    results = []
    for total, vector in zip(sums, vectors, strict=True):
        shift = HALF * sum(vector)  # the stream is not centred, B is
        raw = memoryview(total.to_bytes(len(lanes), "little"))
        values = (int.from_bytes(raw[at : at + _LANE_BYTES], "little") for at in range(0, len(raw), _LANE_BYTES))
        results.append([(value - shift) % MODULUS for value in values])
    return results
