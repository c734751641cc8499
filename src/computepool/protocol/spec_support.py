"""What a spec may say but this pool cannot do yet. Such a job is refused, never run without what it asked for.

One row for each field; the work that brings a field deletes its row.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from computepool.protocol.spec_errors import FieldProblem
from computepool.protocol.units import short_repr

if TYPE_CHECKING:
    from computepool.protocol.spec import JobSpec

_LEAVE_OUT = "leave it out"
EMAIL = "email"
"""In `notify`: a mail to the job's owner. Any other word is a webhook's name."""

Row = tuple[str, "Callable[[JobSpec], object]", str]
"""The field, whether it is asked for, and what to do instead."""

NOT_YET: tuple[Row, ...] = (
    ("secrets", lambda spec: spec.secrets, _LEAVE_OUT),
    ("publish", lambda spec: spec.publish, "leave it out, and fetch the outputs with `computepool get`"),
    ("notify", lambda spec: set(spec.notify) - {EMAIL}, "write [email]: there are no webhooks yet"),
)


def not_supported_yet(spec: "JobSpec") -> list[FieldProblem]:
    """The fields of a valid spec that this pool has to refuse."""
    refused = [(field, hint) for field, is_asked, hint in NOT_YET if is_asked(spec)]
    if not refused:
        return []
    wire = spec.to_wire()
    return [
        FieldProblem(
            field=field,
            value=short_repr(_written_at(wire, field)),
            message=f'"{field}" is not supported yet by this pool.',
            hint=hint,
        )
        for field, hint in refused
    ]


def _written_at(wire: object, field: str) -> object:
    for name in field.split("."):
        wire = wire.get(name) if isinstance(wire, dict) else None
    return wire
