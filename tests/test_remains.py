"""Tests clear away what their agents keep outside of the tests' own folders."""

import os
import shutil
from pathlib import Path

import pytest
from support.remains import clear_system_folder

from computepool.agent.sandbox.identity import SYSTEM_FOLDER, instance_of


@pytest.mark.skipif(os.geteuid() != 0, reason="root: only its agents keep anything there")
def test_what_agents_of_a_run_kept_is_removed_and_nothing_else(tmp_path: Path) -> None:
    ours, others = tmp_path / "run" / "test" / "pool" / "machine" / "agent", tmp_path / "elsewhere" / "agent"
    places = []
    for state in (ours, others):
        state.mkdir(parents=True)
        places.append(SYSTEM_FOLDER / instance_of(state) / "attempts" / "attempt_1")
        places[-1].mkdir(parents=True)
    try:
        clear_system_folder(tmp_path / "run")
        assert [place.exists() for place in places] == [False, True]
        assert not places[0].parent.parent.exists()
    finally:
        shutil.rmtree(places[1].parent.parent)
