"""No job input yields a host verdict: generated jobs on a real agent, in bubblewrap.

The same in containers: containers/test_job_verdicts.py. Not as plain processes: these jobs remove whatever they reach,
and nothing would keep them from the machine that runs the tests.
"""

import asyncio
import shutil
from typing import Any

import pytest
from support.job_cases import CASES_OF_EVERY_RUN, Where, check_verdicts
from support.proofs import figure, proving

from computepool.agent.sandbox import BubblewrapSandbox
from computepool.protocol.states import IsolationLevel

CASES = 1_000
PIECES = figure(1, 20)
"""Of the full figure, each a test: one that broke off goes on with `./dev prove "bubblewrap and piece7"` and so on."""


@pytest.mark.proof
@pytest.mark.engine("bwrap")
@pytest.mark.parametrize("piece", range(PIECES), ids=lambda piece: f"piece{piece}")
def test_no_job_in_bubblewrap_is_the_hosts_fault(tmp_path, piece):
    def bubblewrap(state):
        return BubblewrapSandbox(state, bwrap=shutil.which("bwrap") or "bwrap")

    changes: dict[str, Any] = {"own": False, "isolation": IsolationLevel.BUBBLEWRAP}
    numbers = range(piece * CASES, (piece + 1) * CASES) if proving() else CASES_OF_EVERY_RUN
    asyncio.run(check_verdicts(tmp_path, numbers, bubblewrap, Where("bubblewrap"), **changes))
