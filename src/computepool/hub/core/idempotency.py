"""A request that is sent again creates nothing again.

The key is claimed in the transaction that creates the object, so both are there or neither is.
"""

import hashlib
import itertools
import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ForeignKey, String, delete, select, tuple_
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.errors import Conflict
from computepool.hub.core.ids import RandomBits
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.secrets import derive_key
from computepool.hub.core.tables import Base, Id

KEPT = timedelta(hours=48)
KEY_LIMIT = 200


class IdempotencyKeyRow(Base):
    __tablename__ = "idempotency_keys"

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(KEY_LIMIT), primary_key=True)
    route: Mapped[str] = mapped_column(String(80))
    body_digest: Mapped[str] = mapped_column(String(64))
    result_id: Mapped[str] = mapped_column(Id)
    created_at: Mapped[datetime] = mapped_column(index=True)


class KeyReused(Conflict):
    code = "idempotency_mismatch"

    def __init__(self) -> None:
        super().__init__(
            "This Idempotency-Key was already used for a different request.",
            hint="Send a new key with a new request; repeat a key only with exactly the same request.",
        )


def digest_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def digest_of_fields(**fields: object) -> str:
    return digest_of(json.dumps(fields, sort_keys=True).encode())


def repeatable_bits(secret_key: bytes, route: str, key: str, result_id: str) -> RandomBits:
    """Chance for a secret that a request makes and nobody keeps: whoever repeats the request is told the same one.

    It takes the hub's own secret to foresee it, and the request's key besides, which is forgotten after two days.
    """
    draws = itertools.count()

    def randbits(bits: int) -> int:
        purpose = json.dumps(["idempotent", route, key, result_id, next(draws)])
        length = -(-bits // 8)
        return int.from_bytes(derive_key(secret_key, purpose, length)) >> (8 * length - bits)

    return randbits


def claim(
    session: Session, user_id: str, key: str, route: str, body_digest: str, result_id: str, now: datetime
) -> str | None:
    """None: the request is new, so go on and create `result_id`. Otherwise the id that it created the first time.

    Ask first of all. A twin that runs at the same moment waits here until the other has committed or failed.
    """
    is_new = insert_if_absent(
        session,
        IdempotencyKeyRow,
        ["user_id", "key"],
        user_id=user_id,
        key=key,
        route=route,
        body_digest=body_digest,
        result_id=result_id,
        created_at=now,
    )
    if is_new:
        return None
    known = IdempotencyKeyRow
    earlier = session.execute(
        select(known.route, known.body_digest, known.result_id).where(known.user_id == user_id, known.key == key)
    ).one()
    if (earlier.route, earlier.body_digest) != (route, body_digest):
        raise KeyReused
    result: str = earlier.result_id
    return result


def forget_keys_of(session: Session, routes: Sequence[str]) -> None:
    """Whoever repeats a request to these routes makes something new."""
    session.execute(delete(IdempotencyKeyRow).where(IdempotencyKeyRow.route.in_(routes)))


def prune_idempotency_keys(session: Session, now: datetime, limit: int) -> int:
    """Forget keys that nobody retries any more; how many."""
    row = IdempotencyKeyRow
    old = select(row.user_id, row.key).where(row.created_at < now - KEPT).limit(limit)
    gone = session.execute(delete(row).where(tuple_(row.user_id, row.key).in_(old)).returning(row.key))
    return len(gone.all())
