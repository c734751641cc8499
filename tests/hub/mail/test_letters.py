"""What a mail says, and that nothing anybody typed can make it say more."""

import email
import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from email.header import decode_header, make_header
from email.policy import SMTP, default
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.money_words import words_in

from computepool.hub.core.smtp_url import default_sender, parse_sender, parse_smtp_url, usable_address
from computepool.hub.mail.letter import Letter, compose, one_line
from computepool.hub.mail.tables import SUBJECT_LIMIT
from computepool.hub.mail.words import FOR_ADMINS, SHOWN, WRITERS, Known, Notice, write
from computepool.hub.payments.amounts import Units

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SENDER = parse_sender("pool@example.org")
KNOWN = Known(
    Units("inr", Decimal("1.5")),
    "https://pool.example.org",
    {"job_1": ("train", "It ran out of memory.")},
    {"node_1": "alpha"},
)
HEADS = {
    *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Type", "Content-Transfer-Encoding"),
    "MIME-Version",
}
MONEY = {"micros": 25_500_000, "owner": "user_1"}
EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "node.accused": ("node_1", {"attempt": "attempt_1", "accusation": "accusation_1"}),
    "node.accusation_dismissed": ("node_1", {"attempt": "attempt_1", "note": "the job was not deterministic"}),
    "cash_out.requested": ("cashout_1", MONEY),
    "cash_out.approved": ("cashout_1", MONEY | {"note": ""}),
    "cash_out.paid": ("cashout_1", MONEY | {"reference": "UTR 42", "note": "by bank"}),
    "cash_out.rejected": ("cashout_1", MONEY | {"note": "no account"}),
    "cash_out.failed": ("cashout_1", MONEY | {"note": "the bank says no"}),
    "cash_out.returned": ("cashout_1", MONEY | {"returned_micros": 500_000}),
    "dispute.opened": ("dispute_1", {"kind": "job", "about": "job_1", "micros": 1_000_000, "reason": "it is empty"}),
    "dispute.about_you": ("dispute_1", {"job": "job_1"}),
    "dispute.resolved": (
        "dispute_1",
        {"about": "job_1", "outcome": "partial", "refunded_micros": 500_000, "owed_micros": 0, "note": "half of it"},
    ),
    "dispute.decided_about_you": ("dispute_1", {"job": "job_1", "outcome": "full", "note": "all of it"}),
    "restitution.owed": ("attempt_1", {"job": "job_1", "micros": 4_000_000}),
    "restitution.paid": ("attempt_1", {"job": "job_1", "micros": 1_500_000, "owed_micros": 2_500_000}),
    "top_up.requires_action": ("user_1", {"top_up": "topup_1", "micros": 1_000_000}),
    "top_up.failed": ("user_1", {"top_up": "topup_1", "micros": 1_000_000, "words": "declined"}),
    "card.stopped": ("user_1", {"words": "The card was declined."}),
    "storage.unpaid": (
        "user_1",
        {"micros": 1_000_000, "bytes": 7 << 30, "free_bytes": 5 << 30, "refused_from": "2026-03-08"},
    ),
    "node.proven_wrong": ("node_1", {"attempt": "attempt_1", "given_back_micros": 2_000_000, "times": 1}),
    "node.banned": ("node_1", {}),
    "node.cloned": ("node_1", {"instance_id": "x"}),
    "node.key_replaced": ("node_1", {"key": "ed25519:1"}),
    "reputation.upheld": ("node_1", {"event": 7, "note": "seen"}),
    "reputation.dismissed": ("node_1", {"event": 7, "note": "not seen"}),
    "job.succeeded": ("job_1", {"verdict": "ok", "exit_code": 0, "reason": "exited"}),
    "job.failed": ("job_1", {"verdict": "renter", "exit_code": 3, "reason": "exited"}),
    "job.canceled": ("job_1", {"verdict": "renter", "exit_code": None, "reason": "canceled"}),
}
ADMINS_EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "node.accused": ("node_1", {"attempt": "attempt_1", "accusation": "accusation_1"}),
    "cash_out.requested": EXAMPLES["cash_out.requested"],
    "cash_out.not_returned": ("cashout_1", MONEY | {"note": "no funds there"}),
    "dispute.opened": EXAMPLES["dispute.opened"],
    "ledger.frozen": ("ledger", {"problems": ["sum is 1"] * 9}),
    "ledger.thawed": ("ledger", {}),
    "payment.difference": ("pi_1", {"kind": "missing_here", "words": "a payment of 5.00 INR"}),
}


def written(action, *, admins=False, **changes):
    subject, details = (ADMINS_EXAMPLES if admins else EXAMPLES)[action]
    return write([Notice(action, subject, details | changes, admins)], KNOWN)


def test_every_action_has_an_example_here():
    assert set(EXAMPLES) == set(WRITERS)
    assert set(ADMINS_EXAMPLES) == set(FOR_ADMINS)


@pytest.mark.parametrize("action", EXAMPLES)
def test_each_mail_says_what_happened_and_what_to_do(action):
    subject, body = written(action)
    assert subject[0].isupper() or subject[0].isdigit()
    assert subject.endswith(".")
    assert "computepool " in body, "a command to go on with"
    assert "https://pool.example.org" in body
    assert "None" not in body
    assert "{" not in body


@pytest.mark.parametrize("action", ADMINS_EXAMPLES)
def test_each_mail_to_operators_says_what_to_do(action):
    subject, body = written(action, admins=True)
    assert re.search(r"computepool admin|/api/v1/admin", body)
    assert subject.endswith(".")


@pytest.mark.parametrize(
    ("notice", "page"),
    [
        (Notice("job.failed", "job_1"), "/jobs/job_1"),
        (Notice("node.banned", "node_1"), "/nodes/node_1"),
        (Notice("restitution.paid", "x", {"job": "job_2"}), "/jobs/job_2"),
        (Notice("dispute.opened", "dispute_1", for_admins=True), "/admin"),
        (Notice("cash_out.paid", "cash_1"), "/wallet"),
        (Notice("job.failed", "job_1 https://evil.example"), None),
        (Notice("restitution.paid", "x"), None),
    ],
)
def test_mail_links_to_the_page_of_what_it_is_about(notice, page):
    linked = [line for line in write([notice], KNOWN)[1].splitlines() if line.startswith("https://pool.example.org/")]
    assert linked == ([f"https://pool.example.org{page}"] if page else [])
    assert "https://" not in write([notice], replace(KNOWN, base=None))[1].replace("https://evil.example", "")


def test_amounts_are_told_in_credits_and_in_money():
    assert written("cash_out.paid")[0] == "Your cash-out of 25.5 credits (38.25 INR) was paid."
    body = written("cash_out.paid")[1]
    assert "UTR 42" in body
    assert "by bank" in body
    assert "25.5 credits (38.25 INR)" in written("cash_out.requested", admins=True)[1]


def test_renter_is_told_what_is_owed_and_what_came_of_it():
    subject, body = written("restitution.owed")
    assert subject == "A host owes you 4 credits (6.00 INR)."
    assert "train (job_1)" in body
    assert "computepool explain job_1" in body
    subject, body = written("restitution.paid")
    assert subject == "You got 1.5 credits (2.25 INR) that a host owed you."
    assert "The host still owes you 2.5 credits (3.75 INR)." in body
    assert "The debt is fully paid." in written("restitution.paid", owed_micros=0)[1]


def test_failed_job_is_told_with_its_name_its_exit_code_and_why():
    subject, body = written("job.failed")
    assert subject == "Job train failed."
    assert "It ran out of memory." in body
    assert re.search(r"exit code +3", body)
    assert "computepool logs job_1" in body


@pytest.mark.parametrize("action", [one for one in EXAMPLES if one.startswith(("job.", "node.", "reputation."))])
def test_mails_of_a_pool_without_money_say_no_word_of_it(action):
    subject, details = EXAMPLES[action]
    title, body = write([Notice(action, subject, details)], replace(KNOWN, money=False))
    assert words_in(title + body) == []


def test_host_who_was_found_wrong_is_told_how_to_contest():
    body = written("node.proven_wrong")[1]
    assert "alpha (node_1)" in body
    assert "computepool node contest node_1 EVENT --reason WHY" in body


def test_several_notices_are_one_mail_and_very_many_are_counted():
    notices = [Notice("job.succeeded", f"job_{number}", {}) for number in range(SHOWN)]
    subject, body = write(notices, KNOWN, 980)
    assert subject == "Job job_0 succeeded. And 999 more"
    assert body.count("computepool logs") == SHOWN
    assert "And 980 more" in body


def test_action_that_nobody_wrote_words_for_is_told_all_the_same():
    assert write([Notice("new.thing", "thing_1")], KNOWN)[0] == "new.thing: thing_1."


NASTY_LETTERS = "\r\n\0\x0b\x0c\x1c\x85\u2028\u2029\u202e\t .:<>@=?\"'(),;"
NASTY_WORDS = ["\r\nBcc: eve@x.org", "\n\n", "\r\n.\r\n", "=?utf-8?q?=0AX:_y?=", "\r\nRCPT TO:<eve@x.org>\r\n"]
letters = st.one_of(st.characters(), st.sampled_from(NASTY_LETTERS))
nasty = st.lists(st.one_of(st.text(letters, max_size=60), st.sampled_from(NASTY_WORDS)), max_size=5).map("".join)


def heads_and_body(letter):
    content = compose(letter, SENDER).as_bytes()
    head = content.partition(b"\r\n\r\n")[0]
    assert b"\n" not in head.replace(b"\r\n", b"")
    assert b"\r" not in head.replace(b"\r\n", b"")
    assert max(map(len, content.split(b"\r\n"))) <= 998
    parsed = email.message_from_bytes(content, policy=SMTP)
    assert set(parsed.keys()) == HEADS
    assert len(parsed.keys()) == len(HEADS)
    return parsed


@settings(max_examples=40)
@given(subject=nasty, body=nasty)
def test_nothing_in_a_subject_or_a_text_becomes_a_head(subject, body):
    body = body.encode("utf-8", "replace").decode()
    parsed = heads_and_body(Letter("mail_1", "ada@example.org", "<mail_1@example.org>", subject, body, NOW))
    assert parsed["To"] == "ada@example.org"
    # Spaces left out: Python loses one where it folds a line between two words that are not ASCII.
    assert "".join(str(parsed["Subject"]).split()) == "".join(one_line(subject, SUBJECT_LIMIT).split())


@settings(max_examples=40)
@given(note=nasty, name=nasty)
def test_what_people_typed_is_one_line_of_a_text_whatever_it_is(note, name):
    known = Known(KNOWN.units, KNOWN.base, {"job_1": (name, note)}, {"node_1": name})
    for action in ("cash_out.rejected", "job.failed", "dispute.opened", "node.proven_wrong", "card.stopped"):
        subject, details = EXAMPLES[action]
        told, body = write([Notice(action, subject, details | {"note": note, "reason": note, "words": note})], known)
        plain = write([Notice(action, subject, details | {"note": "x", "reason": "x", "words": "x"})], KNOWN)[1]
        assert body.count("\n") <= plain.count("\n") + 1
        assert len(told.splitlines()) == 1
        assert len(told) <= SUBJECT_LIMIT
        parsed = heads_and_body(Letter("mail_1", "ada@example.org", "<mail_1@example.org>", told, body, NOW))
        assert parsed.get_content().replace("\r\n", "\n") == body


@pytest.mark.parametrize(
    "link", ["https://evil.example/x", "HTTP://evil.example", "www.evil.example", "a\u200b://evil"]
)
def test_no_link_of_a_stranger_is_in_a_mail(link):
    """A renter's name for a job goes to whatever address they registered with; a node says why a job failed."""
    typed = f"You won! Look at {link} now"
    known = replace(KNOWN, jobs={"job_1": (typed, typed)}, nodes={"node_1": typed})
    for for_admins, examples in ((False, EXAMPLES), (True, ADMINS_EXAMPLES)):
        for action, (subject, details) in examples.items():
            about = details | ({"reason": typed} if "reason" in details else {})
            title, body = write([Notice(action, subject, about, for_admins)], known)
            assert "evil" not in title + body


@settings(max_examples=40)
@given(nasty, nasty)
def test_address_is_one_recipient_or_none(name, domain):
    for text in (f"{name}@{domain}", f"{name}@example.org", f"ada@{domain}"):
        found = usable_address(text)
        if found is None:
            with pytest.raises(ValueError, match="no mail can go"):
                compose(Letter("m", text, "<m@x.org>", "s", "b\n", NOW), SENDER)
            continue
        parsed = compose(Letter("m", text, "<m@x.org>", "s", "b\n", NOW), SENDER)
        assert [one.addr_spec for one in parsed["To"].addresses] == [found.addr_spec]
        assert not set("\r\n\0 ") & set(found.addr_spec)


@pytest.mark.parametrize(
    "address",
    [
        *("admin@localhost", "a@pool.localhost", "a@x.invalid", "a", "@x.org", "a@", "a@[127.0.0.1]", "a(b)@x.org"),
        *("a b@x.org", "a,b@x.org", "a@x..org", "ö<x@x.org", "a@" + "b" * 70 + ".org"),
    ],
)
def test_addresses_that_no_mail_reaches(address):
    assert usable_address(address) is None


TOLD = [
    "train",
    "Übung",
    "模型训练",
    "ответ",
    "é",
    "🛰",
    "«Größe»",
    "1,50",
    "€",
    "(Job)",
    "was",
    "paid.",
    '"q"',
    "?",
    "x=y?",
]


@given(
    st.lists(st.sampled_from(TOLD), min_size=1, max_size=40), st.sampled_from(["ada@example.org", "adä@example.org"])
)
@settings(max_examples=60)
@example(["Übung", "naïve"] * 20, "ada@example.org")
@example(["train"] * 40, "ada@example.org")
def test_subject_arrives_as_it_was_written(words, address):
    """With every space, whoever reads it: Python's parser of today, and the older one that joins encoded words."""
    subject = one_line(" ".join(words), SUBJECT_LIMIT)
    wire = compose(Letter("mail_1", address, "<m@x.org>", subject, "b\n", NOW), SENDER).as_bytes()
    assert email.message_from_bytes(wire, policy=default)["Subject"] == subject
    assert str(make_header(decode_header(email.message_from_bytes(wire)["Subject"]))) == subject
    lines = wire.split(b"\r\n\r\n")[0].split(b"\r\n")
    assert max(len(line) for line in lines if not line.startswith(b"To:")) <= 76


def test_long_message_ids_are_not_broken():
    name = "<mail_01k9abcdefghjkmnpqrstvwxyz@" + "a-very-long-name." * 6 + "example.org>"
    content = compose(Letter("m", "ada@example.org", name, "s", "b\n", NOW), SENDER).as_bytes()
    assert f"Message-ID: {name}".encode() in content.replace(b"\r\n ", b" ").replace(b":  ", b": ")


def test_sender_comes_from_the_public_url_where_that_has_a_name():
    assert str(default_sender("https://pool.example.org:8443")) == "ComputePool <computepool@pool.example.org>"
    for nameless in (None, "http://127.0.0.1:8000", "http://[::1]", "http://localhost", "http://hub"):
        assert default_sender(nameless) is None
    assert str(parse_sender("Wir <wir@bücher.example>")) == "Wir <wir@xn--bcher-kva.example>"


def test_place_of_a_server_never_shows_its_password():
    place = parse_smtp_url("smtp://me%40x.org:hunter%2F2@mail.example.org?starttls=required")
    assert (place.user, place.password, place.port) == ("me@x.org", "hunter/2", 587)
    assert "hunter" not in repr(place) + place.words
    assert parse_smtp_url("smtps://[::1]").words == "smtps://[::1]:465"
