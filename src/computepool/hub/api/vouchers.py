"""Vouchers: operators make them, people redeem them."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.orm import Session

from computepool.hub.accounts.errors import TooManyTries
from computepool.hub.accounts.repository import emails_of
from computepool.hub.accounts.throttle import Limit, Throttle
from computepool.hub.api.payment_views import Asking, Credits, Remark
from computepool.hub.core.actions import ALLOWED, ActionView, refused
from computepool.hub.core.context import Context
from computepool.hub.core.http import ActingFor, Caller, IdempotencyKey, Principal, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields, repeatable_bits
from computepool.hub.core.money import money_routes
from computepool.hub.core.paging import ByCreation, Cursor
from computepool.hub.core.texts import STORABLE
from computepool.hub.engine import Engine
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.journal import balance
from computepool.hub.payments import vouchers
from computepool.hub.payments.amounts import BadAmount, parse_amount
from computepool.hub.payments.vouchers import MOST_LENGTH, CodeTaken, NoVoucher, VoucherOver, VoucherRow
from computepool.protocol.model import Documented
from computepool.protocol.units import format_credits

ROUTE = "POST admin/vouchers"
LIST_LIMIT = 500
USES_LIMIT = 1_000_000
DAYS_LIMIT = 3650
PER_GUESSER = Limit("wrong voucher codes of this account", free=5, longest_wait_seconds=600, forgiven_every_seconds=120)


class VoucherRequest(Asking):
    credits: Credits
    uses: int = Field(default=1, ge=1, le=USES_LIMIT)
    """How many people may redeem it, each once."""
    expires_in_days: int | None = Field(default=None, ge=1, le=DAYS_LIMIT)
    code: str | None = Field(default=None, max_length=2 * MOST_LENGTH, pattern=STORABLE)
    """One that is thought up; else the hub makes one that nobody guesses."""
    note: Remark = ""


class VoucherActions(Documented):
    withdraw: ActionView
    """Let nobody redeem it any more: `POST admin/vouchers/{id}/withdraw`."""


class VoucherView(Documented):
    id: str
    credits: str
    micros: int
    uses: int
    used: int
    expires_at: datetime | None
    withdrawn_at: datetime | None
    note: str
    created_at: datetime
    actions: VoucherActions
    """What an admin may do."""


class VoucherMade(VoucherView):
    code: str
    """Shown now and never again: only a digest is kept."""


class VoucherList(Documented):
    items: list[VoucherView]
    next: str | None
    total: int | None


class RedemptionView(Documented):
    user_id: str
    email: str | None
    """Of the user."""
    redeemed_at: datetime
    """When."""


class RedemptionList(Documented):
    items: list[RedemptionView]
    next: str | None
    total: int | None


class Redeeming(Asking):
    code: str = Field(min_length=1, max_length=2 * MOST_LENGTH, pattern=STORABLE)


class Redeemed(Documented):
    credits: str
    micros: int
    promotional_micros: int
    """All that one has of the kind: spent first, and never cashed out."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = money_routes(engine.directory.authenticate, context.settings, tags=["vouchers"])
    throttle = Throttle(context.clock)

    @routes.post(
        "/wallet/vouchers",
        visible="own",
        scope=Scope.WALLET_WRITE,
        status_code=201,
        errors=[NoVoucher, VoucherOver, TooManyTries],
    )
    async def redeem(body: Redeeming, caller: Caller, owner: ActingFor) -> Redeemed:
        """Get the credits of a voucher: to be spent, never cashed out."""
        guesser = (PER_GUESSER, caller.user_id)
        throttle.begin(guesser)
        try:
            found = await context.db.run(_redeem, context, owner, body.code)
        except NoVoucher:
            raise
        except Exception:
            throttle.succeeded(guesser)  # whatever is wrong, it was no guess
            raise
        throttle.succeeded(guesser)
        return found

    @routes.post("/admin/vouchers", visible="admin", status_code=201, errors=[BadAmount, CodeTaken])
    async def make(body: VoucherRequest, caller: Caller, key: IdempotencyKey = None) -> VoucherMade:
        """Make one. Its code is told once."""
        return await context.db.run(_make, context, caller, body, key)

    @routes.get("/admin/vouchers", name="list", visible="admin")
    async def list_all(
        usable: Annotated[bool | None, Query(description="Whether somebody can redeem it now.")] = None,
        order: ByCreation = "-created_at",
        limit: Annotated[int, Query(ge=1, le=LIST_LIMIT)] = 100,
        cursor: Cursor = None,
    ) -> VoucherList:
        """All vouchers, without their codes: only digests of them are stored."""
        asked = (usable, order, cursor, limit, context.now())
        rows, after, total = await context.db.read(vouchers.list_vouchers, *asked)
        return VoucherList(items=[_view(row) for row in rows], next=after, total=total)

    @routes.get("/admin/vouchers/{voucher_id}/redemptions", visible="admin", errors=[NoVoucher])
    async def list_redemptions(
        voucher_id: str, limit: Annotated[int, Query(ge=1, le=LIST_LIMIT)] = 100, cursor: Cursor = None
    ) -> RedemptionList:
        """Who redeemed it, the newest first."""
        return await context.db.read(_redemptions, voucher_id, cursor, limit)

    @routes.post("/admin/vouchers/{voucher_id}/withdraw", visible="admin", errors=[NoVoucher])
    async def withdraw(voucher_id: str, caller: Caller) -> VoucherView:
        """Nobody can redeem it any more; who has keeps what they got."""
        return _view(await context.db.run(vouchers.withdraw_voucher, voucher_id, caller.user_id, context.now()))

    return routes.router


def _redemptions(session: Session, voucher_id: str, cursor: str | None, limit: int) -> RedemptionList:
    rows, after, total = vouchers.list_redemptions(session, voucher_id, cursor, limit)
    emails = emails_of(session, {row.user_id for row in rows})
    items = [
        RedemptionView(user_id=row.user_id, email=emails.get(row.user_id), redeemed_at=row.redeemed_at) for row in rows
    ]
    return RedemptionList(items=items, next=after, total=total)


def _redeem(session: Session, context: Context, owner_id: str, code: str) -> Redeemed:
    digests = vouchers.digests_of_code(session, context.secret_key, code)
    row = vouchers.redeem(session, digests, owner_id, context.now())
    has = balance(session, account(owner_id, Kind.PROMOTIONAL))
    return Redeemed(credits=format_credits(row.micros), micros=row.micros, promotional_micros=has)


def _make(session: Session, context: Context, caller: Principal, body: VoucherRequest, key: str | None) -> VoucherMade:
    now, micros, voucher_id = context.now(), parse_amount(body.credits), context.new_id("voucher")
    earlier, randbits = None, context.randbits
    if key is not None:
        asked = digest_of_fields(**body.model_dump(exclude={"credits"}), micros=micros)
        earlier = claim(session, caller.user_id, key, ROUTE, asked, voucher_id, now)
        voucher_id = earlier or voucher_id
        randbits = repeatable_bits(context.secret_key, ROUTE, key, voucher_id)
    code = body.code or vouchers.new_code(randbits)
    if earlier is None:
        expires_at = now + timedelta(days=body.expires_in_days) if body.expires_in_days else None
        digests = vouchers.digests_of_code(session, context.secret_key, code)
        vouchers.make_voucher(
            session, voucher_id, digests, micros, body.uses, expires_at, body.note, caller.user_id, now
        )
    return VoucherMade(**_view(session.get_one(VoucherRow, voucher_id)).model_dump(), code=code)


def _view(row: VoucherRow) -> VoucherView:
    return VoucherView(
        id=row.id,
        credits=format_credits(row.micros),
        micros=row.micros,
        uses=row.uses,
        used=row.used,
        expires_at=row.expires_at,
        withdrawn_at=row.withdrawn_at,
        note=row.note,
        created_at=row.created_at,
        actions=VoucherActions(withdraw=ALLOWED if row.withdrawn_at is None else refused("It was withdrawn before.")),
    )
