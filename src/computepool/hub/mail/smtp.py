"""Hands mails to an SMTP server, with what Python brings along. Blocking: it runs off the event loop.

What goes wrong is one of three things: the server is not to be had (`Away`), it does not take this mail now (`Later`),
or it never will (`NotTaken`).
"""

import base64
import contextlib
import smtplib
import socket
import ssl
from email.headerregistry import Address
from typing import Protocol

import structlog

from computepool.hub.core.settings import Settings
from computepool.hub.core.smtp_url import Security, SmtpPlace, default_sender, parse_sender, parse_smtp_url
from computepool.hub.mail.letter import Letter, compose, one_line
from computepool.hub.mail.tables import WORDS_LIMIT

TIMEOUT_SECONDS = 30.0
_ABOUT_US = ("5.7.", "4.7.")
"""Codes of answers that are about who sends, not about who gets it: an operator can mend what they are about."""
_PASSWORD_WANTED = frozenset({530, 535, 538})

log = structlog.get_logger()


class NotDelivered(Exception):
    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class Away(NotDelivered):
    """No mail can be handed over now, whoever it is for."""


class Later(NotDelivered):
    """Not this mail, and not now."""


class NotTaken(NotDelivered):
    """Not this mail, and never."""


class Post(Protocol):
    """Where mails go."""

    keeps: bool
    """Whether it only writes them down."""
    where: str

    def send(self, letter: Letter) -> str:
        """What the server answered when it took it. Raises NotDelivered."""
        ...

    def probe(self) -> str:
        """Everything but a mail: in words, what was found. Raises Away."""
        ...

    def close(self) -> None:
        """The line, if there is one: the next mail opens another."""
        ...


class LogPost:
    keeps = True
    where = "the log"

    def send(self, letter: Letter) -> str:
        log.info("mail.written", mail_id=letter.mail_id, to=letter.address, subject=letter.subject, text=letter.body)
        return "written to the log"

    def probe(self) -> str:
        return "mails are written to the log; set COMPUTEPOOL_SMTP_URL to send them"

    def close(self) -> None:
        pass


class SmtpPost:
    keeps = False

    def __init__(self, place: SmtpPlace, sender: Address, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.where = place.words
        self._place = place
        self._sender = sender
        self._timeout = timeout_seconds
        self._line: smtplib.SMTP | None = None

    def send(self, letter: Letter) -> str:
        try:
            message = compose(letter, self._sender)
        except ValueError as error:
            raise NotTaken(str(error)) from None
        line = self._line = self._line or self._open()
        try:
            return self._hand_over(line, message.as_bytes(), message["To"].addresses[0].addr_spec)
        except NotDelivered:
            raise
        except (smtplib.SMTPException, OSError, ValueError) as error:
            self._drop()
            raise Later(self._told(error)) from error

    def probe(self) -> str:
        line = self._open()
        try:
            safe = "TLS" if isinstance(line.sock, ssl.SSLSocket) else "no TLS"
            who = f"signed in as {self._place.user}" if self._place.user else "without signing in"
            return f"{self.where} answers, {safe}, {who}; mails are from {self._sender.addr_spec}"
        finally:
            _quit(line)

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            _quit(line)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _open(self) -> smtplib.SMTP:
        place = self._place
        name = self._sender.domain
        line: smtplib.SMTP | None = None
        try:
            if place.security is Security.TLS:
                tls = ssl.create_default_context()
                line = smtplib.SMTP_SSL(place.host, place.port, name, timeout=self._timeout, context=tls)
            else:
                line = smtplib.SMTP(place.host, place.port, name, timeout=self._timeout)
            line.ehlo_or_helo_if_needed()
            self._begin_tls(line)
            if place.user:
                self._sign_in(line)
        except (smtplib.SMTPException, OSError, ValueError) as error:  # the last: of what cannot be read or written
            if line is not None:
                line.close()
            raise Away(self._told(error)) from error
        except Away:
            if line is not None:
                line.close()
            raise
        return line

    def _sign_in(self, line: smtplib.SMTP) -> None:
        user, password = self._place.user, self._place.password
        if (user + password).isascii():
            line.login(user, password)
            return
        if (
            "PLAIN" not in line.esmtp_features.get("auth", "").upper().split()
        ):  # the only way that says how to write them
            raise Away("the server does not take a user or password with letters beyond ASCII")
        secret = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
        code, answer = line.docmd("AUTH", f"PLAIN {secret}")
        if code != 235:
            raise smtplib.SMTPAuthenticationError(code, answer)

    def _begin_tls(self, line: smtplib.SMTP) -> None:
        place = self._place
        if place.security in (Security.TLS, Security.NEVER):
            return
        if line.has_extn("starttls"):
            line.starttls(context=ssl.create_default_context())
            line.ehlo()
        elif place.security is Security.REQUIRED:
            raise Away("the server offers no STARTTLS, which ?starttls=required asks for")
        elif place.user:
            raise Away("the server offers no STARTTLS, and a password is not sent in the clear unless ?starttls=never")

    def _hand_over(self, line: smtplib.SMTP, content: bytes, address: str) -> str:
        options = [] if address.isascii() else ["SMTPUTF8", "BODY=8BITMIME"]
        if options and not line.has_extn("smtputf8"):
            raise NotTaken("the server takes no addresses with letters of other scripts before the @")
        self._step(line, *line.mail(self._sender.addr_spec, options), about="sender")
        self._step(line, *line.rcpt(address), about="recipient")
        answer: bytes | str
        try:
            code, answer = line.data(content)
        except smtplib.SMTPDataError as refused:  # before a byte of it was sent
            code, answer = refused.smtp_code, refused.smtp_error
        self._step(line, code, answer, about="mail")
        return self._without_secret(f"{code} {_text(answer)}")

    def _step(self, line: smtplib.SMTP, code: int, answer: bytes | str, *, about: str) -> None:
        if 200 <= code < 300:
            return
        words = self._without_secret(f"{about} refused: {code} {_text(answer)}")
        if code == 421:
            self._drop()
            raise Later(words)
        with contextlib.suppress(smtplib.SMTPException, OSError):
            line.rset()
        if about == "sender" or code in _PASSWORD_WANTED:
            self._drop()
            raise Away(words)
        if code < 500 or (about == "recipient" and _text(answer).startswith(_ABOUT_US)):
            raise Later(words)
        raise NotTaken(words)

    def _drop(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _told(self, error: Exception) -> str:
        """In a line, and never with the password, whatever the server repeats."""
        if isinstance(error, smtplib.SMTPAuthenticationError):
            words = f"the server does not accept user and password: {error.smtp_code} {_text(error.smtp_error)}"
        elif isinstance(error, smtplib.SMTPResponseException):
            words = f"{error.smtp_code} {_text(error.smtp_error)}"
        elif isinstance(error, ssl.SSLCertVerificationError):
            words = f"its certificate does not hold: {error.verify_message}"
        elif isinstance(error, socket.gaierror):
            words = f"there is no server called {self._place.host}"
        elif isinstance(error, ConnectionRefusedError):
            words = f"nothing answers at {self._place.host}:{self._place.port} (connection refused)"
        elif isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
            words = f"{self._place.host}:{self._place.port} does not begin with TLS: write smtp://, not smtps://"
        elif isinstance(error, TimeoutError):
            words = f"no answer within {self._timeout:g} s"
        else:
            words = str(error) or type(error).__name__
        return self._without_secret(words)

    def _without_secret(self, words: str) -> str:
        """Nor as it is written on the line: a server may repeat the command that it did not understand."""
        user, secret = self._place.user, self._place.password
        if secret:
            sent = (f"\0{user}\0{secret}", secret)
            for one in (secret, *(base64.b64encode(text.encode()).decode() for text in sent)):
                words = words.replace(one, "…")
        return one_line(words, WORDS_LIMIT)


def _text(answer: bytes | str) -> str:
    return answer if isinstance(answer, str) else answer.decode(errors="replace")


def _quit(line: smtplib.SMTP) -> None:
    with contextlib.suppress(smtplib.SMTPException, OSError):
        line.quit()
    line.close()


def sender_of(settings: Settings) -> Address:
    found = parse_sender(settings.mail_from) if settings.mail_from else default_sender(settings.public_url)
    return found or Address("ComputePool", username="computepool", domain="localhost")


def open_post(settings: Settings) -> Post:
    if settings.smtp_url is None:
        return LogPost()
    return SmtpPost(parse_smtp_url(settings.smtp_url), sender_of(settings))
