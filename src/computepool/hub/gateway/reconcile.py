"""What a node says it holds, against what the hub thinks it holds: settled once, when its link comes up."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.records import record
from computepool.hub.jobs import ending, money
from computepool.hub.jobs import repository as jobs
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.jobs.tables import Attempt
from computepool.hub.market.standing import NEWCOMER, Standing
from computepool.hub.nodes.benchmarks import Benchmark, find_benchmark
from computepool.hub.nodes.service import change_state, effective_state
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation.reliability import HALF_LIFE
from computepool.hub.reputation.service import note_connected
from computepool.hub.scheduling.fleet import REACHABLE
from computepool.protocol.capacity import Capacity
from computepool.protocol.messages import Holding
from computepool.protocol.states import ATTEMPT_ENDED, ATTEMPT_LIVE, AttemptState, NodeState


@dataclass
class Reconciled:
    node: Node
    """As it is now."""
    state: NodeState
    """What the agent says of itself, under what its owner asked of the hub."""
    held: list[AttemptView] = field(default_factory=list)
    """On both sides."""
    lost: list[AttemptView] = field(default_factory=list)
    """The hub had them there, the agent has not and never will."""
    unheard: list[tuple[AttemptView, str]] = field(default_factory=list)
    """Leased, but the agent seems never to have got the offer; with the manifest to offer again."""
    taken_back: list[tuple[AttemptView, str]] = field(default_factory=list)
    """Given up by the hub, but still running there, and nobody else has the slice; with the manifest."""
    stale: list[Holding] = field(default_factory=list)
    """Still running there, but somebody else's or over: to be stopped."""
    stopping: list[AttemptView] = field(default_factory=list)
    """Running there although its job was canceled, or it has to make room: perhaps nobody could be told."""
    measured: Benchmark | None = None
    """Its last examination."""
    standing: Standing = NEWCOMER


def reconcile(
    session: Session,
    node_id: str,
    reported: NodeState,
    capacity: Capacity,
    agent_version: str,
    holding: Sequence[Holding],
    being_offered: Set[str],
    now: datetime,
    half_life: timedelta = HALF_LIFE,
) -> Reconciled:
    """Raises NodeMoved for a node that was banned meanwhile.

    An agent may name thousands of attempts that are nobody's, or not its own: they are looked up together, and only
    those that may be taken back are then looked at one by one.
    """
    node = session.get_one(Node, node_id)
    state = effective_state(reported, drain_requested=node.drain_requested)
    was_there = node.state in REACHABLE
    _update_node(session, node, state, capacity, agent_version, now)
    result = Reconciled(node, state)
    unheard: list[AttemptView] = []
    back: list[AttemptView] = []
    held = {(one.attempt_id, one.fence): one for one in holding}
    live = {(view.attempt_id, view.fence): view for view in jobs.list_live_attempts_on(session, node_id)}
    for key, view in live.items():
        if key in held:
            result.held.append(view)
            if (view.cancel_requested or view.asked_to_leave) and _runs_there(held[key]):
                result.stopping.append(view)
        elif view.state is not AttemptState.LEASED:
            result.lost.append(view)
        elif view.attempt_id not in being_offered:  # else it is on its way
            unheard.append(view)
    strange = [one for key, one in held.items() if key not in live and not one.gone]
    given_up = jobs.list_lost_attempts_on(session, node_id, [one.attempt_id for one in strange])
    if given_up:
        money.lock_to_hold_again(session, jobs.find_attempts(session, given_up).values())
    for one in strange:
        view_back = None
        if one.attempt_id in given_up:
            view_back = ending.take_back(session, one.attempt_id, one.fence, node_id, one.state, now, half_life)
        if view_back is not None:
            back.append(view_back)
        elif _runs_there(one):
            result.stale.append(one)
    manifests = _manifests(session, [*unheard, *back])
    result.unheard += [(view, manifests[view.attempt_id]) for view in unheard]
    result.taken_back += [(view, manifests[view.attempt_id]) for view in back]
    session.refresh(node)
    result.measured = find_benchmark(session, node_id)
    result.standing = note_connected(session, node, result.measured, now, was_there=was_there, half_life=half_life)
    return result


def _runs_there(one: Holding) -> bool:
    """A result that waits for its acknowledgement speaks for itself, and so does word of what is gone."""
    return one.state not in ATTEMPT_ENDED and not one.gone


def _update_node(
    session: Session, node: Node, state: NodeState, capacity: Capacity, agent_version: str, now: datetime
) -> None:
    facts = capacity.model_dump(mode="json")
    node.last_seen_at = now
    session.flush()
    if node.capacity != facts or node.agent_version != agent_version:
        node.capacity = facts
        node.agent_version = agent_version
        session.flush()
        record(session, "node.capacity", node.id, now, actor=node.id)
    change_state(session, node, state, now, actor=node.id)


def _manifests(session: Session, views: Sequence[AttemptView]) -> dict[str, str]:
    if not views:
        return {}
    ids = [view.attempt_id for view in views]
    found = session.execute(select(Attempt.id, Attempt.manifest).where(Attempt.id.in_(ids)))
    return {row.id: row.manifest for row in found}


def is_live_attempt(session: Session, attempt_id: str) -> bool:
    return session.scalars(select(Attempt.state).where(Attempt.id == attempt_id)).one() in ATTEMPT_LIVE


def manifest_of_attempt(session: Session, attempt_id: str) -> str:
    return session.scalars(select(Attempt.manifest).where(Attempt.id == attempt_id)).one()
