"""The wallet of the fake hub: it answers what a test says, and keeps what it was asked."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

CREDIT = 1_000_000


def wallet(**changes: int) -> dict[str, Any]:
    pockets = ("spendable", "available", "promotional", "earnings", "held", "cashing_out", "debt")
    return {"owner_id": "user_ada", **{f"{name}_micros": changes.get(name, 0) for name in pockets}}


def entry(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"entry_{number}",
        "kind": "settle",
        "at": "2026-11-02T03:04:05Z",
        "job_id": "job_" + "1" * 26,
        "attempt_id": "attempt_1",
        "note": "",
        "change_micros": -2_500_000,
        "pockets": {"held": -36 * CREDIT, "available": 33_500_000},
        "lines": [],
        "reverses": None,
        **changes,
    }


class FakeWallet:
    def __init__(self) -> None:
        self.is_off = False
        self.wallet = wallet()
        self.provider = "stripe"
        self.least_micros = 500 * CREDIT
        self.entries: list[dict[str, Any]] = []
        self.earnings: list[dict[str, Any]] = []
        self.statement: dict[str, Any] = {}
        self.explained: dict[str, dict[str, Any]] = {}
        self.report: dict[str, Any] = {}
        self.repaid_micros = 0
        self.asked: list[dict[str, Any]] = []
        """Queries and bodies, in order."""

    def routes(self, api: str) -> list[Route]:
        return [
            Route(f"{api}/wallet", self._wallet),
            Route(f"{api}/wallet/payments", self._payments),
            Route(f"{api}/wallet/cash-outs", self._cash_outs),
            Route(f"{api}/wallet/entries", self._entries),
            Route(f"{api}/wallet/earnings", self._earnings),
            Route(f"{api}/wallet/statements/{{period}}", self._statement),
            Route(f"{api}/jobs/{{id}}/explain", self._explain),
            Route(f"{api}/admin/ledger/check", self._check),
            Route(f"{api}/admin/grants", self._by_hand, methods=["POST"]),
            Route(f"{api}/admin/withdrawals", self._by_hand, methods=["POST"]),
            Route(f"{api}/admin/ledger/write-offs", self._write_off, methods=["POST"]),
        ]

    def _answer(self, document: Any) -> Response:
        if self.is_off:
            words = {"code": "money_off", "message": "This pool works without money.", "hint": "COMPUTEPOOL_MONEY"}
            return JSONResponse({"error": words}, 404)
        return JSONResponse(document)

    async def _wallet(self, _: Request) -> Response:
        return self._answer(self.wallet)

    async def _payments(self, _: Request) -> Response:
        return self._answer({"provider": self.provider})

    async def _cash_outs(self, _: Request) -> Response:
        return self._answer({"items": [], "can": {"minimum_micros": self.least_micros}})

    async def _entries(self, request: Request) -> Response:
        query = request.query_params
        self.asked.append({**dict(query), "kind": query.getlist("kind")})
        start, limit = int(query.get("cursor", 0)), int(query["limit"])
        after = str(start + limit) if start + limit < len(self.entries) else None
        return self._answer({"items": self.entries[start : start + limit], "next": after})

    async def _earnings(self, request: Request) -> Response:
        self.asked.append(dict(request.query_params))
        total = sum(one["earned_micros"] for one in self.earnings)
        days = {"since": "2026-11-01", "until": "2026-12-01"}
        return self._answer({**days, "items": self.earnings, "earned_micros": total})

    async def _statement(self, request: Request) -> Response:
        self.asked.append({"period": request.path_params["period"], **dict(request.query_params)})
        wanted = request.query_params.get("format", "json")
        if wanted == "json":
            return self._answer(self.statement)
        return Response(f"a {wanted}".encode(), media_type="text/csv" if wanted == "csv" else "application/pdf")

    async def _explain(self, request: Request) -> Response:
        self.asked.append(dict(request.query_params))
        whole = self.explained.get(request.path_params["id"])
        if whole is None:
            return JSONResponse({"error": {"code": "no_such_job", "message": "There is no such job."}}, 404)
        first = int(request.query_params.get("from_slice", 0))
        one = [each for each in whole["attempts"] if each["slice"] == first]
        later = [each["slice"] for each in whole["attempts"] if each["slice"] > first]
        return self._answer({**whole, "attempts": one, "next_slice": min(later, default=None)})

    async def _check(self, _: Request) -> Response:
        return self._answer(self.report)

    async def _by_hand(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(
            {"path": request.url.path.rpartition("/")[2], **body, "key": request.headers["idempotency-key"]}
        )
        done = {"id": "grant_1", "owner_id": "user_bob", "email": "bob@example.org", "micros": 0}
        done |= {"credits": body["credits"]}
        pockets = {"available_micros": 0, "promotional_micros": 0, "repaid_micros": self.repaid_micros}
        return JSONResponse({**done, **pockets}, 201)

    async def _write_off(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append({**body, "key": request.headers["idempotency-key"]})
        done = {"id": "writeoff_1", "owner_id": "user_bob", "email": "bob@example.org", "micros": 80 * CREDIT}
        done |= {"credits": body["credits"] or "80"}
        return JSONResponse({**done, "filled_micros": self.repaid_micros, "debt_micros": 0}, 201)
