"""Planted bugs: a container that lacks a limit, or shows too much, does not pass the self-test."""

import asyncio
from typing import Any

import pytest
from support.proofs import proving
from support.waiting import patience

from computepool.agent.sandbox import self_test, selftest

pytestmark = [pytest.mark.slow, pytest.mark.proof]


def problems_with(bench, plant, probe) -> set[str]:
    """What the self-test says of a sandbox whose every container has the bug; in every run only one probe of it."""
    make = bench.container_sandbox._create

    async def make_with_bug(name: str, spec: dict[str, Any], failed) -> str:
        plant(spec, spec["HostConfig"])
        return await make(name, spec, failed)

    bench.container_sandbox._create = make_with_bug
    if proving():
        result = asyncio.run(self_test(bench.sandbox))
        assert not result.ok
        problems = list(result.problems)
    else:
        problems = asyncio.run(probe(bench.sandbox))
    return {problem.split(":")[0] for problem in problems}


def test_missing_limits_are_found(shared_kernel):
    def forget(_spec: dict, host: dict) -> None:
        for limit in ("Memory", "MemorySwap", "PidsLimit", "CpuQuota", "Ulimits"):
            del host[limit]
        host["Ulimits"] = [{"Name": name, "Soft": 4096, "Hard": 4096} for name in ("nofile", "nproc")]

    found = problems_with(shared_kernel, forget, selftest._disk)
    if not proving():
        assert found == {"disk"}
        return
    assert {"memory", "pids", "disk"} <= found

    async def find_cpu() -> None:
        # On a busy machine not even an unbounded job gets much of the processor every time.
        async with asyncio.timeout(patience()):
            while not await selftest._cpu(shared_kernel.sandbox):
                pass

    asyncio.run(find_cpu())


def test_missing_walls_are_found(shared_kernel):
    def forget(spec: dict, host: dict) -> None:
        spec["User"] = "0:0"
        for name in ("NetworkDisabled", "Hostname"):
            spec.pop(name, None)
        host |= {"NetworkMode": "host", "ReadonlyRootfs": False, "CapDrop": [], "SecurityOpt": ["seccomp=unconfined"]}
        host["Mounts"].append({"Type": "bind", "Source": "/root", "Target": "/root"})

    expected = {
        "is-root", "has-capabilities", "no-new-privileges", "seccomp", "root-writable", "host-homes-visible",
        "host-port-visible", "the job's files belong to root",
    }  # fmt: skip
    assert expected <= problems_with(shared_kernel, forget, selftest._isolation)


def test_ordinary_container_is_not_taken_for_gvisor(bench):
    gvisor = bench("gvisor")

    def pretend(_spec: dict, host: dict) -> None:
        host["Runtime"] = "runc"

    assert "host-kernel" in problems_with(gvisor, pretend, selftest._isolation)
