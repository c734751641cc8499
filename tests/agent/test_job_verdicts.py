"""No job input yields a host verdict: generated jobs on a real agent, in bubblewrap and as plain processes.

The same in containers: containers/test_job_verdicts.py.
"""

import asyncio
import shutil
from typing import Any

import pytest
from support.job_cases import Where, check_verdicts
from support.proofs import figure

from computepool.agent.sandbox import BubblewrapSandbox, ProcessSandbox
from computepool.protocol.states import IsolationLevel


@pytest.mark.proof
@pytest.mark.engine("bwrap")
def test_no_job_in_bubblewrap_is_the_hosts_fault(tmp_path):
    def bubblewrap(state):
        return BubblewrapSandbox(state, bwrap=shutil.which("bwrap") or "bwrap")

    changes: dict[str, Any] = {"own": False, "isolation": IsolationLevel.BUBBLEWRAP}
    asyncio.run(check_verdicts(tmp_path, range(figure(100, 20_000)), bubblewrap, Where("bubblewrap"), **changes))


@pytest.mark.proof
def test_no_job_that_is_a_plain_process_is_the_hosts_fault(tmp_path):
    def process(state):
        return ProcessSandbox(state, cgroups=None)

    where = Where("process", is_isolated=False)
    asyncio.run(check_verdicts(tmp_path, range(figure(10, 1_000)), process, where, own=True))
