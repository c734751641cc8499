"""What a fake Stripe remembers: objects by kind, what happened to them, and what moved. Not Stripe; see `server`."""

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Shape = dict[str, Any]
FEE_PERCENT = 3


class Refusal(Exception):
    """An answer with an error in it."""

    def __init__(self, status: int, kind: str, message: str, *, code: str | None = None, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"type": kind, "message": message, "code": code, **more}}


def invalid(message: str, code: str | None = None, status: int = 400) -> Refusal:
    return Refusal(status, "invalid_request_error", message, code=code)


@dataclass
class World:
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    objects: dict[str, dict[str, Shape]] = field(default_factory=dict)
    """By kind, then by id, in the order in which they were made."""
    events: list[Shape] = field(default_factory=list)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def at(self) -> int:
        return int(self.now().timestamp())

    def new(self, kind: str, prefix: str, **fields: Any) -> Shape:
        name = f"{prefix}_fake{next(self.numbers):06}"
        shape = {"id": name, "object": kind, "created": self.at(), "livemode": False, **fields}
        self.objects.setdefault(kind, {})[name] = shape
        return shape

    def all(self, kind: str) -> list[Shape]:
        return list(self.objects.get(kind, {}).values())

    def get(self, kind: str, name: str) -> Shape:
        found = self.objects.get(kind, {}).get(name)
        if found is None:
            raise invalid(f"No such {kind}: '{name}'", "resource_missing", 404)
        return found

    def any(self, name: str) -> Shape | None:
        """By its id alone, for what refers to it."""
        return next((kind[name] for kind in self.objects.values() if name in kind), None)

    def tell(self, kind: str, shape: Shape, *, account: str | None = None) -> Shape:
        """An event, with a picture of the object as it is at this moment."""
        event = {
            "id": f"evt_fake{next(self.numbers):06}",
            "object": "event",
            "type": kind,
            "created": self.at(),
            "livemode": False,
            "api_version": "fake",
            "data": {"object": copy.deepcopy(shape)},
        }
        if account is not None:
            event["account"] = account
        self.events.append(event)
        return event

    def move(self, kind: str, source: Shape, amount: int) -> Shape:
        """A line of the balance: less than zero leaves it."""
        fee = amount * FEE_PERCENT // 100 if kind == "charge" else 0
        return self.new(
            "balance_transaction",
            "txn",
            type=kind,
            amount=amount,
            currency=source["currency"],
            fee=fee,
            net=amount - fee,
            source=source["id"],
        )

    @property
    def balance(self) -> int:
        return sum(line["net"] for line in self.all("balance_transaction"))

    def add_funds(self, amount: int, currency: str = "inr") -> None:
        """Money that is there for another reason: no line that anybody would look for."""
        topup = self.new("topup", "tu", amount=amount, currency=currency)
        self.move("topup", topup, amount)
