"""Who sent a webhook: Stripe signs the time and the body with a secret that only it and the hub know."""

import hashlib
import hmac
from datetime import datetime

from computepool.hub.payments.errors import BadSignature

TOLERANCE_SECONDS = 300
"""Older ones may be copies that somebody kept. What Stripe sends again, it signs again."""


def check_signature(body: bytes, header: str | None, secrets: str, now: datetime) -> None:
    """Raise BadSignature unless one of the secrets, which have commas between them, signed it just now."""
    if not header:
        raise BadSignature("The header Stripe-Signature is missing.")
    parts = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    given = [value for name, _, value in parts if name == "v1"]
    if len(times) != 1 or not times[0].isascii() or not times[0].isdigit() or len(times[0]) > 12 or not given:
        raise BadSignature("The header Stripe-Signature is not t=…,v1=….")
    signed = times[0].encode() + b"." + body
    expected = [hmac.new(one.strip().encode(), signed, hashlib.sha256).hexdigest() for one in secrets.split(",")]
    if not any(hmac.compare_digest(one.encode(), each.encode()) for one in expected for each in given):
        raise BadSignature("The signature is not Stripe's.")
    if abs(now.timestamp() - int(times[0])) > TOLERANCE_SECONDS:
        raise BadSignature("The signature is too old, or the hub's clock is wrong.")
