"""Which error codes hubs answered with while tests ran. A whole run fails if one never came.

Only a run of everything tells: one of a few files says nothing. Each worker hands over what it has seen. A code whose
tests this machine skipped, as it lacks an engine, is listed and is no failure.
"""

import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from computepool.protocol.errors import ErrorCode

TESTS = Path(__file__).resolve().parents[1]
ELSEWHERE: dict[str, str] = {
    "bad_filter": "cli/test_market.py",
    "bad_market_table": "cli/test_market.py",
    "bad_request": "hub/test_serving.py",
    "bank_decides": "hub/disputes/test_chargebacks.py",
    "conflict": "hub/core/test_http.py",
    "digest_mismatch": "hub/artifacts/test_uploads.py",
    "head_too_large": "hub/test_serving.py",
    "job_disputed": "hub/jobs/test_removal.py",
    "ledger_key_taken": "hub/ledger/test_journal.py",
    "repeated": "hub/payments/test_grants.py",
    "replaced_already": "hub/reputation/test_records.py",
    "size_mismatch": "hub/artifacts/test_uploads.py",
    "stale_lease": "hub/gateway/test_reports.py",
    "storage_daily_quota": "e2e/test_storage.py",
    "storage_full": "hub/artifacts/test_local_store.py",
    "storage_unavailable": "hub/artifacts/test_local_store.py",
    "too_busy": "hub/test_serving.py",
    "too_many_connections": "e2e/test_edge.py",
    "too_many_failures": "hub/test_serving.py",
    "too_many_streams": "e2e/test_edge.py",
    "too_slow": "e2e/test_edge.py",
    "upload_incomplete": "hub/artifacts/test_api.py",
    "upload_mismatch": "hub/artifacts/test_signed_urls.py",
    "upload_over": "hub/artifacts/test_signed_urls.py",
}
"""Codes that tests meet in another way than in an answer to a client of theirs in the same process, and where: over a
real socket, through the CLI, by their status alone, or as the error that a service raises. It may only get shorter."""
NOT_REACHED = {
    "not_paid": "no test refunds a top-up that was not paid by card",
    "output_altered": "no test stores an output twice with other bytes through the API",
    "processor_away": "no test asks for a payout account while the processor is away",
    "request_changed": "the hub makes the keys of its requests to the processor itself, each for one request",
    "refused": "for a status that nothing in the hub raises by itself",
}
"""Codes that no test reaches, and why. It may only get shorter."""
SEEN: set[str] = set()


def note(body: Any) -> None:
    """The body of an answer, as JSON."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and isinstance(error.get("code"), str):
        SEEN.add(error["code"])


async def note_answer(response: httpx.Response) -> None:
    """For an httpx client's hooks."""
    if response.is_error and response.headers.get("content-type", "").startswith("application/json"):
        note(json.loads(await response.aread()))


NOTED = {"response": [note_answer]}


class SeenCodes:
    """Of a run: collects from its workers, and fails a whole run that did not come across every code."""

    def __init__(self) -> None:
        self._skipped: set[str] = set()
        """Files of tests of which some were skipped, relative to `tests`."""
        self._missing: list[str] = []
        self._untested: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        SEEN.update(getattr(node, "workeroutput", {}).get("codes", ()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self._skipped.add(report.nodeid.partition("::")[0].removeprefix(f"{TESTS.name}/"))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["codes"] = sorted(SEEN)
        elif exitstatus == 0 and _is_whole(session.config):
            self._missing, self._untested = judge(SEEN, self._skipped)
            if self._missing:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._missing:
            terminalreporter.section("error codes that no answer had")
            terminalreporter.line(f"{', '.join(self._missing)}: tests/support/seen_codes.py says what to do")
        if self._untested:
            terminalreporter.section("error codes whose tests were skipped here")
            terminalreporter.line(", ".join(self._untested))


def judge(seen: set[str], skipped: set[str]) -> tuple[list[str], list[str]]:
    """(codes that no answer had though all tests that name them ran, those of which some test was skipped)"""
    missing = sorted(set(get_args(ErrorCode)) - seen - ELSEWHERE.keys() - NOT_REACHED.keys())
    untested = [code for code in missing if skipped.intersection(files_that_name(code))]
    return [code for code in missing if code not in untested], untested


def files_that_name(code: str) -> Iterable[str]:
    """Of tests, and what supports them: by the code itself, or by the class of an error that a service raises."""
    from support.error_classes import error_classes  # it imports the whole hub

    words = [f"{quote}{code}{quote}" for quote in "\"'`"]
    classes = [error.__name__ for error in error_classes() if error.code == code]
    whole = re.compile("|".join(rf"\b{name}\b" for name in classes)) if classes else None
    return [
        file
        for file, text in _sources().items()
        if any(word in text for word in words)
        or (whole is not None and any(name in text for name in classes) and whole.search(text))
    ]


@functools.cache
def _sources() -> dict[str, str]:
    paths = [path for path in TESTS.rglob("*.py") if path.name not in ("test_openapi.py", "seen_codes.py")]
    return {path.relative_to(TESTS).as_posix(): path.read_text() for path in paths}


def _is_whole(config: pytest.Config) -> bool:
    option = config.option
    narrowed = option.keyword or option.markexpr or option.deselect or config.getoption("fast")
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not narrowed
