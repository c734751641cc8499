"""Lists of nodes: which of them, in which order, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, exists, func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.core.paging import SortKey, read_list
from computepool.hub.nodes.tables import JoinToken, Node
from computepool.protocol.gpu_names import model_words
from computepool.protocol.states import NodeState

NodeOrder = Literal["created", "-created", "name", "-name", "state", "-state"]
_KEYS: dict[str, tuple[SortKey, ...]] = {
    "created": (Node.id,),
    "name": (func.lower(Node.name), Node.id),
    "state": (Node.state, Node.id),
}


@dataclass(frozen=True)
class NodeFilter:
    """What a node has to be. None: anything."""

    state: NodeState | None = None
    search: str | None = None
    owner_id: str | None = None
    gpu: str | None = None
    country: str | None = None
    tag: str | None = None
    simulated: bool | None = None


def list_nodes(
    session: Session,
    visible: ColumnElement[bool],
    wanted: NodeFilter,
    order: NodeOrder,
    cursor: str | None,
    limit: int,
) -> tuple[Sequence[Node], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all."""
    query = _filtered(session, select(Node).where(visible), wanted)
    return read_list(session, query, _KEYS[order.removeprefix("-")], cursor, limit, order)


def list_join_tokens(
    session: Session,
    visible: ColumnElement[bool],
    usable: bool,
    order: str,
    now: datetime,
    cursor: str | None,
    limit: int,
) -> tuple[Sequence[JoinToken], str | None, int | None]:
    """As `list_nodes`. `usable`: only those that machines can still join with."""
    query = select(JoinToken).where(visible)
    if usable:
        query = query.where(JoinToken.uses_left > 0, JoinToken.expires_at > now, JoinToken.revoked_at.is_(None))
    return read_list(session, query, [JoinToken.id], cursor, limit, order)


def _filtered(session: Session, query: Select[Any], wanted: NodeFilter) -> Select[Any]:
    if wanted.state is not None:
        query = query.where(Node.state == wanted.state)
    if wanted.owner_id is not None:
        query = query.where(Node.owner_id == wanted.owner_id)
    if wanted.country is not None:
        query = query.where(Node.country == wanted.country)
    if wanted.search:
        part = wanted.search.lower()
        in_name = func.lower(Node.name).contains(part, autoescape=True)
        query = query.where(or_(in_name, Node.id.contains(part, autoescape=True)))
    if wanted.simulated is not None:
        pretends = func.coalesce(Node.capacity["simulated"].as_boolean(), False)
        query = query.where(pretends if wanted.simulated else ~pretends)
    is_postgres = session.get_bind().dialect.name == "postgresql"
    if wanted.tag is not None:
        query = query.where(_has_tag(wanted.tag, is_postgres))
    if wanted.gpu:
        query = query.where(_has_gpu("-".join(model_words(wanted.gpu)), is_postgres))
    return query


def _has_tag(tag: str, is_postgres: bool) -> ColumnElement[bool]:
    if is_postgres:
        found = func.jsonb_array_elements_text(Node.tags).table_valued("value", name="tag").render_derived()
    else:
        found = func.json_each(Node.tags).table_valued("value", name="tag")
    return exists(select(1).select_from(found).where(found.c.value == tag).correlate(Node))


def _has_gpu(slug: str, is_postgres: bool) -> ColumnElement[bool]:
    """One of its cards has these words in its name."""
    if is_postgres:
        cards = func.jsonb_array_elements(Node.capacity["gpus"]).table_valued("value", name="card").render_derived()
        name = func.jsonb_extract_path_text(cards.c.value, "slug")
    else:
        cards = func.json_each(Node.capacity, "$.gpus").table_valued("value", name="card")
        name = func.json_extract(cards.c.value, "$.slug")
    return exists(select(1).select_from(cards).where(name.contains(slug, autoescape=True)).correlate(Node))
