"""The fake's messages: really signed, sent twice if need be, and in whatever order."""

import hashlib
import hmac
import json
import random
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any

SECRET = "whsec_fake"
Deliver = Callable[[bytes, dict[str, str]], Awaitable[Any]]
"""Posts a body with headers to the hub."""


def signed(event: dict[str, Any], at: datetime, secret: str = SECRET) -> tuple[bytes, dict[str, str]]:
    body = json.dumps(event).encode()
    seconds = str(int(at.timestamp()))
    mark = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return body, {"Stripe-Signature": f"t={seconds},v1={mark}", "Content-Type": "application/json"}


async def deliver(events: Iterable[dict[str, Any]], at: datetime, to: Deliver) -> None:
    for event in events:
        await to(*signed(event, at))


def twice_and_shuffled(events: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    order = [*events, *events]
    chance.shuffle(order)
    return order
