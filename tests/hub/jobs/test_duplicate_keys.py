"""A spec that says a thing twice is refused: the reader would drop one of the two in silence."""

import pytest

from computepool.hub.jobs.errors import BadSpec
from computepool.hub.jobs.submission import read_spec


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"run": "x", "slices": 2, "slices": 3}', "slices"),
        (b'{"run": "x", "slices": 2, "slices": 2}', "slices"),
        (b'{"run": "x", "env": {"A": "1", "A": "2"}}', "A"),
        (b'{"run": "x", "\\u0072un": "y"}', "run"),
    ],
)
def test_key_that_is_there_twice_is_named(body, field):
    with pytest.raises(BadSpec) as caught:
        read_spec(body, ())
    assert f"{field}: appears twice" in str(caught.value)


def test_same_key_in_different_mappings_is_no_duplicate():
    spec = read_spec(b'{"run": "x", "name": "a", "env": {"name": "b"}}', ())
    assert (spec.name, spec.env) == ("a", {"name": "b"})
