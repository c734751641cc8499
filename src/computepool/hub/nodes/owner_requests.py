"""What a node's owner allows, as its agent tells it; and what the owner asks of the agent through the hub.

A request waits until the agent answers it: it follows or refuses it. Of each kind only the newest counts; changes of
different settings that wait are asked for together.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.records import record
from computepool.hub.nodes.tables import Node, NodePolicy, NodeRequest
from computepool.protocol.owner_requests import OwnerRequest, OwnerRequestKind, PolicyReport

PENDING, APPLIED, REFUSED = "pending", "applied", "refused"
KINDS = 2


def hear_policy(session: Session, node_id: str, report: PolicyReport, now: datetime) -> Sequence[OwnerRequest]:
    """What the agent says of its policy, and of what it was asked. The requests that it has not answered."""
    node = session.get_one(Node, node_id)
    told = report.model_dump(mode="json", exclude={"answers"})
    known = session.get(NodePolicy, node_id)
    is_new = known is None or known.report != told
    if known is None:
        known = NodePolicy(node_id=node_id)
        session.add(known)
    known.report, known.reported_at = told, now
    known.remote_edits, known.paused = report.remote_edits, report.paused
    waiting = [row for row in find_requests(session, node_id) if row.state == PENDING]
    answers = {answer.kind: answer for answer in report.answers}
    for row in waiting:
        answer = answers.get(row.kind)  # type: ignore[call-overload]  # stored as text
        if answer is not None and answer.number == row.number:
            row.state, row.reason = (REFUSED, answer.refused) if answer.refused else (APPLIED, "")
            row.answered_at, is_new = now, True
    if is_new:
        topics = (f"owner/{node.owner_id}",)
        record(session, "node.policy", node_id, now, actor=node_id, topics=topics)
    return [OwnerRequest.model_validate(row.body) for row in waiting if row.state == PENDING]


def ask(
    session: Session, node: Node, kind: OwnerRequestKind, asked: Mapping[str, Any], now: datetime, *, actor: str
) -> OwnerRequest:
    """Kept until the agent answers; the caller tells it."""
    row = session.get(NodeRequest, (node.id, kind), with_for_update=True)
    number = int(now.timestamp() * 1000)
    if row is None:
        row = NodeRequest(node_id=node.id, kind=kind, number=0, body={}, state=APPLIED)
        session.add(row)
    elif kind == "policy" and row.state == PENDING:
        asked = {"changes": {**row.body["changes"], **asked["changes"]}}
    request = OwnerRequest(kind=kind, number=max(number, row.number + 1), **asked)
    row.number, row.body, row.state, row.reason = request.number, request.model_dump(mode="json"), PENDING, ""
    row.requested_by, row.requested_at, row.answered_at = actor, now, None
    topics = (f"owner/{node.owner_id}",)
    record(session, "node.policy", node.id, now, actor=actor, topics=topics, kind=kind, **asked)
    return request


def find_policies(session: Session, node_ids: Sequence[str]) -> dict[str, NodePolicy]:
    rows = session.scalars(select(NodePolicy).where(NodePolicy.node_id.in_(node_ids)).limit(len(node_ids) or 1))
    return {row.node_id: row for row in rows}


def find_requests(session: Session, node_id: str) -> Sequence[NodeRequest]:
    return session.scalars(select(NodeRequest).where(NodeRequest.node_id == node_id).limit(KINDS)).all()
