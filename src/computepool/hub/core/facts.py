"""Few facts about this hub as a whole, kept in its database."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.core.tables import HubFact

HUB_ID = "hub_id"
ALIVE_AT = "alive_at"
FENCE_EPOCH = "fence_epoch"


@dataclass(frozen=True)
class HubFacts:
    hub_id: str
    fence_epoch: int
    """Raised by each restore from a backup, so that no fence is ever given out twice."""


def load_facts(session: Session, fresh_hub_id: str) -> HubFacts:
    """Made on the first start."""
    hub_id = _get_or_set(session, HUB_ID, fresh_hub_id)
    return HubFacts(hub_id, int(_get_or_set(session, FENCE_EPOCH, "1")))


def raise_fence_epoch(session: Session, now: datetime) -> int:
    """The new epoch comes from the clock, not only from the one before: a backup may be restored a second time."""
    row = session.get(HubFact, FENCE_EPOCH)
    before = int(row.value) if row is not None else 1
    epoch = max(before + 1, int(now.timestamp()))
    session.merge(HubFact(name=FENCE_EPOCH, value=str(epoch)))
    return epoch


def _get_or_set(session: Session, name: str, default: str) -> str:
    row = session.get(HubFact, name)
    if row is None:
        row = HubFact(name=name, value=default)
        session.add(row)
    return row.value


def say_alive(session: Session, now: datetime) -> None:
    """A sign of life, for whoever asks after a restart how long the hub was away."""
    session.merge(HubFact(name=ALIVE_AT, value=now.isoformat()))


def find_last_sign(session: Session) -> datetime | None:
    row = session.get(HubFact, ALIVE_AT)
    return None if row is None else datetime.fromisoformat(row.value)
