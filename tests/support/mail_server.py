"""A real SMTP server in the test's own process, on 127.0.0.1: with TLS and passwords where a test wants them, and with
answers that a test chooses. It can be taken away and put back at the same port."""

import asyncio
import contextlib
import email
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from support.secure_site import make_certificate
from support.services import free_ports
from support.waiting import patience

USER, PASSWORD = "pool@example.org", "p%ss/wörd: hunter2"
OK = "250 taken"


@dataclass
class Arrived:
    sender: str
    to: str
    content: bytes
    was_safe: bool
    signed_in: bool

    @property
    def message(self) -> EmailMessage:
        found = email.message_from_bytes(self.content, policy=default)
        assert isinstance(found, EmailMessage)
        return found

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])

    @property
    def text(self) -> str:
        return str(self.message.get_content()).replace("\r\n", "\n")


@dataclass
class MailServer:
    port: int
    tls: ssl.SSLContext | None = None
    implicit: bool = False
    passwords: bool = False
    utf8: bool = True
    inbox: list[Arrived] = field(default_factory=list)
    to_sender: Callable[[str], str] = lambda address: OK
    to_recipient: Callable[[str], str] = lambda address: OK
    """What it says to RCPT; anything but a 2xx is a refusal."""
    to_content: Callable[[Arrived], str | None] = lambda arrived: OK
    """What it says after the mail; None: it took it, and hangs up without a word."""
    asked: int = 0
    """Mails that it was offered."""
    passwords_seen: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    # ── what aiosmtpd asks ───────────────────────────────────────────────────────────────────────────────────────────

    async def handle_MAIL(  # noqa: N802 (their name)
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self.to_sender(address)
        if answer.startswith("2"):
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return answer

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        self.asked += 1
        answer = self.to_recipient(address)
        if answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        assert isinstance(content, bytes)
        safe, known = session.ssl is not None or self.implicit, bool(session.authenticated)
        one = Arrived(envelope.mail_from or "", envelope.rcpt_tos[0], content, safe, known)
        answer = self.to_content(one)
        if answer is None or answer.startswith("2"):
            self.inbox.append(one)
        if answer is None:
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return answer or OK

    def check(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.passwords_seen += 1
        right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=right, handled=False)

    # ── up and down ──────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(patience())

    def _serve(self, ready: threading.Event) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self._stop = asyncio.Event()
            server = await self._loop.create_server(
                self._protocol, "127.0.0.1", self.port, ssl=self.tls if self.implicit else None
            )
            ready.set()
            await self._stop.wait()
            server.close()
            await server.wait_closed()

        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(serve())

    def _protocol(self) -> SMTP:
        options: dict[str, Any] = {}
        if self.passwords:
            options = {"authenticator": self.check, "auth_required": True, "auth_require_tls": self.tls is not None}
            if self.implicit:
                options["auth_require_tls"] = False
        if self.tls is not None and not self.implicit:
            options |= {"tls_context": self.tls}
        assert self._loop is not None
        with warnings.catch_warnings():  # it does not know that TLS began before it did
            warnings.simplefilter("ignore")
            return SMTP(self, enable_SMTPUTF8=self.utf8, hostname="mail.example.org", loop=self._loop, **options)

    def stop(self) -> None:
        if self._thread is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(patience())
            assert not self._thread.is_alive()
            self._thread = None


@contextlib.contextmanager
def mail_server(**options: Any) -> Iterator[MailServer]:
    server = MailServer(free_ports(1)[0], **options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def make_tls(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """The server's side, and the file by which it can be trusted: good for localhost, and for no number."""
    file = make_certificate(folder, ("localhost",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context, file
