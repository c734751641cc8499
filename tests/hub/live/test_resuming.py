"""A reader that goes away at any point, also over a restart of the hub, and comes back sees each event once, in order,
or is told to start over. On the real databases, with commits that overtake each other."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, event, select
from support.engine import principal
from support.planted import each_check, each_mutant
from support.proofs import figure
from support.waiting import async_eventually

from computepool.hub.core import records
from computepool.hub.core.db import open_database
from computepool.hub.core.records import CommitOrder, Event, prune_outbox, record
from computepool.hub.core.tables import OutboxRow
from computepool.hub.live import feed as feeds
from computepool.hub.live.feed import EventStream, Feed, Reader, topics_for

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = count()
FEW = 8
"""Events that may wait for a reader, and that a page has: small, so that a test meets both ends."""
MANY = 40


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "QUEUE_LIMIT", FEW)
    monkeypatch.setattr(feeds, "PAGE", FEW)
    monkeypatch.setattr(feeds, "REPLAY_LIMIT", MANY)


class Hub:
    """As much of one as events need: the database, and the feed that hears of its commits."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.now = BEGIN
        self.epoch = 1

    async def start(self) -> None:
        self.db = open_database(self.url)
        if self.db.engine.dialect.name == "postgresql":
            # Just before the driver commits: transactions overtake each other.
            event.listen(self.db.engine, "commit", lambda _: time.sleep(next(NUMBERS) % 7 / 2000))
        self.feed = Feed(self.context)
        loop = asyncio.get_running_loop()
        self.heard = set[int]()

        def hear(events: list[Any]) -> None:
            self.feed.hear(events)
            self.heard |= {one.id for one in events}

        def hear_later(events: list[Any]) -> None:
            loop.call_soon_threadsafe(hear, events)

        self.db.on_settled = hear_later
        await self.feed.load()

    def stop(self) -> None:
        self.db.close()

    async def restart(self) -> None:
        self.stop()
        await self.start()

    @property
    def context(self) -> Any:
        return SimpleNamespace(db=self.db, fence_epoch=self.epoch)

    async def commit(self, user: str, how_many: int, *, heard: bool = True) -> None:
        """So many transactions at once, some of which fail; two events each, among others' and notices."""
        if not heard:
            self.db.on_settled = lambda _events: None
        before = {number for number, _ in self.truth(user)}
        work = [self.db.run(self._change, user, next(NUMBERS)) for _ in range(how_many)]
        await asyncio.gather(*work, return_exceptions=True)
        if heard:
            numbers = {number for number, _ in self.truth(user)} - before
            await async_eventually(lambda: numbers <= self.heard, "the feed heard of it")

    def _change(self, session: Any, user: str, number: int) -> None:
        self.now += timedelta(seconds=1)
        topics = (f"owner/{user}", f"job/{number}", "owner/another", "mail/somebody")
        record(session, "job.deleted", f"job_{number}", self.now, topics=topics)
        record(session, "job.deleted", f"job_{number}b", self.now, topics=topics[:1])
        if number % 5 == 4:
            raise ZeroDivisionError

    def truth(self, user: str) -> list[tuple[int, str]]:
        with self.db.engine.connect() as connection:
            rows = connection.execute(
                select(OutboxRow.id, OutboxRow.payload).where(OutboxRow.topic == f"owner/{user}").order_by(OutboxRow.id)
            )
            return [(row.id, row.payload["subject"]) for row in rows]


@dataclass
class Tab:
    """A reader, over all its connections."""

    hub: Hub
    user: str
    seen: list[tuple[int, str]] = field(default_factory=list)
    started_over: list[tuple[int, int, str]] = field(default_factory=list)
    """After which id, up to which, and why."""
    cursor: str | None = None

    async def connect(self) -> None:
        user = principal(self.user)
        self._listening = self.hub.feed.listen(topics_for(user), user)
        reader = self._listening.__enter__()
        self._idle = asyncio.Event()
        wait_for_news = reader.news.wait

        async def wait() -> Literal[True]:
            if not reader.news.is_set():
                self._idle.set()
            return await wait_for_news()

        reader.news.wait = wait  # type: ignore[method-assign]
        self._frames = EventStream(self.hub.context, self.hub.feed, user, self.cursor).messages(reader)
        self.take(await anext(self._frames))

    async def disconnect(self) -> None:
        await self._frames.aclose()
        self._listening.__exit__(None, None, None)

    @property
    def position(self) -> int:
        return int((self.cursor or "1-0").partition("-")[2])

    def left(self) -> list[int]:
        return [number for number, _ in self.hub.truth(self.user) if number > self.position]

    async def read(self, most: int, left: list[int] | None = None) -> None:
        """As many as there are by now, up to `most`."""
        left = self.left() if left is None else left
        for _ in range(min(most, len(left))):
            if not [number for number in left if number > self.position]:
                return  # it was told to start over
            self.take(await self._next())

    async def _next(self) -> str:
        """Fails where the stream waits for news though there is something to tell."""
        self._idle.clear()
        coming, idling = asyncio.ensure_future(anext(self._frames)), asyncio.ensure_future(self._idle.wait())
        await asyncio.wait((coming, idling), return_when=asyncio.FIRST_COMPLETED)
        idling.cancel()
        if not coming.done():
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
            raise AssertionError("nothing comes, though there is more")
        return coming.result()

    def take(self, frame: str) -> None:
        message = json.loads(frame)
        number = int(message["id"].partition("-")[2])
        if message["type"] == "start_over":
            self.started_over.append((self.position, number, message["reason"]))
        elif message["type"] == "event":
            self.seen.append((number, message["event"]["job_id"]))
        if self.cursor is None or message["type"] != "hello":
            self.cursor = message["id"]

    def check(self, begin: int, all_there_was: dict[int, str]) -> None:
        """Whatever was not seen lies where it was told to start over."""
        numbers = [number for number, _ in self.seen]
        assert numbers == sorted(set(numbers)), "out of order, or twice"
        missed = [
            number
            for number in all_there_was
            if begin < number <= self.position
            and number not in numbers
            and not any(after < number <= upto for after, upto, _ in self.started_over)
        ]
        assert not missed, f"{missed} were neither told nor passed over"
        assert dict(self.seen).items() <= all_there_was.items()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(1, 12)),
        st.tuples(st.just("commit_and_read"), st.integers(1, 12)),
        st.tuples(st.just("crash"), st.integers(0, 6)),
        st.tuples(st.just("read"), st.integers(1, 20)),
        st.tuples(st.just("reconnect"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("mails"), st.just(0)),
        st.tuples(st.just("prune"), st.integers(-1, 10)),
    ),
    min_size=2,
    max_size=12,
)


async def play_steps(hub: Hub, steps: list[tuple[str, int]]) -> None:
    user = f"user_{next(NUMBERS)}"
    tab, all_there_was = Tab(hub, user), dict[int, str]()
    await tab.connect()
    begin = tab.position
    has_pruned = False
    for step, size in steps:
        match step:
            case "commit":
                await hub.commit(user, size)
            case "commit_and_read":
                await asyncio.gather(hub.commit(user, size), tab.read(size, tab.left()))
            case "read":
                await tab.read(size)
            case "reconnect":
                await tab.disconnect()
                await tab.connect()
            case "restart" | "crash":
                if step == "crash":
                    await hub.commit(user, size, heard=False)
                await tab.disconnect()
                await hub.restart()
                await tab.connect()
            case "mails":
                await hub.db.run(take_mails)
            case "prune":
                all_there_was |= dict(hub.truth(user))
                has_pruned = has_pruned or bool(await hub.db.run(prune_outbox, hub.now - timedelta(seconds=size), 1000))
        all_there_was |= dict(hub.truth(user))
    await tab.read(len(all_there_was))
    tab.check(begin, all_there_was)
    assert not tab.left(), "it was not told of the last ones"
    for after, upto, reason in tab.started_over:
        behind = sum(after < number <= upto for number in all_there_was)
        assert (reason == "pruned" and has_pruned) or (reason == "too_many" and behind > MANY), reason
    await tab.disconnect()


def take_mails(session: Any) -> None:
    """As the mailer does."""
    session.execute(delete(OutboxRow).where(OutboxRow.topic.startswith("mail/")))


def run(url: str, *plays: list[tuple[str, int]]) -> None:
    async def story() -> None:
        hub = Hub(url)
        await hub.start()
        try:
            for steps in plays:
                await play_steps(hub, steps)
        finally:
            hub.stop()

    asyncio.run(story())


@pytest.mark.proof
def test_reader_that_comes_back_sees_each_event_once(hub_url):
    @settings(
        max_examples=figure(12, 500),
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(STEPS)
    def holds(steps):
        run(hub_url, steps)

    holds()


# ── bugs that it has to find ─────────────────────────────────────────────────────────────────────────────────────────


def overtaken_commits_are_told_in_order(url: str) -> None:
    run(url, *[[("commit_and_read", 12), ("read", 5), ("reconnect", 0), ("commit", 12)]] * 3)


def lower_numbers_come_first(_url: str) -> None:
    order, told = CommitOrder(), list[int]()

    def commit(ticket: object, *numbers: int) -> None:
        committed = [Event("owner/a", {}, BEGIN, id=number) for number in numbers]
        order.end(ticket, committed, lambda events: told.extend(one.id or 0 for one in events))

    slow, quick, failed = order.begin(), order.begin(), order.begin()
    commit(quick, 3, 4)
    late = order.begin()  # after 4 was given: it can only have higher ones
    commit(failed)
    assert told == []
    commit(slow, 1, 2)
    assert told == [1, 2, 3, 4]
    commit(late, 5)
    assert told == [1, 2, 3, 4, 5]


def full_queue_is_read_from_the_outbox(url: str) -> None:
    run(url, [("commit", 12), ("commit", 5), ("read", 7), ("commit_and_read", 9), ("commit", 3)])


def restart_goes_on_where_it_was(url: str) -> None:
    run(url, [("commit", 3), ("read", 2), ("crash", 3), ("read", 1), ("restart", 0), ("commit", 2)])


def pruned_events_are_not_passed_over_in_silence(url: str) -> None:
    run(url, [("commit", 12), ("commit", 12), ("reconnect", 0), ("prune", 3), ("commit", 2)])


def number_of_the_newest_event_is_not_given_again(url: str) -> None:
    steps = [("commit", 3), ("read", 20), ("prune", -1), ("mails", 0), ("restart", 0), ("commit", 2)]
    run(url, steps, [("mails", 0), ("reconnect", 0), ("restart", 0), ("commit", 1)])


def reader_that_is_too_far_behind_starts_over(url: str) -> None:
    run(url, [("commit", 12), ("commit", 12), ("commit", 12), ("commit", 3), ("read", 50), ("commit", 2)])


def told_as_they_are_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self, ticket, committed, tell):
        tell([one for one in committed if one.id is not None])

    monkeypatch.setattr(CommitOrder, "end", at_once)


def full_queue_drops_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(self, one):
        if len(self.queue) >= feeds.QUEUE_LIMIT:
            self.queue.popleft()
        self.queue.append(one)
        self.news.set()

    monkeypatch.setattr(Reader, "tell", tell)


def page_repeats_the_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    real = records.list_events
    monkeypatch.setattr(
        feeds, "list_events", lambda session, topics, after, *rest: real(session, topics, after - 1, *rest)
    )


def nothing_is_read_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def load(self):
        self.settled = 0

    monkeypatch.setattr(Feed, "load", load)


def what_was_pruned_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PRUNED_TO", "something_else", raising=True)
    real = records.list_events

    def forgetful(session, *rest):
        monkeypatch.setattr(records, "PRUNED_TO", "nothing")
        return real(session, *rest)

    monkeypatch.setattr(feeds, "list_events", forgetful)


def everything_old_is_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    real = records.prune_outbox

    def prune(session, before, limit):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(records, "last_event_id", lambda _session: -1)
            return real(session, before, limit)

    monkeypatch.setattr(f"{__name__}.prune_outbox", prune)


def reader_that_is_far_behind_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventStream, "_start_over", lambda self, reason: '{"type":"hello","id":"1-0"}')


MUTANTS = {
    overtaken_commits_are_told_in_order: [],
    lower_numbers_come_first: [told_as_they_are_committed],
    full_queue_is_read_from_the_outbox: [full_queue_drops_the_oldest, page_repeats_the_last_event],
    restart_goes_on_where_it_was: [nothing_is_read_after_a_restart],
    pruned_events_are_not_passed_over_in_silence: [what_was_pruned_is_not_asked],
    number_of_the_newest_event_is_not_given_again: [everything_old_is_pruned],
    reader_that_is_too_far_behind_starts_over: [reader_that_is_far_behind_is_passed_over],
}


@each_check(MUTANTS)
def test_events(check, hub_url):
    check(hub_url)


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, sqlite_hub, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(sqlite_hub)
