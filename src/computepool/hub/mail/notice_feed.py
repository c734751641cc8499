"""Notices in the web app: the texts of mails, and texts for notices that are not mailed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.notices import Severity, kind_of, severity_of
from computepool.hub.core.paging import count_rows, read_page
from computepool.hub.core.tables import NoticeRow
from computepool.hub.mail.letter import of_a_stranger, one_line
from computepool.hub.mail.words import NAME_SHOWN, NOTE_SHOWN, WRITERS, Item, Known, Notice, Writer, item_of, page_of
from computepool.hub.mail.writing import ABOUT_MONEY, as_renters_know_it, know

OTHER_KINDS = {"attempt": "jobs", "clawback": "nodes", "payment": "money"}


@dataclass(frozen=True)
class ShownNotice:
    row: NoticeRow
    severity: Severity
    kind: str
    title: str
    text: str
    link: str | None
    """A path of the web app."""


def list_notices(
    session: Session, context: Context, owner_ids: Collection[str], unread: bool, cursor: str | None, limit: int
) -> tuple[list[ShownNotice], str | None, int | None, int | None]:
    """A page, the newest first; the cursor of the next one; how many there are in all, and how many unread."""
    every = select(NoticeRow).where(NoticeRow.owner_id.in_(sorted(owner_ids)))
    if context.settings.money == "off":
        every = every.where(NoticeRow.action.not_in(sorted(ABOUT_MONEY)))
    new = every.where(NoticeRow.read_at.is_(None))
    query = new if unread else every
    rows, following = read_page(session, query, [NoticeRow.id], cursor, limit)
    return _shown(session, context, rows), following, count_rows(session, query), count_rows(session, new)


def mark_read(
    session: Session, context: Context, owner_ids: Collection[str], ids: Sequence[int] | None, now: datetime
) -> int | None:
    """Mark these as read, or all with None. Returns how many are still unread; None for more than 10,000."""
    mine = NoticeRow.owner_id.in_(sorted(owner_ids)), NoticeRow.read_at.is_(None)
    query = update(NoticeRow).where(*mine).values(read_at=now)
    session.execute(query if ids is None else query.where(NoticeRow.id.in_(ids)))
    left = select(NoticeRow).where(*mine)
    if context.settings.money == "off":
        left = left.where(NoticeRow.action.not_in(sorted(ABOUT_MONEY)))
    return count_rows(session, left)


def _shown(session: Session, context: Context, rows: Sequence[NoticeRow]) -> list[ShownNotice]:
    told = as_renters_know_it(session, [{"action": row.action, "subject": row.subject, **row.details} for row in rows])
    notices = [Notice(str(one["action"]), str(one["subject"]), one) for one in told]
    known = know(session, context, notices)
    return [_one(row, notice, known) for row, notice in zip(rows, notices, strict=True)]


def _one(row: NoticeRow, notice: Notice, known: Known) -> ShownNotice:
    item = item_of(notice, known, ALL_WORDS)
    # What it is about stands in its title, and its link leads there.
    told = [(label, value) for label, value in item.facts if value not in (None, "", notice.subject)]
    facts = [f"{label.capitalize()}: {one_line(value, NOTE_SHOWN)}" for label, value in told]
    return ShownNotice(
        row=row,
        severity=severity_of(row.action),
        kind=str(kind_of(row.action) or OTHER_KINDS.get(row.action.partition(".")[0], "account")),
        title=item.title,
        text=" ".join(part for part in (item.text, " · ".join(facts)) if part),
        link=page_of(notice),
    )


# ── notices without a mail ───────────────────────────────────────────────────────────────────────────────────────────


def _machine(notice: Notice, known: Known) -> str:
    return of_a_stranger(known.nodes.get(notice.subject, ""), NAME_SHOWN) or notice.subject


def _offline(notice: Notice, known: Known) -> Item:
    text = "The hub lost contact with its agent. Its jobs run on other machines, or continue when it is back."
    return Item(f"Your machine {_machine(notice, known)} is offline.", text)


def _quarantined(notice: Notice, known: Known) -> Item:
    text = f"It failed several times in a row. It gets no work of other users until {notice.details['until'][:16]} UTC."
    return Item(f"Your machine {_machine(notice, known)} is quarantined.", text.replace("T", " "))


def _quarantine_over(notice: Notice, known: Known) -> Item:
    return Item(f"The quarantine of your machine {_machine(notice, known)} is over.")


def _out_of_money(notice: Notice, known: Known) -> Item:
    name = of_a_stranger(known.jobs.get(notice.details["job"], ("", None))[0], NAME_SHOWN) or notice.details["job"]
    text = (
        "A slice was told to save its work and was stopped. Add credits or raise the job's budget, then retry the job."
    )
    return Item(f"Job {name} ran out of credits.", text)


def _clawed_back(notice: Notice, known: Known) -> Item:
    title = f"{known.amount(notice.details['micros'])} of your earnings were returned to renters."
    text = "A result of your machine was found wrong."
    return Item(title, text, (("machine", known.node(notice.details["node"])), ("attempt", notice.subject)))


def _credited(notice: Notice, known: Known) -> Item:
    return Item(f"{known.amount(notice.details['micros'])} were added to your wallet.")


def _refunded(notice: Notice, known: Known) -> Item:
    micros = notice.details.get("micros")
    return Item(f"A payment was refunded: {known.amount(micros)}." if micros else "A payment was refunded.")


ALL_WORDS: Mapping[str, Writer] = {
    **WRITERS,
    "node.offline": _offline,
    "node.quarantined": _quarantined,
    "node.quarantine_over": _quarantine_over,
    "attempt.out_of_money": _out_of_money,
    "clawback.done": _clawed_back,
    "payment.credited": _credited,
    "payment.refunded": _refunded,
}
