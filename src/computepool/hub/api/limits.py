"""What a renter may have of the pool, and has: for the renter, and for the admin who may change it."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from computepool.hub.core.http import ActingFor, Caller, Scope
from computepool.hub.core.money import Micros, MoneyOff, need_money, priced_routes
from computepool.hub.core.owners import check_owner
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.scheduling.limits import Limits
from computepool.hub.scheduling.limits_store import change_limits
from computepool.protocol.model import Documented

MOST_SLICES = 1_000_000
MOST_MICROS = 10**15
Limit = Annotated[int, Field(ge=1, le=MOST_MICROS, strict=True)]


class LimitsChange(Documented):
    """All of them at once: what is left out, or null, is the pool's default again."""

    model_config = ConfigDict(extra="forbid")

    slices: Annotated[int, Field(ge=1, le=MOST_SLICES, strict=True)] | None = None
    hourly_micros: Limit | None = None
    daily_micros: Limit | None = None
    monthly_micros: Limit | None = None


class LimitsView(Documented):
    """About other people's nodes; one's own are not limited. Null is no limit."""

    owner_id: str
    slices: int | None
    hourly_micros: Micros
    daily_micros: Micros
    monthly_micros: Micros
    running_slices: int
    running_hourly_micros: Micros
    """What everything that runs costs in an hour."""
    spent_today_micros: Micros
    """By what has ended, since midnight of UTC."""
    spent_this_month_micros: Micros
    queued_slices: int
    """That wait for a node."""
    queued_bytes: int
    """What the specs of open jobs take of the hub's memory, about."""
    limit_queued_slices: int | None
    limit_queued_bytes: int | None


def router(engine: Engine) -> APIRouter:
    context, scheduler, unbroken = engine.context, engine.scheduler, Unbroken()
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["limits"])

    def view(owner_id: str) -> LimitsView:
        share, today = scheduler.occupancy.share(owner_id), context.now().date()
        return LimitsView(
            owner_id=owner_id,
            **asdict(scheduler.limits.of(owner_id)),
            running_slices=share.slices,
            running_hourly_micros=share.hourly_micros,
            spent_today_micros=max(0, scheduler.limits.spent(owner_id, today)),
            spent_this_month_micros=max(0, scheduler.limits.spent(owner_id, today.replace(day=1))),
            queued_slices=scheduler.queue.count_of(owner_id),
            queued_bytes=scheduler.briefs.bytes_of(owner_id),
            limit_queued_slices=context.settings.limit_queued_slices or None,
            limit_queued_bytes=context.settings.limit_queued_bytes or None,
        )

    async def change(owner_id: str, limits: Limits, actor: str) -> None:
        await context.db.run(change_limits, owner_id, limits, context.now(), actor=actor)
        scheduler.limits.set(owner_id, limits)
        scheduler.wake()

    @routes.get("/me/limits", visible="own", scope=Scope.JOBS_READ)
    async def show_own_limits(owner: ActingFor) -> LimitsView:
        """How much of other people's nodes you may have at once, and may spend; and what of it you have."""
        return view(owner)

    @routes.get("/admin/limits/{owner_id}", visible="admin")
    async def show_limits(owner_id: str) -> LimitsView:
        """Of one renter: what it may have of other people's nodes, and has."""
        await context.db.read(check_owner, owner_id)
        return view(owner_id)

    @routes.put("/admin/limits/{owner_id}", visible="admin", errors=[MoneyOff])
    async def set_limits(owner_id: str, limits: LimitsChange, caller: Caller) -> LimitsView:
        """For one renter, in place of the pool's defaults. It holds for what is begun from now on."""
        wanted = Limits(**limits.model_dump())
        if wanted.are_about_money:
            need_money(context.settings)
        await unbroken.run(change(owner_id, wanted, caller.user_id))
        return view(owner_id)

    return routes.router
