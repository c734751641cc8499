"""Pools without money (COMPUTEPOOL_MONEY=off): what is about money is not there, and nothing else says a word of it.

A feature is about money as a whole, and has `money_routes`; or it shows an amount here and there, and has
`priced_routes` with fields that are marked:

    class JobView(BaseModel):
        ceiling_micros: Micros
        price: Annotated[Price | None, MONEY]
"""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from computepool.hub.core.errors import NotFound
from computepool.hub.core.http import Authenticate, Routes
from computepool.hub.core.settings import Settings

MARK = "x-money"
MONEY = Field(json_schema_extra={MARK: True})
"""Marks a field that is null where money is off."""
Micros = Annotated[int | None, MONEY]

T = TypeVar("T")


class MoneyOff(NotFound):
    """Asked for money where there is none."""

    code = "money_off"

    def __init__(self) -> None:
        super().__init__(
            "This pool works without money: nothing is priced, held or paid.",
            hint="Its operator decides that, with COMPUTEPOOL_MONEY.",
        )


def need_money(settings: Settings) -> None:
    """Raise MoneyOff where the operator has switched money off."""
    if settings.money == "off":
        raise MoneyOff


def money_routes(authenticate: Authenticate, settings: Settings, tags: list[str]) -> Routes:
    """Routes that all answer MoneyOff where money is off, whatever they are asked."""
    return Routes(
        authenticate, tags=tags, needs=lambda: need_money(settings), errors=[MoneyOff], extra={"x-money": True}
    )


def priced_routes(authenticate: Authenticate, settings: Settings, tags: list[str]) -> Routes:
    """Routes that work without money too. What is marked in their answers is null then."""
    return Routes(authenticate, tags=tags, finish=without_money if settings.money == "off" else None)


def without_money(answer: T) -> T:
    """The same with null in every marked field, however deep."""
    shown: Any = answer
    if isinstance(answer, BaseModel):
        told = [(name, info, getattr(answer, name)) for name, info in type(answer).model_fields.items()]
        left = {name: None if _is_marked(info) else without_money(value) for name, info, value in told}
        shown = answer.model_copy(update=left)
    elif isinstance(answer, list | tuple):
        shown = type(answer)(without_money(one) for one in answer)
    elif isinstance(answer, dict):
        shown = {key: without_money(value) for key, value in answer.items()}
    return shown  # type: ignore[no-any-return]


def _is_marked(info: FieldInfo) -> bool:
    return isinstance(info.json_schema_extra, dict) and MARK in info.json_schema_extra
