"""Settings that an admin changes while the hub runs. Environment variables are the defaults.

`Context.settings` holds what is in force: code reads it where it uses it and keeps no copy. A change is a row with who,
when and why; the newest row of a name counts, and all are kept. What a lease locked (`jobs.terms`) stays as it was.

What is not here is set by the environment alone: secrets, addresses, what is read once at the start, and how long
things are kept, since a wrong figure there deletes what nobody can bring back.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.admin.tables import SettingChange
from computepool.hub.core.errors import Conflict, Invalid, NotFound
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.records import ADMIN_TOPIC, record
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import HubFact
from computepool.hub.core.variables import PREFIX
from computepool.protocol.errors import FieldError
from computepool.protocol.problem_words import words_for

LOCK = "settings_lock"
"""The hub fact that is locked while a setting is changed."""
Value = int | float | str | bool | None
Type = Literal["integer", "number", "decimal", "boolean", "choice"]


class SettingGroup(StrEnum):
    ACCOUNTS = "accounts"
    PRICES = "prices"
    CASH_OUTS = "cash_outs"
    LIMITS = "limits"
    VERIFICATION = "verification"
    STORAGE = "storage"


_G = SettingGroup
GROUPS: Mapping[str, SettingGroup] = {
    "registration": _G.ACCOUNTS,
    "welcome_credits": _G.ACCOUNTS,
    "platform_fee_bps": _G.PRICES,
    "refund_failed_jobs": _G.PRICES,
    "cash_out_min": _G.CASH_OUTS,
    "cash_out_hold_back_days": _G.CASH_OUTS,
    "dispute_days": _G.CASH_OUTS,
    "limit_slices": _G.LIMITS,
    "limit_queued_slices": _G.LIMITS,
    "limit_queued_bytes": _G.LIMITS,
    "limit_credits_per_hour": _G.LIMITS,
    "limit_credits_per_day": _G.LIMITS,
    "limit_credits_per_month": _G.LIMITS,
    "canary_rate_per_day": _G.VERIFICATION,
    "check_credits_per_day": _G.VERIFICATION,
    "ban_after_wrong_results": _G.VERIFICATION,
    "confirm_findings": _G.VERIFICATION,
    "unproven_slices": _G.VERIFICATION,
    "upload_limit_bytes": _G.STORAGE,
    "storage_limit_bytes": _G.STORAGE,
    "storage_limit_objects": _G.STORAGE,
    "storage_limit_bytes_per_day": _G.STORAGE,
    "storage_price": _G.STORAGE,
    "storage_free_bytes": _G.STORAGE,
    "storage_grace_days": _G.STORAGE,
}
"""Which settings, in the order in which they are shown."""
ABOUT_MONEY = frozenset(
    {
        *("welcome_credits", "platform_fee_bps", "refund_failed_jobs", "cash_out_min", "cash_out_hold_back_days"),
        *("dispute_days", "limit_credits_per_hour", "limit_credits_per_day", "limit_credits_per_month"),
        *("check_credits_per_day", "storage_limit_bytes_per_day", "storage_price", "storage_free_bytes"),
        "storage_grace_days",
    }
)
"""Not there where money is off."""
UNITS: Mapping[str, str] = {
    "platform_fee_bps": "hundredths of a percent",
    "welcome_credits": "credits",
    "cash_out_min": "credits",
    "check_credits_per_day": "credits",
    "storage_price": "credits per GB and day",
    "canary_rate_per_day": "jobs per node and day",
    "storage_limit_objects": "files",
    "ban_after_wrong_results": "results",
}


class NoSuchSetting(NotFound):
    code = "no_such_setting"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no setting {name[:60]!r} that can be changed here.",
            hint="See them with: computepool admin settings list. Others are set by the hub's environment.",
        )


class BadSetting(Invalid):
    code = "bad_setting"


class SettingMoved(Conflict):
    code = "setting_changed"

    def __init__(self, name: str, version: int) -> None:
        super().__init__(
            f"{name} was changed meanwhile: this is version {version} now.", hint="Look at it again, and change that."
        )


@dataclass(frozen=True)
class SettingFacts:
    """What is known of a setting whatever its value."""

    name: str
    group: SettingGroup
    type: Type
    minimum: float | None
    maximum: float | None
    more_than: float | None
    """It is above this, where it has no minimum."""
    choices: tuple[str, ...]
    optional: bool
    """It can be null."""
    unit: str | None
    description: str
    about_money: bool

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


@cache
def facts_of(name: str) -> SettingFacts:
    """Raises NoSuchSetting."""
    if name not in GROUPS:
        raise NoSuchSetting(name)
    info = Settings.model_fields[name]
    kinds = [kind for kind in get_args(info.annotation) or (info.annotation,) if kind is not NoneType]
    choices = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    bounds = {type(one): one for one in info.metadata}

    def bound(kind: type, attribute: str) -> float | None:
        found = bounds.get(kind)
        return None if found is None else getattr(found, attribute)

    return SettingFacts(
        name=name,
        group=GROUPS[name],
        type="choice" if choices else _type_of(kinds[0]),
        minimum=bound(Ge, "ge"),
        maximum=bound(Le, "le"),
        more_than=bound(Gt, "gt"),
        choices=tuple(choices),
        optional=NoneType in get_args(info.annotation),
        unit=_unit_of(name),
        description=info.description or "",
        about_money=name in ABOUT_MONEY,
    )


def _type_of(kind: Any) -> Type:
    if kind is bool:
        return "boolean"
    return "integer" if kind is int else "decimal" if kind is Decimal else "number"


def _unit_of(name: str) -> str | None:
    if name in UNITS:
        return UNITS[name]
    for ending in ("bytes", "days", "slices"):
        if name.endswith(ending):
            return ending
    return "bytes" if "bytes" in name else "credits" if "credits" in name else None


def names_for(settings: Settings) -> list[str]:
    """Those that this pool has."""
    return [name for name in GROUPS if settings.money == "on" or name not in ABOUT_MONEY]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def _model() -> type[BaseModel]:
    """Only the settings that can be changed, with the bounds that the environment has to keep."""
    fields: dict[str, Any] = {
        name: (Annotated[info.annotation, info], ...)
        for name, info in ((name, Settings.model_fields[name]) for name in GROUPS)
    }
    return create_model("ChangeableSettings", __config__=ConfigDict(extra="forbid"), **fields)


def read_value(settings: Settings, name: str, value: Value) -> Settings:
    """The settings with this value in place of the one in force. Raises BadSetting, NoSuchSetting."""
    facts = facts_of(name)
    if isinstance(value, bool) != (facts.type == "boolean"):
        raise _bad(name, "expected true or false" if facts.type == "boolean" else "expected another kind of value")
    values = {known: getattr(settings, known) for known in GROUPS} | {name: value}
    try:
        checked = _model().model_validate(values)
    except ValidationError as error:
        raise _bad(name, words_for(error.errors(include_url=False)[0])) from None
    changed = settings.model_copy(update={name: getattr(checked, name)})
    if changed.dispute_days is not None and changed.dispute_days > changed.cash_out_hold_back_days:
        raise _bad(
            name,
            f"disputes would be open for {changed.dispute_days} days, and hosts are paid after "
            f"{changed.cash_out_hold_back_days}: dispute_days is at most cash_out_hold_back_days",
        )
    return changed


def _bad(name: str, message: str) -> BadSetting:
    return BadSetting(f"{name}: {message}.", fields=[FieldError(field="value", message=message)])


def shown(value: Any) -> Value:
    """As JSON has it: an exact decimal is text."""
    return f"{value.normalize():f}" if isinstance(value, Decimal) else value


# ── what is stored ───────────────────────────────────────────────────────────────────────────────────────────────────


def list_stored(session: Session) -> dict[str, SettingChange]:
    """The newest change of each, also where it went back to the environment's value."""
    newest = select(func.max(SettingChange.id)).group_by(SettingChange.name)
    rows = session.scalars(select(SettingChange).where(SettingChange.id.in_(newest)).limit(len(GROUPS) * 2))
    return {row.name: row for row in rows}


def in_force(defaults: Settings, stored: Iterable[SettingChange]) -> Settings:
    """The environment's, with what admins changed. A stored value that this version refuses is left out."""
    settings = defaults
    for row in sorted(stored, key=lambda row: row.id):
        if row.name in GROUPS and "value" in row.content:
            try:
                settings = read_value(settings, row.name, row.content["value"])
            except BadSetting:
                continue
    return settings


def load_in_force(session: Session, defaults: Settings) -> Settings:
    return in_force(defaults, list_stored(session).values())


def change_setting(
    session: Session,
    defaults: Settings,
    name: str,
    value: Value,
    now: datetime,
    *,
    actor: str,
    reason: str,
    expected: int | None,
    reset: bool = False,
) -> None:
    """Store it, or with `reset` go back to the environment's value.

    `expected` is the version that was looked at; None where nobody looked. Raises SettingMoved, BadSetting.
    """
    facts_of(name)
    _lock(session)
    stored = list_stored(session)
    row = stored.get(name)
    version = row.id if row is not None else 0
    if expected is not None and expected != version:
        raise SettingMoved(name, version)
    before = in_force(defaults, stored.values())
    if reset:
        after = in_force(defaults, [one for one in stored.values() if one.name != name])
        after = read_value(after, name, shown(getattr(defaults, name)))
    else:
        after = read_value(before, name, value)
    old, new = shown(getattr(before, name)), shown(getattr(after, name))
    was_stored = row is not None and "value" in row.content
    if old == new and was_stored != reset:
        return
    content: dict[str, Any] = {} if reset else {"value": new}
    change = SettingChange(
        name=name, content=content, before={"value": old}, reason=reason, changed_by=actor, changed_at=now
    )
    session.add(change)
    session.flush()
    about = {"version": change.id, "old": old, "new": new, "reset": reset, "reason": reason}
    record(session, "setting.changed", f"setting/{name}"[:40], now, actor=actor, topics=(ADMIN_TOPIC,), **about)


def _lock(session: Session) -> None:
    """Two admins change settings one after the other: some depend on each other."""
    insert_if_absent(session, HubFact, ["name"], name=LOCK, value="")
    session.get(HubFact, LOCK, with_for_update=True)


def list_changes(session: Session, name: str, before: int | None, limit: int) -> Sequence[SettingChange]:
    """The newest first."""
    query = select(SettingChange).where(SettingChange.name == name)
    if before is not None:
        query = query.where(SettingChange.id < before)
    return session.scalars(query.order_by(SettingChange.id.desc()).limit(limit)).all()
