"""A spec in a file: what it says twice is refused, not dropped."""

import shlex
from pathlib import Path

import pytest

from computepool.cli.request import _read_spec
from computepool.protocol.spec import JobSpec, parse_spec
from computepool.protocol.spec_command import command_of


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


def test_command_line_of_a_spec_submits_the_same_job(hub, cli):
    asked = {
        "name": "it's all",
        "resources": {"gpu": "A100:80GB:2", "cpus": "0.5", "memory": "2GB..4GB", "disk": "20GB"},
        "image": "python:3.12-slim",
        "setup": "pip install 'numpy>2' \"x\"\necho $HOME",
        "run": ["sh", "-c", "echo \"$COMPUTEPOOL_SLICE\" 'done'\n"],
        "env": {"A": "1 2", "B": ""},
        "outputs": ["out/**", "-x"],
        "checkpoint": {"path": "ckpt", "every": "10m"},
        "slices": 3,
        "max_price": "12.5",
        "max_runtime": "90m",
        "budget": 200,
        "priority": -5,
        "preemptible": True,
        "retries": 2,
        "optimize": "cost",
        "where": {"country": ["IN", "DE"], "tags": ["lab"], "trust": "verified", "min_reliability": 0.8},
        "isolation": "container",
        "inputs": {"a": "artifact_01j9", "b/c": {"url": "https://example.org/a?b=c", "sha256": "ab" * 32}},
        "notify": ["email"],
        "network": True,
        "deterministic": True,
        "verify": {"replicas": 3},
    }
    for written in (asked, {"run": ["true"]}, {"run": ["a b"], "where": {"trust": "mine"}, "checkpoint": "ckpt"}):
        spec = parse_spec(written)
        words = shlex.split(command_of(spec))
        assert words[0] == "computepool"
        result = cli(*words[1:2], "-d", *words[2:])
        assert result.code == 0, result.err
        sent = list(hub.jobs.values())[-1].document["spec"]
        assert JobSpec.from_wire(sent) == spec
