"""Settings for operators: what is in force, where it comes from, who changed it and why."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StringConstraints
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.admin import pool_settings
from computepool.hub.admin.pool_settings import BadSetting, NoSuchSetting, SettingGroup, SettingMoved, Type, facts_of
from computepool.hub.admin.tables import REASON_LIMIT, SettingChange
from computepool.hub.artifacts.charges import price_of
from computepool.hub.artifacts.usage import list_exceeding, quotas_of
from computepool.hub.core.http import Caller, Routes
from computepool.hub.core.money import MoneyOff
from computepool.hub.core.settings import Settings
from computepool.hub.core.texts import STORABLE
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.market import repository as market_repository
from computepool.hub.market.rates import fee_of
from computepool.hub.market.tables import MarketSetting
from computepool.protocol.model import Documented
from computepool.protocol.units import spell_credits

HISTORY_LIMIT = 200
TEXT_LIMIT = 100
SettingName = Annotated[str, Path(max_length=60)]
SettingValue = StrictBool | StrictInt | StrictFloat | Annotated[str, StringConstraints(max_length=TEXT_LIMIT)] | None
"""As JSON has it; an exact decimal is a string."""
Reason = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=3, max_length=REASON_LIMIT, pattern=STORABLE)
]


class SettingView(Documented):
    """One setting of the pool."""

    name: str
    """Its name here, such as `platform_fee_bps`."""
    variable: str
    """The environment variable that its default comes from."""
    group: SettingGroup
    """What it is about."""
    description: str
    """What it means."""
    type: Type
    """What kind of value it takes. A decimal is a string, so that it stays exact."""
    unit: str | None
    """What is counted, such as `bytes`; null for a choice."""
    minimum: float | None
    """The least that it may be."""
    maximum: float | None
    """The most that it may be."""
    choices: list[str]
    """Of a choice: its values."""
    optional: bool
    """Whether it may be null, which the description explains."""
    value: SettingValue
    """What is in force now."""
    default: SettingValue
    """What the hub's environment says: in force after a reset."""
    source: Literal["stored", "env", "default"]
    """Where the value in force comes from: an admin, an environment variable, or the program."""
    version: int
    """Grows with each change; 0 before the first."""
    changed_at: datetime | None
    """When an admin last changed it."""
    changed_by: str | None
    """The id of that admin."""
    changed_by_email: str | None
    """The e-mail address of that admin."""
    reason: str | None
    """Why, as the admin wrote it."""


class MarketTableNote(Documented):
    """A table of the market, which has a route of its own."""

    name: Literal["tiers", "regions", "rates"]
    path: str
    """Where it is read and changed."""
    version: int
    """Grows with each change; 0 before the first."""
    changed_at: datetime | None
    """When an admin last changed it."""
    changed_by: str | None
    """The id of that admin."""


class SettingList(Documented):
    items: list[SettingView]
    tables: list[MarketTableNote]
    """Tables of the market; none where money is off."""


class SettingPut(Documented):
    model_config = ConfigDict(extra="forbid")

    value: SettingValue = None
    """The new value."""
    reason: Reason
    """Why. It stays in the history."""
    version: int | None = Field(default=None, ge=0)
    """The one that was looked at: a change by somebody else meanwhile is then an error, not lost."""


class SettingReset(Documented):
    model_config = ConfigDict(extra="forbid")

    reason: Reason
    """Why. It stays in the history."""
    version: int | None = Field(default=None, ge=0)
    """The one that was looked at: a change by somebody else meanwhile is then an error, not lost."""


class SettingChangeView(Documented):
    """One change in the past."""

    version: int
    """Its number."""
    before: SettingValue
    """What was in force until then."""
    value: SettingValue
    """What was stored; null after a reset."""
    reset: bool
    """Whether it went back to the environment's value."""
    reason: str
    """Why, as the admin wrote it."""
    changed_by: str
    """The id of the admin."""
    changed_by_email: str | None
    """The e-mail address of the admin."""
    changed_at: datetime


class SettingHistory(Documented):
    name: str
    items: list[SettingChangeView]
    next: int | None
    """The `cursor` of the following page; null on the last."""


class PreviewLine(Documented):
    label: str
    """What is compared."""
    before: str
    """As it is now."""
    after: str
    """As it would be."""


class SettingPreview(Documented):
    """What a change would do. Nothing is changed."""

    name: str
    value: SettingValue
    """The value as it would be stored."""
    message: str
    """From when on it would count, and for whom."""
    lines: list[PreviewLine]
    """Examples, where the hub can work them out."""


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["settings"])
    _add_reading(routes, engine)
    _add_changing(routes, engine)
    return routes.router


def _add_reading(routes: Routes, engine: Engine) -> None:
    context = engine.context

    @routes.get("/admin/settings", visible="admin")
    async def list_settings() -> SettingList:
        """Everything that an admin can change while the hub runs: what is in force, and where it comes from."""
        return await context.db.read(_list, engine)

    @routes.get("/admin/settings/{name}", visible="admin", errors=[NoSuchSetting, MoneyOff])
    async def show_setting(name: SettingName) -> SettingView:
        """One of them."""
        return await context.db.read(_show, engine, name)

    @routes.get("/admin/settings/{name}/history", visible="admin", errors=[NoSuchSetting, MoneyOff])
    async def list_setting_changes(
        name: SettingName,
        limit: Annotated[int, Query(ge=1, le=HISTORY_LIMIT)] = 50,
        cursor: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    ) -> SettingHistory:
        """Who changed it to what, when and why; the newest first."""
        _check(context.settings, name)
        return await context.db.read(_history, name, cursor, limit)


def _add_changing(routes: Routes, engine: Engine) -> None:
    context, unbroken = engine.context, Unbroken()

    async def change(name: str, body: SettingPut | SettingReset, actor: str) -> SettingView:
        """In the database, and then in memory: both, even if the caller gives up in between."""
        _check(context.settings, name)
        await context.db.run(
            pool_settings.change_setting,
            context.defaults,
            name,
            body.value if isinstance(body, SettingPut) else None,
            context.now(),
            actor=actor,
            reason=body.reason,
            expected=body.version,
            reset=isinstance(body, SettingReset),
        )
        await engine.settings_changed()
        return await context.db.read(_show, engine, name)

    @routes.put("/admin/settings/{name}", visible="admin", errors=[NoSuchSetting, MoneyOff, BadSetting, SettingMoved])
    async def change_setting(name: SettingName, body: SettingPut, caller: Caller) -> SettingView:
        """Change one. It counts at once, without a restart; what leases have locked stays as it was."""
        return await unbroken.run(change(name, body, caller.user_id))

    @routes.post(
        "/admin/settings/{name}/reset", visible="admin", errors=[NoSuchSetting, MoneyOff, BadSetting, SettingMoved]
    )
    async def reset_setting(name: SettingName, body: SettingReset, caller: Caller) -> SettingView:
        """Go back to what the hub's environment says."""
        return await unbroken.run(change(name, body, caller.user_id))

    @routes.post("/admin/settings/{name}/preview", visible="admin", errors=[NoSuchSetting, MoneyOff, BadSetting])
    async def preview_setting(name: SettingName, body: SettingTry) -> SettingPreview:
        """Check a value, and say what it would change, with examples for the fee and for storage."""
        _check(context.settings, name)
        after = pool_settings.read_value(context.settings, name, body.value)
        return SettingPreview(
            name=name,
            value=pool_settings.shown(getattr(after, name)),
            message=_when(name),
            lines=await context.db.read(_examples, engine, name, after),
        )


class SettingTry(Documented):
    model_config = ConfigDict(extra="forbid")

    value: SettingValue = None
    """The value to look at."""


def _check(settings: Settings, name: str) -> None:
    if facts_of(name).about_money and settings.money == "off":
        raise MoneyOff


def _list(session: Session, engine: Engine) -> SettingList:
    context = engine.context
    stored = pool_settings.list_stored(session)
    emails = emails_of(session, {row.changed_by for row in stored.values()})
    items = [
        _view(context.settings, context.defaults, name, stored.get(name), emails)
        for name in pool_settings.names_for(context.settings)
    ]
    rows = market_repository.load_settings(session) if context.settings.money == "on" else {}
    tables = [_table(name, rows.get(name)) for name in ("tiers", "regions", "rates") if context.settings.money == "on"]
    return SettingList(items=items, tables=tables)


def _table(name: Literal["tiers", "regions", "rates"], row: MarketSetting | None) -> MarketTableNote:
    return MarketTableNote(
        name=name,
        path=f"/api/v1/admin/market/{name}",
        version=row.id if row is not None else 0,
        changed_at=row.changed_at if row is not None else None,
        changed_by=row.changed_by if row is not None else None,
    )


def _show(session: Session, engine: Engine, name: str) -> SettingView:
    context = engine.context
    _check(context.settings, name)
    row = pool_settings.list_stored(session).get(name)
    emails = emails_of(session, {row.changed_by} if row is not None else ())
    return _view(context.settings, context.defaults, name, row, emails)


def _view(
    settings: Settings, defaults: Settings, name: str, row: SettingChange | None, emails: dict[str, str]
) -> SettingView:
    facts = facts_of(name)
    is_stored = row is not None and "value" in row.content
    from_environment: Literal["env", "default"] = "env" if name in defaults.model_fields_set else "default"
    return SettingView(
        name=name,
        variable=facts.variable,
        group=facts.group,
        description=facts.description,
        type=facts.type,
        unit=facts.unit,
        minimum=facts.minimum,
        maximum=facts.maximum,
        choices=list(facts.choices),
        optional=facts.optional,
        value=pool_settings.shown(getattr(settings, name)),
        default=pool_settings.shown(getattr(defaults, name)),
        source="stored" if is_stored else from_environment,
        version=row.id if row is not None else 0,
        changed_at=row.changed_at if row is not None else None,
        changed_by=row.changed_by if row is not None else None,
        changed_by_email=emails.get(row.changed_by) if row is not None else None,
        reason=row.reason if row is not None else None,
    )


def _history(session: Session, name: str, cursor: int | None, limit: int) -> SettingHistory:
    rows = pool_settings.list_changes(session, name, cursor, limit + 1)
    emails = emails_of(session, {row.changed_by for row in rows})
    items = [
        SettingChangeView(
            version=row.id,
            before=row.before.get("value"),
            value=row.content.get("value"),
            reset="value" not in row.content,
            reason=row.reason,
            changed_by=row.changed_by,
            changed_by_email=emails.get(row.changed_by),
            changed_at=row.changed_at,
        )
        for row in rows[:limit]
    ]
    return SettingHistory(name=name, items=items, next=items[-1].version if len(rows) > limit else None)


# ── what a change would do ───────────────────────────────────────────────────────────────────────────────────────────


def _when(name: str) -> str:
    if name in ("platform_fee_bps", "refund_failed_jobs"):
        return "It counts for leases from now on. What runs keeps the terms that its lease locked."
    if name == "welcome_credits":
        return "It counts for accounts that are opened from now on."
    if facts_of(name).group is SettingGroup.LIMITS:
        return "It counts at once, for renters without limits of their own. What runs goes on."
    if name.startswith("storage_limit"):
        return "It counts at once, for accounts without limits of their own. Nothing that is stored is deleted."
    return "It counts at once."


def _examples(session: Session, engine: Engine, name: str, after: Settings) -> list[PreviewLine]:
    before, now = engine.context.settings, engine.context.now()
    if name == "platform_fee_bps":
        return _fee_examples(engine.book.tables.rates.base_micros, before, after)
    if name in ("storage_limit_bytes", "storage_limit_objects"):
        counts = [str(len(list_exceeding(session, now, quotas_of(settings)))) for settings in (before, after)]
        return [PreviewLine(label="Accounts above their limits", before=counts[0], after=counts[1])]
    if name in ("storage_price", "storage_free_bytes"):
        costs = []
        for settings in (before, after):
            price = price_of(settings)
            costs.append(spell_credits(price.cost_of_day(EXAMPLE_BYTES) if price is not None else 0))
        return [PreviewLine(label="A day of 100 GB", before=costs[0], after=costs[1])]
    return []


EXAMPLE_BYTES = 100 * 1024**3


def _fee_examples(hour_micros: int, before: Settings, after: Settings) -> list[PreviewLine]:
    """An hour at the base rate. The renter pays the same: the fee is a share of the price."""
    fees = [fee_of(hour_micros, settings.platform_fee_bps) for settings in (before, after)]
    price = spell_credits(hour_micros)
    return [
        PreviewLine(label="A renter pays for an hour at the base rate", before=price, after=price),
        PreviewLine(label="Of that, the platform", before=spell_credits(fees[0]), after=spell_credits(fees[1])),
        PreviewLine(
            label="Of that, the host",
            before=spell_credits(hour_micros - fees[0]),
            after=spell_credits(hour_micros - fees[1]),
        ),
    ]
