"""Who goes first: priority, then age, then the slice's place. What was removed is nobody's turn."""

from hypothesis import given
from hypothesis import strategies as st
from support.fleets import make_needs, make_waiting

from computepool.hub.scheduling.queue import Queue, Waiting

BIG = make_needs(cpu_millis=8000)


def keys(waiting):
    return [one.key for one in waiting]


def test_priority_comes_before_age_and_age_before_the_slices_place():
    queue = Queue()
    for job, index, priority in [("job_3", 0, 0), ("job_1", 1, 0), ("job_1", 0, 0), ("job_9", 0, 5), ("job_2", 0, -5)]:
        queue.add(make_waiting(job, index, priority=priority))
    order = [("job_9", 0), ("job_1", 0), ("job_1", 1), ("job_3", 0), ("job_2", 0)]
    assert keys(queue.line(make_needs())) == order
    assert [queue.ahead_of(one) for one in queue.line(make_needs())] == [0, 1, 2, 3, 4]


def test_different_needs_wait_in_different_lines():
    queue = Queue()
    queue.add(make_waiting("job_2"))
    queue.add(make_waiting("job_1", needs=BIG))
    assert [(needs, one.key) for needs, one in queue.heads()] == [(BIG, ("job_1", 0)), (make_needs(), ("job_2", 0))]


def test_waiting_slice_is_there_once():
    queue = Queue()
    queue.add(make_waiting("job_1", fence=1))
    queue.add(make_waiting("job_1", fence=2))
    assert len(queue) == 1
    assert [one.fence for one in queue.line(make_needs())] == [2]


def test_removed_slices_do_not_hide_those_behind_them():
    """However many there are: a canceled job of a thousand slices lies in front."""
    queue = Queue()
    queue.add(make_waiting("job_0"))
    for index in range(1000):
        queue.add(make_waiting("job_1", index))
    queue.add(make_waiting("job_2"))
    queue.remove_job("job_1", 1000)
    assert keys(queue.line(make_needs())) == [("job_0", 0), ("job_2", 0)]


def test_line_that_is_empty_is_forgotten():
    queue = Queue()
    queue.add(make_waiting("job_1"))
    assert queue.remove(("job_1", 0)) is not None
    assert queue.remove(("job_1", 0)) is None
    assert queue.heads() == []
    assert list(queue.line(make_needs())) == []
    assert ("job_1", 0) not in queue


places = st.tuples(st.sampled_from(["job_1", "job_2", "job_3"]), st.integers(0, 3))


@given(st.lists(st.tuples(st.sampled_from(["add", "remove"]), places, st.integers(-2, 2), st.booleans())))
def test_queue_is_what_a_sorted_list_would_be(story):
    queue = Queue()
    model: dict[tuple[str, int], Waiting] = {}
    for what, (job, index), priority, big in story:
        model.pop((job, index), None)
        if what == "add":
            one = make_waiting(job, index, priority=priority, needs=BIG if big else make_needs())
            queue.add(one)
            model[job, index] = one
        else:
            queue.remove((job, index))
    assert len(queue) == len(model)
    for needs in (BIG, make_needs()):
        expected = sorted(
            (one for one in model.values() if one.brief.requirements == needs),
            key=lambda one: (-one.brief.priority, *one.key),
        )
        assert list(queue.line(needs)) == expected
    heads = [one for _, one in queue.heads()]
    assert heads == sorted(heads, key=lambda one: (-one.brief.priority, *one.key))
