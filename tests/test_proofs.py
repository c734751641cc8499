"""The code of every proof runs in the suite too: a proof that only `./dev prove` runs would break unseen."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent

TWINS = {
    # The constants are what is promised, and cannot be set: it waits for minutes in real time.
    "e2e/test_operators.py::test_job_of_an_agent_that_never_returns_runs_on_another_node": (
        "e2e/test_operators.py::test_banned_node_is_dismissed_for_good_and_its_job_goes_elsewhere"
    ),
    "e2e/test_blocked_websocket.py::test_agent_finds_out_by_itself_that_the_wall_is_gone": (
        "e2e/test_blocked_websocket.py::test_polling_job_survives_a_restart_and_the_agent_returns_to_the_websocket"
    ),
    # The other two engines, for minutes; tests/agent/containers runs each of their steps.
    "e2e/test_runtimes.py": "e2e/test_runtimes.py::test_same_training_runs_stops_goes_on_and_leaves_its_model",
    # It needs the indexes of pip and npm.
    "e2e/test_real_packages.py::test_packages_of_the_machines_own_index_are_installed_and_used": (
        "agent/test_setup.py::test_index_on_this_machine_is_used_once_the_host_allows_it"
    ),
    # It needs npm and a registry.
    "hub/test_typescript_client.py::test_typescript_client_is_made_and_compiles": (
        "hub/test_openapi.py::test_no_answer_has_a_field_that_may_be_anything"
    ),
    "e2e/test_typescript_page.py::test_typescript_page_runs_a_job": (
        "e2e/test_events.py::test_reader_goes_on_where_it_was_after_the_hub_was_killed"
    ),
}
"""Tests marked `proof(long=True)`, and the test of every run that takes the same steps."""
ALONE = {"e2e/test_fresh.py": "it downloads everything that the locks name"}
"""Files whose long proofs have no twin, and why."""


def all_proofs() -> Iterator[tuple[str, bool]]:
    """Each test's name, and whether only `./dev prove` runs it."""
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text()
        place = path.relative_to(TESTS).as_posix()
        tree = ast.parse(text) if "long=True" in text or any(place in twin for twin in TWINS.values()) else None
        if tree is None or path.name == Path(__file__).name:
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = " ".join(ast.unparse(mark) for mark in node.decorator_list)
                yield f"{place}::{node.name}", "proof(long=True)" in marks
            elif "proof(long=True)" in ast.unparse(node):  # for a whole file, or for one of a fixture's parameters
                yield place, True


def test_every_long_proof_has_a_twin_that_every_run_takes() -> None:
    found = dict(all_proofs())
    long = {name for name, is_long in found.items() if is_long}
    assert long == set(TWINS) | set(ALONE), "give the proof a figure(small, full), or name its twin"
    assert {twin: found.get(twin) for twin in TWINS.values()} == dict.fromkeys(TWINS.values(), False)
