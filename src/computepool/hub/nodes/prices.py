"""What a host asks for a node, where they do not leave it to the pool."""

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, Field, model_validator
from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Invalid
from computepool.hub.core.tables import AuditRow
from computepool.hub.nodes.tables import Node
from computepool.protocol.capacity import Capacity
from computepool.protocol.model import Documented
from computepool.protocol.units import MICROS_PER_CREDIT

MOST_MICROS = 1_000_000 * MICROS_PER_CREDIT
"""For an hour. Whoever asks for more has lost a decimal point."""

CHANGES_LIMIT = 200

Price = Annotated[int, Field(ge=0, le=MOST_MICROS, strict=True)]
Per = Literal["gpu", "core"]


class PriceChange(Documented):
    """The least that an hour costs, or exactly what it costs: one of the two. Micro-credits, fee included."""

    model_config = ConfigDict(extra="forbid")

    floor_micros: Price | None = None
    """Never below this; above it where the pool suggests more."""
    fixed_micros: Price | None = None
    """This, whatever the pool suggests."""
    per: Per | None = None
    """An hour of what. By default of a GPU where the node has one, else of a core."""

    @model_validator(mode="after")
    def _one_of_them(self) -> "PriceChange":
        if (self.floor_micros is None) == (self.fixed_micros is None):
            raise ValueError(
                "give floor_micros or fixed_micros, one of them; or null as the price, to leave it to the pool"
            )
        return self


class PriceView(Documented):
    """What the host decided."""

    per: Per
    floor_micros: int | None
    fixed_micros: int | None


def set_price(node: Node, change: PriceChange | None) -> None:
    """It counts from the next lease on: what runs keeps its price."""
    if change is None:
        node.price_per = node.price_floor_micros = node.price_fixed_micros = None
        return
    has_gpus = bool(Capacity.model_validate(node.capacity).gpus)
    if change.per == "gpu" and not has_gpus:
        raise Invalid("This node has no GPU that could have a price.", hint="Give the price of a core-hour: per core.")
    node.price_per = change.per or ("gpu" if has_gpus else "core")
    node.price_floor_micros, node.price_fixed_micros = change.floor_micros, change.fixed_micros


def list_price_changes(session: Session, node_id: str) -> list[tuple[datetime, PriceView | None, PriceView | None]]:
    """When its host changed the price, from what and to what: the newest first, as far as the audit log goes back."""
    query = select(AuditRow.at, AuditRow.details).where(AuditRow.subject == node_id, AuditRow.action == "node.changed")
    rows = session.execute(query.order_by(AuditRow.id.desc()).limit(CHANGES_LIMIT))
    return [
        (at, _stored(details.get("price_before")), _stored(details["price"]))
        for at, details in rows
        if "price" in details
    ]


def _stored(value: dict[str, Any] | None) -> PriceView | None:
    return PriceView.model_validate(value) if value is not None else None


def price_view(node: Node) -> PriceView | None:
    if node.price_per is None:
        return None
    return PriceView(
        per=cast("Per", node.price_per), floor_micros=node.price_floor_micros, fixed_micros=node.price_fixed_micros
    )
