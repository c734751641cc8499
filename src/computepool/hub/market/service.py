"""Changing the pool's tables: each version with who, when, and what was before."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Conflict, Invalid
from computepool.hub.core.records import record
from computepool.hub.market import repository
from computepool.hub.market.settings import KINDS, Table
from computepool.hub.market.tables import MarketSetting
from computepool.protocol.errors import FieldError
from computepool.protocol.problem_words import words_for


class BadTable(Invalid):
    code = "bad_market_table"


class TableMoved(Conflict):
    code = "market_table_changed"

    def __init__(self, name: str, version: int) -> None:
        super().__init__(
            f"The {name} were changed meanwhile: this is version {version} now.",
            hint="Look at them again, and change those.",
        )


def read_table(name: str, value: Mapping[str, Any]) -> Table:
    """Raises BadTable, with every wrong field."""
    try:
        return KINDS[name].model_validate(value)
    except ValidationError as error:
        fields = [
            FieldError(
                field=".".join(str(part) for part in one["loc"]) or name,
                message=words_for(one),
            )
            for one in error.errors(include_url=False)
        ]
        raise BadTable(f"{fields[0].field}: {fields[0].message}.", fields=fields) from None


def change_table(
    session: Session, name: str, table: Table, now: datetime, *, actor: str, expected: int | None
) -> MarketSetting:
    """`expected` is the version that the change was made from; None where nobody looked."""
    before = repository.find_setting(session, name)
    version = before.id if before is not None else 0
    if expected is not None and expected != version:
        raise TableMoved(name, version)
    value = table.model_dump(mode="json")
    old = KINDS[name].model_validate(before.value if before is not None else {}).model_dump(mode="json")
    if old == value and before is not None:
        return before
    row = MarketSetting(name=name, value=value, changed_by=actor, changed_at=now)
    session.add(row)
    session.flush()
    record(session, "market.table_changed", f"market/{name}", now, actor=actor, version=row.id, old=old, new=value)
    return row
