"""Following a log: whatever happens to the line, every byte comes once."""

import random
import threading
import time
from collections.abc import Callable, Iterable

import pytest
from support.fake_api import FakeHub, FakeJob
from support.waiting import eventually

from computepool.client import ClientError, HubUnreachable, NotFound, NotSignedIn, Pool
from computepool.client.follow import Ended, Event, Follower, HubAway, JobChanged
from computepool.client.logs import LogChunk, Position

NOISE = random.Random(7).randbytes(200_000)


def followed(pool: Pool, job: FakeJob, **options: object) -> bytes:
    return b"".join(chunk.data for chunk in pool.logs(job.id, follow=True, **options))  # type: ignore[arg-type]


def joined(events: Iterable[Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, LogChunk))


def running(hub: FakeHub, data: bytes = b"", **spec: object) -> FakeJob:
    job = hub.add_job({"run": "true", **spec})
    for part in job.document["slices"]:
        job.begin(part["index"])
        job.write(data, part["index"])
    return job


def in_background(*actions: Callable[[], object], after: Callable[[], object] = lambda: True) -> None:
    """A little time passes before each; before the first, the condition `after` holds."""

    def act() -> None:
        eventually(after, "the first action may begin")
        for action in actions:
            time.sleep(0.03)
            action()

    threading.Thread(target=act, daemon=True).start()


def test_log_of_a_finished_job_is_read_whole_page_by_page(hub, pool):
    hub.log_page_bytes = 999
    job = running(hub, NOISE)
    job.finish()
    assert b"".join(chunk.data for chunk in pool.logs(job.id)) == NOISE


def test_offsets_of_chunks_follow_each_other(hub, pool):
    hub.log_page_bytes = 10_000
    job = running(hub, NOISE)
    job.finish()
    offset = 0
    for chunk in pool.logs(job.id):
        assert chunk.offset == offset
        offset += len(chunk.data)
    assert offset == len(NOISE)


def test_reading_goes_on_where_the_body_broke_off(hub, pool):
    job = running(hub, NOISE)
    job.finish()
    hub.cut_bodies_after = 70_001
    assert b"".join(chunk.data for chunk in pool.logs(job.id)) == NOISE


def test_following_gives_live_bytes_and_ends_with_the_job(hub, pool):
    job = running(hub, b"one\n")
    in_background(lambda: job.write(b"two\n"), lambda: job.write(b"three"), lambda: job.finish(0))
    assert followed(pool, job) == b"one\ntwo\nthree"


def test_following_over_hub_restarts_loses_and_repeats_nothing(hub, pool):
    hub.frame_bytes = 1000
    job = running(hub, NOISE[:50_000])
    in_background(
        hub.restart,
        lambda: job.write(NOISE[50_000:120_000]),
        lambda: hub.restart(0.2),
        lambda: job.write(NOISE[120_000:]),
        hub.restart,
        lambda: job.finish(0),
        after=lambda: job.streamed,
    )
    assert followed(pool, job) == NOISE


@pytest.mark.parametrize("frames", [1, 2, 3, 7])
def test_following_over_broken_streams_loses_and_repeats_nothing(hub, pool, frames):
    hub.frame_bytes, hub.close_sockets_after = 50, frames + 1
    text = b"".join(b"line %d\n" % number for number in range(30))
    job = running(hub, text)
    in_background(lambda: job.finish(0))
    assert followed(pool, job) == text


def test_restart_is_told_while_the_hub_is_away(hub, pool):
    job = running(hub, b"before ")
    events: list[Event] = []

    def is_told() -> bool:
        return any(isinstance(event, HubAway) for event in events)

    def go_on() -> None:
        eventually(is_told, "the follower tells that the hub is away")
        hub.start()
        job.write(b"after")
        job.finish(0)

    in_background(hub.stop, go_on, after=lambda: job.streamed)
    events.extend(pool.follow(job.id))
    assert is_told()
    assert joined(events) == b"before after"


def test_follow_falls_back_to_polling_where_websockets_are_blocked(hub, pool):
    hub.block_sockets = True
    job = running(hub, NOISE)
    in_background(lambda: job.write(b"tail"), lambda: job.finish(0))
    assert followed(pool, job) == NOISE + b"tail"


def test_polling_alone_survives_a_restart(hub, pool):
    job = running(hub, b"one ")
    is_reading = lambda: ("GET", f"/api/v1/jobs/{job.id}/logs") in hub.requests  # noqa: E731
    in_background(lambda: hub.restart(0.2), lambda: job.write(b"two"), lambda: job.finish(0), after=is_reading)
    follower = Follower(pool._http, job.id, use_socket=False)
    assert joined(follower.events()) == b"one two"


def test_gap_in_the_stream_is_fetched(hub, pool):
    job = running(hub, b"0123456789")
    job.finish()
    follower = Follower(pool._http, job.id)
    taken = [*follower._take(LogChunk(0, 1, 4, b"4567")), *follower._take(LogChunk(0, 1, 2, b"23456789"))]
    assert joined(taken) == b"0123456789"


def test_end_is_not_believed_before_the_log_is_whole(hub, pool):
    job = running(hub, b"0123456789")
    job.finish()
    follower = Follower(pool._http, job.id)
    list(follower._take(LogChunk(0, 1, 0, b"0123")))
    *chunks, end = follower._end(pool.job(job.id))
    assert joined(chunks) == b"456789"
    assert isinstance(end, Ended)


def test_new_attempt_begins_its_log_anew_and_the_old_one_is_heard_no_more(hub, pool):
    job = running(hub, b"first try, lost half-w")
    in_background(
        job.lose,
        job.begin,
        lambda: job.write(b"second try, whole"),
        lambda: job.finish(0),
        after=lambda: job.streamed.get((0, 1)) == len(b"first try, lost half-w"),
    )
    chunks = list(pool.logs(job.id, follow=True))
    assert b"".join(c.data for c in chunks if c.attempt == 1) == b"first try, lost half-w"
    assert b"".join(c.data for c in chunks if c.attempt == 2) == b"second try, whole"
    assert [c.attempt for c in chunks] == sorted(c.attempt for c in chunks)


def test_stale_attempt_is_dropped(hub, pool):
    follower = Follower(pool._http, "job_x", positions={0: Position(2, 0)})
    assert list(follower._take(LogChunk(0, 1, 0, b"old"))) == []


def test_resume_names_slice_attempt_and_offset(hub, pool):
    hub.close_sockets_after = 3
    hub.frame_bytes = 5
    job = running(hub, b"0123456789")
    in_background(lambda: job.finish(0), after=lambda: job.streamed.get((0, 1)) == 10)
    followed(pool, job)
    assert hub.queries[0] == "frames=changes"
    assert hub.queries[1] == "frames=changes&from=0.1:10"


def test_one_slice_of_many_is_followed_alone(hub, pool):
    job = hub.add_job({"run": "true", "slices": 3})
    for index in range(3):
        job.begin(index)
        job.write(b"slice %d" % index, index)
    job.finish()
    assert followed(pool, job, slice=1) == b"slice 1"
    assert {chunk.slice for chunk in pool.logs(job.id, follow=True)} == {0, 1, 2}


@pytest.mark.parametrize(
    ("log", "lines", "expected"),
    [
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\nc\n", 9, b"a\nb\nc\n"),
        (b"a\nb\nc\n", 0, b""),
        (b"", 3, b""),
        (b"\n\n\n", 2, b"\n\n"),
        (b"x" * 300_000 + b"\nlast\n", 1, b"last\n"),
        (b"x" * 300_000 + b"\nlast\n", 2, b"x" * 300_000 + b"\nlast\n"),
    ],
)
def test_tail_begins_with_the_last_lines(hub, pool, log, lines, expected):
    hub.frame_bytes = 4096
    job = running(hub, log)
    assert b"".join(chunk.data for chunk in pool.logs(job.id, tail=lines)) == expected
    job.finish()
    assert b"".join(chunk.data for chunk in pool.logs(job.id, tail=lines)) == expected
    assert followed(pool, job, tail=lines) == expected


def test_older_attempt_can_be_read_and_followed(hub, pool):
    job = running(hub, b"first")
    job.lose()
    job.begin()
    job.write(b"second")
    assert b"".join(chunk.data for chunk in pool.logs(job.id, attempt=1)) == b"first"
    assert followed(pool, job, attempt=1) == b"first"
    with pytest.raises(ClientError, match="no attempt 9"):
        followed(pool, job, attempt=9)


def test_following_an_unknown_job_says_so(hub, pool):
    with pytest.raises(NotFound, match="no such job"):
        list(pool.logs("job_nowhere", follow=True))


def test_following_gives_up_when_the_hub_stays_away(hub, pool):
    job = running(hub)
    pool.job(job.id)
    hub.stop()
    follower = Follower(pool._http, job.id, patience_seconds=0.3)
    with pytest.raises(HubUnreachable, match="does not answer"):
        list(follower.events())


def test_states_come_with_the_log(hub, pool):
    job = running(hub, b"x")
    in_background(lambda: job.finish(3), after=lambda: job.streamed)
    events = list(pool.follow(job.id))
    changes = [event.job.state for event in events if isinstance(event, JobChanged)]
    assert changes[0] == "running"
    assert isinstance(events[-1], Ended)
    assert events[-1].job.exit_code == 3


def test_follower_whose_token_was_revoked_is_told_so_and_does_not_try_again(hub, pool):
    job = running(hub, b"begun\n")
    hub.close_sockets_after, hub.close_code = 1, 4401
    with pytest.raises(NotSignedIn, match="signed out") as caught:
        followed(pool, job)
    assert caught.value.code == "token_revoked"
    assert len(hub.queries) == 1


# ── more slices than a hub shows at once ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def wide(hub: FakeHub) -> FakeJob:
    hub.shown_slices = 10
    job = running(hub, slices=25)
    for index in range(25):
        job.write(b"%d\n" % index, index)
    return job


EVERYTHING = {index: b"%d\n" % index for index in range(25)}


def by_slice(events: Iterable[Event]) -> dict[int, bytes]:
    logs: dict[int, bytes] = {}
    for event in events:
        if isinstance(event, LogChunk):
            logs[event.slice] = logs.get(event.slice, b"") + event.data
    return logs


def test_logs_of_all_slices_are_read_whatever_the_hub_shows_at_once(hub, pool, wide):
    wide.finish()
    assert by_slice(pool.logs(wide.id)) == EVERYTHING
    assert [part.index for part in pool.slices(wide.id)] == list(range(25))
    assert len(pool.job(wide.id).slices) == 10


@pytest.mark.parametrize("follow", [False, True])
def test_log_of_one_late_slice_is_found(hub, pool, wide, follow):
    wide.finish()
    assert by_slice(pool.logs(wide.id, slice=17, follow=follow)) == {17: b"17\n"}
    assert by_slice(pool.logs(wide.id, slice=17, follow=follow, attempt=1)) == {17: b"17\n"}
    assert by_slice(pool.logs(wide.id, slice=17, follow=follow, tail=1)) == {17: b"17\n"}


def test_slice_that_is_not_there_is_an_error_and_not_an_empty_log(hub, pool, wide):
    with pytest.raises(ClientError, match="has no slice 25"):
        list(pool.logs(wide.id, slice=25))


@pytest.mark.parametrize("use_socket", [True, False])
def test_late_slices_are_followed_by_socket_and_by_polling(hub, pool, wide, use_socket):
    in_background(wide.finish)
    events = Follower(pool._http, wide.id, use_socket=use_socket).events()
    assert by_slice(events) == EVERYTHING


def test_polling_asks_only_for_logs_that_may_have_grown(hub, pool, wide):
    wide.finish()
    assert by_slice(Follower(pool._http, wide.id, use_socket=False).events()) == EVERYTHING
    reads = [path for method, path in hub.requests if path.endswith("/logs")]
    assert len(reads) <= 2 * 25


def test_address_of_a_stream_stays_short_however_many_slices_there_are(hub, pool):
    job = running(hub)
    job.finish()
    positions = {index: Position(1, index) for index in range(5_000)}
    for _ in Follower(pool._http, job.id, positions=positions).events():
        pass
    assert len(hub.queries[-1]) < 8_000
    assert "4999.1:4999" in hub.queries[-1]


def test_outputs_and_receipts_are_listed_over_all_pages(hub, pool, wide):
    hub.page_items = 7
    wide.outputs = [(index, 1, "a", b"%d" % index) for index in range(25)]
    wide.finish()
    assert [output.slice for output in pool.outputs(wide.id)] == list(range(25))
