"""For operators: what became of mails, and whether they arrive at all."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, StringConstraints
from sqlalchemy.orm import Session

from computepool.hub.core.actions import ActionView, unless
from computepool.hub.core.errors import Conflict, Invalid, Unavailable
from computepool.hub.core.http import Caller, Routes
from computepool.hub.core.paging import ByCreation, Cursor
from computepool.hub.core.records import record
from computepool.hub.core.smtp_url import usable_address
from computepool.hub.engine import Engine
from computepool.hub.mail import queue
from computepool.hub.mail.queue import NoSuchMail, NotGivenUp
from computepool.hub.mail.smtp import NotDelivered
from computepool.hub.mail.tables import ADDRESS_LIMIT, Mail, MailState
from computepool.protocol.model import Documented, Wire

LIST_LIMIT = 500
Limit = Annotated[int, Query(ge=1, le=LIST_LIMIT)]


class MailActions(Documented):
    """What an admin may do about a mail."""

    resend: ActionView
    """Try it again."""


class MailView(Wire):
    id: str
    user_id: str
    address: str
    subject: str
    notices: int
    """How many things it tells of."""
    state: MailState
    tries: int
    words: str
    """What the server said last."""
    created_at: datetime
    next_try_at: datetime | None
    ended_at: datetime | None
    actions: MailActions
    """What an admin may do about it."""


class MailList(Wire):
    where: str
    """The server without user and password, or the log."""
    away: str | None
    """Why nothing can be sent now."""
    waiting: int
    items: list[MailView]
    next: str | None
    total: int | None


class MailTestRequest(Documented):
    model_config = ConfigDict(extra="forbid")

    address: Annotated[str, StringConstraints(strip_whitespace=True, max_length=ADDRESS_LIMIT)]


class MailTest(Wire):
    address: str
    where: str
    answer: str
    """What the server said when it took the mail."""


class MailNotSent(Unavailable):
    code = "mail_not_sent"


def router(engine: Engine) -> APIRouter:
    context, mailer = engine.context, engine.mailer
    routes = Routes(engine.directory.authenticate, tags=["mail"])

    @routes.get("/admin/mails", visible="admin")
    async def list_mails(
        state: MailState | None = None,
        user_id: Annotated[str | None, Query(max_length=40)] = None,
        order: ByCreation = "-created_at",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> MailList:
        """What was written to people in the last month, and what became of it."""
        rows, after, total = await context.db.read(queue.list_mails, state, user_id, order, cursor, limit)
        waiting = (await context.db.read(queue.look)).waiting
        items = [_view(row) for row in rows]
        away = mailer.away if waiting else None
        return MailList(where=mailer.post.where, away=away, waiting=waiting, items=items, next=after, total=total)

    @routes.post("/admin/mails/{mail_id}/resend", name="resend", visible="admin", errors=[NoSuchMail, NotGivenUp])
    async def resend(
        mail_id: Annotated[str, Path(max_length=40, description="The id of the mail.")], caller: Caller
    ) -> MailView:
        """Try one again that was given up."""
        row = await context.db.run(queue.send_again, mail_id, caller.user_id, context.now())
        mailer.wake()
        return _view(row)

    @routes.post("/admin/mails/test", visible="admin", errors=[MailNotSent, Conflict])
    async def send_test(body: MailTestRequest, caller: Caller) -> MailTest:
        """Send one now, to see whether mails arrive. Says what the server answered."""
        if usable_address(body.address) is None:
            raise Invalid("No mail can go to this address.", hint="Write it like name@example.org.")
        try:
            answer = await mailer.send_test(body.address, caller.user_id)
        except NotDelivered as failed:
            hint = "Check COMPUTEPOOL_SMTP_URL and COMPUTEPOOL_MAIL_FROM: computepool hub doctor"
            raise MailNotSent(f"{mailer.post.where} did not take it: {failed.words}", hint=hint) from failed
        await context.db.run(_note_test, caller.user_id, answer, context.now())
        return MailTest(address=body.address, where=mailer.post.where, answer=answer)

    return routes.router


def _note_test(session: Session, actor: str, answer: str, now: datetime) -> None:
    record(session, "mail.tested", actor, now, actor=actor, words=answer)


def _view(row: Mail) -> MailView:
    waits = row.state == MailState.WAITING
    is_kept = row.state == MailState.GIVEN_UP and bool(row.body)
    return MailView(
        id=row.id,
        user_id=row.user_id,
        address=row.address,
        subject=row.subject,
        notices=row.notices,
        state=MailState(row.state),
        tries=row.tries,
        words=row.words,
        created_at=row.created_at,
        next_try_at=row.next_try_at if waits else None,
        ended_at=row.ended_at,
        actions=MailActions(resend=unless(None if is_kept else NotGivenUp(row.id))),
    )
