"""Jobs in a real database without a hub around them: one plain transaction after the other."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support.engine import ALICE, borrow_engine, return_engine
from support.money import give_credits

from computepool.hub.core.owners import Owner
from computepool.hub.core.records import write_records
from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.jobs import ending, service
from computepool.hub.jobs.ending import Ended
from computepool.hub.jobs.invariants import holds_are_held, holds_belong_to_live_attempts
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.service import Lease, NewJob, Outcome
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.jobs.terms import Terms
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.check import check
from computepool.hub.ledger.journal import balances
from computepool.hub.nodes.tables import Node
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import AttemptState, JobState, NodeState, Verdict

P = ParamSpec("P")
R = TypeVar("R")

OK = Ending(Verdict.OK, "exited", 0)
FAILED = Ending(Verdict.RENTER, "exited", 1)
CANCELED = Ending(Verdict.RENTER, "canceled")
HOST = "user_host"
"""Whose the nodes are that cost something."""
TERMS = Terms(host_id=HOST, fee_bps=2000, refund_failed=False, max_seconds=3600, slice_micros=None, job_micros=None)
LOST = Ending(Verdict.HOST, "lease_expired", lost=True)


@dataclass(frozen=True)
class Held:
    """An attempt, and the number that proves it."""

    id: str
    fence: int
    node_id: str
    job_id: str
    index: int


class Truth:
    def __init__(self, url: str) -> None:
        self.engine = borrow_engine(url)
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self._numbers = count(1)
        self.leased: Outcome | None = None
        """What came of the last lease."""
        self.renter, self.host = ALICE, HOST
        self.run(_add_owners, (ALICE, HOST), self.now)

    def close(self) -> None:
        return_engine(self.engine)

    def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """As the database layer does it: committed with its records, or not at all."""
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            result = fn(session, *args, **kwargs)
            write_records(session)
            return result

    # ── beginnings ───────────────────────────────────────────────────────────────────────────────────────────────────

    def add_node(self, node_id: str = "node_1", owner_id: str = ALICE) -> str:
        def add(session: Session) -> None:
            if session.get(Node, node_id) is None:
                session.add(
                    Node(
                        id=node_id,
                        owner_id=owner_id,
                        name=node_id,
                        state=NodeState.ONLINE,
                        drain_requested=False,
                        sign_key=f"key of {node_id}",
                        seal_key="x",
                        tags=[],
                        capacity={},
                        agent_version="1",
                        created_at=self.now,
                    )
                )

        self.run(add)
        return node_id

    def add_job(self, *, slices: int = 1, retries: int = 0) -> str:
        job = self._new_job(slices, retries)
        self.run(service.submit, job, [], self.now)
        return job.id

    def submit_placed(self, *, price_micros: int, terms: Terms | None = None) -> Held:
        """A job whose only slice found a node at once: stored and leased in one commit."""
        node_id = self.add_node(f"node_dear_of_{self.host}", self.host)
        job = self._new_job(1, 0)
        lease = self._new_lease(
            job.id,
            0,
            1,
            0,
            node_id,
            own=False,
            price_micros=price_micros,
            terms=replace(terms or TERMS, host_id=self.host),
        )
        self.leased = self.run(service.submit, job, [lease], self.now)
        return Held(lease.attempt_id, lease.fence, node_id, job.id, 0)

    def lease(self, job_id: str, index: int = 0, node_id: str = "node_1", **paid: Any) -> Held:
        held = self.try_to_lease(job_id, index, node_id, **paid)
        assert held is not None
        return held

    def try_to_lease(
        self,
        job_id: str,
        index: int = 0,
        node_id: str = "node_1",
        *,
        previous_fence: int | None = None,
        price_micros: int = 0,
        terms: Terms | None = None,
    ) -> Held | None:
        """As the scheduler does it. `previous_fence`: what it thinks the slice's last lease was. With a price, the node
        is somebody else's."""
        if price_micros:
            node_id, terms = f"{node_id}_of_{self.host}", replace(terms or TERMS, host_id=self.host)
        self.add_node(node_id, self.host if price_micros else ALICE)
        number = self.slice(job_id, index).attempts + 1
        fence = self.slice(job_id, index).fence if previous_fence is None else previous_fence
        lease = self._new_lease(
            job_id, index, number, fence, node_id, own=not price_micros, price_micros=price_micros, terms=terms
        )
        self.leased = self.run(service.lease, [lease], self.now)
        if not self.leased.granted:
            return None
        return Held(lease.attempt_id, lease.fence, node_id, job_id, index)

    def begin_anew(self) -> None:
        """Others, who have nothing yet."""
        number = next(self._numbers)
        self.renter, self.host = f"user_renter_{number}", f"user_host_{number}"
        self.run(_add_owners, (self.renter, self.host), self.now)

    def give(self, credits: float, **how: Any) -> None:
        self.run(give_credits, self.renter, self.now, credits, **{"key": str(next(self._numbers)), **how})

    def balances(self, owner_id: str | None = None) -> dict[Kind, int]:
        return {kind: micros for kind, micros in self.run(balances, owner_id or self.renter).items() if micros}

    def _new_job(self, slices: int, retries: int) -> NewJob:
        return NewJob(
            id=f"job_{next(self._numbers):026}",
            owner_id=self.renter,
            submitted_by=self.renter,
            name="job",
            spec=parse_spec({"run": ["true"]}).to_wire(),
            spec_digest="sha256:spec",
            bundle=None,
            priority=0,
            retries_allowed=retries,
            slices=slices,
        )

    def _new_lease(
        self,
        job_id: str,
        index: int,
        number: int,
        previous_fence: int,
        node_id: str,
        *,
        own: bool,
        price_micros: int,
        terms: Terms | None,
    ) -> Lease:
        return Lease(
            attempt_id=f"attempt_{next(self._numbers):026}",
            job_id=job_id,
            slice_index=index,
            number=number,
            fence=1_000 + number,
            previous_fence=previous_fence,
            node_id=node_id,
            node_name=node_id,
            own=own,
            manifest="{}",
            owner_id=self.renter,
            price_micros=price_micros,
            terms=terms,
            root=job_id,
        )

    def force(self, held: Held, state: AttemptState) -> None:
        """Put an attempt into any state, whatever led there."""

        def write(session: Session) -> None:
            attempt = session.get_one(Attempt, held.id)
            attempt.state = state
            attempt.finished_at = None if state in LIVE else self.now

        self.run(write)

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────

    def end(self, held: Held, how: Ending = OK, **changes: Any) -> Ended:
        asked: dict[str, Any] = {"fence": held.fence, "node_id": held.node_id, "facts": None} | changes
        return self.run(
            ending.end_attempt, held.id, asked["fence"], asked["node_id"], how, self.now, facts=asked["facts"]
        )

    def report(self, held: Held, state: AttemptState, **changes: Any) -> None:
        asked: dict[str, Any] = {"fence": held.fence, "node_id": held.node_id} | changes
        self.run(service.report, held.id, asked["fence"], asked["node_id"], state, "bubblewrap", self.now)

    def take_back(self, held: Held) -> bool:
        state = AttemptState.RUNNING
        return self.run(ending.take_back, held.id, held.fence, held.node_id, state, self.now) is not None

    def cancel(self, job_id: str) -> ending.Canceled:
        def act(session: Session) -> ending.Canceled:
            return ending.cancel(session, session.get_one(Job, job_id), self.now, actor=ALICE)

        return self.run(act)

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def attempt(self, held: Held) -> Attempt:
        return self.run(lambda session: session.get_one(Attempt, held.id))

    def slice(self, job_id: str, index: int = 0) -> Slice:
        return self.run(lambda session: session.get_one(Slice, (job_id, index)))

    def job(self, job_id: str) -> Job:
        return self.run(lambda session: session.get_one(Job, job_id))

    def states(self, held: Held) -> tuple[str, str, str]:
        """Of the attempt, its slice and its job."""
        return self.attempt(held).state, self.slice(held.job_id, held.index).state, self.job(held.job_id).state

    def count_records(self) -> tuple[int, int]:
        """Rows of the outbox and of the audit log."""

        def count_rows(session: Session) -> tuple[int, int]:
            outbox = session.scalar(select(func.count()).select_from(OutboxRow))
            audit = session.scalar(select(func.count()).select_from(AuditRow))
            return outbox or 0, audit or 0

        return self.run(count_rows)

    def check(self) -> None:
        """What holds after every commit, whatever happened."""
        with Session(self.engine) as session:
            slices = session.execute(
                select(Slice.job_id, Slice.index.label("number"), Slice.state, Slice.fence, Slice.finished_at)
            ).all()
            lefts = Counter(one.job_id for one in slices if one.finished_at is None)
            for job in session.execute(select(Job.id, Job.state, Job.slices_left, Job.finished_at)):
                left = lefts[job.id]
                assert job.slices_left == left, f"{job.id} counts {job.slices_left}, has {left} left"
                assert (job.finished_at is not None) == (not left), f"{job.id} is {job.state} with {left} left"
            attempts = defaultdict[tuple[str, int], list[Any]](list)
            for attempt in session.execute(
                select(Attempt.job_id, Attempt.slice_index, Attempt.state, Attempt.fence, Attempt.verdict)
            ):
                attempts[attempt.job_id, attempt.slice_index].append(attempt)
            for one in slices:
                mine = attempts[one.job_id, one.number]
                live = [a for a in mine if a.state in LIVE]
                assert len(live) == (one.state == JobState.RUNNING), f"{one.state} slice with {len(live)} live attempts"
                assert all(a.fence == one.fence for a in live)
                assert sum(a.verdict == Verdict.OK for a in mine) == (one.state == JobState.SUCCEEDED)
            report = check(session, [holds_are_held, holds_belong_to_live_attempts])
            assert report.balanced, report.problems


LIVE = frozenset(AttemptState) - {
    AttemptState.SUCCEEDED,
    AttemptState.FAILED,
    AttemptState.LOST,
    AttemptState.CANCELED,
    AttemptState.SUPERSEDED,
}


def _add_owners(session: Session, owner_ids: Sequence[str], now: datetime) -> None:
    for owner_id in owner_ids:
        if session.get(Owner, owner_id) is None:
            session.add(Owner(id=owner_id, kind="user", created_at=now))
