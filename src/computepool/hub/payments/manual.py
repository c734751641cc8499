"""No processor: an operator takes and pays the money elsewhere, and tells the hub."""

from collections.abc import Iterator
from datetime import datetime

from computepool.hub.payments.provider import Fact, Movement, NoSuchObject, Refused, Request, Subject

BY_HAND = "manual"
HOW_TO_TOP_UP = (
    "This pool takes no card payments. Ask its operator for credits; they run "
    "`computepool admin grant {who} {credits} --note WHY`."
)
HOW_TO_BE_PAID = "This pool pays hosts by hand. Request a cash-out, and its operator will contact you."


class Manual:
    name = BY_HAND
    moves_money = False

    def perform(self, request: Request) -> Fact:
        raise Refused(HOW_TO_BE_PAID)

    def find(self, request: Request) -> Fact | None:
        return None

    def look(self, subject: Subject) -> Fact:
        raise NoSuchObject

    def onboarding_url(self, account_id: str, return_url: str) -> str:
        raise Refused(HOW_TO_BE_PAID)

    def list_movements(self, since: datetime, until: datetime) -> Iterator[Movement]:
        return iter(())

    def probe(self) -> str:
        return "none: credits are granted and hosts paid by hand"

    def close(self) -> None:
        """There is nothing to close."""
