"""The schema of a written spec takes what the reader takes, and the stored form fits its own."""

from typing import Any

import jsonschema_rs
import pytest
from pydantic import TypeAdapter

from computepool.protocol.spec import SpecError, parse_spec
from computepool.protocol.spec_aliases import RESOURCE_ALIASES, SPEC_ALIASES
from computepool.protocol.written_spec import WireSpec, WrittenSpec

WRITTEN = jsonschema_rs.Draft202012Validator(TypeAdapter(WrittenSpec).json_schema(mode="validation"))
WIRE = jsonschema_rs.Draft202012Validator(TypeAdapter(WireSpec).json_schema(mode="serialization"))
SPECS: list[dict[str, Any]] = [
    {"run": "python train.py"},
    {"run": ["python", "-c", "print(6*7)", 3]},
    {"run": "true", "resources": {"cpus": 8, "memory": "16GB..", "disk": {"size": "100GB.."}, "gpu": "rtx-4090:2"}},
    {"run": "true", "resources": {"cpu": "8+", "memory": 16, "disk_size": "1TB", "accelerators": {"A100": 2}}},
    {"run": "true", "resources": {"gpu": {"name": "rtx-4090", "memory": "24GB..", "count": 2}}},
    {"run": "true", "resources": {"gpus": 2, "use_spot": True, "max_hourly_cost": 4, "image_id": "docker:python:3.12"}},
    {"commands": ["pip install x", "python train.py"], "type": "task", "nodes": 1, "max_duration": "2h"},
    {"run": "true", "envs": {"A": 1, "B": "x"}, "num_nodes": 1, "max_hourly_cost": "0.25"},
    {"run": "true", "env": ["A=1"], "outputs": "out/", "checkpoint": {"path": "ckpt", "every": "10m"}, "slices": 3},
    {"run": "true", "where": {"country": ["IN", "DE"], "trust": "verified", "tags": "lab", "min_reliability": 0.9}},
    {"run": "true", "inputs": {"a.csv": "artifact_01", "b": {"url": "https://example.org/b", "sha256": "0" * 64}}},
    {"run": "true", "files": ["artifact_01:data.csv"], "notify": "email", "isolation": "bubblewrap", "network": True},
    {"run": "true", "deterministic": True, "verify": {"replicas": 2}, "publish": {"model": "ann/mnist"}, "team": "lab"},
    {"run": "true", "budget": 100, "priority": -5, "preemptible": True, "retries": 2, "optimize": "cost", "name": "x"},
    {
        "run": "true",
        "secrets": ["KEY"],
        "where": {"trust": "mine"},
        "setup": "pip install x",
        "workdir": ".",
        "image": "a",
    },
]


@pytest.mark.parametrize("spec", SPECS)
def test_what_the_reader_takes_fits_the_schema(spec):
    wire = parse_spec(spec).to_wire()
    assert [error.message for error in WRITTEN.iter_errors(spec)] == []
    assert [error.message for error in WIRE.iter_errors(wire)] == []
    assert [error.message for error in WRITTEN.iter_errors(wire)] == [], "the stored form is itself a spec"


def test_every_alias_is_tried():
    tried = {key for spec in SPECS for key in spec} | {key for spec in SPECS for key in spec.get("resources", {})}
    assert {*SPEC_ALIASES, *RESOURCE_ALIASES} <= tried


@pytest.mark.parametrize(
    "spec",
    [
        {"run": "true", "slices": 0},
        {"run": "true", "colour": "red"},
        {"run": {"python": "train.py"}},
        {"run": "true", "resources": {"ram": "16GB"}},
        {"run": "true", "where": {"trust": "everybody"}},
        {"run": "true", "priority": 101},
        {"run": "true", "verify": {"replicas": 1}, "deterministic": True},
        {"run": "true", "nodes": 2},
    ],
)
def test_what_the_schema_refuses_the_reader_refuses_too(spec):
    assert not WRITTEN.is_valid(spec)
    with pytest.raises(SpecError):
        parse_spec(spec)
