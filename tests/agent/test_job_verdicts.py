"""No job input yields a host verdict: generated jobs on a real agent, in bubblewrap.

The same in containers: containers/test_job_verdicts.py. Not as plain processes: these jobs remove whatever they reach,
and nothing would keep them from the machine that runs the tests.
"""

import asyncio
import shutil
from typing import Any

import pytest
from support.job_cases import Where, check_verdicts
from support.proofs import figure

from computepool.agent.sandbox import BubblewrapSandbox
from computepool.protocol.states import IsolationLevel


@pytest.mark.proof
@pytest.mark.engine("bwrap")
def test_no_job_in_bubblewrap_is_the_hosts_fault(tmp_path):
    def bubblewrap(state):
        return BubblewrapSandbox(state, bwrap=shutil.which("bwrap") or "bwrap")

    changes: dict[str, Any] = {"own": False, "isolation": IsolationLevel.BUBBLEWRAP}
    asyncio.run(check_verdicts(tmp_path, range(figure(100, 20_000)), bubblewrap, Where("bubblewrap"), **changes))
