"""While the ledger does not add up, nobody is paid out."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.core.notices import ADMINS, mail_topic
from computepool.hub.core.records import ADMIN_TOPIC, record
from computepool.hub.core.tables import HubFact

_FROZEN = "cash_outs_frozen_at"


def is_frozen(session: Session) -> bool:
    """Asked in the transaction of every cash-out."""
    row = session.get(HubFact, _FROZEN)
    return row is not None and row.value != ""


def frozen_since(session: Session) -> datetime | None:
    row = session.get(HubFact, _FROZEN)
    return datetime.fromisoformat(row.value) if row is not None and row.value else None


def freeze(session: Session, problems: Sequence[str], now: datetime) -> None:
    session.merge(HubFact(name=_FROZEN, value=now.isoformat()))
    topics = (ADMIN_TOPIC, mail_topic(ADMINS))
    record(session, "ledger.frozen", "ledger", now, topics=topics, problems=list(problems[:10]))


def thaw(session: Session, now: datetime) -> None:
    session.merge(HubFact(name=_FROZEN, value=""))
    record(session, "ledger.thawed", "ledger", now, topics=(ADMIN_TOPIC, mail_topic(ADMINS)))
