"""The market of a pool: what is offered, what a job would cost, what a card would earn."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from computepool.client.http import Http
    from computepool.protocol.spec import JobSpec

PAGE_LIMIT = 200


class Market:
    """Everything here is as the hub tells it; money is in micro-credits."""

    def __init__(self, http: "Http") -> None:
        self._http = http

    def offers(
        self, filter: str = "", *, order: str | None = None, limit: int = 50
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Up to `limit` offers that pass the filter, such as `gpu=rtx-4090 price<40`; and the last page's own facts."""
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            size = min(limit - len(items), PAGE_LIMIT)
            query = {"filter": filter or None, "order": order, "limit": size, "cursor": cursor}
            page = dict(self._http.get("/market/offers", query))
            items += page["items"][:size]
            cursor = page.get("next")
            if cursor is None or len(items) >= limit:
                return items, page

    def check(self, spec: "Mapping[str, object]") -> dict[str, Any]:
        """What the pool makes of a spec as somebody wrote it: canonical form, defaults, warnings, errors."""
        return dict(self._http.post("/jobs/check", spec, repeatable=True))

    def quote(self, spec: "Mapping[str, object] | JobSpec", *, signed_by: str | None = None) -> dict[str, Any]:
        """What the job would cost now and at most, and where. `signed_by`: the id of the key that will sign it."""
        from computepool.protocol.spec import JobSpec, parse_spec

        parsed = spec if isinstance(spec, JobSpec) else parse_spec(spec)
        query = {"signed_by": signed_by}
        return dict(self._http.post("/market/quote", parsed.to_wire(), params=query, repeatable=True))

    def prices(
        self, *, history: str | None = None, tier: str | None = None, region: str | None = None
    ) -> dict[str, Any]:
        return dict(self._http.get("/market/prices", {"history": history, "tier": tier, "region": region}))

    def earnings(self, **asked: object) -> list[dict[str, Any]]:
        """`gpu`, `country`, `power_watts`, `tariff`, `utilisation`; each may be left out."""
        return list(self._http.get("/market/earnings", asked)["items"])

    # ── for operators ────────────────────────────────────────────────────────────────────────────────────────────────

    def table(self, name: str) -> dict[str, Any]:
        """`tiers`, `regions` or `rates`, with its history."""
        return dict(self._http.get(f"/admin/market/{name}"))

    def import_regions(self, text: str, *, replace: bool = False) -> dict[str, Any]:
        """From lines of `country,factor`, or `country,factor,region`."""
        body = {"csv": text, "replace": replace}
        return dict(self._http.post("/admin/market/regions/import", body))

    def change_table(self, name: str, value: Mapping[str, object], version: int | None = None) -> dict[str, Any]:
        body = {"value": dict(value), "version": version}
        return dict(self._http.request("PUT", f"/admin/market/{name}", json=body, retry="unsent").json())
