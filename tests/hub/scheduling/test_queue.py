"""Whose turn it is. Between owners: whoever had least of the pool lately. Among an owner's own: priority, then age."""

import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fleets import ME, STRANGER, make_needs, make_waiting
from support.proofs import figure

from computepool.hub.scheduling.ordered import Ordered
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.hub.scheduling.turns import LOOK_BEHIND, Round, ahead_of
from computepool.hub.scheduling.usage import AHEAD_SECONDS, Usage, weight_of

NOW = datetime(2026, 1, 2, 3, 4, 0, tzinfo=UTC)
BIG = make_needs(cpu_millis=8000)
DAY = 86_400.0


def keys(waiting):
    return [one.key for one in waiting]


def used(**amounts):
    """What each had before, in cores for an hour."""
    usage = Usage(DAY)
    for owner_id, core_hours in amounts.items():
        usage.begin(owner_id, 1000 * core_hours, 0.0)
    for owner_id, core_hours in amounts.items():
        usage.end(owner_id, 1000 * core_hours, 3600.0)
    return usage


def serve(queue, rooms, now=NOW, usage=None, tick=3600.0):
    """Those who are served when there is so much room, in cores; an endless amount where it is None."""
    usage = usage or Usage(DAY)
    turns, served = Round(queue.lines(), now, lambda owner_id: usage.standing(owner_id, tick)), []
    while (one := turns.next()) is not None:
        cores = one.brief.requirements.cpu_millis
        if rooms is not None and rooms < cores:
            turns.in_vain()
        else:
            rooms = rooms if rooms is None else rooms - cores
            served.append(one)
            usage.begin(one.brief.owner_id, weight_of(one.brief.requirements), tick)
            turns.served()
    for one in served:
        queue.remove(one.key)
    return keys(served)


def position(queue, *wanted, usage=None, tick=3600.0):
    usage = usage or Usage(DAY)
    several = [queue.get(key) for key in wanted]
    return ahead_of(queue, several, lambda owner_id: usage.standing(owner_id, tick))


def waiting_of(owner, job, index=0, *, priority=0, cores=1000, **changes):
    wishes = {name: changes.pop(name) for name in ("preemptible", "bid_micros") if name in changes}
    needs = make_needs(owner_id=owner, cpu_millis=cores, **wishes)
    return make_waiting(job, index, priority=priority, needs=needs, **changes)


def queue_of(*waiting):
    queue = Queue()
    for one in waiting:
        queue.add(one)
    return queue


# ── an owner's own ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_priority_comes_before_age_and_age_before_the_slices_place():
    jobs = [("job_3", 0, 0), ("job_1", 1, 0), ("job_1", 0, 0), ("job_9", 0, 5), ("job_2", 0, -5)]
    queue = queue_of(*(make_waiting(job, index, priority=priority) for job, index, priority in jobs))
    order = [("job_9", 0), ("job_1", 0), ("job_1", 1), ("job_3", 0), ("job_2", 0)]
    assert position(queue, *order) == [0, 1, 2, 3, 4]
    assert serve(queue, None) == order


def test_priority_counts_between_slices_that_need_different_things():
    queue = queue_of(
        waiting_of(ME, "job_1", cores=2000),
        waiting_of(ME, "job_2", cores=1000, priority=5),
        waiting_of(ME, "job_3", cores=2000, priority=9),
        waiting_of(ME, "job_4", cores=1000, priority=1),
    )
    assert serve(queue, None) == [("job_3", 0), ("job_2", 0), ("job_4", 0), ("job_1", 0)]


# ── between owners ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_owners_who_had_nothing_take_turns_whoever_asked_first_and_for_how_much():
    queue = queue_of(
        *(waiting_of(ME, "job_1", index) for index in range(10)), *(waiting_of(STRANGER, "job_2", n) for n in range(3))
    )
    assert serve(queue, 6000) == [("job_1", 0), ("job_2", 0), ("job_1", 1), ("job_2", 1), ("job_1", 2), ("job_2", 2)]


def test_whoever_had_less_of_the_pool_goes_first():
    queue = queue_of(waiting_of(ME, "job_1"), waiting_of(STRANGER, "job_2"))
    assert serve(queue, 1000, usage=used(user_me=2, user_stranger=1)) == [("job_2", 0)]


def test_single_job_of_a_newcomer_has_the_next_slot_however_much_waits_before_it():
    """A slot is all that ten thousand slices cost another renter."""
    usage, queue = used(user_me=500), queue_of(*(waiting_of(ME, "job_1", index) for index in range(10_000)))
    assert len(serve(queue, 1000, usage=usage)) == 1
    queue.add(waiting_of(STRANGER, "job_2"))
    assert position(queue, ("job_2", 0), usage=usage) == [0]
    assert serve(queue, 1000, usage=usage) == [("job_2", 0)]


def test_what_runs_counts_before_it_has_used_anything():
    """Else whoever has had a little less would take every slot that is free at one moment."""
    usage = used(user_stranger=1)
    queue = queue_of(*(waiting_of(owner, f"job_{owner}", n) for owner in (ME, STRANGER) for n in range(100)))
    owners = [key[0] for key in serve(queue, 100_000, usage=usage)]
    ahead = round(3_600_000 / AHEAD_SECONDS / 1000)
    assert set(owners[:ahead]) == {f"job_{ME}"}
    assert abs(owners.count(f"job_{ME}") - owners.count(f"job_{STRANGER}")) <= ahead + 1


def test_large_slice_uses_up_more_of_its_owners_turn_than_a_small_one():
    queue = queue_of(
        *(waiting_of(ME, "job_1", n, cores=4000) for n in range(4)),
        *(waiting_of(STRANGER, "job_2", n) for n in range(8)),
    )
    served = [job for job, _ in serve(queue, None)]
    assert served[:6] == ["job_1", *["job_2"] * 4, "job_1"]


def test_priority_of_one_renter_takes_nothing_from_another():
    usage = used(user_me=1)
    queue = queue_of(
        waiting_of(STRANGER, "job_1"), waiting_of(STRANGER, "job_2"), waiting_of(ME, "job_3", priority=100)
    )
    assert position(queue, ("job_3", 0), usage=usage) == [2]
    assert serve(queue, None, usage=usage) == [("job_1", 0), ("job_2", 0), ("job_3", 0)]


def test_of_two_who_had_the_same_the_older_job_goes_first():
    queue = queue_of(waiting_of(ME, "job_2"), waiting_of(STRANGER, "job_1"), waiting_of("user_third", "job_3"))
    assert serve(queue, None) == [("job_1", 0), ("job_2", 0), ("job_3", 0)]


def test_job_that_nobody_can_run_changes_nothing_for_its_owners_others():
    impossible = [waiting_of(ME, "job_1", index, cores=64_000) for index in range(3)]
    queue = queue_of(*impossible, waiting_of(STRANGER, "job_2"), waiting_of(ME, "job_3"))
    assert serve(queue, 2000) == [("job_2", 0), ("job_3", 0)]
    assert serve(queue, 64_000) == [("job_1", 0)]


def test_slice_that_could_not_be_leased_after_all_has_its_turn_again():
    queue, usage = queue_of(waiting_of(ME, "job_1"), waiting_of(STRANGER, "job_2")), Usage(DAY)
    turns = Round(queue.lines(), NOW, lambda owner_id: usage.standing(owner_id, 0.0))
    served = turns.next()
    assert served is not None
    usage.begin(ME, 1000, 0.0)
    turns.served()
    queue.remove(served.key)
    usage.end(ME, 1000, 0.0)
    queue.add(served)
    assert serve(queue, None, usage=usage) == [("job_1", 0), ("job_2", 0)]


def test_what_can_be_interrupted_comes_after_everything_else_and_the_higher_bid_first():
    queue = queue_of(
        waiting_of(ME, "job_1", preemptible=True),
        waiting_of(STRANGER, "job_2", preemptible=True, bid_micros=5),
        waiting_of("user_third", "job_3", preemptible=True, bid_micros=9),
        waiting_of(STRANGER, "job_4"),
    )
    order = [("job_4", 0), ("job_3", 0), ("job_2", 0), ("job_1", 0)]
    assert position(queue, *order) == [0, 1, 2, 3]
    assert serve(queue, None) == order


# ── who is passed over ───────────────────────────────────────────────────────────────────────────────────────────────


def test_slice_whose_time_has_not_come_is_passed_over():
    later = NOW + timedelta(seconds=5)
    queue = queue_of(waiting_of(ME, "job_1", retry_at=later), waiting_of(ME, "job_2"), waiting_of(STRANGER, "job_3"))
    assert serve(queue, None) == [("job_2", 0), ("job_3", 0)]
    assert serve(queue, None) == []
    assert serve(queue, None, later) == [("job_1", 0)]


def test_slice_that_avoids_a_node_waits_for_its_time_if_it_is_held_back():
    later = NOW + timedelta(seconds=5)
    queue = queue_of(
        waiting_of(ME, "job_1", retry_at=later, avoid=("node_1",), held_back=True),
        waiting_of(ME, "job_2", retry_at=later, avoid=("node_1",)),
    )
    assert serve(queue, None) == [("job_2", 0)]
    assert serve(queue, None, later) == [("job_1", 0)]


@pytest.mark.parametrize(("sets", "found"), [(LOOK_BEHIND - 1, True), (LOOK_BEHIND + 5, False)])
def test_only_so_many_sets_of_avoided_nodes_are_tried_in_a_line(sets, found):
    queue = queue_of(*(waiting_of(ME, f"job_{n:03}", avoid=(f"node_{n}",)) for n in range(sets)))
    queue.add(waiting_of(ME, "job_999"))
    turns, looks = Round(queue.lines(), NOW, lambda owner_id: 0.0), []
    while (one := turns.next()) is not None:
        looks.append(one.key)
        turns.in_vain()
    assert (("job_999", 0) in looks) == found
    assert len(looks) <= LOOK_BEHIND + 1


def test_what_was_tried_in_vain_is_not_tried_again():
    queue = queue_of(*(waiting_of(ME, f"job_{n}", avoid=("node_1",)) for n in range(5)), waiting_of(ME, "job_9"))
    turns, looks = Round(queue.lines(), NOW, lambda owner_id: 0.0), []
    while (one := turns.next()) is not None:
        looks.append(one.key)
        turns.in_vain()
    assert looks == [("job_0", 0), ("job_9", 0)]


# ── coming and going ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_waiting_slice_is_there_once():
    queue = queue_of(make_waiting("job_1", fence=1), make_waiting("job_1", fence=2))
    assert len(queue) == 1
    assert [one.fence for line in queue.lines() for one in line] == [2]


def test_removed_slices_do_not_hide_those_behind_them():
    """However many there are: a canceled job of a thousand slices lies in front."""
    queue = queue_of(make_waiting("job_0"), *(make_waiting("job_1", n) for n in range(1000)), make_waiting("job_2"))
    queue.remove_job("job_1", range(1000))
    assert serve(queue, None) == [("job_0", 0), ("job_2", 0)]


def test_line_that_is_empty_is_forgotten():
    queue = queue_of(make_waiting("job_1"))
    assert queue.remove(("job_1", 0)) is not None
    assert queue.remove(("job_1", 0)) is None
    assert list(queue.lines()) == []
    assert ("job_1", 0) not in queue


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12))))
def test_ordered_is_what_a_sorted_dictionary_would_be(story):
    ordered: Ordered[int, int] = Ordered()
    model: dict[int, int] = {}
    for number, (put, key) in enumerate(story):
        if put:
            ordered.put(key, number)
            model[key] = number
        elif key in model:
            assert ordered.pop(key) == model.pop(key)
        assert list(ordered) == [model[key] for key in sorted(model)]
        assert len(ordered) == len(model)
        assert ordered.get(key) == model.get(key)


# ── against a model that is too simple to be wrong ───────────────────────────────────────────────────────────────────


@dataclass
class Naive:
    """The same rules, written down plainly."""

    waiting: dict[tuple[str, int], Waiting] = field(default_factory=dict)
    had: dict[str, float] = field(default_factory=dict)

    def serve(self, rooms):
        served: list[tuple[str, int]] = []
        full = set()
        while True:
            open_lines = [one for one in self.waiting.values() if one.brief.requirements not in full]
            if not open_lines:
                return served
            heads = {_owner(one): one for one in sorted(open_lines, key=lambda one: one.rank, reverse=True)}
            first = min(heads.values(), key=lambda one: (self.had.get(_owner(one), 0.0), one.brief.job_id, _owner(one)))
            cores = first.brief.requirements.cpu_millis
            if rooms is not None and rooms < cores:
                full.add(first.brief.requirements)
                continue
            rooms = None if rooms is None else rooms - cores
            self.had[_owner(first)] = self.had.get(_owner(first), 0.0) + cores * AHEAD_SECONDS
            served.append(first.key)
            del self.waiting[first.key]


def _owner(one):
    return one.brief.owner_id


jobs = st.tuples(
    st.integers(0, 30), st.sampled_from([ME, STRANGER, "user_third"]), st.integers(-2, 2),
    st.sampled_from([1000, 2000, 9000]), st.integers(1, 4),
)  # fmt: skip
steps = st.one_of(
    st.tuples(st.just("submit"), jobs),
    st.tuples(st.just("serve"), st.integers(0, 12_000)),
    st.tuples(st.just("remove"), st.integers(0, 200)),
)


@settings(max_examples=figure(300, 10_000))
@given(st.lists(steps, max_size=40))
def test_turns_are_those_of_the_naive_model(story):
    """Everything that is served keeps running; what one had is a sum of whole numbers, and compared exactly."""
    queue, model, known, usage = Queue(), Naive(), set(), Usage(DAY)
    for what, detail in story:
        if what == "submit":
            number, owner, priority, cores, slices = detail
            if number in known:
                continue  # a job is submitted once
            known.add(number)
            for index in range(slices):
                one = waiting_of(owner, f"job_{number:02}", index, priority=priority, cores=cores)
                queue.add(one)
                model.waiting[one.key] = one
        elif what == "serve":
            assert serve(queue, detail, usage=usage, tick=0.0) == model.serve(detail)
        elif model.waiting:
            key = sorted(model.waiting)[detail % len(model.waiting)]
            queue.remove(key)
            del model.waiting[key]
        assert sorted(keys(queue)) == sorted(model.waiting)
    order = Naive(dict(model.waiting), dict(model.had)).serve(None)
    assert position(queue, *order, usage=usage, tick=0.0) == list(range(len(order)))


# ── a long queue ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_hundred_thousand_who_wait_cost_little_each():
    rng, queue, many, usage = random.Random(3), Queue(), 100_000, Usage(DAY)
    owners = [f"user_{n}" for n in range(50)]
    began = time.process_time()
    for number in range(many // 10):
        owner, priority = rng.choice(owners), rng.randrange(-5, 6)
        one = waiting_of(owner, f"job_{number:06}", priority=priority, cores=rng.choice([1000, 2000]))
        for index in range(10):
            queue.add(Waiting(one.brief, index, fence=0, attempts=0))
    large = waiting_of(owners[0], "job_9", priority=100)
    for index in range(10_000):
        queue.add(Waiting(large.brief, index, fence=0, attempts=0))
    added = time.process_time() - began
    began, served = time.process_time(), 0
    for _ in range(200):  # as the scheduler does it, a batch at a time
        turns = Round(queue.lines(), NOW, lambda owner_id: usage.standing(owner_id, 0.0))
        batch: list[Waiting] = []
        while len(batch) < 64 and (one := turns.next()) is not None:
            batch.append(one)
            usage.begin(one.brief.owner_id, weight_of(one.brief.requirements), 0.0)
            turns.served()
        for one in batch:
            queue.remove(one.key)
        served += len(batch)
    passed = time.process_time() - began
    assert served == 12_800
    assert added / (many + 10_000) < 0.000_2
    assert passed / served < 0.000_5
