"""What features above hear of, in the transaction in which it becomes true. Each exactly once."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session


@dataclass(frozen=True)
class PayOutResult:
    cash_out_id: str
    owner_id: str
    micros: int
    state: Literal["paid", "failed"]
    object_id: str | None = None
    """The transfer, at the provider."""
    words: str = ""


@dataclass(frozen=True)
class ReversalResult:
    """Of a pay-out; `reversal_id` is None if somebody did it at the processor."""

    cash_out_id: str
    reversal_id: str | None
    owner_id: str
    micros: int
    state: Literal["done", "failed"]
    object_id: str | None = None
    words: str = ""


ChargebackState = Literal["opened", "won", "lost"]


@dataclass(frozen=True)
class Chargeback:
    """The ledger has it already: taken with `opened`, given back with `won`."""

    object_id: str
    owner_id: str
    payment_id: str
    micros: int
    reason: str
    state: ChargebackState


def _nobody(session: Session, result: object, now: datetime) -> None:
    """Nobody wants to know."""


@dataclass
class Hooks:
    on_pay_out: Callable[[Session, PayOutResult, datetime], None] = _nobody
    on_reversal: Callable[[Session, ReversalResult, datetime], None] = _nobody
    on_chargeback: Callable[[Session, Chargeback, datetime], None] = _nobody
