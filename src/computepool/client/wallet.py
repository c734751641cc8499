"""A wallet of a pool: what there is, what came and went, and why."""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from computepool.client.http import Http

PAGE_LIMIT = 500


class Wallet:
    """Everything here is as the hub tells it; money is in micro-credits. `owner_id`: a team's, instead of one's own."""

    def __init__(self, http: "Http", owner_id: str | None = None) -> None:
        self._http = http
        self._owner_id = owner_id

    def show(self) -> dict[str, Any]:
        return dict(self._http.get("/wallet", {"owner_id": self._owner_id}))

    def entries(
        self,
        *,
        kinds: Sequence[str] = (),
        job_id: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 50,
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Up to `limit` of them, the newest first, and the cursor of what comes after. `until` is not included."""
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        asked = {"kind": list(kinds), "job": job_id, "since": since, "until": until, "owner_id": self._owner_id}
        while True:
            size = min(limit - len(items), PAGE_LIMIT)
            page = self._http.get("/wallet/entries", {**asked, "limit": size, "cursor": cursor})
            items += page["items"][:size]
            cursor = page.get("next")
            if cursor is None or len(items) >= limit:
                return items, cursor

    def earnings(self, *, since: str | None = None, until: str | None = None) -> dict[str, Any]:
        """By node and day of UTC, such as 2026-11-01; the last thirty days, if not said otherwise."""
        return dict(self._http.get("/wallet/earnings", {"since": since, "until": until, "owner_id": self._owner_id}))

    def statement(self, period: str) -> dict[str, Any]:
        """A month or a year, such as `2026-11` or `2026`."""
        return dict(self._http.get(f"/wallet/statements/{quote(period, safe='')}", {"owner_id": self._owner_id}))

    def statement_file(self, period: str, format: str) -> bytes:
        """The same as `csv` or as `pdf`."""
        params = {"format": format} | ({"owner_id": self._owner_id} if self._owner_id else {})
        return self._http.request("GET", f"/wallet/statements/{quote(period, safe='')}", params=params).content

    def explain(self, job_id: str, *, view: str | None = None) -> dict[str, Any]:
        """Where every credit of the job went, with all of its attempts. `view`: `renter` or `host`."""
        path = f"/jobs/{quote(job_id, safe='')}/explain"
        whole = dict(self._http.get(path, {"view": view}))
        after = whole["next_slice"]
        while after is not None:
            page = self._http.get(path, {"view": view, "from_slice": after})
            whole["attempts"] += page["attempts"]
            after = page["next_slice"]
        whole["next_slice"] = None
        return whole

    def cost_micros(self, job_id: str) -> int:
        """What its renter paid for a job so far; nothing on one's own machines."""
        path = f"/jobs/{quote(job_id, safe='')}/explain"
        return -int(self._http.get(path, {"view": "renter", "slice_limit": 1})["change_micros"])

    # ── for operators ────────────────────────────────────────────────────────────────────────────────────────────────

    def check_ledger(self) -> dict[str, Any]:
        """Sum up everything again. `balanced` says whether it adds up."""
        return dict(self._http.get("/admin/ledger/check"))

    def grant(
        self,
        user: str,
        credits: str,
        note: str,
        *,
        promotional: bool = False,
        unless_repeated: bool = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Give credits by hand, to a user by id or e-mail. A lost answer is asked for again, and never gives twice.

        `unless_repeated`: refused where the same was given a few minutes ago.
        """
        body = {"user": user, "credits": credits, "note": note, "promotional": promotional}
        return self._by_hand("/admin/grants", body, unless_repeated, idempotency_key)

    def withdraw(
        self,
        user: str,
        credits: str,
        note: str,
        *,
        promotional: bool = False,
        unless_repeated: bool = False,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Take credits by hand."""
        body = {"user": user, "credits": credits, "note": note, "promotional": promotional}
        return self._by_hand("/admin/withdrawals", body, unless_repeated, idempotency_key)

    def write_off(
        self, user: str, note: str, *, credits: str | None = None, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        """The pool bears what somebody owes: all of it, if `credits` does not say less."""
        body = {"user": user, "credits": credits, "note": note}
        key = idempotency_key or secrets.token_hex(16)
        return dict(self._http.post("/admin/ledger/write-offs", body, idempotency_key=key))

    def _by_hand(self, path: str, body: dict[str, Any], unless_repeated: bool, key: str | None) -> dict[str, Any]:
        if unless_repeated:  # a hub that does not know it yet refuses fields that it does not know
            body |= {"unless_repeated": True}
        return dict(self._http.post(path, body, idempotency_key=key or secrets.token_hex(16)))
