"""What the probes found, once for each runtime; and their controls."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import engines
from support.ordinary_user import NOBODY
from support.probes.abuse import ABUSES, run_outside
from support.probes.catalogue import PROBES
from support.probes.host import secrets_of
from support.probes.report import Report
from support.probes.run import Answers, run_through_open_door
from support.probes.run import run_outside as run_probes_outside
from support.probes.runtimes import report_on


@pytest.fixture(scope="session")
def state() -> Iterator[Path]:
    """An agent's folder that other users can reach, as /var/lib/computepool is (pytest's own folders are not)."""
    engines.require("system-python")
    folder = Path(tempfile.mkdtemp(prefix="computepool-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def reports(state: Path) -> Callable[[str], Report]:
    made: dict[str, Report] = {}
    missing: dict[str, str] = {}
    broken: dict[str, str] = {}

    def report(runtime: str) -> Report:
        """Not tried again for each probe where it is missing, or broken."""
        if runtime not in made | missing | broken:
            try:
                made[runtime] = report_on(runtime, state)
            except pytest.skip.Exception as skipped:
                missing[runtime] = str(skipped)
            except Exception as error:
                broken[runtime] = f"{type(error).__name__}: {error}"
                raise
        if runtime in missing:
            pytest.skip(missing[runtime])
        if runtime in broken:
            pytest.fail(broken[runtime][-500:], pytrace=False)
        return made[runtime]

    return report


@pytest.fixture(scope="session")
def controls(state: Path) -> Answers:
    """What the probes reach without a sandbox, each run by whom its control names."""

    async def run() -> Answers:
        attempts = state / "attempts-of-controls"
        attempts.mkdir(exist_ok=True)
        with secrets_of(state, attempts) as facts:
            ours = await run_probes_outside(facts, state)
            users = await run_probes_outside(facts, state, user=NOBODY) if os.geteuid() == 0 else ours
            doors = await run_through_open_door(facts, state)
        from_whom = {"anybody": ours, "root": ours, "user": users, "open-proxy": doors}
        return {name: from_whom[probe.control][name] for name, probe in PROBES.items()}

    return asyncio.run(run())


@pytest.fixture(scope="session")
def abuse_controls(state: Path) -> Answers:
    """What abuses reach without a sandbox."""
    found: Answers = {}
    for abuse in ABUSES:
        with tempfile.TemporaryDirectory(dir=state) as folder:
            outcome = run_outside(abuse, Path(folder))
        found[abuse.name] = (not abuse.held(outcome), outcome.output[-200:])
    return found
