"""Paid work without a scheduler: real transactions, people who rent from each other, a clock that is moved by hand."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from support.engine import ALICE, HUB_ID, SECRET_KEY, InlineDatabase, in_place
from support.money import give_credits
from support.small_hub import HandClock
from support.truth import OK, TERMS, Held, Truth

from computepool.hub.core.bus import Bus
from computepool.hub.core.context import Context
from computepool.hub.core.db import Database
from computepool.hub.core.owners import Owner
from computepool.hub.core.settings import Settings
from computepool.hub.jobs import instalments
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger import claims
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.check import check
from computepool.hub.ledger.journal import balances
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.cash_outs import cash_outs_are_cashing_out
from computepool.hub.trust import restitution
from computepool.hub.trust.tables import Check, Clawback
from computepool.protocol.capacity import Capacity
from computepool.protocol.receipt import Usage
from computepool.protocol.states import AttemptState
from computepool.protocol.units import MICROS_PER_CREDIT

CREDIT = MICROS_PER_CREDIT
SECONDS = 1_000
CAPACITY = Capacity(cpus=8, memory_bytes=16 * 1024**3, disk_bytes=100 * 1024**3)
TERMS_OF_ALL = replace(TERMS, max_seconds=SECONDS)
"""What is held for a job is what it costs."""


@contextmanager
def rented(url: str, *people: str) -> Iterator["Rented"]:
    """A pool with these people, whose ledger has to add up in the end."""
    pool = Rented(url)
    pool.know(*people)
    try:
        yield pool
        pool.all_adds_up()
    finally:
        pool.close()


class Rented(Truth):
    """`work(renter, host, credits)` is a job that costs so much."""

    def know(self, *people: str) -> None:
        def add(session: Session) -> None:
            for one in people:
                if session.get(Owner, one) is None:
                    session.add(Owner(id=one, kind="user", created_at=self.now))

        self.run(add)

    def pay_in(self, owner_id: str, credits: float, key: str, kind: Kind = Kind.AVAILABLE) -> None:
        self.know(owner_id)
        self.run(give_credits, owner_id, self.now, credits, kind=kind, key=key)

    def work(self, renter: str, host: str, credits: float, how: Ending = OK) -> Held:
        """Leased, run and ended: it takes a thousand seconds, and costs so much."""
        held = self.begin(renter, host, credits)
        return self.finish(held, how)

    def begin(self, renter: str, host: str, credits: float, *, slices: int = 1) -> Held:
        self.know(renter, host)
        self.renter, self.host = renter, host
        return self.go_on(self.add_job(slices=slices), 0, host, credits)

    def go_on(self, job_id: str, index: int, host: str, credits: float) -> Held:
        """Another slice of it, perhaps elsewhere."""
        self.host = host
        price = round(credits * CREDIT) * 3600 // SECONDS
        held = self.lease(job_id, index, node_id="node", price_micros=price, terms=TERMS_OF_ALL)
        self.report(held, AttemptState.RUNNING)
        return held

    def begin_long(self, renter: str, host: str, credits: float) -> Held:
        """So much for an hour, paid hour by hour."""
        self.know(renter, host)
        self.renter, self.host = renter, host
        terms, price = replace(TERMS, max_seconds=24 * 3600), round(credits * CREDIT)
        held = self.lease(self.add_job(), 0, node_id="node", price_micros=price, terms=terms)
        self.report(held, AttemptState.RUNNING)
        return held

    def an_hour_later(self, held: Held) -> bool:
        """Whether it was paid."""
        self.move(seconds=3600)
        done = self.run(instalments.settle_next, held.id, self.now)
        return done is not None and not done.leaves

    def finish(self, held: Held, how: Ending = OK) -> Held:
        self.move(seconds=SECONDS)
        self.end(held, how, facts=None if how.lost else {"usage": Usage(running_seconds=SECONDS)})
        return held

    def find_guilty(self, held: Held, host: str, *, carry_out: bool = True, again: bool = False) -> str:
        """Its result is proven wrong, or another one of its node is: what it moved goes back. If a finding takes it
        back already, that is the one; `again`: no, another one does so too. The check."""
        renter = self.job(held.job_id).owner_id

        def find(session: Session) -> str:
            query = select(Clawback).where(Clawback.attempt_id == held.id).order_by(Clawback.check_id)
            rows = session.scalars(query).all()
            lasting = [row.check_id for row in rows if row.state != restitution.OVERTURNED]
            if lasting and not again:
                return lasting[0]
            about: dict[str, Any] = {"job_id": held.job_id, "slice_index": 0, "spec_digest": "x", "asked": 2}
            check_id, subject = f"check{len(rows)}_{held.id[-30:]}", f"{held.id}/{len(rows)}"
            at = self.now
            session.add(Check(id=check_id, subject=subject, kind="audit", state="guilty", created_at=at, **about))
            session.flush()
            people: dict[str, Any] = {"node_id": held.node_id, "host_id": host, "renter_id": renter}
            back = {"attempt_id": held.id, "check_id": check_id, "micros": 1, "state": restitution.PENDING}
            session.add(Clawback(**back, created_at=at, **people))
            return check_id

        check_id = self.run(find)
        if carry_out:
            self.run(restitution.carry_out, held.id, self.now)
        return check_id

    def overturn(self, held: Held, check_id: str | None = None) -> bool:
        """A contest is upheld, of the finding that took it back; or of another one."""
        done = select(Clawback.check_id).where(Clawback.attempt_id == held.id, Clawback.state == restitution.DONE)
        finding = check_id or self.run(lambda session: session.scalar(done))
        return finding is not None and self.run(restitution.overturn, held.id, finding, self.now) is not None

    def pay_claims(self) -> int:
        """What hosts have earned since of what they owe renters."""
        return sum(self.run(claims.pay_claims, host_id, self.now) for host_id in self.run(claims.list_payable))

    def owed_to(self, renter: str) -> float:
        return self.run(claims.owed_to, renter) / CREDIT

    def context(self, **settings: Any) -> Context:
        """What a hub has one of, for transactions that want it."""
        return Context(
            settings=Settings(**settings),
            db=cast(Database, InlineDatabase(self.engine)),
            clock=HandClock(),
            randbits=random.Random(5).getrandbits,
            bus=Bus(),
            offload=in_place,
            secret_key=SECRET_KEY,
            hub_id=HUB_ID,
            fence_epoch=1,
        )

    def add_node(self, node_id: str = "node_1", owner_id: str = ALICE) -> str:
        def describe(session: Session) -> None:
            session.get_one(Node, node_id).capacity = CAPACITY.model_dump(mode="json")

        if not self.run(lambda session: session.get(Node, node_id)):
            super().add_node(node_id, owner_id)
            self.run(describe)
        return node_id

    def days(self, days: float) -> None:
        self.now += timedelta(days=days)

    def credits(self, owner_id: str) -> dict[str, float]:
        """By pocket, those that are empty left out."""
        with Session(self.engine) as session:
            return {kind.value: micros / CREDIT for kind, micros in balances(session, owner_id).items() if micros}

    def has(self, owner_id: str, kind: Kind) -> int:
        """In micros."""
        with Session(self.engine) as session:
            return balances(session, owner_id)[kind]

    def all_adds_up(self) -> None:
        with Session(self.engine) as session:
            report = check(session, (*INVARIANTS, cash_outs_are_cashing_out))
        assert report.balanced, report.problems

    def change_attempt(self, held: Held, **values: Any) -> None:
        self.run(lambda session: session.execute(update(Attempt).where(Attempt.id == held.id).values(**values)))
