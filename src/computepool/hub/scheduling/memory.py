"""The scheduler's memory, rebuilt from the truth when the hub starts."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from computepool.hub.jobs import repository as jobs
from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.checkpoints import list_newest_of_queued
from computepool.hub.jobs.submission import brief_of_row
from computepool.hub.nodes import repository as nodes
from computepool.hub.nodes.tables import Node
from computepool.hub.scheduling.fleet import FleetNode, Held, free_of, held_of, take_room, traits_of
from computepool.hub.scheduling.queue import Waiting
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Manifest
from computepool.protocol.receipt import CONTINUE_LATER, EndReason
from computepool.protocol.signing import Signed
from computepool.protocol.spec import JobSpec
from computepool.protocol.states import AttemptState, NodeState


def load_fleet(session: Session, started_at: float) -> list[FleetNode]:
    """Every node with the attempts that it holds. Their clocks begin now: the hub's downtime is not theirs.

    A banned node is among them only if it still holds something, which then has to be taken from it.
    """
    fleet = {row.id: fleet_node(row, started_at) for row in nodes.list_fleet(session)}
    for node_id, state, manifest in jobs.list_live_attempts(session):
        if node_id not in fleet:
            fleet[node_id] = fleet_node(session.get_one(Node, node_id), started_at)
        body = Signed.model_validate_json(manifest).body
        manifest_here = Manifest.model_validate_json(body)
        held = held_of(manifest_here, body, started_at, renewed=False, state=AttemptState(state))
        take_room(fleet[node_id], held)
    return list(fleet.values())


def load_queue(session: Session) -> tuple[list[JobBrief], list[Waiting]]:
    """The briefs of all open jobs, and the slices that wait."""
    specs: dict[str, JobSpec] = {}  # a sweep is many jobs of one spec: each is read once
    briefs = {job.id: brief_of_row(job, specs) for job in jobs.list_open_jobs(session)}
    saved = list_newest_of_queued(session)
    waiting = [
        Waiting(
            briefs[job_id],
            index,
            fence=fence,
            attempts=attempts,
            avoid=tuple(avoid),
            retry_at=retry_at,
            saved=saved.get((job_id, index)),
            # Only for the words about a wait of seconds: an older attempt's checkpoint is taken for its last one's.
            continues=(job_id, index) in saved and reason == EndReason.EXITED and exit_code == CONTINUE_LATER,
            verdict=verdict,
            reason=reason,
        )
        for job_id, index, fence, attempts, avoid, retry_at, verdict, reason, exit_code in jobs.list_queued_slices(
            session
        )
    ]
    return list(briefs.values()), waiting


def fleet_node(row: Node, seen_at: float, held: Sequence[Held] = ()) -> FleetNode:
    capacity = Capacity.model_validate(row.capacity)
    traits = traits_of(row.id, row.owner_id, row.country, row.tags, capacity, enrolled_by=row.enrolled_by)
    return FleetNode(
        traits,
        row.name,
        NodeState(row.state),
        capacity,
        free_of(traits, held),
        drain_requested=row.drain_requested,
        seen_at=seen_at,
    )
