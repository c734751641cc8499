"""Notices become mails: who gets them, and several that one person is to hear of in one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, func, or_, select, text
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.accounts.team_tables import TeamMember
from computepool.hub.core.context import Context
from computepool.hub.core.http import Role, TeamRole
from computepool.hub.core.notices import ADMINS, kind_of, mailed_to
from computepool.hub.core.records import record
from computepool.hub.core.smtp_url import usable_address
from computepool.hub.core.tables import MAIL_TOPICS, OutboxRow
from computepool.hub.jobs.tables import Job
from computepool.hub.mail.queue import OLDEST
from computepool.hub.mail.tables import Mail, MailState
from computepool.hub.mail.words import SHOWN, Known, Notice, write
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.amounts import units_of

PER_HOUR = 6
"""Mails to one person. What comes after that waits, and is told together: a storm of jobs is not a storm of mails."""
HOUR = timedelta(hours=1)
ALARMS = frozenset({"ledger.frozen", "payment.difference"})
"""They wait for no hour, and come first: nobody's disputes may keep an operator from hearing of them. Nor are mails of
nothing else counted, so that they do not keep back what comes after them."""
ABOUT_MONEY = frozenset({"restitution.owed", "restitution.paid", "storage.unpaid"})
"""What old debts still do where money was switched off: that is not told."""
TOPICS_AT_ONCE = 200
NOTICES_AT_ONCE = 2_000
ADMINS_AT_ONCE = 50


@dataclass(frozen=True)
class Written:
    mails: int = 0
    skipped: int = 0
    """Notices that nobody could be told."""
    held_back: bool = False
    """Somebody has had enough mails for this hour."""


def write_mails(session: Session, context: Context, domain: str, now: datetime) -> Written:
    """Of every notice that waits: a mail, unless its reader has had too many, or there is none. Once, since the notice
    goes with the same commit."""
    mails = skipped = 0
    held_back = False
    is_mail = text(MAIL_TOPICS)
    topics = select(OutboxRow.topic).where(is_mail).group_by(OutboxRow.topic).order_by(func.min(OutboxRow.id))
    for topic in session.scalars(topics).all():
        if mails + skipped >= TOPICS_AT_ONCE:
            return Written(mails, skipped, held_back)
        owner_id = mailed_to(topic) or ""
        readers = readers_of(session, owner_id)
        is_enough = bool(readers) and _have_enough(session, readers, now)
        held_back = held_back or is_enough
        if is_enough and owner_id != ADMINS:
            continue
        taken = _take(session, topic, ALARMS if is_enough else None)
        fresh = [row for row in taken if row.created_at >= now - OLDEST]
        if len(fresh) < len(taken):
            _skip(session, owner_id, "too old by now", len(taken) - len(fresh), now)
            skipped += len(taken) - len(fresh)
        if not fresh:
            continue
        if not readers:
            _skip(session, owner_id, "nobody there has an address that mails reach", len(fresh), now)
            skipped += len(fresh)
            continue
        if context.settings.money == "off":
            fresh = [row for row in fresh if row.payload["action"] not in ABOUT_MONEY]
            if not fresh:
                skipped += len(taken)
                continue
        told = [(one, [row for row in fresh if owner_id == ADMINS or not _is_muted(one, row)]) for one in readers]
        if not any(wanted for _, wanted in told):
            _skip(session, owner_id, "turned off by their reader", len(fresh), now)
            skipped += len(fresh)
            continue
        for reader, wanted in told:
            if wanted:
                subject, body = _words(session, context, owner_id, wanted)
                _add(session, context.new_id("mail"), reader, subject, body, wanted, domain, now)
                mails += 1
    return Written(mails, skipped, held_back)


def readers_of(session: Session, owner_id: str) -> Sequence[User]:
    """The user, the owners and admins of the team, or everybody who runs the pool. The platform reads nothing."""
    active = select(User).where(User.disabled_at.is_(None)).order_by(User.id).limit(ADMINS_AT_ONCE)
    leads = select(TeamMember.user_id).where(
        TeamMember.team_id == owner_id, TeamMember.role.in_((TeamRole.OWNER, TeamRole.ADMIN))
    )
    of_owner = or_(User.id == owner_id, User.id.in_(leads))
    who = active.where(User.role == Role.ADMIN if owner_id == ADMINS else of_owner)
    return [user for user in session.scalars(who) if usable_address(user.email) is not None]


def _is_muted(reader: User, row: OutboxRow) -> bool:
    return kind_of(row.payload["action"]) in reader.muted_mails


def _have_enough(session: Session, readers: Sequence[User], now: datetime) -> bool:
    ids = [one.id for one in readers]
    recent = select(func.count()).where(Mail.user_id.in_(ids), Mail.created_at > now - HOUR, Mail.is_alarm.is_(False))
    return max(session.scalars(recent.group_by(Mail.user_id)), default=0) >= PER_HOUR


def _take(session: Session, topic: str, only: frozenset[str] | None) -> Sequence[OutboxRow]:
    """Exactly those that are seen: on PostgreSQL one with a lower number may be committed at this moment."""
    is_mail = text(MAIL_TOPICS)
    oldest = select(OutboxRow.id).where(is_mail, OutboxRow.topic == topic).order_by(OutboxRow.id).limit(NOTICES_AT_ONCE)
    if only is not None:
        oldest = oldest.where(OutboxRow.payload["action"].as_string().in_(sorted(only)))
    taken = delete(OutboxRow).where(OutboxRow.id.in_(oldest)).returning(OutboxRow)
    return sorted(session.scalars(taken), key=lambda row: (row.payload["action"] not in ALARMS, row.id))


def _skip(session: Session, owner_id: str, why: str, count: int, now: datetime) -> None:
    record(session, "mail.skipped", owner_id, now, notices=count, words=why)


def _words(session: Session, context: Context, owner_id: str, rows: Sequence[OutboxRow]) -> tuple[str, str]:
    for_admins = owner_id == ADMINS
    told = as_renters_know_it(session, [row.payload for row in rows[:SHOWN]])
    shown = [Notice(str(one["action"]), str(one["subject"]), one, for_admins) for one in told]
    return write(shown, know(session, context, shown), len(rows) - len(shown))


def know(session: Session, context: Context, shown: Sequence[Notice]) -> Known:
    """What the words about these notices need."""
    named = {str(one.details[name]) for one in shown for name in ("job", "about", "node") if one.details.get(name)}
    mentioned = named | {one.subject for one in shown}
    jobs = session.execute(select(Job.id, Job.name, Job.message).where(Job.id.in_(mentioned)))
    nodes = session.execute(select(Node.id, Node.name).where(Node.id.in_(mentioned)))
    return Known(
        units_of(context.settings),
        context.settings.public_url,
        {job_id: (name, message) for job_id, name, message in jobs},
        {row.id: row.name for row in nodes},
        context.settings.money != "off",
    )


def as_renters_know_it(session: Session, payloads: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """A replica is hidden: its renter knows the job that it is one of. Its host does not, and must not."""
    named = {str(one.get("job")) for one in payloads if one["action"] in ABOUT_MONEY}
    hidden = select(Job.id, Job.rerun_of).where(Job.id.in_(named), Job.rerun_of.is_not(None))
    roots = {row.id: row.rerun_of for row in session.execute(hidden)} if named else {}
    return [
        {**one, "job": roots[one["job"]]} if one["action"] in ABOUT_MONEY and one.get("job") in roots else one
        for one in payloads
    ]


def _add(
    session: Session,
    mail_id: str,
    reader: User,
    subject: str,
    body: str,
    rows: Sequence[OutboxRow],
    domain: str,
    now: datetime,
) -> None:
    session.add(
        Mail(
            id=mail_id,
            user_id=reader.id,
            address=reader.email,
            message_id=f"<{mail_id}@{domain}>",
            subject=subject,
            body=body,
            notices=len(rows),
            is_alarm=all(row.payload["action"] in ALARMS for row in rows),
            state=MailState.WAITING,
            tries=0,
            words="",
            noticed_at=rows[0].created_at,
            created_at=now,
            tried_at=None,
            next_try_at=now,
            ended_at=None,
        )
    )
    session.flush()
