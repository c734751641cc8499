"""A machine with GPUs, as far as one without any can show it: the driver's program is a fake, the rest is real."""

import json

import pytest
from support.pool import path_without

pytestmark = pytest.mark.slow

# What a fake of nvidia-smi answers, in the columns that the agent asks for: index, uuid, name, memory, bus id.
CARDS = {"GPU-aaaa": "0, GPU-aaaa, NVIDIA GeForce RTX 4090, 24564, 00000000:01:00.0",
         "GPU-bbbb": "1, GPU-bbbb, NVIDIA GeForce RTX 4090, 24564, 00000000:02:00.0"}  # fmt: skip
SHOW = 'echo "$CUDA_VISIBLE_DEVICES"'


@pytest.fixture
def agent(pool, tmp_path):
    folder = tmp_path / "fake-driver"
    folder.mkdir()
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\ncat <<END\n" + "\n".join(CARDS.values()) + "\nEND\n")
    program.chmod(0o755)
    return pool.join("gamer", PATH=f"{folder}:{path_without('bwrap')}")


def test_jobs_are_given_gpus_of_their_own_and_see_no_other(pool, agent):
    (node,) = pool.cli("nodes", "--json").expect(0).json["items"]
    assert [(gpu["id"], gpu["slug"]) for gpu in node["capacity"]["gpus"]] == [(card, "rtx-4090") for card in CARDS]

    flag = pool.folder / "go"
    hold = f"{SHOW}; while [ ! -e {flag} ]; do sleep 0.05; done"
    first, second = (pool.submit("sh", "-c", hold, **_with_gpus("24GB..")) for _ in range(2))
    for job in (first, second):
        pool.until_running(job.id)
    # Both are taken, and a GPU is whole: the third waits, however little it asks for.
    third = pool.submit("sh", "-c", SHOW, **_with_gpus("8GB..:2"))
    none = pool.until_state(pool.submit("sh", "-c", SHOW).id, "succeeded")
    assert pool.log_of(none.id) == b"\n", "who asks for none sees none"
    assert pool.client.job(third.id).state == "queued"
    assert "is busy" in pool.cli("why", third.id).expect(0).text
    more = pool.submit("true", **_with_gpus("40GB.."))
    assert "can never run it" in pool.cli("why", more.id).expect(0).text

    flag.touch()
    for job in (first, second, third):
        pool.until_state(job.id, "succeeded")
    seen = [pool.log_of(job.id).decode().strip() for job in (first, second)]
    assert sorted(seen) == list(CARDS)
    assert set(pool.log_of(third.id).decode().strip().split(",")) == set(CARDS)
    # The order that the node signed for says the same.
    for job, visible in zip((first, second), seen, strict=True):
        (item,) = pool.client.receipts(job.id)
        assert json.loads(item.manifest.body)["grant"]["gpus"] == [visible]


def _with_gpus(request: str) -> dict[str, object]:
    return {"resources": {"cpus": 0.1, "memory": "64MB", "disk": "64MB", "gpu": request}}
