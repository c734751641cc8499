"""The tables of states, pair by pair. What a table allows is written here a second time, on purpose."""

import itertools

import pytest

from computepool.protocol.states import (
    ATTEMPT_ENDED,
    ATTEMPT_LIVE,
    ATTEMPT_NEXT,
    JOB_FINAL,
    JOB_NEXT,
    NODE_NEXT,
    AttemptState,
    IsolationLevel,
    JobState,
    NodeState,
    sources_of,
)

JOBS = {
    "queued": "running failed canceled",
    "running": "queued succeeded failed canceled",
    "succeeded": "",
    "failed": "",
    "canceled": "",
}
ENDS = "succeeded failed lost canceled superseded"
ATTEMPTS = {
    "leased": f"preparing running finishing {ENDS}",
    "preparing": f"running finishing {ENDS}",
    "running": f"suspended finishing {ENDS}",
    "suspended": f"running finishing {ENDS}",
    "finishing": ENDS,
    "lost": "preparing running finishing succeeded failed canceled superseded",
    "succeeded": "",
    "failed": "",
    "canceled": "",
    "superseded": "",
}
ANYWHERE = "online paused draining quarantined offline banned"
NODES = {
    **{state: " ".join(set(ANYWHERE.split()) - {state}) for state in ANYWHERE.split()},
    "banned": "",
}
TABLES = [(JobState, JOB_NEXT, JOBS), (AttemptState, ATTEMPT_NEXT, ATTEMPTS), (NodeState, NODE_NEXT, NODES)]


@pytest.mark.parametrize(("kind", "table", "expected"), TABLES, ids=["jobs", "attempts", "nodes"])
def test_every_pair_is_allowed_or_forbidden_as_designed(kind, table, expected):
    for before, after in itertools.product(kind, kind):
        assert (after in table[before]) == (after in expected[before].split()), f"{before} → {after}"


@pytest.mark.parametrize(("kind", "table", "expected"), TABLES, ids=["jobs", "attempts", "nodes"])
def test_table_is_closed_and_nothing_follows_itself(kind, table, expected):
    assert set(table) == set(kind)
    for before, after in table.items():
        assert after <= set(kind)
        assert before not in after


@pytest.mark.parametrize(("kind", "table", "expected"), TABLES, ids=["jobs", "attempts", "nodes"])
def test_sources_are_the_table_read_backwards(kind, table, expected):
    for target in kind:
        assert sources_of(table, target) == {before for before in kind if target in table[before]}


def test_final_states_are_those_that_nothing_follows():
    assert {state for state in JobState if not JOB_NEXT[state]} == JOB_FINAL
    assert {state for state in AttemptState if not ATTEMPT_NEXT[state]} == ATTEMPT_ENDED - {AttemptState.LOST}


def test_live_and_ended_attempts_are_all_attempts():
    assert set(AttemptState) == ATTEMPT_LIVE | ATTEMPT_ENDED
    assert not ATTEMPT_LIVE & ATTEMPT_ENDED


@pytest.mark.parametrize(("table", "start"), [(JOB_NEXT, JobState.QUEUED), (ATTEMPT_NEXT, AttemptState.LEASED)])
def test_every_state_can_be_reached_and_every_open_one_can_end(table, start):
    reached, open_ends = {start}, [start]
    while open_ends:
        for after in table[open_ends.pop()] - reached:
            reached.add(after)
            open_ends.append(after)
    assert reached == set(table)
    finals = {state for state, after in table.items() if not after}
    for state in set(table) - finals:
        assert table[state] & finals


def test_attempts_never_go_back_except_from_suspended_and_lost():
    order = ["leased", "preparing", "running", "finishing"]
    for early, late in itertools.combinations(order, 2):
        assert AttemptState(late) in ATTEMPT_NEXT[AttemptState(early)]
        assert AttemptState(early) not in ATTEMPT_NEXT[AttemptState(late)]


def test_isolation_levels_are_ranked_from_weakest_to_strongest():
    ranked = sorted(IsolationLevel, key=lambda level: level.rank)
    assert ranked == ["process", "bubblewrap", "container", "gvisor"]
