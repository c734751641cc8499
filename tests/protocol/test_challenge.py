"""The arithmetic that both sides of a challenge rely on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.protocol.benchmark import BenchmarkTask, LineProbe, Opening
from computepool.protocol.challenge import (
    HALF,
    LARGEST_SIZE,
    MODULUS,
    ROUNDS,
    SIZES,
    SYMBOLS,
    coefficients,
    column_of_b,
    first_row,
    leaf_digest,
    merkle_levels,
    merkle_path,
    root_from,
    row_of_a,
)
from computepool.protocol.messages import MESSAGE_LIMIT_BYTES

EXACT_IN_FP32 = 2**24


def test_no_sum_is_too_large_for_single_precision():
    assert LARGEST_SIZE * HALF * HALF < EXACT_IN_FP32
    assert LARGEST_SIZE * (MODULUS - 1) * HALF < EXACT_IN_FP32
    assert (MODULUS - 1) ** 2 < EXACT_IN_FP32
    assert max(SIZES.values()) <= LARGEST_SIZE


def test_streams_are_in_the_field_and_differ():
    seed = b"s" * 32
    streams = [row_of_a(seed, 0, 200), row_of_a(seed, 1, 200), column_of_b(seed, 0, 200), row_of_a(b"t" * 32, 0, 200)]
    assert all(max(one) < MODULUS for one in streams)
    assert len(set(streams)) == 4
    assert len(set(coefficients(seed, 200))) == SYMBOLS


def test_segments_begin_differently():
    assert len({first_row(b"s" * 32, segment, 3, 64) for segment in range(64)}) == 64


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=40), st.data())
def test_every_leaf_leads_to_the_root_and_no_other_does(contents, data):
    leaves = [leaf_digest(one) for one in contents]
    levels, index = merkle_levels(leaves), data.draw(st.integers(0, len(leaves) - 1))
    root, path = levels[-1][0], merkle_path(levels, index)
    assert root_from(leaves[index], index, len(leaves), path) == root
    assert root_from(leaf_digest(b"something else"), index, len(leaves), path) != root
    assert root_from(leaves[index], index, len(leaves), [*path, bytes(32)]) is None
    if path:
        assert root_from(leaves[index], index, len(leaves), path[:-1]) is None


def test_node_of_the_tree_is_not_taken_for_a_leaf():
    left, right = leaf_digest(b"a"), leaf_digest(b"b")
    assert leaf_digest(left + right) != merkle_levels([left, right])[-1][0]


@pytest.mark.parametrize("backend", SIZES)
def test_reveal_fits_in_a_message(backend):
    """24 openings of the last round, in base64."""
    size, rounds = SIZES[backend], ROUNDS[backend]
    opening = Opening(rows=(bytes(size),) * rounds, digests=bytes(size * SYMBOLS), path=(bytes(32),) * 16)
    assert 24 * len(opening.to_bytes()) < MESSAGE_LIMIT_BYTES


def test_absurd_tasks_are_not_messages():
    for change in ({"size": 0}, {"size": 4096}, {"rounds": 10**9}, {"segments": 10**9}, {"seed": b""}):
        with pytest.raises(ValueError, match="validation error"):
            BenchmarkTask.model_validate(
                {"challenge_id": "c", "seed": b"s" * 32, "size": 64, "rounds": 4, "segments": 1} | change
            )
    with pytest.raises(ValueError, match="validation error"):
        LineProbe.model_validate({"number": 1, "answer_bytes": 10**9})
