"""Disputes about jobs, and what operators see of the pool."""

import secrets
from typing import TYPE_CHECKING, Any

from computepool.client.cash_outs import one_name

if TYPE_CHECKING:
    from computepool.client.http import Http


class Disputes:
    """Everything here is as the hub tells it; money is in micro-credits."""

    def __init__(self, http: "Http") -> None:
        self._http = http

    def open(self, job_id: str, reason: str, *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Say that a finished job was not worth what it cost."""
        path, key = f"/jobs/{one_name(job_id, 'job')}/dispute", idempotency_key or secrets.token_hex(16)
        return dict(self._http.post(path, {"reason": reason}, idempotency_key=key))

    def own(self) -> list[dict[str, Any]]:
        """One's own, newest first."""
        return [*self._http.get("/disputes")["items"]]

    # ── for operators ────────────────────────────────────────────────────────────────────────────────────────────────

    def list_all(self, state: str | None = None, limit: int = 500) -> list[dict[str, Any]]:
        return [*self._http.get("/admin/disputes", {"state": state, "limit": limit})["items"]]

    def show(self, dispute_id: str) -> dict[str, Any]:
        """With all that it takes to decide: jobs, attempts, receipts, logs, and what is known of the nodes."""
        return dict(self._http.get(f"/admin/disputes/{one_name(dispute_id, 'dispute')}"))

    def resolve(self, dispute_id: str, outcome: str, note: str, credits: str | None = None) -> dict[str, Any]:
        """`full`, `partial` with so many credits, or `none`."""
        body = {"outcome": outcome, "note": note} | ({"credits": credits} if credits is not None else {})
        return dict(self._http.post(f"/admin/disputes/{one_name(dispute_id, 'dispute')}/resolve", body))

    def report(self, since: str | None = None, until: str | None = None) -> dict[str, Any]:
        """By day of UTC, such as 2026-11-01; `until` is not included."""
        return dict(self._http.get("/admin/reports", {"since": since, "until": until}))
