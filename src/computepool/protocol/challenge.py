"""The arithmetic of the benchmark's challenge, shared by who computes it and who checks it. Standard library alone.

Everything happens in whole numbers modulo 127. From a seed come the rows of A and the columns of B. A segment s begins
with A, each row turned left by s places, and goes on in rounds:

    x₀ = row of A, turned, − 63      zₖ = xₖ₋₁·B mod 127 (kept: the state)      xₖ = (zₖ² mod 127) − 63

The square makes it a chain: without it B could be raised to a power first, in few products instead of many. Every row
goes its own way, so that one row can be checked without the others.

Exact on every device: |x|, |b| ≤ 63, so all partial sums of x·B are whole numbers below 2048·63·63 < 2²⁴, which fp32
represents without rounding, in whatever order they are added. A digest adds z ≤ 126 times |c| ≤ 63, at most 2048
times: 16,257,024 < 2²⁴ as well.
"""

import hashlib
from collections.abc import Iterable, Sequence

MODULUS = 127
HALF = 63
LARGEST_SIZE = 2048
"""Of a matrix: with a larger one fp32 would round."""
SYMBOLS = 8
"""Of a row's digest, each of 127 values: 56 bits."""

SIZES = {"python": 64, "numpy": 1024, "torch": 2048, "cupy": 2048}
"""Of the matrices, by what computes them."""
ROUNDS = {"python": 4, "numpy": 16, "torch": 16, "cupy": 16}
"""Of a segment."""

_REDUCED = bytes(value % MODULUS for value in range(256))


def row_of_a(seed: bytes, row: int, size: int) -> bytes:
    """Numbers from 0 to 126; 63 is to be taken from each."""
    return _stream(b"A", seed, row, size)


def column_of_b(seed: bytes, column: int, size: int) -> bytes:
    return _stream(b"B", seed, column, size)


def coefficients(nonce: bytes, size: int) -> list[bytes]:
    """With which a row is digested: `SYMBOLS` times `size` numbers, 63 to be taken from each."""
    return [_stream(b"C", nonce, symbol, size) for symbol in range(SYMBOLS)]


def first_row(seed: bytes, segment: int, row: int, size: int) -> bytes:
    whole, turn = row_of_a(seed, row, size), segment % size
    return whole[turn:] + whole[:turn]


def product_flops(size: int) -> float:
    return 2.0 * size**3


def _stream(kind: bytes, seed: bytes, index: int, size: int) -> bytes:
    return hashlib.shake_128(kind + index.to_bytes(4) + seed).digest(size).translate(_REDUCED)


# ── a commitment to many things, of which few are shown ──────────────────────────────────────────────────────────────


def leaf_digest(content: bytes) -> bytes:
    return hashlib.sha256(b"\0" + content).digest()


def _join(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


def merkle_levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """From the leaves up to the root. One without a neighbour goes up as it is."""
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        above = [_join(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)]
        levels.append(above + below[len(above) * 2 :])
    return levels


def merkle_path(levels: Sequence[Sequence[bytes]], index: int) -> list[bytes]:
    """The neighbours on the way up."""
    path = []
    for level in levels[:-1]:
        neighbour = index ^ 1
        if neighbour < len(level):
            path.append(level[neighbour])
        index //= 2
    return path


def root_from(leaf: bytes, index: int, count: int, path: Iterable[bytes]) -> bytes | None:
    """The root that a leaf at this place leads to; None if the path is not as long as it has to be."""
    here, steps = leaf, iter(path)
    while count > 1:
        if index ^ 1 < count:
            neighbour = next(steps, None)
            if neighbour is None:
                return None
            here = _join(here, neighbour) if index % 2 == 0 else _join(neighbour, here)
        index, count = index // 2, (count + 1) // 2
    return here if next(steps, None) is None else None
