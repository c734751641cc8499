"""Mutation-tests the code of money: `./dev run python -m tools.mutants [module ...]`.

Every mutant (`tools.mutating`) meets the tests that reach its lines, the quickest first, in a process of its own, and
is killed by the first that fails. No file is changed. Tests that need PostgreSQL, that take more than a few seconds, or
that plant bugs themselves are left out: a mutant that only they would find survives here.

Functions are changed where they are, in a process that has imported everything: a mutant is then a matter of
milliseconds. What runs at import (constants, prepared statements) needs a process that imports it anew.
"""

import argparse
import builtins
import gc
import hashlib
import importlib.util
import itertools
import json
import os
import platform
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import _lru_cache_wrapper
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from tools.mutating import REACHED, Mutant, mutants_of, watched

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "mutation.json"
HUB = "computepool.hub"
MODULES = (
    *(f"ledger.{one}" for one in ("entries", "accounts", "settlement", "holds", "journal", "check")),
    *(f"ledger.{one}" for one in ("returns", "refunds", "claims")),
    *(f"jobs.{one}" for one in ("terms", "metering", "funding")),
    "payments.amounts",
)
TESTS = (
    "tests/hub/ledger",
    "tests/hub/jobs/test_money.py",
    "tests/hub/jobs/test_metering.py",
    "tests/hub/jobs/test_funding.py",
    "tests/hub/scheduling/test_purse.py",
    "tests/hub/payments/test_amounts.py",
    "tests/hub/wallet/test_checking.py",
    "tests/hub/disputes/test_refunding.py",
    "tests/hub/trust/test_restitution.py",
    "tests/hub/trust/test_claims.py",
)
OPTIONS = (
    "-qq",
    "-s",
    "-n0",
    "--no-header",
    "--no-summary",
    "--tb=no",
    "-p",
    "no:cacheprovider",
    "--hypothesis-seed=0",
)
LONGEST_TEST = 3.0
MOST_SECONDS = 5.0
"""What the tests for one mutant may take together."""
LONG_BY_NAME = ("mutants", "planted", "machine", "64_clients")
MEMORY_LIMIT = 4 << 30
"""Of one that never ends, and collects."""
REACH = "reach.json"
ALIVE = ("survived", "not_reached")
SURVIVED, KILLED, NOT_SO = 0, 1, 3
"""What a process says by its exit code. The last: it cannot be changed in place."""


def path_of(module: str) -> Path:
    return ROOT / "src" / "computepool" / "hub" / f"{module.replace('.', '/')}.py"


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Work:
    mutant: Mutant
    run: Callable[[], int]
    seconds: float


def run_all(works: Iterable[Work], at_once: int, place: Path) -> Iterator[tuple[Mutant, str]]:
    """Each in a process of its own: `survived`, `killed`, `timed_out` or `not_so`."""
    waiting, running = iter(works), dict[int, tuple[Work, float]]()
    names = {SURVIVED: "survived", KILLED: "killed", NOT_SO: "not_so"}
    is_over = False
    while running or not is_over:
        while not is_over and len(running) < at_once:
            work = next(waiting, None)
            if work is None:
                is_over = True
            else:
                running[_fork(work.run, place)] = (work, time.monotonic() + work.seconds)
        for pid, (work, until) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del running[pid]
                yield work.mutant, names.get(os.waitstatus_to_exitcode(status), "killed")
            elif time.monotonic() > until:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                del running[pid]
                yield work.mutant, "timed_out"
        time.sleep(0.01)


def until(deadline: float, mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """As many as there is time for."""
    return itertools.takewhile(lambda _: time.monotonic() < deadline, mutants)


def _fork(run: Callable[[], int], place: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = KILLED
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
        silent = os.open(os.devnull, os.O_RDWR)
        for one in (0, 1, 2):
            os.dup2(silent, one)
        folder = place / str(os.getpid())
        folder.mkdir()
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
        code = run()
    finally:
        os._exit(code)


# ── the tests, and which lines they reach ────────────────────────────────────────────────────────────────────────────


@dataclass
class Reach:
    """Of one run without any mutant."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The quickest first."""
        lines = self.lines.get(str(path_of(mutant.module)), {})
        if mutant.in_function:
            wanted: Iterable[int] = [mutant.statement]
        else:
            wanted = lines
        found = {test for line in wanted for test in lines.get(line, ())}
        chosen, together = list[str](), 0.0
        for test in sorted(found, key=lambda test: (self.seconds[test], test)):
            together += self.seconds[test]
            if chosen and together > MOST_SECONDS:
                break
            chosen.append(test)
        return chosen


def read_reach(place: Path) -> Reach:
    seconds, lines, left_out = json.loads((place / REACH).read_text("utf-8"))
    by_line = {name: {int(line): tests for line, tests in of.items()} for name, of in lines.items()}
    return Reach(seconds, by_line, left_out)


def _is_quick(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    needs_a_server = "postgresql" in item.nodeid or any(one.startswith(("postgres", "s3")) for one in fixtures)
    return not needs_a_server and not any(word in item.nodeid for word in LONG_BY_NAME)


def _run_items(session: pytest.Session, items: list[pytest.Item]) -> int:
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.testsfailed:
            return KILLED
    return SURVIVED


def measure_reach(session: pytest.Session, items: list[pytest.Item], modules: Iterable[str]) -> Reach:
    reach, found = Reach(), defaultdict[str, dict[int, set[str]]](lambda: defaultdict(set))
    current = ""

    def reached(path: str, line: int) -> None:
        found[path][line].add(current)

    setattr(builtins, REACHED, reached)
    for module in modules:
        put_in(module, watched(path_of(module).read_text("utf-8"), str(path_of(module))))
    for item, after in zip(items, [*items[1:], None], strict=True):
        current, before, began = item.nodeid, session.testsfailed, time.monotonic()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        seconds = time.monotonic() - began
        if session.testsfailed > before or seconds > LONGEST_TEST:
            reach.left_out.append(current)
        else:
            reach.seconds[current] = round(seconds, 4)
    for name, lines in found.items():
        reach.lines[name] = {line: sorted(tests & reach.seconds.keys()) for line, tests in lines.items()}
    return reach


# ── mutants in functions ─────────────────────────────────────────────────────────────────────────────────────────────


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes_in(one)


def _functions_in(place: ModuleType | type, path: str) -> Iterator[FunctionType]:
    for value in list(vars(place).values()):
        if isinstance(value, property):
            inner: object = value.fget
        elif isinstance(value, staticmethod | classmethod | _lru_cache_wrapper):
            inner = value.__wrapped__
        else:
            inner = value
        if isinstance(inner, FunctionType) and inner.__code__.co_filename == path:
            yield inner
        elif isinstance(value, type) and isinstance(place, ModuleType) and value.__module__ == place.__name__:
            yield from _functions_in(value, path)


def put_in(name: str, code: CodeType) -> bool:
    """Exchange the code of a module's functions. Whoever has imported them runs the other code from now on."""
    module, codes = sys.modules[f"{HUB}.{name}"], {one.co_qualname: one for one in _codes_in(code)}
    try:
        for function in _functions_in(module, str(path_of(name))):
            function.__code__ = codes[function.__code__.co_qualname]
    except (KeyError, ValueError):
        return False
    for value in vars(module).values():
        if isinstance(value, _lru_cache_wrapper):
            value.cache_clear()
    return True


@dataclass
class Runner:
    """A plugin of pytest: where it would run the tests, it runs them once for each mutant."""

    mutants: list[Mutant]
    at_once: int
    place: Path
    tell: Callable[[Mutant, str], None]
    say: Callable[[str], None]
    deadline: float
    reach: Reach = field(default_factory=Reach)
    not_so: list[Mutant] = field(default_factory=list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = [item for item in session.items if _is_quick(item)]
        # One test in this process: what is made once for a session, such as the schema, then exists for all of them.
        first = next((item for item in items if "hub_url" in getattr(item, "fixturenames", ())), items[0])
        first.config.hook.pytest_runtest_protocol(item=first, nextitem=session)
        self.reach = self._measure(session, items)
        self.say(f"{len(self.reach.seconds)} tests in {sum(self.reach.seconds.values()):.1f} s\n")
        gc.freeze()  # the processes that follow share what is there
        by_name = {item.nodeid: item for item in items}
        works = (self._work(session, one, by_name) for one in until(self.deadline, self.mutants))
        for mutant, outcome in run_all(filter(None, works), self.at_once, self.place):
            if outcome == "not_so":
                self.not_so.append(mutant)
            else:
                self.tell(mutant, outcome)
        return True

    def _measure(self, session: pytest.Session, items: list[pytest.Item]) -> Reach:
        def measure() -> int:
            reach = measure_reach(session, items, {one.module for one in self.mutants})
            found = json.dumps([reach.seconds, reach.lines, reach.left_out])
            (self.place / REACH).write_text(found, "utf-8")
            return SURVIVED

        os.waitpid(_fork(measure, self.place), 0)
        return read_reach(self.place)

    def _work(self, session: pytest.Session, mutant: Mutant, items: dict[str, pytest.Item]) -> Work | None:
        tests = self.reach.tests_of(mutant)
        if not tests:
            self.tell(mutant, "not_reached")
            return None

        def run() -> int:
            if not put_in(mutant.module, mutant.code):
                return NOT_SO
            return _run_items(session, [items[test] for test in tests])

        return Work(mutant, run, _patience(self.reach, tests))


def _patience(reach: Reach, tests: Iterable[str]) -> float:
    return 20 + 5 * sum(reach.seconds[test] for test in tests)


# ── mutants of what runs at import ───────────────────────────────────────────────────────────────────────────────────


class _Loader(SourceFileLoader):
    def __init__(self, mutant: Mutant) -> None:
        super().__init__(f"{HUB}.{mutant.module}", str(path_of(mutant.module)))
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return self.mutant.code

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None


def work_at_import(mutant: Mutant, reach: Reach) -> Work:
    tests = reach.tests_of(mutant)

    def run() -> int:
        sys.meta_path.insert(0, _Loader(mutant))
        return SURVIVED if pytest.main([*OPTIONS, "-x", *tests]) == pytest.ExitCode.OK else KILLED

    return Work(mutant, run, 30 + _patience(reach, tests))


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Plan:
    modules: Sequence[str]
    tests: Sequence[str]
    at_once: int
    most_seconds: float
    most_of_a_kind: int | None
    """Of each module, in functions and of what runs at import."""

    def mutants(self) -> list[Mutant]:
        found = list[Mutant]()
        for name in self.modules:
            made = list(mutants_of(name, path_of(name).read_text("utf-8"), str(path_of(name))))
            for in_function in (True, False):
                found += [mutant for mutant in made if mutant.in_function == in_function][: self.most_of_a_kind]
        return found


def measure(plan: Plan, tell: Callable[[str], None]) -> dict[str, Any]:
    began, outcomes = time.monotonic(), dict[int, str]()
    deadline, at_once = began + plan.most_seconds, plan.at_once
    mutants = plan.mutants()
    numbers = {id(mutant): number for number, mutant in enumerate(mutants)}

    def note(mutant: Mutant, outcome: str) -> None:
        outcomes[numbers[id(mutant)]] = outcome
        if outcome in ALIVE:
            tell(f"{outcome}: {mutant.module}:{mutant.line}: {mutant.what}\n")

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder  # what mutants fail on is of no use to other runs
        file = place / "functions.json"
        # This process stays without the hub's modules: those that follow import them with a mutant inside.
        pid = os.fork()
        if not pid:
            runner = Runner([one for one in mutants if one.in_function], at_once, place, note, tell, deadline)
            try:
                pytest.main([*OPTIONS, *plan.tests], plugins=[runner])
                not_so = [numbers[id(one)] for one in runner.not_so]
                file.write_text(json.dumps([list(outcomes.items()), not_so]), "utf-8")
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        found, not_so = json.loads(file.read_text("utf-8"))
        outcomes.update((number, outcome) for number, outcome in found)
        reach = read_reach(place)
        rest = [*(one for one in mutants if not one.in_function), *(mutants[number] for number in not_so)]
        for mutant, outcome in run_all((work_at_import(one, reach) for one in until(deadline, rest)), at_once, place):
            note(mutant, outcome)
    return {
        "measured": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "seconds": round(time.monotonic() - began),
        "tests": {"run": len(reach.seconds), "left_out": sorted(reach.left_out)},
        "modules": {name: _of_module(name, mutants, outcomes) for name in plan.modules},
    }


def _of_module(name: str, mutants: list[Mutant], outcomes: dict[int, str]) -> dict[str, Any]:
    own = [(one, outcomes.get(number, "not_run")) for number, one in enumerate(mutants) if one.module == name]
    counts = Counter(outcome for _, outcome in own)
    return {
        "source": hashlib.sha256(path_of(name).read_bytes()).hexdigest()[:16],
        "mutants": len(own),
        **{outcome: counts[outcome] for outcome in ("killed", "timed_out", *ALIVE, "not_run")},
        "alive": [{"line": one.line, "what": one.what} for one, outcome in own if outcome in ALIVE],
    }


def score_of(modules: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """(found, all that were run)"""
    found = [(one["killed"] + one["timed_out"], one["mutants"] - one["not_run"]) for one in modules]
    return sum(one for one, _ in found), sum(one for _, one in found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("module", nargs="*", help=f"of {HUB}, such as ledger.settlement; without any, all of money")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--seconds", type=float, default=7200, help="no mutant is begun later; the rest is not run")
    parser.add_argument("--write", action="store_true", help=f"keep the result in {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--at-least", type=float, default=0.0, metavar="PERCENT", help="fail where fewer are found")
    parser.add_argument("--most", type=int, help="mutants of each module and kind; without it, all of them")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files or folders of tests that have to find them")
    arguments = parser.parse_args()
    modules = arguments.module or MODULES
    if unknown := [one for one in modules if one not in MODULES]:
        parser.error(f"there is no {unknown[0]} here; there are {', '.join(MODULES)}")
    os.chdir(ROOT)

    def tell(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    plan = Plan(modules, arguments.tests, arguments.at_once, arguments.seconds, arguments.most)
    result = measure(plan, tell)
    for name, one in result["modules"].items():
        tell("{}: {} of {}\n".format(name, *score_of([one])))
    found, run = score_of(result["modules"].values())
    tell(f"found {found} of {run} mutants in {result['seconds']} s\n")
    if arguments.write:
        RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0 if 100 * found >= arguments.at_least * max(run, 1) else 1


if __name__ == "__main__":
    sys.exit(main())
