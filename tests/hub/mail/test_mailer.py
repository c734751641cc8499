"""Notices become mails that are sent once, in order, whatever the server does meanwhile."""

import asyncio
import contextlib
import itertools
import threading
from datetime import timedelta

import pytest
import structlog
from sqlalchemy import event
from sqlalchemy.orm import Session
from support.engine import play_with_threads
from support.mailing import ADA, BEN, ROOT, Office
from support.waiting import patience

from computepool.hub.accounts.service import change_profile, create_user
from computepool.hub.core.http import Role
from computepool.hub.core.notices import MailKind, kind_of
from computepool.hub.core.owners import PLATFORM, Owner, OwnerKind
from computepool.hub.core.records import record
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import OutboxRow
from computepool.hub.mail import background, queue
from computepool.hub.mail.background import AT_ONCE, Mailer
from computepool.hub.mail.smtp import SmtpPost
from computepool.hub.mail.tables import Mail
from computepool.hub.mail.words import WRITERS
from computepool.hub.mail.writing import ALARMS, PER_HOUR


def states(office):
    return [one.state for one in office.mails]


def test_notice_is_mailed_once(office, server):
    office.tell(ADA, "cash_out.paid", "cashout_1", reference="UTR 42")
    office.work()
    (one,) = server.inbox
    assert (one.to, one.subject) == ("ada@example.org", "Your cash-out of 25.5 credits (25.50 INR) was paid.")
    assert "UTR 42" in one.text
    (mail,) = office.mails
    assert (mail.state, mail.tries, mail.words, mail.body) == ("sent", 1, "250 taken", "")
    assert one.message["Message-ID"] == mail.message_id
    assert mail.message_id == f"<{mail.id}@pool.example.org>"
    assert office.notices == 0
    office.restart()
    office.work()
    assert len(server.inbox) == 1
    assert office.work() is None, "nothing to do: it sleeps until something happens"


def test_nothing_is_mailed_of_a_transaction_that_was_undone(office, server):
    def fails(session):
        record(session, "cash_out.paid", "cashout_1", office.clock.now(), topics=(f"mail/{ADA}",), micros=1)
        raise RuntimeError("undone")

    with pytest.raises(RuntimeError):
        office.run(fails)
    office.work()
    assert (office.mails, server.inbox) == ([], [])


def test_what_happens_together_is_told_together(office, server):
    for number in range(3):
        office.tell(ADA, "job.succeeded", f"job_{number}")
    office.tell(BEN, "job.failed", "job_9")
    office.work()
    assert {one.to: one.subject for one in server.inbox} == {
        "ada@example.org": "Job job_0 succeeded. And 2 more",
        "ben@example.org": "Job job_9 failed.",
    }
    assert len(server.inbox) == 2
    assert {one.user_id: one.notices for one in office.mails} == {ADA: 3, BEN: 1}


def test_storm_of_notices_is_a_few_mails_an_hour_and_everything_is_told(office, server):
    told = 0
    for _ in range(100):
        office.tell(ADA, "job.succeeded", f"job_{told}")
        told += 1
        office.work()
        office.later(seconds=30)
    assert len(server.inbox) == PER_HOUR
    pause = office.work()
    assert pause is not None
    assert pause <= background.HELD_BACK_SECONDS
    office.later(hours=1)
    office.work()
    assert len(server.inbox) == PER_HOUR + 1
    assert sum(one.notices for one in office.mails) == told
    assert "And 74 more notices" in server.inbox[-1].text


def test_alarm_waits_for_nobodys_disputes(hub_url, server):
    office = Office(hub_url, server.url)
    office.know(ROOT, role=Role.ADMIN)
    about = {"kind": "job", "about": "job_1", "reason": "no"}
    for number in range(PER_HOUR + 30):
        office.tell_admins("dispute.opened", f"dispute_{number}", **about)
        if number < PER_HOUR:
            office.work()
    office.work()
    before = [one.to for one in server.inbox]
    assert before.count("root@example.org") == PER_HOUR
    office.tell_admins("ledger.frozen", "ledger", problems=["sum is 1"])
    office.work()
    assert server.inbox[-1].subject == "The ledger does not add up. Cash-outs are frozen."
    assert (len(server.inbox) - len(before), office.notices) == (1, 30)
    office.tell_admins("payment.difference", "pi_1", kind="missing_here", words="a payment of 5.00 INR")
    office.later(hours=2)
    office.work()
    assert "a payment of 5.00 INR" in server.inbox[-1].text, "of many, what is urgent comes first"
    assert office.notices == 0
    office.close()


def test_mails_that_their_reader_turned_off_are_not_written(office, server):
    office.run(change_profile, ADA, office.clock.now(), {"muted_mails": ["jobs", "money"]})
    office.tell(ADA, "job.failed", "job_1")
    office.work()
    assert (server.inbox, office.notices) == ([], 0)
    assert office.audits("mail.skipped")[-1]["words"] == "turned off by their reader"
    office.tell(ADA, "job.failed", "job_2")
    office.tell(ADA, "dispute.decided_about_you", "dispute_1", outcome="none")
    office.tell(BEN, "job.failed", "job_3")
    office.work()
    told = {one.to: one.text for one in server.inbox}
    assert "job_2" not in told["ada@example.org"]
    assert "dispute_1" in told["ada@example.org"]
    assert "job_3" in told["ben@example.org"]


def test_every_mail_to_a_person_is_of_a_kind_that_can_be_turned_off_and_those_to_admins_stay(office, server):
    assert {kind_of(action) for action in WRITERS} == set(MailKind)
    assert {kind_of(action) for action in ALARMS} == {None}
    office.know(ROOT, role=Role.ADMIN)
    office.run(change_profile, ROOT, office.clock.now(), {"muted_mails": [kind.value for kind in MailKind]})
    office.tell_admins("dispute.opened", "dispute_1", job="job_1")
    office.work()
    assert [one.to for one in server.inbox] == ["root@example.org"]


def test_one_persons_storm_keeps_nobody_elses_mail_back(office, server):
    for number in range(PER_HOUR + 1):
        office.tell(ADA, "job.succeeded", f"job_{number}")
        office.work()
    office.tell(BEN)
    office.work()
    assert [one.to for one in server.inbox].count("ben@example.org") == 1
    assert office.notices == 1


def test_server_that_is_away_for_an_hour_loses_nothing_and_everything_comes_in_order(office, server):
    server.stop()
    for number in range(4):
        office.tell(ADA, "cash_out.paid", f"cashout_{number}")
        office.tell(BEN, "cash_out.paid", f"cashout_{number}")
        office.work_for(60, hours=0.25)
    assert "refused" in office.mailer.away
    assert office.mailer.counts.waiting == 8
    server.start()
    office.work_for(60, hours=0.5)
    assert states(office) == ["sent"] * 8
    for address in ("ada@example.org", "ben@example.org"):
        told = [one.text for one in server.inbox if one.to == address]
        assert ["cashout_0" in told[0], "cashout_1" in told[1], "cashout_3" in told[3]] == [True] * 3
    assert office.mailer.away is None


def test_server_that_is_away_is_asked_less_and_less_often(office, server):
    server.stop()
    office.tell(ADA)
    pauses = []
    for _ in range(12):
        pause = office.work()
        pauses.append(pause)
        office.later(seconds=pause + 1)
    assert all(later > earlier for earlier, later in itertools.pairwise(pauses[:7]))
    assert max(pauses) <= background.LONGEST_PAUSE_SECONDS * 1.25
    assert pauses[-1] >= background.LONGEST_PAUSE_SECONDS * 0.75
    assert len(set(pauses)) == len(pauses), "never in step with others"


def test_news_while_the_server_is_away_do_not_make_it_ask_at_once(office, server):
    server.stop()
    office.tell(ADA)
    office.work()
    for _ in range(10):
        office.tell(BEN)
        office.work()
    assert sum(one.tries for one in office.mails) == 1


def test_mail_that_is_not_taken_now_is_tried_later_and_later_ones_wait_behind_it(office, server):
    server.to_recipient = lambda address: "450 4.2.0 greylisted" if address.startswith("ada") else "250 ok"
    office.tell(ADA, "cash_out.approved", "cashout_1")
    office.work()
    office.later(seconds=5)
    office.tell(ADA, "cash_out.paid", "cashout_1")
    office.tell(BEN)
    office.work()
    assert [one.to for one in server.inbox] == ["ben@example.org"]
    server.to_recipient = lambda address: "250 ok"
    office.work_for(30, hours=0.1)
    assert [one.subject.split()[-1] for one in server.inbox if one.to.startswith("ada")] == ["approved.", "paid."]


def test_recipient_whom_the_server_does_not_know_is_given_up_and_in_nobodys_way(office, server):
    server.to_recipient = lambda address: "550 5.1.1 no such user" if address.startswith("ada") else "250 ok"
    office.tell(ADA)
    office.tell(BEN)
    office.work()
    assert {one.user_id: one.state for one in office.mails} == {ADA: "given_up", BEN: "sent"}
    (audit,) = office.audits("mail.given_up")
    assert audit["user"] == ADA
    assert "550 5.1.1" in audit["words"]
    office.work_for(600, hours=2)
    assert server.asked == 2
    assert (office.mailer.counts.given_up, office.mailer.counts.sent) == (1, 1)


def test_server_that_takes_nothing_from_us_is_left_alone_and_nothing_is_given_up(office, server):
    server.to_sender = lambda address: "550 5.7.1 who are you"
    office.tell(ADA)
    office.tell(BEN)
    office.work_for(60, hours=2)
    assert states(office) == ["waiting", "waiting"]
    server.to_sender = lambda address: "250 ok"
    office.work_for(60, hours=0.5)
    assert states(office) == ["sent", "sent"]


def test_server_that_breaks_with_every_mail_is_not_asked_about_all_of_them(office, server):
    people = [f"user_{number}" for number in range(20)]
    for one in people:
        office.know(one)
        office.tell(one)
    server.to_recipient = lambda address: "451 4.3.0 try later"
    office.work()
    assert server.asked == background.IN_A_ROW
    server.to_recipient = lambda address: "250 ok"
    office.work_for(60, hours=1)
    assert len(server.inbox) == 20


def test_mail_that_breaks_the_line_each_time_does_not_stop_the_others(office, server):
    server.to_content = lambda arrived: None if arrived.to.startswith("ada") and not server.inbox else "250 ok"
    office.tell(ADA)
    office.tell(BEN)
    office.work_for(60, hours=0.1)
    assert {one.to for one in server.inbox} == {"ada@example.org", "ben@example.org"}


def test_what_is_too_old_is_given_up_and_recorded(office, server):
    server.stop()
    office.tell(ADA)
    office.work_for(3600, hours=73)
    assert states(office) == ["given_up"]
    assert "too old" in office.audits("mail.given_up")[0]["words"]
    office.tell(ADA)
    office.later(days=4)
    server.start()
    office.work()
    assert server.inbox == []
    assert office.audits("mail.skipped") == [{"notices": 1, "words": "too old by now"}]


def test_who_cannot_get_mails_is_skipped_and_recorded(office, server):
    def add(session):
        session.add(Owner(id="team_lab", kind=OwnerKind.TEAM, created_at=office.clock.now()))

    office.run(add)
    office.know("user_local", "admin@localhost")
    for nobody in ("user_local", "team_lab", PLATFORM):
        office.tell(nobody)
    office.tell(BEN)
    office.work()
    assert [one.to for one in server.inbox] == ["ben@example.org"]
    assert len(office.audits("mail.skipped")) == 3
    assert office.mailer.counts.skipped == 3
    assert office.notices == 0


def test_alarms_go_to_every_admin_who_has_an_address(office, server):
    office.know(ROOT, role=Role.ADMIN)
    office.know("user_other", role=Role.ADMIN)
    office.know("user_first", "admin@localhost", role=Role.ADMIN)
    office.tell_admins("ledger.frozen", "ledger", problems=["the sum is 1 micro"])
    office.work()
    assert sorted(one.to for one in server.inbox) == ["other@example.org", "root@example.org"]
    assert "the sum is 1 micro" in server.inbox[0].text
    assert len({one.message_id for one in office.mails}) == 2


def test_many_people_are_all_told(office, server):
    people = [f"user_{number}" for number in range(AT_ONCE + 10)]
    for one in people:
        office.know(one)
        office.tell(one)
    office.work()
    assert len({one.to for one in server.inbox}) == len(people)


def test_without_a_server_the_mail_is_one_line_of_the_log(sqlite_hub):
    office = Office(sqlite_hub)
    office.know(ADA)
    office.tell(ADA, "cash_out.rejected", "cashout_1", note="two\nlines")
    with structlog.testing.capture_logs() as lines:
        office.work()
    (line,) = [one for one in lines if one["event"] == "mail.written"]
    assert (line["to"], line["subject"]) == (
        "ada@example.org",
        "Your cash-out of 25.5 credits (25.50 INR) was rejected.",
    )
    assert "two lines" in line["text"]
    assert [(one.state, one.body) for one in office.mails] == [("logged", "")]
    office.close()


def test_notice_without_what_belongs_to_it_is_told_and_stops_nobody(office, server):
    def broken(session):
        record(session, "cash_out.paid", "cashout_1", office.clock.now(), topics=(f"mail/{ADA}",), micros="many")

    office.run(broken)
    office.tell(BEN)
    office.work()
    assert {one.to: one.subject for one in server.inbox}["ada@example.org"] == "cash_out.paid: cashout_1."
    assert len(server.inbox) == 2


def test_hub_that_stops_while_the_server_answers_marks_what_was_taken(hub_url, server, monkeypatch):
    """In threads and real time, as in production."""
    monkeypatch.setattr(background, "PATIENCE_SECONDS", patience())
    taken, go = threading.Event(), threading.Event()

    def slowly(arrived):
        taken.set()
        go.wait(patience())
        return "250 taken"

    server.to_content = slowly

    async def story(pool):
        await pool.db.run(
            create_user, ADA, pool.clock.now(), email="ada@example.org", name="A", country=None, password_hash=None
        )
        await pool.stop()
        pool.settings = Settings(database_url=pool.url, smtp_url=server.url, mail_from="pool@example.org")
        await pool.start()
        topics = (f"mail/{ADA}",)
        await pool.db.run(lambda session: record(session, "node.banned", "node_1", pool.clock.now(), topics=topics))
        assert await asyncio.to_thread(taken.wait, patience())
        asyncio.get_running_loop().call_later(0.2, go.set)
        await pool.stop()
        await pool.start()

    play_with_threads(hub_url, story)
    office = Office(hub_url)
    (mail,) = office.mails
    office.close()
    assert (mail.state, mail.tries, len(server.inbox)) == ("sent", 1, 1)
    assert b"QUIT" not in server.inbox[0].content


def test_mails_are_kept_for_a_month(office, server):
    office.tell(ADA)
    office.work()
    office.later(days=29)
    asyncio.run(office.mailer.tidy())
    assert len(office.mails) == 1
    office.later(days=2)
    asyncio.run(office.mailer.tidy())
    assert office.mails == []


def test_two_mailers_at_once_send_no_mail_twice(office, server):
    """The hub's lock keeps a second one away. Where it did not: each mail has one that may send it."""
    for number in range(10):
        office.know(f"user_{number}")
        office.tell(f"user_{number}")
    other = Mailer(office.context)

    async def both():
        await asyncio.gather(office.mailer.work(), other.work())

    asyncio.run(both())
    assert len(server.inbox) == 10
    assert len({one.message["Message-ID"] for one in server.inbox}) == 10


def test_notice_that_is_committed_while_mails_are_written_is_told_later(postgres_hub, server):
    """It has a lower number than one that was seen: numbers are given before commits."""
    office = Office(postgres_hub, server.url)
    office.know(ADA)
    now, topic = office.clock.now(), f"mail/{ADA}"

    def add(session, subject):
        about = {"action": "cash_out.paid", "subject": subject, "owner": ADA, "micros": 1_000_000}
        session.add(OutboxRow(topic=topic, payload=about, created_at=now))
        session.flush()

    with Session(office.db.engine) as slow:
        add(slow, "cashout_slow")
        office.run(add, "cashout_fast")

        def commit_before(_connection, _cursor, statement, *_rest):
            if statement.startswith("DELETE FROM outbox"):
                slow.commit()

        event.listen(office.db.engine, "before_cursor_execute", commit_before)
        office.work()
        event.remove(office.db.engine, "before_cursor_execute", commit_before)
    office.work()
    told = "".join(one.text for one in server.inbox)
    assert ("cashout_fast" in told, "cashout_slow" in told, office.notices) == (True, True, 0)
    office.close()


# ── a hub that is killed ─────────────────────────────────────────────────────────────────────────────────────────────


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


class Fuse:
    """Burns down one step at a time."""

    def __init__(self, steps):
        self.left = steps

    def burn(self):
        self.left -= 1
        if self.left == 0:
            raise Killed


def fused(office, fuse):
    """The same post and database, with a step before and after everything that another process or disk can see."""
    post = SmtpPost(office.mailer.post._place, office.mailer.post._sender)

    class Post:
        keeps, where = post.keeps, post.where
        close = staticmethod(post.close)

        @staticmethod
        def send(letter):
            fuse.burn()
            answer = post.send(letter)
            fuse.burn()
            return answer

    inner = office.db.run

    async def run(fn, *args, **kwargs):
        fuse.burn()
        result = await inner(fn, *args, **kwargs)
        fuse.burn()
        return result

    return Post(), run


def test_hub_killed_at_any_step_tells_everything_and_repeats_only_under_the_same_name(sqlite_hub, server, monkeypatch):
    """Every step of writing and sending two mails, one after the other."""
    office = Office(sqlite_hub, server.url)
    repeated, steps = 0, 0
    for steps in range(1, 100):
        server.inbox.clear()
        ada, ben = f"user_a{steps}", f"user_b{steps}"
        office.know(ada)
        office.know(ben)
        office.tell(ada, "cash_out.paid", f"cashout_a{steps}")
        office.tell(ben, "cash_out.paid", f"cashout_b{steps}")
        fuse = Fuse(steps)
        post, run = fused(office, fuse)
        office.restart(post)
        with monkeypatch.context() as patched:
            patched.setattr(office.db, "run", run)
            with contextlib.suppress(Killed):
                office.work()
        office.restart()
        office.work_for(60, hours=0.1)
        for who in (ada, ben):
            (mail,) = office.rows(Mail, user_id=who)
            came = [one for one in server.inbox if one.to == mail.address]
            assert came, f"killed at step {steps}"
            assert {one.message["Message-ID"] for one in came} == {mail.message_id}
            assert len({one.content for one in came}) == 1, "and it says the same"
            assert len(came) <= 2
            assert mail.state == "sent"
            repeated += len(came) - 1
        if fuse.left > 0:
            break
    assert fuse.left > 0
    assert steps > 12
    assert repeated == 4, "only between the server's answer and its mark: two steps, for each of the two"
    office.close()


def test_wait_between_tries_grows_to_an_hour():
    waits = [queue.wait_of(tries, lambda bits: 0) for tries in range(1, 200)]
    assert waits[:3] == [timedelta(seconds=45), timedelta(seconds=90), timedelta(minutes=3)]
    assert max(waits) == timedelta(minutes=45)
    assert max(queue.wait_of(tries, lambda bits: 2**bits - 1) for tries in range(1, 200)) < timedelta(minutes=75)
