"""The market of the fake hub: it answers what a test says, and keeps what it was asked."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from computepool.hub.jobs.spec_check import check_text

CREDIT = 1_000_000
GIB = 1024**3


def offer(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "node_id": f"node_{number:026}",
        "gpus": ["rtx-4090"],
        "gpus_free": 1,
        "gpu_memory_bytes": 24 * GIB,
        "cpus": 8,
        "memory_bytes": 32 * GIB,
        "disk_bytes": 100 * GIB,
        "country": "IN",
        "region": "IN",
        "tags": [],
        "isolation": "container",
        "tier": 3.0,
        "tier_basis": "card",
        "price_micros": 21 * CREDIT,
        "per": "gpu",
        "core_price_micros": 700_000,
        "reliability": 0.91,
        "reliability_mean": 0.95,
        "verified": False,
        "simulated": False,
        **changes,
    }


def earned(gross: int, power: int | None = None) -> dict[str, Any]:
    fee = gross // 5
    return {
        "gross_micros": gross,
        "fee_micros": fee,
        "power_micros": power,
        "net_micros": gross - fee - (power or 0),
    }


def earnings(**changes: Any) -> dict[str, Any]:
    return {
        "gpu": "rtx-4090",
        "listed": True,
        "tier": 3.0,
        "country": "IN",
        "region": "IN",
        "region_factor": 0.7,
        "spot": 1.1,
        "price_micros": 23_100_000,
        "fee_bps": 2000,
        "utilisation": None,
        "utilisation_basis": "no data",
        "utilisation_points": 0,
        "power_watts": 450,
        "tariff_micros": None,
        "per_day": None,
        "per_month": None,
        "full_day": earned(554_400_000),
        **changes,
    }


def quote(**changes: Any) -> dict[str, Any]:
    return {
        "price_micros": 30 * CREDIT,
        "own": False,
        "elsewhere_micros": 30 * CREDIT,
        "ceiling_micros": 38 * CREDIT,
        "ceiling_basis": "quote",
        "slices": 1,
        "max_runtime_seconds": 3600,
        "now_micros": 30 * CREDIT,
        "at_most_micros": 38 * CREDIT,
        "nodes_total": 1,
        "feasible": 1,
        "free_now": 1,
        "gates": [],
        "nodes": [],
        "summary": "1 node could begin it now.",
        "relaxations": [],
        "suggestions": [],
        "begin": {"allowed": True, "code": "ok", "reason": None},
        "start": "Now: 1 node is free.",
        "slices_now": 1,
        "cost": [{"code": "all_now", "label": "1 slice × 1h at current prices", "micros": 30 * CREDIT}],
        "input_bytes": 0,
        "actions": {"submit": {"allowed": True, "reason": None}},
        **changes,
    }


class FakeMarket:
    def __init__(self) -> None:
        self.offers: list[dict[str, Any]] = []
        self.simulated = 0
        self.refusal: dict[str, Any] | None = None
        self.earnings: list[dict[str, Any]] = [earnings()]
        self.quote: dict[str, Any] | None = None
        self.tables: dict[str, dict[str, Any]] = {
            "tiers": {"cards": {"rtx-4090": 3000, "gtx-1660": 1300}, "cpu_millis": 800},
            "regions": {"items": [{"name": "IN", "countries": ["IN"], "factor_millis": 700}]},
            "rates": {
                "base_micros": 10 * CREDIT,
                "spot_least_millis": 500,
                "spot_most_millis": 2000,
                "preemptible_percent": 70,
            },
        }
        self.notices: list[str] = []
        self.asked: list[dict[str, Any]] = []
        """Queries and bodies, in order."""
        self._version = 0
        self.limits: dict[str, dict[str, int | None]] = {}
        """What was set, by owner."""
        self.used = {"running_slices": 0, "running_hourly_micros": 0, "spent_today_micros": 0}

    def routes(self, api: str) -> list[Route]:
        return [
            Route(f"{api}/market/offers", self._offers),
            Route(f"{api}/market/earnings", self._earnings),
            Route(f"{api}/market/quote", self._quote, methods=["POST"]),
            Route(f"{api}/jobs/check", self._check, methods=["POST"]),
            Route(f"{api}/admin/limits/{{owner}}", self._limits, methods=["GET", "PUT"]),
            Route(f"{api}/admin/market/regions/import", self._import, methods=["POST"]),
            Route(f"{api}/admin/market/{{name}}", self._table, methods=["GET", "PUT"]),
        ]

    async def _offers(self, request: Request) -> Response:
        self.asked.append(dict(request.query_params))
        if self.refusal is not None:
            return JSONResponse({"error": self.refusal}, 422)
        start, limit = int(request.query_params.get("cursor", 0)), int(request.query_params["limit"])
        after = str(start + limit) if start + limit < len(self.offers) else None
        page = {"items": self.offers[start : start + limit], "next": after}
        return JSONResponse({**page, "total": len(self.offers), "simulated": self.simulated})

    async def _earnings(self, request: Request) -> Response:
        self.asked.append(dict(request.query_params))
        return JSONResponse({"items": self.earnings})

    async def _quote(self, request: Request) -> Response:
        self.asked.append(await request.json())
        if self.quote is None:
            return JSONResponse({"error": {"code": "not_found", "message": "There is nothing here."}}, 404)
        return JSONResponse(self.quote)

    async def _check(self, request: Request) -> Response:
        checked = check_text(await request.body(), request.headers["content-type"], (), money=True)
        return JSONResponse(checked.model_dump(mode="json"))

    async def _import(self, request: Request) -> Response:
        self.asked.append(await request.json())
        if self.refusal is not None:
            return JSONResponse({"error": self.refusal}, 422)
        self._version += 1
        return JSONResponse(self._view("regions"))

    async def _table(self, request: Request) -> Response:
        name = request.path_params["name"]
        if request.method == "PUT":
            body = await request.json()
            self.asked.append(body)
            self.tables[name] = body["value"]
            self._version += 1
        return JSONResponse(self._view(name))

    async def _limits(self, request: Request) -> Response:
        owner = request.path_params["owner"]
        if not owner.startswith("user_"):
            return JSONResponse({"error": {"code": "not_found", "message": f"There is no user or team {owner}."}}, 404)
        if request.method == "PUT":
            self.limits[owner] = await request.json()
        known = ("slices", "hourly_micros", "daily_micros", "monthly_micros")
        limits = {name: self.limits.get(owner, {}).get(name) for name in known}
        return JSONResponse({"owner_id": owner, **limits, **self.used, "spent_this_month_micros": 12_500_000})

    def _view(self, name: str) -> dict[str, Any]:
        history = []
        if self._version:
            made = {"version": self._version, "changed_by": "user_ada", "changed_at": "2026-01-02T03:04:05Z"}
            history.append({**made, "value": self.tables[name]})
        return {
            "name": name,
            "version": self._version,
            "value": self.tables[name],
            "history": history,
            "notices": self.notices,
        }
