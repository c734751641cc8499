"""Podman without root accepts limits that it cannot keep, and says nothing: the self-test finds it out."""

import json
from pathlib import Path

import pytest
from support import private_engines
from support.ordinary_user import run_as_ordinary_user
from support.proofs import proving

SELF_TEST = """
import asyncio, json, sys
from pathlib import Path
from computepool.agent.sandbox import available_sandboxes, find_engines, self_test, selftest

async def main():
    selftest.ENGINE_SECONDS = 600
    found = await find_engines({}, sockets=[Path(sys.argv[2])])
    sandbox = available_sandboxes(Path(sys.argv[1]), engines=found)[0]
    whole = sys.argv[3] == "whole"
    problems = (await self_test(sandbox)).problems if whole else await selftest._memory(sandbox)
    await sandbox.close()
    print(json.dumps([found[0].facts.rootless, sandbox.level, list(problems), sandbox.has_egress if whole else None]))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.proof
def test_limits_that_are_silently_ignored_are_found(tmp_path):
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        pytest.skip("control groups, version 1: with version 2 the limits may hold")
    for _ in range(3):
        with private_engines.rootless_podman_engine() as engine:
            extent = "whole" if proving() else "memory"
            said = run_as_ordinary_user(SELF_TEST, str(engine.socket), extent)
            rootless, level, problems, has_egress = json.loads(said)
        # On a very busy machine podman sometimes comes up without the ids that it was given.
        if not any("keep-id requires" in problem for problem in problems):
            break
    assert rootless
    assert level == "container"
    broken = {problem.split(":")[0] for problem in problems}
    if not proving():
        assert broken == {"memory"}, problems
        return
    assert {"memory", "pids"} <= broken, problems
    assert "own-folder-writable" not in broken, problems
    # Its networks are not ours to enter; the door that is opened from inside does.
    assert has_egress
    assert not any(problem.startswith("with egress") for problem in problems), problems
