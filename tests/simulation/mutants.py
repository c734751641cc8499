"""Bugs put in on purpose. Each must be found by the simulation, or the simulation proves nothing."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.agent import leases
from computepool.agent.agent import Agent
from computepool.agent.attempt import Attempt
from computepool.agent.commands import Commands
from computepool.agent.leases import Leases
from computepool.agent.resting import Rest, RestReason
from computepool.hub.jobs import checkpoints, ending, money, policy, repository
from computepool.hub.jobs.tables import Attempt as AttemptRow
from computepool.hub.jobs.tables import Checkpoint, Slice
from computepool.hub.ledger import refunds
from computepool.hub.market.requirements import Requirements
from computepool.hub.market.standing import Standing
from computepool.hub.nodes.tables import Node
from computepool.hub.scheduling import fleet_node, turns
from computepool.hub.scheduling.fleet import Fleet, FleetNode
from computepool.hub.scheduling.leases import LeaseKeeper
from computepool.hub.scheduling.purse import Purse
from computepool.hub.scheduling.reservations import Reservations
from computepool.hub.scheduling.standings import Standings
from computepool.hub.trust import replication, restitution
from computepool.hub.trust.judgement import Count, Finding
from computepool.protocol import timing
from computepool.protocol.manifest import Grant
from computepool.protocol.states import ATTEMPT_ENDED, JOB_FINAL, AttemptState, JobState, Verdict


def rescue_overwrites_completion() -> None:
    """The bug of River #1302: giving up an attempt does not look whether it has ended meanwhile."""
    original = ending.end_attempt

    def careless(
        session: Session,
        attempt_id: str,
        fence: int,
        node_id: str,
        how: Any,
        now: datetime,
        facts: Any = None,
        **named: Any,
    ) -> Any:
        if not how.lost:
            return original(session, attempt_id, fence, node_id, how, now, facts, **named)
        row = session.get_one(AttemptRow, attempt_id)
        session.execute(update(AttemptRow).where(AttemptRow.id == attempt_id).values(state="lost", finished_at=now))
        session.execute(
            update(Slice)
            .where(Slice.job_id == row.job_id, Slice.index == row.slice_index)
            .values(state=JobState.QUEUED, finished_at=None)
        )
        requeued = ending.Requeued(row.job_id, row.slice_index, fence, (), None)
        return ending.Ended(ending.Applied.APPLIED, attempt_id, row.job_id, row.slice_index, requeued=requeued)

    ending.end_attempt = careless  # type: ignore[assignment]  # the point of a mutant


def fences_are_not_checked() -> None:
    def move_attempt(
        session: Session, attempt_id: str, fence: int, target: AttemptState, now: datetime, values: Any = None
    ) -> None:
        finished_at = now if target in ATTEMPT_ENDED else None
        session.execute(
            update(AttemptRow)
            .where(AttemptRow.id == attempt_id)
            .values(state=target, finished_at=finished_at, **(values or {}))
        )

    def move_slice(
        session: Session, job_id: str, index: int, fence: int, target: JobState, now: datetime, values: Any = None
    ) -> bool:
        finished_at = now if target in JOB_FINAL else None
        session.execute(
            update(Slice)
            .where(Slice.job_id == job_id, Slice.index == index)
            .values(state=target, finished_at=finished_at, **(values or {}))
        )
        return True

    repository.move_attempt = move_attempt
    repository.move_slice = move_slice
    repository.AttemptView.is_current = property(lambda self: True)  # type: ignore[assignment,method-assign]


def silence_is_never_noticed() -> None:
    """A node that is gone keeps its attempts for ever."""

    async def sweep(self: LeaseKeeper) -> None:
        return

    LeaseKeeper.sweep = sweep  # type: ignore[method-assign]  # the point of a mutant


def sleep_of_the_hub_is_everybodys_fault() -> None:
    """Whoever could not be heard while the hub's machine slept is given up when it wakes."""

    def judge_at_once(self: LeaseKeeper) -> None:
        return

    LeaseKeeper._notice_absence = judge_at_once  # type: ignore[method-assign]  # the point of a mutant


# ── leases and rest ──────────────────────────────────────────────────────────────────────────────────────────────────


def leases_are_not_kept() -> None:
    """A job with network access goes on, whoever has its slice by then."""
    Leases.keep = lambda self: None  # type: ignore[method-assign]  # the point of a mutant


def lease_never_ends() -> None:
    Attempt.has_lease = lambda self, now: True  # type: ignore[method-assign]  # the point of a mutant


def way_out_stays_open() -> None:
    """Commands are frozen in time, but for the moment after a machine wakes up nobody watches what gets out."""
    Commands._has_lease = lambda self: True  # type: ignore[method-assign]  # the point of a mutant


def freezing_comes_a_minute_late() -> None:
    def has_lease(self: Attempt, now: float) -> bool:
        return self.renewed_monotonic is None or now - self.renewed_monotonic < timing.FREEZE_AFTER_SECONDS + 60

    Attempt.has_lease = has_lease  # type: ignore[method-assign]  # the point of a mutant
    leases.LEASE_SECONDS += 60  # type: ignore[attr-defined]  # the point of a mutant


def rest_counts_as_running() -> None:
    def ran_seconds(self: Attempt, now: float) -> float:
        return 0.0 if self.started_monotonic is None else now - self.started_monotonic

    Attempt.ran_seconds = ran_seconds  # type: ignore[method-assign]  # the point of a mutant


def one_reason_to_rest_is_never_let_go() -> None:
    original = Rest.let_go

    async def let_go(self: Rest, reason: RestReason) -> None:
        if reason is not RestReason.LEASE:
            await original(self, reason)

    Rest.let_go = let_go  # type: ignore[method-assign]  # the point of a mutant


def draining_gives_back() -> None:
    """What was accepted is declined after all."""
    original = Agent.drain

    def drain(self: Agent) -> None:
        original(self)
        self.supervisor.give_back_everything("drained")

    Agent.drain = drain  # type: ignore[method-assign]  # the point of a mutant


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────


def next_attempt_starts_from_the_oldest() -> None:
    def find_oldest(session: Session, job_id: str, slice_index: int) -> checkpoints.Newest | None:
        of_slice = (Checkpoint.job_id == job_id, Checkpoint.slice_index == slice_index)
        row = session.scalar(select(Checkpoint).where(*of_slice).order_by(Checkpoint.number).limit(1))
        return checkpoints.Newest(checkpoints._saved(row), row.attempt_id) if row is not None else None

    ending.find_newest = find_oldest  # type: ignore[attr-defined]  # the point of a mutant


def leaving_to_be_continued_never_fails() -> None:
    """Exit code 85, with or without a new checkpoint."""
    original = policy.next_step

    def next_step(how: policy.Ending, tries: policy.Tries, *, cancel_requested: bool) -> policy.Next:
        return original(how, replace(tries, progressed=True), cancel_requested=cancel_requested)

    ending.next_step = next_step  # type: ignore[attr-defined,assignment]  # the point of a mutant


def same_checkpoint_again_is_progress() -> None:
    """So that a job which is restored, and saves just that, is continued for ever."""
    times = itertools.count()
    checkpoints._content = lambda files: {"": str(next(times))}


# ── who gets what ────────────────────────────────────────────────────────────────────────────────────────────────────


def ceilings_are_ignored() -> None:
    original = Fleet.choose

    def choose(self: Fleet, needs: Requirements, *args: Any, **named: Any) -> Any:
        return original(self, replace(needs, max_price_micros=None), *args, **named)

    Fleet.choose = choose  # type: ignore[method-assign]  # the point of a mutant


def room_is_given_back_twice() -> None:
    original = fleet_node._change_room

    def change_room(node: FleetNode, grant: Grant, sign: int) -> None:
        original(node, grant, sign)
        if sign > 0:
            original(node, grant, sign)

    fleet_node._change_room = change_room


def room_is_kept_for_ever() -> None:
    Reservations.placed = lambda self, needs: False  # type: ignore[method-assign]  # the point of a mutant
    Reservations.tidy = lambda self, fleet, is_waiting, now: None  # type: ignore[method-assign]  # as above


def room_is_never_kept() -> None:
    Reservations.reserve = lambda self, *_: None  # type: ignore[method-assign]  # the point of a mutant


def quarantine_is_ignored() -> None:
    original = Standings.put

    def put(self: Standings, node_id: str, standing: Standing) -> None:
        original(self, node_id, replace(standing, quarantined_until=None))

    Standings.put = put  # type: ignore[method-assign]  # the point of a mutant


def idle_slices_are_kept() -> None:
    fleet_node.Held.why_idle = lambda self, *, tells: None  # type: ignore[method-assign]  # the point of a mutant


def declines_are_ignored() -> None:
    original = Standings.put

    def put(self: Standings, node_id: str, standing: Standing) -> None:
        original(self, node_id, replace(standing, declined_until=None))

    Standings.put = put  # type: ignore[method-assign]  # the point of a mutant


def claims_are_believed() -> None:
    fleet_node.slices_at_once = lambda standing, trial: standing.slots  # type: ignore[attr-defined]  # as above


def preempted_counts_as_lost() -> None:
    original = policy.next_step

    def next_step(how: policy.Ending, tries: policy.Tries, *, cancel_requested: bool) -> policy.Next:
        if how.verdict is Verdict.PREEMPTED:
            how = replace(how, verdict=Verdict.HOST)
        return original(how, tries, cancel_requested=cancel_requested)

    policy.next_step = ending.next_step = next_step  # type: ignore[attr-defined,assignment]  # the point of a mutant


def price_is_read_again_at_the_end() -> None:
    """What the node asks for by then, not what was agreed on."""
    original = repository.find_attempt

    def find_attempt(session: Session, attempt_id: str) -> repository.AttemptView | None:
        view = original(session, attempt_id)
        if view is None or view.own:
            return view
        asked = session.scalar(select(Node.price_fixed_micros).where(Node.id == view.node_id))
        return view if asked is None else replace(view, price_micros=asked)

    repository.find_attempt = find_attempt


def any_answer_is_right() -> None:
    """Of several that differ, the one that came first."""
    replication.count_votes = lambda results, replicas: Count(Finding.VALID, results[0].digest)  # type: ignore[attr-defined]  # as above


def turns_do_not_know_use() -> None:
    """Whoever came first is served first, whatever they had."""
    original = turns.turn_of
    turns.turn_of = lambda waiting, standing: original(waiting, 0.0)


# ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def lost_attempts_keep_their_credits() -> None:
    original = money.settle

    def settle(session: Session, bills: Any, now: Any) -> Any:
        return [money.NOTHING if one.ending.lost else original(session, [one], now)[0] for one in bills]

    money.settle = settle  # the point of a mutant


def seconds_are_paid_again_after_a_loss() -> None:
    """Each settlement begins at the start of the attempt, whatever was settled before."""
    original = money.settle

    def settle(session: Session, bills: Any, now: Any) -> Any:
        return original(session, [replace(one, view=replace(one.view, settled_seconds=0)) for one in bills], now)

    money.settle = settle  # the point of a mutant


def what_is_owed_is_not_written_down() -> None:
    for module in (refunds, restitution):
        module.add_claim = lambda *args: None  # type: ignore[attr-defined]  # as above


def what_was_owed_is_never_paid() -> None:
    restitution.pay_claims = lambda session, host_id, now: 0  # type: ignore[attr-defined]  # as above


def purse_is_deaf() -> None:
    Purse.hear = lambda self, events: False  # type: ignore[method-assign]  # the point of a mutant


MUTANTS: dict[str, Callable[[], None]] = {
    "rescue_overwrites_completion": rescue_overwrites_completion,
    "fences_are_not_checked": fences_are_not_checked,
    "silence_is_never_noticed": silence_is_never_noticed,
    "sleep_of_the_hub_is_everybodys_fault": sleep_of_the_hub_is_everybodys_fault,
    "leases_are_not_kept": leases_are_not_kept,
    "lease_never_ends": lease_never_ends,
    "way_out_stays_open": way_out_stays_open,
    "freezing_comes_a_minute_late": freezing_comes_a_minute_late,
    "rest_counts_as_running": rest_counts_as_running,
    "one_reason_to_rest_is_never_let_go": one_reason_to_rest_is_never_let_go,
    "draining_gives_back": draining_gives_back,
    "next_attempt_starts_from_the_oldest": next_attempt_starts_from_the_oldest,
    "leaving_to_be_continued_never_fails": leaving_to_be_continued_never_fails,
    "same_checkpoint_again_is_progress": same_checkpoint_again_is_progress,
    "ceilings_are_ignored": ceilings_are_ignored,
    "room_is_given_back_twice": room_is_given_back_twice,
    "room_is_kept_for_ever": room_is_kept_for_ever,
    "room_is_never_kept": room_is_never_kept,
    "quarantine_is_ignored": quarantine_is_ignored,
    "preempted_counts_as_lost": preempted_counts_as_lost,
    "idle_slices_are_kept": idle_slices_are_kept,
    "declines_are_ignored": declines_are_ignored,
    "claims_are_believed": claims_are_believed,
    "turns_do_not_know_use": turns_do_not_know_use,
    "price_is_read_again_at_the_end": price_is_read_again_at_the_end,
    "any_answer_is_right": any_answer_is_right,
    "lost_attempts_keep_their_credits": lost_attempts_keep_their_credits,
    "seconds_are_paid_again_after_a_loss": seconds_are_paid_again_after_a_loss,
    "what_is_owed_is_not_written_down": what_is_owed_is_not_written_down,
    "what_was_owed_is_never_paid": what_was_owed_is_never_paid,
    "purse_is_deaf": purse_is_deaf,
}
