"""Vouchers: a code adds promotional credit to the account that redeems it. Only a keyed digest of it is kept."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, String, and_, not_, or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.accounts.tokens import random_text
from computepool.hub.core.errors import Conflict, Invalid, NotFound
from computepool.hub.core.ids import RandomBits
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.paging import read_list
from computepool.hub.core.records import record
from computepool.hub.core.secrets import decrypt, derive_key, encrypt
from computepool.hub.core.tables import Base, HubFact, Id
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import post
from computepool.hub.payments.tables import WORDS_LIMIT

ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Without what is taken for something else when it is read aloud."""
CODE_LENGTH = 16
LEAST_LENGTH = 8
"""Of a code that an operator thinks up: shorter ones are guessed."""
MOST_LENGTH = 60
PURPOSE = "vouchers"
EARLIER_KEYS = "voucher_keys"
"""The fact that holds the keys of digests from before the secret was rotated: a JSON list, each sealed."""


class VoucherRow(Base):
    __tablename__ = "vouchers"
    __table_args__ = (
        CheckConstraint("micros > 0", name="gives_something"),
        CheckConstraint("used BETWEEN 0 AND uses", name="used_as_often_as_allowed"),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    micros: Mapped[int] = mapped_column(BigInteger)
    uses: Mapped[int]
    """How many people may redeem it."""
    used: Mapped[int]
    expires_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]
    note: Mapped[str] = mapped_column(String(WORDS_LIMIT))
    created_by: Mapped[str] = mapped_column(Id)
    created_at: Mapped[datetime]


class RedemptionRow(Base):
    __tablename__ = "voucher_redemptions"

    voucher_id: Mapped[str] = mapped_column(ForeignKey("vouchers.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), primary_key=True)
    redeemed_at: Mapped[datetime]


class NoVoucher(NotFound):
    code = "no_such_voucher"

    def __init__(self) -> None:
        super().__init__("There is no such voucher.", hint="Check that you typed the code exactly as you got it.")


class VoucherOver(Conflict):
    code = "voucher_over"


class CodeTaken(Conflict):
    code = "code_taken"

    def __init__(self) -> None:
        super().__init__("Another voucher has this code.", hint="Choose another code, or let the hub make one.")


def new_code(randbits: RandomBits) -> str:
    """`7QXM-2D9K-…`: more of them than anybody could try."""
    text = random_text(randbits, CODE_LENGTH, ALPHABET)
    return "-".join(text[start : start + 4] for start in range(0, CODE_LENGTH, 4))


def read_code(typed: str) -> str:
    """Capitals, and without what people put in between."""
    code = "".join(char for char in typed if char.isalnum())
    if not LEAST_LENGTH <= len(code) <= MOST_LENGTH or not code.isascii():
        raise Invalid(
            f"A voucher's code has {LEAST_LENGTH} to {MOST_LENGTH} letters and digits.", hint="Such as SPRING-2027-LAB."
        )
    return code.upper()


def digests_of_code(session: Session, secret_key: bytes, typed: str) -> list[str]:
    """The digest that a new voucher gets; then those that vouchers from before a rotation of the secret may have.

    Whoever reads the database can neither redeem a voucher nor try out codes against it.
    """
    code = read_code(typed).encode()
    keys = [derive_key(secret_key, PURPOSE), *_earlier_keys(session, secret_key)]
    return [hmac.new(key, code, hashlib.sha256).hexdigest() for key in keys]


def reseal_voucher_keys(session: Session, old: bytes, new: bytes, now: datetime) -> None:
    """The codes are not kept, so their digests cannot be made anew. Their keys stay while a voucher can be redeemed."""
    row = VoucherRow
    is_open = (row.used < row.uses) & row.withdrawn_at.is_(None) & (row.expires_at.is_(None) | (row.expires_at > now))
    keys = [derive_key(old, PURPOSE), *_earlier_keys(session, old)]
    kept = keys if session.scalar(select(row.id).where(is_open).limit(1)) is not None else []
    sealed = [base64.b64encode(encrypt(new, PURPOSE, key, bound_to=EARLIER_KEYS)).decode() for key in kept]
    session.merge(HubFact(name=EARLIER_KEYS, value=json.dumps(sealed)))


def _earlier_keys(session: Session, secret_key: bytes) -> list[bytes]:
    fact = session.get(HubFact, EARLIER_KEYS)
    sealed = json.loads(fact.value) if fact is not None else []
    return [decrypt(secret_key, PURPOSE, base64.b64decode(text), bound_to=EARLIER_KEYS) for text in sealed]


def make_voucher(
    session: Session,
    voucher_id: str,
    digests: Sequence[str],
    micros: int,
    uses: int,
    expires_at: datetime | None,
    note: str,
    actor: str,
    now: datetime,
) -> VoucherRow:
    if session.scalar(select(VoucherRow.id).where(VoucherRow.digest.in_(digests[1:])).limit(1)) is not None:
        raise CodeTaken
    is_new = insert_if_absent(
        session,
        VoucherRow,
        ["digest"],
        id=voucher_id,
        digest=digests[0],
        micros=micros,
        uses=uses,
        used=0,
        expires_at=expires_at,
        withdrawn_at=None,
        note=note,
        created_by=actor,
        created_at=now,
    )
    if not is_new:
        raise CodeTaken
    record(session, "voucher.made", voucher_id, now, actor=actor, micros=micros, uses=uses, note=note)
    return session.get_one(VoucherRow, voucher_id)


def redeem(session: Session, digests: Sequence[str], user_id: str, now: datetime) -> VoucherRow:
    """Each user once, and as many users as it is for."""
    voucher = session.scalars(select(VoucherRow).where(VoucherRow.digest.in_(digests))).one_or_none()
    if voucher is None:
        raise NoVoucher
    if voucher.withdrawn_at is not None or (voucher.expires_at is not None and voucher.expires_at <= now):
        raise VoucherOver("This voucher has expired.")
    is_new = insert_if_absent(
        session,
        RedemptionRow,
        ["voucher_id", "user_id"],
        voucher_id=voucher.id,
        user_id=user_id,
        redeemed_at=now,
    )
    if not is_new:
        raise VoucherOver("You have redeemed this voucher already.", hint="Each user can redeem a voucher once.")
    taken = (
        update(VoucherRow)
        .where(VoucherRow.id == voucher.id, VoucherRow.used < VoucherRow.uses, VoucherRow.withdrawn_at.is_(None))
        .values(used=VoucherRow.used + 1)
        .returning(VoucherRow.id)
    )
    if session.execute(taken).first() is None:
        raise VoucherOver("This voucher has no uses left.")
    posting = Posting(platform(Platform.SUBSIDY), account(user_id, Kind.PROMOTIONAL), voucher.micros)
    details = {"voucher": voucher.id}
    post(session, Entry(f"voucher/{voucher.id}/{user_id}", "voucher", (posting,), details=details), now)
    topics = (f"wallet/{user_id}",)
    record(session, "voucher.redeemed", voucher.id, now, actor=user_id, topics=topics, micros=voucher.micros)
    return voucher


def withdraw_voucher(session: Session, voucher_id: str, actor: str, now: datetime) -> VoucherRow:
    """Nobody can redeem it any more; who has keeps what they got."""
    row = session.get(VoucherRow, voucher_id, with_for_update=True)
    if row is None:
        raise NoVoucher
    if row.withdrawn_at is None:
        row.withdrawn_at = now
        record(session, "voucher.withdrawn", voucher_id, now, actor=actor)
    return row


def list_redemptions(
    session: Session, voucher_id: str, cursor: str | None, limit: int
) -> tuple[list[RedemptionRow], str | None, int | None]:
    """Who redeemed it, the newest first; the cursor of the next page, and how many in all. Raises NoVoucher."""
    if session.get(VoucherRow, voucher_id) is None:
        raise NoVoucher
    row = RedemptionRow
    query = select(row).where(row.voucher_id == voucher_id)
    return read_list(session, query, [row.redeemed_at, row.user_id], cursor, limit, "-redeemed_at")


def list_vouchers(
    session: Session, usable: bool | None, order: str, cursor: str | None, limit: int, now: datetime
) -> tuple[list[VoucherRow], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all. `usable`: whether somebody can redeem it."""
    row, query = VoucherRow, select(VoucherRow)
    if usable is not None:
        is_open = and_(
            row.withdrawn_at.is_(None), row.used < row.uses, or_(row.expires_at.is_(None), row.expires_at > now)
        )
        query = query.where(is_open if usable else not_(is_open))
    return read_list(session, query, [row.id], cursor, limit, order)
