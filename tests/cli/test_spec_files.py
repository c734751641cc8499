"""A spec in a file: what it says twice is refused, not dropped."""

from pathlib import Path

import pytest

from computepool.cli.request import _read_spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run: x\nslices: 2\nslices: 3\n", "line 3, column 1: the key 'slices' is there twice, first in line 2"),
        ("run: x\nenv:\n  A: 1\n  A: 2\n", "line 4, column 3: the key 'A' is there twice, first in line 3"),
    ],
)
def test_key_that_is_there_twice_is_named_with_its_line(hub, cli, text, said):
    Path("job.yaml").write_text(text)
    result = cli("run", "job.yaml")
    assert result.code == 2
    assert said in result.err
    assert not hub.jobs


def test_merged_key_may_be_overridden_and_merged_on(tmp_path):
    path = tmp_path / "merged.yaml"
    path.write_text("a: &a {x: 1, y: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b, y: 3}\nd: *b\n")
    read = _read_spec(path)
    assert (read["b"], read["c"]) == ({"x": 2, "y": 1}, {"x": 2, "y": 3})
