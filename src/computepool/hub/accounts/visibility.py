"""Who may see what: the one place that every feature asks."""

from typing import Any

from sqlalchemy import ColumnElement, true
from sqlalchemy.orm import InstrumentedAttribute

from computepool.hub.core.http import Principal


def owned_by(principal: Principal, owner_column: InstrumentedAttribute[Any]) -> ColumnElement[bool]:
    """The condition for rows that the route may show or change: those of owners that grant the caller its scope (the
    caller, and teams); an admin's are all.

    Put it into the query, and answer "not found" for what it leaves out: whether it exists is not the caller's affair.
    """
    if principal.is_admin:
        return true()
    if len(principal.owner_ids) == 1:
        (owner_id,) = principal.owner_ids
        return owner_column == owner_id
    return owner_column.in_(sorted(principal.owner_ids))


def sees(principal: Principal, owner_id: str) -> bool:
    """The same rule for a row that is already in hand. Raises RoleTooLow where a member of its team may only read."""
    return principal.is_admin or principal.owns(owner_id)
