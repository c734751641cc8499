"""Users as operators see them: with what they have and do, in a fixed number of statements for a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.core.http import Role
from computepool.hub.core.paging import SortKey, read_list
from computepool.hub.jobs.tables import ARE_OPEN, Job
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.journal import named_balances
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import NodeState

UserOrder = Literal["-created_at", "created_at", "email", "-email", "name", "-name"]
KEYS: dict[str, list[SortKey]] = {
    "created_at": [User.id],  # ids sort by age
    "email": [User.email],
    "name": [User.name, User.id],
}
SPENDABLE = (Kind.AVAILABLE, Kind.PROMOTIONAL)


@dataclass(frozen=True, slots=True)
class UserSearch:
    text: str | None = None
    role: Role | None = None
    disabled: bool | None = None
    order: UserOrder = "-created_at"


@dataclass(frozen=True, slots=True)
class UserFacts:
    """What an operator wants to know of an owner."""

    spendable_micros: int = 0
    earnings_micros: int = 0
    debt_micros: int = 0
    nodes: int = 0
    open_jobs: int = 0


def search_users(
    session: Session, asked: UserSearch, cursor: str | None, limit: int
) -> tuple[list[User], str | None, int | None]:
    """The rows, the cursor of the next page, and how many there are in all."""
    query = select(User)
    if asked.text:
        part = asked.text.strip().lower()
        named = func.lower(User.name).contains(part, autoescape=True)
        query = query.where(or_(User.email.contains(part, autoescape=True), named, User.id == asked.text.strip()))
    if asked.role is not None:
        query = query.where(User.role == asked.role)
    if asked.disabled is not None:
        query = query.where(User.disabled_at.is_not(None) if asked.disabled else User.disabled_at.is_(None))
    return read_list(session, query, KEYS[asked.order.removeprefix("-")], cursor, limit, asked.order)


def facts_of_users(session: Session, user_ids: Sequence[str]) -> dict[str, UserFacts]:
    kinds = (*SPENDABLE, Kind.EARNINGS, Kind.DEBT)
    pockets = named_balances(session, [account(user_id, kind) for user_id in user_ids for kind in kinds])
    nodes = select(Node.owner_id, func.count()).where(Node.owner_id.in_(user_ids), Node.state != NodeState.BANNED)
    jobs = select(Job.owner_id, func.count()).where(Job.owner_id.in_(user_ids), ARE_OPEN, Job.rerun_of.is_(None))
    node_counts = {row[0]: row[1] for row in session.execute(nodes.group_by(Node.owner_id))}
    job_counts = {row[0]: row[1] for row in session.execute(jobs.group_by(Job.owner_id))}
    return {
        user_id: UserFacts(
            spendable_micros=sum(pockets[account(user_id, kind)] for kind in SPENDABLE),
            earnings_micros=pockets[account(user_id, Kind.EARNINGS)],
            debt_micros=-pockets[account(user_id, Kind.DEBT)],
            nodes=node_counts.get(user_id, 0),
            open_jobs=job_counts.get(user_id, 0),
        )
        for user_id in user_ids
    }


def count_admins(session: Session) -> int:
    """Those who can act as one."""
    admins = select(func.count()).select_from(User).where(User.role == Role.ADMIN, User.disabled_at.is_(None))
    return session.scalar(admins) or 0
