"""The same real job through every runtime: a small training, with outputs, a checkpoint, and an end in the middle."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import engines
from support.fake_registry import fake_registry
from support.pool import Pool, path_without
from support.private_engines import docker_engine, podman_engine

pytestmark = pytest.mark.slow

TRAIN = '''
"""Fits y = 3x + 2 by gradient descent, without any framework, in steps that it can resume."""

import json
import os
import pathlib
import sys

saved = pathlib.Path(os.environ["COMPUTEPOOL_CHECKPOINT"]) / "state.json"
state = json.loads(saved.read_text()) if saved.exists() else {"step": 0, "w": 0.0, "b": 0.0}
print("resumed" if os.environ["COMPUTEPOOL_RESUMED"] == "1" else "fresh", "at", state["step"], flush=True)
while state["step"] < 400:
    for x in range(-10, 11):
        error = state["w"] * x / 10 + state["b"] - (3 * x / 10 + 2)
        state["w"] -= 0.05 * error * x / 10
        state["b"] -= 0.05 * error
    state["step"] += 1
    if state["step"] == 200 and os.environ["COMPUTEPOOL_RESUMED"] == "0":
        saved.write_text(json.dumps(state))
        sys.exit(85)
out = pathlib.Path(os.environ["COMPUTEPOOL_OUTPUT"])
(out / "model.json").write_text(json.dumps(state))
print("loss", round(error * error, 9))
'''
SPEC = """
name: train
workdir: .
run: python3 train.py
checkpoint: ckpt
outputs: ["*.json"]
isolation: {level}
resources: {{cpus: 0.5, memory: 256MB, disk: 64MB}}
"""
LEVELS = {"bwrap": "bubblewrap", "docker": "container", "gvisor": "gvisor", "podman": "container"}


@contextlib.contextmanager
def host(pool: Pool, runtime: str, **environment: str) -> Iterator[None]:
    """A machine that has this runtime, and no other that would do."""
    if runtime == "bwrap":
        pool.join("host", **environment)
        yield
        return
    with podman_engine() if runtime == "podman" else docker_engine() as engine:
        pool.join("host", PATH=path_without("bwrap"), DOCKER_HOST=f"unix://{engine.socket}", **environment)
        yield


LONG = pytest.mark.proof(long=True)


@pytest.fixture(params=["bwrap", "docker", pytest.param("gvisor", marks=LONG), pytest.param("podman", marks=LONG)])
def runtime(request: pytest.FixtureRequest) -> str:
    engines.require(request.param)
    return str(request.param)


def test_same_training_runs_stops_goes_on_and_leaves_its_model(pool: Pool, runtime: str, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "pool.yaml").write_text(SPEC.format(level=LEVELS[runtime]))
    with host(pool, runtime):
        (node,) = pool.cli("nodes", "--json").expect(0).json["items"]
        assert LEVELS[runtime] in node["capacity"]["isolation"], pool.story()
        done = pool.cli("run", "pool.yaml", "-y", "-o", "kept", cwd=folder).expect(0)
        assert done.text.split() == ["fresh", "at", "0", "resumed", "at", "200", "loss", "0.0"], done
        model = json.loads((folder / "kept" / "model.json").read_text())
        assert (model["step"], round(model["w"], 3), round(model["b"], 3)) == (400, 3.0, 2.0)
        job = pool.cli("show", "last", "--json").expect(0).json
        first, second = job["slices"][0]["attempts"]
        assert {one["isolation"] for one in (first, second)} == {LEVELS[runtime]}
        assert (first["exit_code"], first["resumed_from"], second["resumed_from"]) == (85, None, 1)
        pool.cli("verify", "last").expect(0)


@pytest.mark.engine("docker", "busybox")
def test_image_is_pulled_runs_by_its_digest_and_is_named_in_the_receipt(pool: Pool) -> None:
    busybox = Path("/bin/busybox").read_bytes()
    with fake_registry() as registry:
        digest = registry.add("tools/shell", "1", {"bin/busybox": busybox, "bin/sh": busybox, "etc/made-by": b"us\n"})
        with host(pool, "docker"):
            spec = {"image": registry.name("tools/shell", "1"), "resources": {"cpus": 0.5, "memory": "64MB"}}
            job = pool.client.submit({**spec, "run": ["/bin/busybox", "cat", "/etc/made-by"]})
            pool.until_state(job.id, "succeeded")
            assert pool.log_of(job.id) == b"us\n"
            (item,) = pool.client.receipts(job.id)
            assert json.loads(item.receipt.body)["image_digest"] == digest
            missing = pool.client.submit({**spec, "image": registry.name("tools/nothing", "9"), "run": ["true"]})
            ended = pool.until_state(missing.id, "failed")
            assert (ended.verdict, len(ended.slices[0].attempts)) == ("renter", 1)
            assert "nothing" in (ended.message or "")
