"""What every test may use: real services, both databases, engines, proofs. See CONTRIBUTING.md."""

import functools
import gc
import itertools
import os
import shutil
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support import durations, engines, memory, proofs, seen_codes, services
from support.remains import clear_system_folder
from support.services import S3, Postgres
from support.sharing import SharingScheduler, is_slow, mixed, rest_on_postgresql

# The settings of the person who runs the tests are not the tests'.
for name in [name for name in os.environ if name.startswith(("COMPUTEPOOL_", "AWS_")) or name == "DATABASE_URL"]:
    if name not in {"COMPUTEPOOL_PROVE", "COMPUTEPOOL_REQUIRE_ENGINES", "COMPUTEPOOL_UPDATE_SNAPSHOTS"}:
        del os.environ[name]

# Hundreds of processes are started, each of hundreds of files: they are compiled once, whoever runs the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# By default Python looks for cycles after 700 new objects. Tests make millions, and most of them die by themselves.
gc.set_threshold(10_000, 20, 20)

# A busy machine is slow, not wrong.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="only the files with the quickest tests: ./dev check")
    parser.addoption("--both-databases", action="store_true", help="every story of the hub on PostgreSQL too")
    parser.addoption("--write-durations", action="store_true", help="measure anew which files these are")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("fast") or collection_path.suffix != ".py":
        return None
    file = collection_path.relative_to(config.rootpath).as_posix()
    return True if file in durations.left_out_of_check() else None


@pytest.hookimpl(tryfirst=True)  # before pytest reads where temporary files go
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(seen_codes.SeenCodes())
    if hasattr(config, "workerinput"):
        engines.shared = Path(config.workerinput["engines"])
        return
    if folder := memory.temporary_folder():
        config.option.basetemp = config.option.basetemp or folder
        memory.mount_system_folder()
    if config.getoption("write_durations"):
        config.pluginmanager.register(durations.Durations())
    engines.shared = Path(tempfile.mkdtemp(prefix="computepool-engines-"))
    config.add_cleanup(functools.partial(shutil.rmtree, engines.shared))
    absent = [f"{name}: {reason}" for name in sorted(engines.required()) if (reason := engines.missing(name))]
    if absent:
        raise pytest.UsageError("required engines do not work here\n  " + "\n  ".join(absent))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["engines"] = str(engines.shared)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What this machine did not test: one line for each engine or condition, with its reasons."""
    # The reason of a skip reads "name: why".
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())]
    if not reasons:
        return
    terminalreporter.section(f"untested here: {len(reasons)} tests skipped (-rs lists them)")
    counts = Counter(reason.partition(": ")[0] for reason in reasons)
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        whys = Counter(reason.partition(": ")[2] for reason in reasons if reason.partition(": ")[0] == name)
        told = "; ".join(" ".join(why.split()) for why, _ in whys.most_common())
        terminalreporter.line(f"{count:6} {textwrap.shorten(f'{name}: {told}', 300)}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove the files of a run that passed: they may take up memory."""
    if exitstatus == 0 and not hasattr(session.config, "workerinput"):
        memory.remove(session.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharingScheduler | None:
    return SharingScheduler(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `./dev prove` runs: proofs that need their full size, most stories on a second database."""
    left_out: set[pytest.Item] = set()
    if not proofs.proving():
        left_out |= {item for item in items if any(mark.kwargs.get("long") for mark in item.iter_markers("proof"))}
    if not config.getoption("both_databases"):
        left_out |= set(rest_on_postgresql(items))
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    # Every worker of a run has to come to the same order; alone, tests that share a fixture had better stay together.
    items[:] = mixed(items) if hasattr(config, "workerinput") else sorted(items, key=lambda item: not is_slow(item))


def pytest_collection_finish() -> None:
    """Thousands of tests and what they import stay to the end: nobody needs to look through them for garbage."""
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("engine"):
        engines.require(*mark.args)


@pytest.fixture(scope="session", autouse=True)
def _system_folder_is_cleared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    yield
    clear_system_folder(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with services.postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> Iterator[str]:
    """A fresh, empty database on a real PostgreSQL."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh, empty database: the test runs once on each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hub.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture(scope="session")
def s3_endpoint_url() -> Iterator[str]:
    with services.s3_server() as endpoint_url:
        yield endpoint_url


bucket_numbers = itertools.count(1)


@pytest.fixture
def s3(s3_endpoint_url: str) -> S3:
    """A fresh, empty bucket on a real S3 server."""
    return services.make_bucket(s3_endpoint_url, f"test-{next(bucket_numbers)}")
