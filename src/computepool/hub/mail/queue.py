"""Mails in the database: written from notices once, tried in order, ended once.

A notice leaves the outbox in the transaction that writes its mail down; a mail is marked before it is handed over and
after. A hub that dies in between sends it again, under the same Message-ID.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, delete, func, or_, select, text, update
from sqlalchemy.orm import Session, aliased

from computepool.hub.core.errors import Conflict, NotFound
from computepool.hub.core.ids import RandomBits
from computepool.hub.core.paging import read_list
from computepool.hub.core.records import ADMIN_TOPIC, record
from computepool.hub.core.tables import MAIL_TOPICS, OutboxRow
from computepool.hub.mail.letter import one_line
from computepool.hub.mail.tables import NEXT, WORDS_LIMIT, Mail, MailState

OLDEST = timedelta(days=3)
"""What could not be told for so long is told by nobody any more: the wallet and the lists show it all the same."""
KEPT = timedelta(days=30)
FIRST_WAIT = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=1)
JITTER_BITS = 16
GIVEN_UP_AT_ONCE = 500


class NoSuchMail(NotFound):
    code = "no_such_mail"

    def __init__(self, mail_id: str) -> None:
        super().__init__(f"There is no mail {mail_id}.", hint="See them with: computepool admin mail")


class NotGivenUp(Conflict):
    code = "mail_not_given_up"

    def __init__(self, mail_id: str) -> None:
        super().__init__(f"{mail_id} was not given up, or its text was not kept: only such a mail is sent again.")


@dataclass(frozen=True)
class MailWork:
    """What there is to do."""

    notices: bool
    waiting: int
    next_try_at: datetime | None


def look(session: Session) -> MailWork:
    is_mail = text(MAIL_TOPICS)
    notices = session.execute(select(OutboxRow.id).where(is_mail).limit(1)).first() is not None
    waiting, next_try_at = session.execute(
        select(func.count(), func.min(Mail.next_try_at)).where(Mail.state == MailState.WAITING)
    ).one()
    return MailWork(notices, waiting, next_try_at)


def wait_of(tries: int, randbits: RandomBits) -> timedelta:
    """Twice as long each time, and never at the same moment as the others: from three to five quarters of that."""
    doubled: int = 2 ** min(tries - 1, 20)
    return min(FIRST_WAIT * doubled, LONGEST_WAIT) * jitter(randbits)


def jitter(randbits: RandomBits) -> float:
    return 0.75 + 0.5 * randbits(JITTER_BITS) / (1 << JITTER_BITS)


def list_due(session: Session, now: datetime, limit: int) -> Sequence[str]:
    """Of each person the oldest one that waits, if it is due: the later ones stay behind it."""
    earlier = aliased(Mail)
    is_earlier = or_(
        earlier.created_at < Mail.created_at, and_(earlier.created_at == Mail.created_at, earlier.id < Mail.id)
    )
    behind = select(earlier.id).where(earlier.state == MailState.WAITING, earlier.user_id == Mail.user_id, is_earlier)
    due = select(Mail.id).where(Mail.state == MailState.WAITING, Mail.next_try_at <= now, ~behind.exists())
    return session.scalars(due.order_by(Mail.created_at, Mail.id).limit(limit)).all()


def claim(session: Session, mail_id: str, now: datetime, randbits: RandomBits) -> Mail | None:
    """The right to send it, which nobody else has before its next try. None: it is over, or not due."""
    row = session.get(Mail, mail_id, with_for_update=True, populate_existing=True)
    if row is None or row.state != MailState.WAITING or row.next_try_at > now:
        return None
    row.tries += 1
    row.tried_at, row.next_try_at = now, now + wait_of(row.tries, randbits)
    session.flush()
    return row


def end(session: Session, mail_id: str, state: MailState, words: str, now: datetime) -> bool:
    """The one write of a mail's end. False: it had ended."""
    sources = [source for source, targets in NEXT.items() if state in targets]
    values = {"state": state, "words": one_line(words, WORDS_LIMIT), "ended_at": now}
    if state is not MailState.GIVEN_UP:  # that one an admin may send again
        values["body"] = ""
    ended = update(Mail).where(Mail.id == mail_id, Mail.state.in_(sources)).values(**values).returning(Mail.user_id)
    row = session.execute(ended).first()
    if row is not None and state is MailState.GIVEN_UP:
        record(session, "mail.given_up", mail_id, now, topics=(ADMIN_TOPIC,), user=row[0], words=values["words"])
    return row is not None


def send_again(session: Session, mail_id: str, actor: str, now: datetime) -> Mail:
    """One that was given up is tried as if it were new. Raises NoSuchMail, NotGivenUp."""
    row = session.get(Mail, mail_id, with_for_update=True, populate_existing=True)
    if row is None:
        raise NoSuchMail(mail_id)
    if row.state != MailState.GIVEN_UP or not row.body:
        raise NotGivenUp(mail_id)
    row.state, row.ended_at, row.tries = MailState.WAITING, None, 0
    row.noticed_at = row.next_try_at = now
    session.flush()
    record(session, "mail.sent_again", mail_id, now, actor=actor, user=row.user_id)
    return row


def note(session: Session, mail_id: str, words: str, *, due_at: datetime | None = None) -> None:
    """It was not taken, and stays. `due_at`: it is not its own fault, so it need not wait for its turn."""
    values: dict[str, object] = {"words": one_line(words, WORDS_LIMIT)}
    if due_at is not None:
        values["next_try_at"] = due_at
    session.execute(update(Mail).where(Mail.id == mail_id, Mail.state == MailState.WAITING).values(**values))


def give_up_old(session: Session, now: datetime) -> int:
    old = select(Mail.id, Mail.words).where(Mail.state == MailState.WAITING, Mail.noticed_at < now - OLDEST)
    given_up = 0
    for mail_id, words in session.execute(old.limit(GIVEN_UP_AT_ONCE)).all():
        given_up += end(session, mail_id, MailState.GIVEN_UP, f"too old by now; {words}".rstrip("; "), now)
    return given_up


def prune_mails(session: Session, now: datetime, limit: int) -> int:
    """Forget those that ended long ago; how many."""
    old = select(Mail.id).where(Mail.ended_at < now - KEPT).limit(limit)
    return len(session.execute(delete(Mail).where(Mail.id.in_(old)).returning(Mail.id)).all())


def list_mails(
    session: Session, state: MailState | None, user_id: str | None, order: str, cursor: str | None, limit: int
) -> tuple[list[Mail], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all."""
    query = select(Mail).where(Mail.state == state) if state is not None else select(Mail)
    if user_id is not None:
        query = query.where(Mail.user_id == user_id)
    return read_list(session, query, [Mail.created_at, Mail.id], cursor, limit, order)
