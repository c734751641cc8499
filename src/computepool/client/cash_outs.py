"""Earnings that become money, and vouchers."""

import secrets
from typing import TYPE_CHECKING, Any

from computepool.client.errors import ClientError

if TYPE_CHECKING:
    from computepool.client.http import Http


class CashOuts:
    """Everything here is as the hub tells it; money is in micro-credits."""

    def __init__(self, http: "Http") -> None:
        self._http = http

    def request(self, credits: str, *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Set so many earnings aside, to be paid out. A lost answer is asked for again, and never becomes two."""
        key = idempotency_key or secrets.token_hex(16)
        return dict(self._http.post("/wallet/cash-outs", {"credits": credits}, idempotency_key=key))

    def own(self) -> dict[str, Any]:
        """`items`, newest first, and `can`: what can be cashed out now, and when the rest can."""
        return dict(self._http.get("/wallet/cash-outs"))

    def redeem(self, code: str) -> dict[str, Any]:
        """The credits of a voucher."""
        return dict(self._http.post("/wallet/vouchers", {"code": code}))

    # ── for operators ────────────────────────────────────────────────────────────────────────────────────────────────

    def list_all(self, states: tuple[str, ...] = (), limit: int = 500) -> dict[str, Any]:
        return dict(self._http.get("/admin/cash-outs", {"state": [*states], "limit": limit}))

    def approve(self, cash_out_id: str, note: str = "") -> dict[str, Any]:
        return self._decide(cash_out_id, "approve", {"note": note})

    def reject(self, cash_out_id: str, note: str) -> dict[str, Any]:
        return self._decide(cash_out_id, "reject", {"note": note})

    def paid(self, cash_out_id: str, reference: str, note: str = "") -> dict[str, Any]:
        return self._decide(cash_out_id, "paid", {"reference": reference, "note": note})

    def reverse(
        self, cash_out_id: str, credits: str | None = None, *, note: str, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """The processor takes back what it paid: so much, or all that did not come back yet."""
        path = f"/admin/cash-outs/{one_name(cash_out_id, 'cash-out')}/reverse"
        key = idempotency_key or secrets.token_hex(16)
        return dict(self._http.post(path, {"credits": credits, "note": note}, idempotency_key=key))

    def vouchers(self, limit: int = 500) -> list[dict[str, Any]]:
        return [*self._http.get("/admin/vouchers", {"limit": limit})["items"]]

    def make_voucher(
        self,
        credits: str,
        *,
        uses: int = 1,
        expires_in_days: int | None = None,
        code: str | None = None,
        note: str = "",
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Its code is told here and never again."""
        body = {"credits": credits, "uses": uses, "expires_in_days": expires_in_days, "code": code, "note": note}
        key = idempotency_key or secrets.token_hex(16)
        return dict(self._http.post("/admin/vouchers", body, idempotency_key=key))

    def withdraw_voucher(self, voucher_id: str) -> dict[str, Any]:
        path = f"/admin/vouchers/{one_name(voucher_id, 'voucher')}/withdraw"
        return dict(self._http.post(path, repeatable=True))

    def _decide(self, cash_out_id: str, what: str, body: dict[str, Any]) -> dict[str, Any]:
        return dict(self._http.post(f"/admin/cash-outs/{one_name(cash_out_id, 'cash-out')}/{what}", body))


def one_name(text: str, what: str) -> str:
    """Whatever was typed is one name, and not a way to somewhere else."""
    from urllib.parse import quote

    if not text.strip(". "):
        raise ClientError(f"No {what} is named.", hint="Write its id.")
    return quote(text, safe="")
