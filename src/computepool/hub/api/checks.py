from datetime import datetime
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from computepool.hub.api.nodes import load_node
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, Principal, Routes, Scope
from computepool.hub.core.money import priced_routes
from computepool.hub.core.paging import ByCreation
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.queries import check_slice, load_job
from computepool.hub.jobs.verification import Consequences
from computepool.hub.nodes.errors import NoSuchNode
from computepool.hub.trust import accusations, canaries
from computepool.hub.trust.accusations import AccusationPage, AccusationView
from computepool.hub.trust.canaries import Known
from computepool.hub.trust.consequences import Means, means_of
from computepool.hub.trust.errors import AlreadyDecided, BadCanary, NoSuchAccusation, NoSuchAnswer
from computepool.hub.trust.tables import AccusationState, CheckState
from computepool.hub.trust.views import AuditPage, JobChecks, checks_of_job, page_of_checks
from computepool.protocol.model import Documented

PAGE_LIMIT = 500


class Canary(Documented):
    """What to run again, and where."""

    model_config = ConfigDict(extra="forbid")

    job_id: str = Field(max_length=40)
    node_id: str = Field(max_length=40)
    slice: int = Field(default=0, ge=0)


class CanaryStarted(Documented):
    job_id: str
    """Of the hidden job: `admin audits` tells what came of it."""


class Decided(Documented):
    """Why an admin decides so. The host reads it."""

    model_config = ConfigDict(extra="forbid")

    note: str | None = Field(default=None, max_length=500)


class Vouched(Documented):
    """A slice whose result the operator says is right."""

    model_config = ConfigDict(extra="forbid")

    job_id: str = Field(max_length=40)
    slice: int = Field(default=0, ge=0)


KnownKind = Literal["audit", "replicas", "known"]


class KnownAnswer(Documented):
    """A slice that is sent as a canary, because its right result is known."""

    id: str
    kind: KnownKind
    """audit or replicas: owners agreed on it. known: an operator vouches for it."""
    job_id: str
    slice: int
    gpu_class: str | None
    """The only model of GPU on which it is known; None for work without a GPU."""
    seconds: float
    since: datetime


class Withdrawn(Documented):
    id: str


class KnownAnswers(Documented):
    rate_per_day: float
    """Canaries that each node gets in a day online, on average."""
    items: list[KnownAnswer]


def router(engine: Engine) -> APIRouter:
    context, unbroken = engine.context, Unbroken()
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["verification"])

    @routes.get("/jobs/{job_id}/checks", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def show_checks(job_id: str, caller: Caller) -> JobChecks:
        """Its replicas, and which of its results others computed too, with what was found."""
        return await context.db.read(_show, caller, job_id)

    @routes.get("/admin/audits", visible="admin")
    async def list_audits(
        state: Annotated[list[CheckState] | None, Query()] = None,
        node: str | None = None,
        order: ByCreation = "-created_at",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: str | None = None,
    ) -> AuditPage:
        """Every result that was checked: who is accused, what was found, and what is given back."""
        return await context.db.read(page_of_checks, state or [], node, order, cursor, limit)

    @routes.post("/admin/canaries", visible="admin", status_code=201, errors=[BadCanary, NoSuchJob, NoSuchNode])
    async def run_canary(body: Canary, caller: Caller) -> CanaryStarted:
        """Let a node run a slice whose right result is known. To the node it looks like paid work."""

        async def both() -> Consequences:
            async with engine.removal.artifacts.reruns:  # nobody deletes what it needs
                after = await context.db.run(_start, context, means_of(context), caller, body)
                engine.checks_changed(after)
            return after

        after = await unbroken.run(both())
        return CanaryStarted(job_id=after.reruns[0][0].job_id)

    _add_answers(routes, context)
    _add_accusations(routes, engine)
    return routes.router


def _add_accusations(routes: Routes, engine: Engine) -> None:
    context, unbroken = engine.context, Unbroken()

    @routes.get("/admin/accusations", visible="admin")
    async def list_accusations(
        state: Annotated[list[AccusationState] | None, Query()] = None,
        node: Annotated[str | None, Query(max_length=40)] = None,
        order: ByCreation = "-created_at",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: str | None = None,
    ) -> AccusationPage:
        """Results that other nodes found wrong. The open ones wait for an admin."""
        return await context.db.read(accusations.page_of_accusations, state or [], node, order, cursor, limit)

    @routes.get("/admin/accusations/{accusation_id}", visible="admin", errors=[NoSuchAccusation])
    async def show_accusation(accusation_id: Annotated[str, Path(max_length=40)]) -> AccusationView:
        """One of them."""
        return await context.db.read(accusations.show, accusation_id)

    @routes.post(
        "/admin/accusations/{accusation_id}/confirm",
        name="confirm_accusation",
        visible="admin",
        errors=[NoSuchAccusation, AlreadyDecided],
    )
    async def confirm(
        accusation_id: Annotated[str, Path(max_length=40)], body: Decided, caller: Caller
    ) -> AccusationView:
        """Confirm that the result was wrong: the node loses what it earned unaudited, and its record."""

        async def both() -> None:
            arguments = (accusation_id, caller.user_id, body.note, context.now(), means_of(context))
            engine.checks_changed(await context.db.run(accusations.confirm, *arguments))

        await unbroken.run(both())
        return await context.db.read(accusations.show, accusation_id)

    @routes.post(
        "/admin/accusations/{accusation_id}/dismiss",
        name="dismiss_accusation",
        visible="admin",
        errors=[NoSuchAccusation, AlreadyDecided],
    )
    async def dismiss(
        accusation_id: Annotated[str, Path(max_length=40)], body: Decided, caller: Caller
    ) -> AccusationView:
        """Dismiss what other nodes found: the node loses nothing, and its earnings are free again."""
        await context.db.run(accusations.dismiss, accusation_id, caller.user_id, body.note, context.now())
        return await context.db.read(accusations.show, accusation_id)


def _add_answers(routes: Routes, context: Context) -> None:
    @routes.get("/admin/canaries", visible="admin")
    async def list_answers() -> KnownAnswers:
        """What canaries are drawn from: results that owners agreed on, and those that operators vouch for."""
        found = await context.db.read(canaries.list_known, context.now())
        rate = context.settings.canary_rate_per_day
        return KnownAnswers(rate_per_day=rate, items=[_answer_view(one) for one in found])

    @routes.post(
        "/admin/canaries/answers",
        name="vouch_for_answer",
        visible="admin",
        status_code=201,
        errors=[BadCanary, NoSuchJob],
    )
    async def vouch(body: Vouched, caller: Caller) -> KnownAnswer:
        """Vouch for the result of a slice that succeeded: from now on it is sent to nodes, to see who gives it too."""
        return _answer_view(await context.db.run(_vouch, context, means_of(context), caller, body))

    @routes.post(
        "/admin/canaries/answers/{check_id}/withdraw", name="withdraw_answer", visible="admin", errors=[NoSuchAnswer]
    )
    async def withdraw(check_id: Annotated[str, Path(max_length=40)], caller: Caller) -> Withdrawn:
        """Send what an operator vouched for to nobody any more."""
        await context.db.run(canaries.withdraw, check_id, context.now(), caller.user_id)
        return Withdrawn(id=check_id)


def _answer_view(known: Known) -> KnownAnswer:
    return KnownAnswer(
        id=known.check_id,
        kind=cast("KnownKind", known.kind),
        job_id=known.root.id,
        slice=known.index,
        gpu_class=known.gpu_class,
        seconds=known.seconds,
        since=known.since,
    )


def _vouch(session: Session, context: Context, means: Means, principal: Principal, body: Vouched) -> Known:
    job = load_job(session, principal, body.job_id)
    check_slice(job, body.slice)
    return canaries.vouch(session, job, body.slice, context.now(), means, principal.user_id)


def _show(session: Session, principal: Principal, job_id: str) -> JobChecks:
    return checks_of_job(session, load_job(session, principal, job_id))


def _start(session: Session, context: Context, means: Means, principal: Principal, body: Canary) -> Consequences:
    job = load_job(session, principal, body.job_id)
    check_slice(job, body.slice)
    node = load_node(session, principal, body.node_id)
    return canaries.start_by_hand(session, job, body.slice, node, context.now(), means)
