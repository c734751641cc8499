"""Bugs put in on purpose where the agent decides whose fault an end is: the generated jobs find each of them."""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.job_cases import CASES_OF_EVERY_RUN, Where, check_verdicts

from computepool.agent import checkpoints, environments, faults
from computepool.agent.commands import Commands
from computepool.agent.sandbox import BubblewrapSandbox
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.engine("bwrap")]

Mutant = Callable[[pytest.MonkeyPatch], None]


def play(folder: Path, numbers: Sequence[int]) -> None:
    def bubblewrap(state: Path) -> BubblewrapSandbox:
        return BubblewrapSandbox(state, bwrap=shutil.which("bwrap") or "bwrap")

    changes: dict[str, Any] = {"own": False, "isolation": IsolationLevel.BUBBLEWRAP}
    asyncio.run(check_verdicts(folder, numbers, bubblewrap, Where("bubblewrap"), **changes))


def every_exception_is_the_nodes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(faults, "reason_of", lambda place, error, within_grant: EndReason.SANDBOX)


def checkpoint_that_is_not_saved_is_the_nodes(patch: pytest.MonkeyPatch) -> None:
    def careless(self: checkpoints.Checkpoints, error: Exception) -> None:
        self._is_refused = False
        self._tell_refused(str(error))

    patch.setattr(checkpoints.Checkpoints, "_failed", careless)


def environment_that_is_not_kept_ends_the_attempt(patch: pytest.MonkeyPatch) -> None:
    async def careless(self: Commands, place: Path, before: object) -> None:
        try:
            await self._shop.offload(environments.keep, self._folder, place)
        except Exception as error:
            raise faults.AttemptOver(EndReason.SANDBOX, str(error)) from error

    patch.setattr(Commands, "_keep", careless)


MUTANTS: dict[Mutant, list[int]] = {
    every_exception_is_the_nodes: [7, 10, 13],
    checkpoint_that_is_not_saved_is_the_nodes: [743],
    environment_that_is_not_kept_ends_the_attempt: [23],
}
"""Each with cases that find it. After a change to the cases, others do: name one of them in `CASES_OF_EVERY_RUN`."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_generated_jobs_find_the_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Mutant) -> None:
    assert set(MUTANTS[mutant]) <= set(CASES_OF_EVERY_RUN), "or no run of test_job_verdicts.py finds it"
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"(?s)host|the agent ended"):
        play(tmp_path, MUTANTS[mutant])
