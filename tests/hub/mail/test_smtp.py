"""Handing a mail to a real SMTP server, and what its answers mean."""

import contextlib
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from support.mail_server import PASSWORD, USER, mail_server, make_tls
from support.waiting import patience

from computepool.hub.core.smtp_url import parse_sender, parse_smtp_url
from computepool.hub.mail.letter import Letter
from computepool.hub.mail.smtp import Away, Later, NotDelivered, NotTaken, SmtpPost

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SENDER = parse_sender("Our pool <pool@example.org>")
SIGNED_IN = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}@"


def letter(address="ada@example.org", subject="Hello", body="Text\n"):
    return Letter("mail_1", address, "<mail_1@example.org>", subject, body, NOW)


def post(url):
    return SmtpPost(parse_smtp_url(url), SENDER, timeout_seconds=patience())


@pytest.fixture
def tls(tmp_path, monkeypatch):
    """A server's side, which clients of this process trust."""
    context, file = make_tls(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return context


def send(url, one=None):
    way = post(url)
    try:
        return way.send(one or letter())
    finally:
        way.close()


def failure(url, one=None) -> NotDelivered:
    with pytest.raises(NotDelivered) as told:
        send(url, one)
    return told.value


def test_mail_arrives_as_it_was_written(server):
    assert (
        send(server.url, letter(subject="Bezahlt: 5 €", body="Grüße\n" + "x" * 3000 + "\n.\nFrom here\n"))
        == "250 taken"
    )
    (one,) = server.inbox
    assert (one.sender, one.to) == ("pool@example.org", "ada@example.org")
    assert one.subject == "Bezahlt: 5 €"
    assert one.text == "Grüße\n" + "x" * 3000 + "\n.\nFrom here\n"
    assert one.message["From"] == "Our pool <pool@example.org>"
    assert one.message["Message-ID"] == "<mail_1@example.org>"
    assert one.message["Date"].datetime == NOW
    assert one.message["Auto-Submitted"] == "auto-generated"
    assert one.message.get_content_type() == "text/plain"
    assert max(map(len, one.content.split(b"\r\n"))) <= 78
    assert one.content.isascii()


def test_several_mails_go_over_one_line(server):
    way = post(server.url)
    for number in range(3):
        way.send(letter(f"user{number}@example.org"))
    way.close()
    assert [one.to for one in server.inbox] == [f"user{number}@example.org" for number in range(3)]


@pytest.mark.parametrize("implicit", [False, True], ids=["starttls", "smtps"])
def test_password_goes_through_tls(tls, implicit):
    with mail_server(tls=tls, implicit=implicit, passwords=True) as server:
        scheme = "smtps" if implicit else "smtp"
        send(f"{scheme}://{SIGNED_IN}localhost:{server.port}")
        (one,) = server.inbox
        assert (one.was_safe, one.signed_in) == (True, True)
        found = post(f"{scheme}://{SIGNED_IN}localhost:{server.port}").probe()
        assert "TLS, signed in as pool@example.org" in found
        assert "hunter2" not in found
        assert len(server.inbox) == 1


def test_tls_is_used_where_it_is_offered_and_left_where_an_operator_says_so(tls):
    with mail_server(tls=tls) as server:
        for option, safe in (("", True), ("?starttls=required", True), ("?starttls=never", False)):
            send(f"smtp://localhost:{server.port}{option}")
            assert server.inbox[-1].was_safe is safe


def test_wrong_password_is_told_without_it(tls):
    with mail_server(tls=tls, passwords=True) as server:
        failed = failure(f"smtp://{quote(USER, safe='')}:hunter2@localhost:{server.port}")
        assert isinstance(failed, Away)
        assert "does not accept user and password: 535" in failed.words
        assert "hunter2" not in failed.words


@contextlib.contextmanager
def strange_server(ways: str, answer: str):
    """It offers these ways to sign in, and gives this answer to each; `{}` is what it was told."""

    def talk() -> None:
        line, _ = listening.accept()
        with line, line.makefile("rwb") as file:
            said = "220 hello"
            while said:
                file.write(f"{said}\r\n".encode())
                file.flush()
                heard = file.readline().decode().strip()
                offered = f"250-strange.example.org\r\n250 AUTH {ways}"
                said = offered if heard.upper().startswith("EHLO") else answer.format(heard) if heard else ""

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as thread:
        thread.submit(talk)
        yield f"smtp://me:hunter2@127.0.0.1:{listening.getsockname()[1]}?starttls=never"


def test_server_that_repeats_what_it_was_told_does_not_give_the_password_away():
    with strange_server("PLAIN", "501 5.5.4 what is {}?") as url:
        words = failure(url).words
    assert words.endswith("501 5.5.4 what is AUTH PLAIN …?")


@pytest.mark.parametrize("ways", ["CRAM-MD5", "LOGIN"])
def test_server_that_asks_in_riddles_is_as_good_as_away(ways):
    with strange_server(ways, "334 !riddle") as url:
        assert isinstance(failure(url), Away)


def test_name_that_no_server_can_have_is_nobody_there():
    failed = failure(f"smtp://{'a' * 80}.example.org")
    assert isinstance(failed, Away)


def test_certificate_of_nobody_known_or_of_another_name_is_refused(tmp_path, monkeypatch):
    context, file = make_tls(tmp_path)
    with mail_server(tls=context) as server:
        assert "certificate does not hold" in failure(f"smtp://localhost:{server.port}").words
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        send(f"smtp://localhost:{server.port}")
        assert "certificate does not hold" in failure(f"smtp://127.0.0.1:{server.port}").words
    with mail_server(tls=context, implicit=True) as server:
        assert isinstance(failure(f"smtps://127.0.0.1:{server.port}"), Away)


def test_password_is_never_sent_in_the_clear_unless_that_is_asked_for():
    with mail_server(passwords=True) as server:
        for option in ("", "?starttls=required"):
            failed = failure(f"smtp://{SIGNED_IN}127.0.0.1:{server.port}{option}")
            assert isinstance(failed, Away)
            assert "offers no STARTTLS" in failed.words
        assert server.passwords_seen == 0
        send(f"smtp://{SIGNED_IN}127.0.0.1:{server.port}?starttls=never")
        (one,) = server.inbox
        assert (one.was_safe, one.signed_in) == (False, True)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("450 4.2.0 greylisted", Later),
        ("451 4.7.1 later", Later),
        ("452 4.2.2 full", Later),
        ("550 5.1.1 no such user", NotTaken),
        ("551 5.1.6 moved", NotTaken),
        ("553 bad name", NotTaken),
        ("554 5.7.1 relay access denied", Later),
        ("530 5.7.0 authentication required", Away),
        ("421 4.3.2 going down", Later),
    ],
)
def test_what_an_answer_about_the_recipient_means(server, answer, kind):
    server.to_recipient = lambda address: answer
    failed = failure(server.url)
    assert type(failed) is kind
    assert answer.split()[0] in failed.words


@pytest.mark.parametrize(("answer", "kind"), [("451 busy", Later), ("554 5.6.0 spam", NotTaken)])
def test_what_an_answer_about_the_mail_means(server, answer, kind):
    server.to_content = lambda arrived: answer
    assert type(failure(server.url)) is kind
    assert server.inbox == []


def test_sender_that_is_refused_is_nobodys_fault_but_ours(server):
    server.to_sender = lambda address: "550 5.7.1 not yours"
    failed = failure(server.url)
    assert type(failed) is Away
    assert "sender refused: 550" in failed.words


def test_one_that_is_refused_does_not_spoil_the_line_for_the_next(server):
    server.to_recipient = lambda address: "550 5.1.1 no" if address.startswith("bad") else "250 ok"
    way = post(server.url)
    with pytest.raises(NotTaken):
        way.send(letter("bad@example.org"))
    way.send(letter("good@example.org"))
    way.close()
    assert [one.to for one in server.inbox] == ["good@example.org"]


def test_server_that_hangs_up_after_it_took_the_mail_is_asked_again(server):
    server.to_content = lambda arrived: None
    assert type(failure(server.url)) is Later
    assert len(server.inbox) == 1


def test_nobody_there(server):
    server.stop()
    failed = failure(server.url)
    assert type(failed) is Away
    assert f"nothing answers at {server.url.removeprefix('smtp://')} (connection refused)" in failed.words
    unknown = failure("smtp://no-such-host.invalid:25")
    assert "there is no server called no-such-host.invalid" in unknown.words


def test_tls_where_the_server_does_not_begin_with_it_names_the_other_scheme(server):
    failed = failure(server.url.replace("smtp://", "smtps://"))
    assert type(failed) is Away
    assert "write smtp://, not smtps://" in failed.words


def test_addresses_of_other_scripts(server):
    send(server.url, letter("ada@bücher.example"))
    send(server.url, letter("dörte@bücher.example"))
    assert [one.to for one in server.inbox] == ["ada@xn--bcher-kva.example", "dörte@xn--bcher-kva.example"]
    with mail_server(utf8=False) as old:
        send(old.url, letter("ada@bücher.example"))
        failed = failure(old.url, letter("dörte@example.org"))
        assert type(failed) is NotTaken
        assert "other scripts" in failed.words
        assert len(old.inbox) == 1


def test_server_of_plain_text_only_still_gets_quoted_names(server):
    send(server.url, letter('"ada,lovelace"@example.org'))
    assert server.inbox[0].to == '"ada,lovelace"@example.org'
    assert failure(server.url, letter("two@at@example.org\r\nRCPT TO:<eve@example.org>")).words
    assert len(server.inbox) == 1
