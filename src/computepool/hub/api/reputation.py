"""Node reputation: for owners, who may contest what moved it, and for the operators who decide."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.api.nodes import load_node
from computepool.hub.core.actions import ActionView, unless
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, Principal, Routes, Scope
from computepool.hub.core.paging import Cursor, cursor_of, read_cursor
from computepool.hub.core.texts import STORABLE
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.jobs.queries import find_attempts
from computepool.hub.jobs.tables import Attempt
from computepool.hub.market.standing import Standing
from computepool.hub.nodes.errors import NoSuchNode
from computepool.hub.reputation import contests, repository, service
from computepool.hub.reputation.contests import Resolution, Resolved
from computepool.hub.reputation.errors import NoSuchContest, NoSuchEvent, NotContestable
from computepool.hub.reputation.record import Record
from computepool.hub.reputation.reliability import LOWER_TAIL, OWNER_WITH_CHECKPOINT, PRIOR_BAD, PRIOR_GOOD, WEIGHTS
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.reputation.uptime import by_day
from computepool.hub.reputation.views import SECONDS_OF_A_DAY, ReliabilityView, reliability_of
from computepool.protocol.model import Documented
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import AttemptState, IsolationLevel, Verdict

PAGE_LIMIT = 500
WORDS_LIMIT = 1000
EventId = Annotated[int, Path(ge=1, le=2**62)]
Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT)]


class FormulaView(Documented):
    """All that the score is made of: mean = alpha / (alpha + beta), lower = the 5 % quantile of Beta(alpha, beta)."""

    prior_good: float = PRIOR_GOOD
    prior_bad: float = PRIOR_BAD
    good: float
    """What speaks for the node, faded to now."""
    bad: float
    alpha: float
    beta: float
    lower_tail: float = LOWER_TAIL
    half_life_days: float
    weights: dict[Verdict, float] = WEIGHTS
    """Of strangers' attempts; the owner's own count nothing."""
    owner_with_checkpoint: float = OWNER_WITH_CHECKPOINT
    as_of: datetime


class EventActions(Documented):
    """What the reader may do about the event."""

    contest: ActionView
    """Say that it was not the node's fault: `POST /nodes/{node_id}/reliability/{event_id}/contest`."""


class DayUptime(Documented):
    day: date
    """Of UTC."""
    share: float
    """The part of the day that the node was there, from 0 to 1."""


class ReliabilityEvent(Documented):
    id: int
    node_id: str
    attempt_id: str
    verdict: Verdict
    reason: EndedBy
    weight: float
    at: datetime
    contested_at: datetime | None
    contest_reason: str | None
    resolution: Literal["taken_back", "upheld", "dismissed"] | None
    """What became of it. `taken_back` and `upheld` undo it."""
    resolved_at: datetime | None
    resolution_note: str | None
    actions: EventActions
    """What the reader may do about it."""


class HistoryPage(Documented):
    reliability: ReliabilityView
    formula: FormulaView
    uptime: list[DayUptime]
    """Of the last 30 days, or of the node's life where that is shorter; the oldest first."""
    items: list[ReliabilityEvent]
    """The newest first."""
    next: str | None


class ContestEvidence(Documented):
    """The attempt that a contest is about."""

    job_id: str
    slice: int
    number: int
    """Of the attempt, among those of its slice."""
    state: AttemptState
    exit_code: int | None
    detail: str | None
    """What the agent said of its end."""
    isolation: IsolationLevel | None
    leased_at: datetime
    """When the node got it."""
    started_at: datetime | None
    finished_at: datetime | None
    log_bytes: int
    """How much it printed, as far as that is stored."""
    log: str
    """Where its log is read."""


class ContestActions(Documented):
    resolve: ActionView
    """Uphold or dismiss it: `POST /admin/contests/{event_id}/resolve`."""


class ContestView(ReliabilityEvent):
    node_name: str
    owner_id: str
    owner_email: str | None
    """null for an owner that is not a user."""
    evidence: ContestEvidence | None
    """What happened; null where the attempt is not on record any more."""
    admin_actions: ContestActions
    """What an admin may do about it."""


class ContestPage(Documented):
    items: list[ContestView]
    next: str | None
    total: int | None


class Contest(Documented):
    model_config = ConfigDict(extra="forbid")

    reason: str = Field(min_length=1, max_length=WORDS_LIMIT, pattern=STORABLE)


class ContestDecision(Documented):
    model_config = ConfigDict(extra="forbid")

    resolution: Resolution
    note: str = Field(default="", max_length=WORDS_LIMIT, pattern=STORABLE)


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["reputation"])
    _add_owners(routes, engine.context)
    _add_operators(routes, engine)
    return routes.router


def _add_owners(routes: Routes, context: Context) -> None:
    half_life = context.settings.reliability_half_life

    @routes.get("/nodes/{node_id}/reliability", visible="own", scope=Scope.NODES_READ, errors=[NoSuchNode])
    async def show_reliability(node_id: str, caller: Caller, limit: Limit = 50, cursor: Cursor = None) -> HistoryPage:
        """How reliable a node is taken to be, what that is made of, and everything that moved it."""
        page = await context.db.read(_history, caller, node_id, cursor, limit, context.now(), half_life)
        if context.settings.money == "off":
            page.formula.weights = {name: weight for name, weight in WEIGHTS.items() if name is not Verdict.BUDGET}
        return page

    @routes.post(
        "/nodes/{node_id}/reliability/{event_id}/contest",
        visible="own",
        scope=Scope.NODES_WRITE,
        errors=[NoSuchNode, NoSuchEvent, NotContestable],
    )
    async def contest_event(node_id: str, event_id: EventId, body: Contest, caller: Caller) -> ReliabilityEvent:
        """Say that it was not the node's fault. An operator looks at it; upheld, it is taken off the score."""
        return await context.db.run(_contest, caller, node_id, event_id, body.reason, context.now())


def _add_operators(routes: Routes, engine: Engine) -> None:
    context, unbroken = engine.context, Unbroken()
    half_life = context.settings.reliability_half_life

    async def mark(node_id: str, wanted: bool, caller: Principal) -> ReliabilityView:
        async def both() -> ReliabilityView:
            view, standing = await context.db.run(_mark, caller, node_id, wanted, context.now(), half_life)
            engine.standing_changed(node_id, standing)
            return view

        return await unbroken.run(both())

    @routes.get("/admin/contests", visible="admin")
    async def list_contests(
        limit: Limit = 100,
        cursor: Cursor = None,
        all: Annotated[bool, Query(description="Settled ones too.")] = False,
        node: Annotated[str | None, Query(max_length=40)] = None,
        owner_id: Annotated[str | None, Query(max_length=40)] = None,
        order: Annotated[Literal["-at", "at"], Query(description="`-`: the newest first.")] = "-at",
    ) -> ContestPage:
        """What owners of nodes object to."""
        return await context.db.read(_list_contests, not all, node, owner_id, order, cursor, limit)

    @routes.get("/admin/contests/{event_id}", visible="admin", errors=[NoSuchContest])
    async def show_contest(event_id: EventId) -> ContestView:
        """One of them, with the attempt that it is about."""
        return await context.db.read(_show_contest, event_id)

    @routes.post("/admin/contests/{event_id}/resolve", visible="admin", errors=[NoSuchContest, NotContestable])
    async def resolve_contest(event_id: EventId, body: ContestDecision, caller: Caller) -> ReliabilityEvent:
        """Uphold or dismiss a contest. What is upheld counts as if it had never happened."""

        async def both() -> Resolved:
            done = await context.db.run(
                contests.resolve, event_id, body.resolution, body.note, caller.user_id, context.now(), half_life
            )
            if done.standing is not None:
                engine.standing_changed(done.event.node_id, done.standing)
            return done

        return _event_view((await unbroken.run(both())).event)

    @routes.post("/admin/nodes/{node_id}/verify", visible="admin", errors=[NoSuchNode])
    async def verify_node(node_id: str, caller: Caller) -> ReliabilityView:
        """Its owner, and where the earnings go, were checked. The rest of what `verified` needs is measured."""
        return await mark(node_id, True, caller)

    @routes.post("/admin/nodes/{node_id}/unverify", visible="admin", errors=[NoSuchNode])
    async def unverify_node(node_id: str, caller: Caller) -> ReliabilityView:
        """Take that back: from the next lease on."""
        return await mark(node_id, False, caller)


def _before(cursor: str | None) -> int | None:
    return None if cursor is None else int(str(read_cursor(cursor, [int])[0]))


def _history(
    session: Session,
    principal: Principal,
    node_id: str,
    cursor: str | None,
    limit: int,
    now: datetime,
    half_life: timedelta,
) -> HistoryPage:
    node = load_node(session, principal, node_id)
    record = repository.find(session, node_id)
    rows = repository.list_events(session, repository.record_id_of(node), _before(cursor), limit + 1)
    items = [_event_view(row) for row in rows[:limit]]
    days = by_day(record.online_days, record.online_since, record.first_seen, now)
    return HistoryPage(
        reliability=reliability_of(session, node, now, half_life),
        uptime=[DayUptime(day=day, share=round(part, 4)) for day, part in days.items()],
        formula=_formula_view(record, now, half_life),
        items=items,
        next=cursor_of(items[-1].id) if len(rows) > limit else None,
    )


def _contest(
    session: Session, principal: Principal, node_id: str, event_id: int, reason: str, now: datetime
) -> ReliabilityEvent:
    node = load_node(session, principal, node_id)
    return _event_view(contests.contest(session, node, event_id, reason, principal.user_id, now))


def _mark(
    session: Session, principal: Principal, node_id: str, wanted: bool, now: datetime, half_life: timedelta
) -> tuple[ReliabilityView, Standing]:
    node = load_node(session, principal, node_id)
    standing = service.mark(session, node, wanted, principal.user_id, now, half_life)
    return reliability_of(session, node, now, half_life), standing


def _formula_view(record: Record, now: datetime, half_life: timedelta) -> FormulaView:
    evidence = record.evidence.at(now, half_life)
    return FormulaView(
        good=evidence.good,
        bad=evidence.bad,
        alpha=PRIOR_GOOD + evidence.good,
        beta=PRIOR_BAD + evidence.bad,
        half_life_days=half_life.total_seconds() / SECONDS_OF_A_DAY,
        as_of=evidence.as_of,
    )


def _event_view(event: ReputationEvent) -> ReliabilityEvent:
    stored = {name: getattr(event, name) for name in ReliabilityEvent.model_fields if name != "actions"}
    actions = EventActions(contest=unless(contests.refuse_contest(event)))
    return ReliabilityEvent.model_validate({**stored, "actions": actions})


def _list_contests(
    session: Session,
    is_open: bool,
    node_id: str | None,
    owner_id: str | None,
    order: str,
    cursor: str | None,
    limit: int,
) -> ContestPage:
    rows, after, total = repository.list_contests(session, is_open, node_id, owner_id, order, cursor, limit)
    return ContestPage(items=_contest_views(session, rows), next=after, total=total)


def _show_contest(session: Session, event_id: int) -> ContestView:
    row = repository.find_contest(session, event_id)
    if row is None:
        raise NoSuchContest(event_id)
    return _contest_views(session, [row])[0]


def _contest_views(session: Session, rows: Sequence[repository.ContestRow]) -> list[ContestView]:
    attempts = find_attempts(session, [event.attempt_id for event, _, _ in rows])
    emails = emails_of(session, {owner_id for _, _, owner_id in rows})
    return [
        ContestView(
            **_event_view(event).model_dump(),
            node_name=node_name,
            owner_id=owner_id,
            owner_email=emails.get(owner_id),
            evidence=_evidence(attempts.get(event.attempt_id)),
            admin_actions=ContestActions(resolve=unless(contests.refuse_resolution(event))),
        )
        for event, node_name, owner_id in rows
    ]


def _evidence(attempt: Attempt | None) -> ContestEvidence | None:
    if attempt is None:
        return None
    query = f"slice={attempt.slice_index}&attempt={attempt.number}"
    return ContestEvidence(
        job_id=attempt.job_id,
        slice=attempt.slice_index,
        number=attempt.number,
        state=AttemptState(attempt.state),
        exit_code=attempt.exit_code,
        detail=attempt.detail,
        isolation=IsolationLevel(attempt.isolation) if attempt.isolation else None,
        leased_at=attempt.leased_at,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        log_bytes=attempt.log_bytes,
        log=f"/api/v1/jobs/{attempt.job_id}/logs?{query}",
    )
