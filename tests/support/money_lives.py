"""Attempts that live through all that can happen to their money, by chance."""

import random
from dataclasses import replace
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support.truth import FAILED, LOST, OK, TERMS, Held, Truth

from computepool.hub.core.http import Principal, Role
from computepool.hub.jobs import instalments
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.tables import Checkpoint
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import post
from computepool.hub.trust import restitution
from computepool.hub.trust.tables import Check, Clawback
from computepool.protocol.receipt import Usage
from computepool.protocol.states import AttemptState, Verdict

PRICE = 36_000_000
"""A credit for a hundred seconds."""
ENDS = (
    OK,
    FAILED,
    LOST,
    Ending(Verdict.BUDGET, "budget"),
    Ending(Verdict.OWNER, "taken_back_by_owner", lost=True),
    Ending(Verdict.PREEMPTED, "preempted", lost=True),
    Ending(Verdict.HUB, "hub_downtime", lost=True, is_hubs_fault=True),
)


def as_user(user_id: str, *, admin: bool = False) -> Principal:
    role = Role.ADMIN if admin else Role.USER
    return Principal(user_id, role, role.scopes, frozenset({user_id}), "access")


def start(truth: Truth, job_id: str, index: int = 0, *, price: int = PRICE, **terms: Any) -> Held:
    held = truth.lease(job_id, index, "node_dear", price_micros=price, terms=replace(TERMS, **terms))
    truth.report(held, AttemptState.RUNNING)
    return held


def run_for(truth: Truth, seconds: float, how: Ending = OK, *, held: Held | None = None, **usage: float) -> Held:
    """It runs so long and ends so. `usage`: what its node claims, if not the truth."""
    held = held or start(truth, truth.add_job())
    truth.move(seconds=seconds)
    claimed = Usage.model_validate({"running_seconds": seconds, **usage})
    truth.end(held, how, facts=None if how.lost else {"usage": claimed})
    return held


def live(truth: Truth, chance: random.Random) -> Held:
    """One attempt from its lease to its end, perhaps with instalments, checkpoints, a loss and a return."""
    price = chance.choice([PRICE, 1, 7_777_777, 3_600_000_001])
    refund = chance.random() < 0.3
    terms = {"max_seconds": 4 * 3600, "fee_bps": chance.choice([0, 1, 1000, 2000]), "refund_failed": refund}
    held = start(truth, truth.add_job(retries=9), price=price, **terms)
    seconds = chance.choice([0.4, 17.3, 1800.0, 9000.5])
    begun, left = truth.now, seconds
    while left > 0:
        step = min(left, 3600.0)
        truth.move(seconds=step)
        left -= step
        truth.run(instalments.settle_next, held.id, truth.now)
        if chance.random() < 0.3:
            truth.run(_save, held, (truth.now - begun).total_seconds() * chance.random(), truth.now)
    how = chance.choice(ENDS)
    claimed = Usage(running_seconds=seconds * chance.choice([1, 0.9, 2]), power_capped_seconds=chance.choice([0, 11.5]))
    truth.end(held, how, facts=None if how.lost else {"usage": claimed})
    if how.lost and chance.random() < 0.5 and truth.take_back(held):
        truth.move(seconds=50)
        truth.end(held, OK, facts={"usage": Usage(running_seconds=seconds + 50)})
    return held


def claw_back(truth: Truth, held: Held, *, overturned: bool = False) -> bool:
    """A check has found its node guilty: all that the attempt moved goes back. `overturned`: and then it was right."""
    truth.run(_convict, held, truth)
    done = bool(truth.run(restitution.carry_out, held.id, truth.now))
    if overturned:
        truth.run(restitution.overturn, held.id, f"check_{held.id}", truth.now)
    return done


def _convict(session: Session, held: Held, truth: Truth) -> None:
    check = Check(
        id=f"check_{held.id}",
        subject=held.id,
        kind="audit",
        job_id=held.job_id,
        slice_index=held.index,
        state="guilty",
        spec_digest="sha256:spec",
        asked=2,
        attempt_id=held.id,
        node_id=held.node_id,
        owner_id=truth.host,
        detail="two others agree on another result",
        created_at=truth.now,
        decided_at=truth.now,
    )
    session.add(check)
    session.flush()
    session.add(
        Clawback(
            attempt_id=held.id,
            check_id=check.id,
            node_id=held.node_id,
            host_id=truth.host,
            renter_id=truth.renter,
            micros=0,
            state=restitution.PENDING,
            created_at=truth.now,
        )
    )


def owe(truth: Truth, micros: int) -> None:
    """The host has a debt."""

    def act(session: Session) -> None:
        posting = Posting(account(truth.host, Kind.DEBT), platform(Platform.WRITE_OFF), micros)
        post(session, Entry(f"owe/{truth.host}/{truth.now.isoformat()}", "test", (posting,)), truth.now)

    truth.run(act)


def _save(session: Session, held: Held, seconds: float, now: Any) -> None:
    newest = select(func.max(Checkpoint.number)).where(
        Checkpoint.job_id == held.job_id, Checkpoint.slice_index == held.index
    )
    session.add(
        Checkpoint(
            job_id=held.job_id,
            slice_index=held.index,
            number=(session.scalar(newest) or 0) + 1,
            attempt_id=held.id,
            content={"files": []},
            size_bytes=0,
            running_seconds=seconds,
            created_at=now,
        )
    )
