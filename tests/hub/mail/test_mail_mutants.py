"""Bugs put in on purpose: each check must hold as things are, and fail with each of its bugs."""

from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.header import Header
from email.policy import default

import pytest
from sqlalchemy import select
from support.mail_server import MailServer, mail_server
from support.mailing import ADA, BEN, ROOT, Office
from support.planted import each_check, each_mutant

from computepool.hub.core.http import Role
from computepool.hub.core.smtp_url import parse_sender
from computepool.hub.mail import background, letter, queue, smtp, words, writing
from computepool.hub.mail.letter import Letter, compose
from computepool.hub.mail.smtp import Away, Later, NotTaken, SmtpPost
from computepool.hub.mail.tables import Mail
from computepool.hub.payments.amounts import units_of

# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def each_notice_is_told_once(office: Office, server: MailServer) -> None:
    for number in range(3):
        office.tell(ADA, "cash_out.paid", f"cashout_{number}")
        office.work()
        office.restart()
        office.work()
        office.later(minutes=2)
    assert [one.text.count("was paid.") for one in server.inbox] == [1, 1, 1]
    assert office.notices == 0


def killed_hub_repeats_under_the_same_name(office: Office, server: MailServer) -> None:
    """Between the server's answer and the mark."""
    office.tell(ADA)
    real = office.db.run

    async def dies(fn, *args, **kwargs):
        if fn.__name__ in ("end", "note"):
            raise KeyboardInterrupt
        return await real(fn, *args, **kwargs)

    office.db.run = dies  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        office.work()
    office.db.run = real  # type: ignore[method-assign]
    (mail,) = office.mails
    assert (mail.state, mail.tries) == ("waiting", 1), "written down before it was sent"
    office.restart()
    office.work_for(60, hours=0.1)
    assert len(server.inbox) == 2
    assert len({one.message["Message-ID"] for one in server.inbox}) == 1


def outage_loses_nothing_and_keeps_the_order(office: Office, server: MailServer) -> None:
    server.stop()
    for number in range(3):
        office.tell(ADA, "cash_out.paid", f"cashout_{number}")
        office.work_for(60, hours=0.2)
    server.start()
    server.to_recipient = lambda address: "450 later" if server.asked < 2 else "250 ok"
    office.work_for(30, hours=1)
    assert ["".join(one.text.split("cashout_")[1][0]) for one in server.inbox] == ["0", "1", "2"]


def bad_recipient_is_given_up_and_recorded(office: Office, server: MailServer) -> None:
    server.to_recipient = lambda address: "550 5.1.1 unknown" if address.startswith("ada") else "250 ok"
    office.tell(ADA)
    office.tell(BEN)
    office.work_for(60, hours=0.5)
    assert [one.to for one in server.inbox] == ["ben@example.org"]
    assert server.asked == 2
    assert len(office.audits("mail.given_up")) == 1


def storm_is_bounded(office: Office, server: MailServer) -> None:
    for number in range(40):
        office.tell(ADA, "job.succeeded", f"job_{number}")
        office.work()
        office.later(seconds=10)
    assert len(server.inbox) <= 6
    office.later(hours=1)
    office.work()
    assert sum(one.notices for one in office.mails) == 40


def alarms_and_others_are_counted_apart(office: Office, server: MailServer) -> None:
    office.know(ROOT, role=Role.ADMIN)
    for number in range(2 * writing.PER_HOUR):
        office.tell_admins("payment.difference", f"pi_{number}", kind="missing_here", words="5.00 INR")
        office.work()
        office.later(seconds=10)
    assert len(server.inbox) == 2 * writing.PER_HOUR, "no alarm waits"
    for number in range(writing.PER_HOUR + 2):
        office.tell(ROOT, "job.succeeded", f"job_{number}")
        office.work()
        office.later(seconds=10)
    assert len(server.inbox) == 3 * writing.PER_HOUR, "as many as without alarms, and not more"
    office.tell_admins("ledger.frozen", "ledger", problems=["sum is 1"])
    office.tell_admins("dispute.opened", "dispute_1", kind="job", about="job_1", reason="no")
    office.work()
    assert (len(server.inbox), office.notices) == (3 * writing.PER_HOUR + 1, 3), "the alarm, and nothing with it"
    office.later(hours=1)
    office.tell_admins("ledger.frozen", "ledger", problems=["sum is 2"])
    office.work()
    assert [one.is_alarm for one in office.mails[-2:]] == [False, False], "one that tells of others too is counted"


def old_news_are_not_told(office: Office, server: MailServer) -> None:
    server.stop()
    office.tell(ADA)
    office.work()
    office.tell(BEN)
    office.later(days=3, minutes=1)
    server.start()
    office.work()
    assert server.inbox == []
    assert [one.state for one in office.mails] == ["given_up"]
    assert len(office.audits("mail.given_up")) == 1
    assert len(office.audits("mail.skipped")) == 1


def nothing_typed_becomes_a_head(office: Office, server: MailServer) -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    for nasty in ("a\r\nBcc: eve@x.org", "a\u2028b", "=?utf-8?q?a=0ABcc:_eve?=", "x" * 5000, "\x85", "\u202etxt.exe"):
        made = compose(Letter("m", "ada@example.org", "<m@x.org>", nasty, "b\n", now), parse_sender("p@x.org"))
        lines = made.as_bytes().split(b"\r\n\r\n")[0].split(b"\r\n")
        assert not [line for line in lines if line.lower().startswith(b"bcc") or b"\n" in line or len(line) > 998]
        assert len(str(made["Subject"])) <= 160
        assert "\u202e" not in str(made["Subject"])
        told = words.write([words.Notice("cash_out.rejected", "c", {"micros": 1, "note": nasty})], known(office))[1]
        assert told.count("\n") <= 11
        assert len(told) < 2000


def no_space_of_a_subject_is_lost(office: Office, server: MailServer) -> None:
    subject = " ".join(["Übung", "模型训练", "ответ"] * 8)
    one = Letter("m", "ada@example.org", "<m@x.org>", subject, "b\n", office.clock.now())
    made = compose(one, parse_sender("p@x.org"))
    assert message_from_bytes(made.as_bytes(), policy=default)["Subject"] == subject


def known(office: Office) -> words.Known:
    return words.Known(units_of(office.context.settings))


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def notice_stays_in_the_outbox(patch: pytest.MonkeyPatch) -> None:
    real = writing._take

    def take(session, topic, only):
        with session.begin_nested() as nested:
            rows = real(session, topic, only)
            for row in rows:
                session.expunge(row)
            nested.rollback()
        return rows

    patch.setattr(writing, "_take", take)


def ended_mail_is_sent_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "end", lambda session, mail_id, state, words, now: True)


def only_the_newest_notice_is_told(patch: pytest.MonkeyPatch) -> None:
    real = writing._take
    patch.setattr(writing, "_take", lambda session, topic, only: [*real(session, topic, only)[-1:]] * 2)


def name_is_new_each_time(patch: pytest.MonkeyPatch) -> None:
    real, count = background._letter, iter(range(100))

    def made(mail: Mail) -> Letter:
        one = real(mail)
        return Letter(one.mail_id, one.address, f"<{next(count)}@x.org>", one.subject, one.body, one.at)

    patch.setattr(background, "_letter", made)


def try_is_not_written_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "claim", lambda session, mail_id, now, randbits: session.get(Mail, mail_id))


def outage_counts_as_refusal(patch: pytest.MonkeyPatch) -> None:
    real = SmtpPost.send

    def send(self, one):
        try:
            return real(self, one)
        except Away as away:
            raise NotTaken(away.words) from away

    patch.setattr(SmtpPost, "send", send)


def later_mails_overtake(patch: pytest.MonkeyPatch) -> None:
    def list_due(session, now, limit):
        due = select(Mail.id).where(Mail.state == "waiting", Mail.next_try_at <= now)
        return session.scalars(due.order_by(Mail.created_at.desc()).limit(limit)).all()

    patch.setattr(queue, "list_due", list_due)


def refusal_is_tried_for_ever(patch: pytest.MonkeyPatch) -> None:
    real = SmtpPost.send

    def send(self, one):
        try:
            return real(self, one)
        except NotTaken as never:
            raise Later(never.words) from never

    patch.setattr(SmtpPost, "send", send)


def giving_up_leaves_no_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "record", lambda *args, **kwargs: None)


def refusal_stops_the_round(patch: pytest.MonkeyPatch) -> None:
    real = SmtpPost.send

    def send(self, one):
        try:
            return real(self, one)
        except NotTaken as never:
            raise Away(never.words) from never

    patch.setattr(SmtpPost, "send", send)


def nobody_ever_has_enough(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing, "_have_enough", lambda session, readers, now: False)


def who_has_enough_hears_no_more(patch: pytest.MonkeyPatch) -> None:
    real = writing._have_enough

    def enough(session, readers, now):
        if real(session, readers, now):
            writing._take(session, f"mail/{readers[0].id}", None)
            return True
        return False

    patch.setattr(writing, "_have_enough", enough)


def alarms_are_counted(patch: pytest.MonkeyPatch) -> None:
    real = writing._add

    def add(session, mail_id, *rest):
        real(session, mail_id, *rest)
        session.get_one(Mail, mail_id).is_alarm = False

    patch.setattr(writing, "_add", add)


def mails_with_an_alarm_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    real = writing._add

    def add(session, mail_id, reader, subject, body, rows, domain, now):
        alarms = [row for row in rows if row.payload["action"] in writing.ALARMS]
        real(session, mail_id, reader, subject, body, alarms or rows, domain, now)

    patch.setattr(writing, "_add", add)


def alarms_wait_like_others(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing, "ALARMS", frozenset())


def nothing_is_ever_too_old(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "OLDEST", timedelta(days=300))


def old_notices_become_mails(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing, "OLDEST", timedelta(days=300))


def skipped_notices_leave_no_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing, "record", lambda *args, **kwargs: None)


def lines_are_left_as_they_were_typed(patch: pytest.MonkeyPatch) -> None:
    for module in (letter, words, smtp):
        patch.setattr(module, "one_line", lambda text, limit: str(text))


def only_new_lines_are_taken_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(letter, "_ENDS_A_LINE_OR_HIDES", frozenset({"Cc"}))


def words_are_encoded_one_by_one(patch: pytest.MonkeyPatch) -> None:
    """As some do: what is between two encoded words counts for nothing."""

    def lines(subject: str, linesep: str) -> str:
        return f"Subject: {' '.join(Header(one, 'utf-8').encode() for one in subject.split())}{linesep}"

    patch.setattr(letter, "_subject_lines", lines)


MUTANTS = {
    each_notice_is_told_once: [notice_stays_in_the_outbox, ended_mail_is_sent_again, only_the_newest_notice_is_told],
    killed_hub_repeats_under_the_same_name: [name_is_new_each_time, try_is_not_written_down],
    outage_loses_nothing_and_keeps_the_order: [outage_counts_as_refusal, later_mails_overtake],
    bad_recipient_is_given_up_and_recorded: [
        refusal_is_tried_for_ever,
        giving_up_leaves_no_record,
        refusal_stops_the_round,
    ],
    storm_is_bounded: [nobody_ever_has_enough, who_has_enough_hears_no_more],
    alarms_and_others_are_counted_apart: [
        alarms_are_counted,
        mails_with_an_alarm_are_not_counted,
        alarms_wait_like_others,
        nobody_ever_has_enough,
    ],
    old_news_are_not_told: [nothing_is_ever_too_old, old_notices_become_mails, skipped_notices_leave_no_record],
    no_space_of_a_subject_is_lost: [words_are_encoded_one_by_one],
    nothing_typed_becomes_a_head: [lines_are_left_as_they_were_typed, only_new_lines_are_taken_out],
}


def run(check, url: str) -> None:
    with mail_server() as server:
        office = Office(url, server.url)
        office.know(ADA)
        office.know(BEN)
        try:
            check(office, server)
        finally:
            office.close()


@each_check(MUTANTS)
def test_check_holds(sqlite_hub, check):
    run(check, sqlite_hub)


@each_mutant(MUTANTS)
def test_planted_bug_is_found(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, ValueError)):
        run(check, sqlite_hub)
