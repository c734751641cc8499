"""What a token costs: one route with and without authentication, in one process and in turn, for callers of no team and
of a hundred."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import FastAPI

from benchmarks.measure import Data, Options, Table, judged
from computepool.hub.accounts.directory import DirectorySnapshot, LiveToken, TokenDirectory
from computepool.hub.accounts.tokens import TokenSigner, hash_of, new_personal_token
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.http import (
    Caller,
    Membership,
    Memberships,
    Role,
    Routes,
    Scope,
    TeamRole,
    add_routes,
)
from computepool.hub.core.http_shell import install_shell
from computepool.protocol.model import Documented

TARGET = 0.7
TEAMS = 100
SECRET_KEY = b"a secret key of a hub that only lives in a benchmark"
OPEN, GUARDED = "/api/v1/figures", "/api/v1/own-figures"


class Figures(Documented):
    owners: int


def run(options: Options) -> Data:
    return asyncio.run(_measure(options))


async def _measure(options: Options) -> Data:
    app, bearers = _app()
    rounds, each = options.samples(2, 30), options.figure(20, 500)
    asked = {"without a token": (OPEN, None), **{who: (GUARDED, bearer) for who, bearer in bearers.items()}}
    for path, bearer in asked.values():
        await _ask(app, path, bearer, 20)
    seconds = dict.fromkeys(asked, float("inf"))
    for _ in range(rounds):  # in turn, and the best of each: other work on the machine only ever adds
        for who, (path, bearer) in asked.items():
            seconds[who] = min(seconds[who], await _ask(app, path, bearer, each))
    per_second = {who: round(each / spent) for who, spent in seconds.items()}
    return {"requests": rounds * each, "per_second": per_second}


def tables(data: Data) -> list[Table]:
    figures = data["per_second"]
    bare = figures["without a token"]
    rows = [
        [who, f"{figure:,}", "" if figure is bare else f"{figure / bare:.2f}×", ""] for who, figure in figures.items()
    ]
    for row, figure in list(zip(rows, figures.values(), strict=True))[1:]:
        row[3] = judged(figure / bare, TARGET, at_least=True)
    note = "One route, called in the hub's own process: a client and a network would hide the difference."
    return [Table("GETs a second of one CPU", ("caller", "a second", "ratio", "target"), rows, note)]


def _app() -> tuple[FastAPI, dict[str, str]]:
    clock, rng = SystemClock(), random.Random(1)
    signer = TokenSigner(SECRET_KEY, "hub_bench")
    directory = TokenDirectory(signer, clock)
    routes = Routes(directory.authenticate, tags=["bench"])

    @routes.get("/figures", visible="public")
    async def figures() -> Figures:
        return Figures(owners=1)

    @routes.get("/own-figures", visible="own", scope=Scope.JOBS_READ)
    async def own_figures(caller: Caller) -> Figures:
        return Figures(owners=len(caller.owner_ids))

    app = FastAPI()
    install_shell(app)
    add_routes(app, routes.router)
    now, roles = datetime.now(UTC), list(TeamRole)
    joined = [Membership(f"team_{number}", f"team-{number}", roles[number % 4]) for number in range(TEAMS)]
    people = {"alone": None, f"member of {TEAMS} teams": Memberships("user_1", joined)}
    bearers, live = {}, []
    for number, who in enumerate(people):
        token = new_personal_token(rng.getrandbits)
        later = now + timedelta(days=1)
        live.append(LiveToken(f"token_{number}", hash_of(token), f"user_{number}", Role.USER, Role.USER.scopes, later))
        bearers[f"personal token, {who}"] = token
        access = signer.access_token(f"user_{number}", f"session_{number}", Role.USER, f"access_{number}", now)
        bearers[f"session, {who}"] = access
    known = {f"user_{number}": teams for number, teams in enumerate(people.values()) if teams is not None}
    directory.load(DirectorySnapshot(live, [], []), known)
    return app, bearers


async def _ask(app: FastAPI, path: str, bearer: str | None, count: int) -> float:
    """Seconds of CPU for so many requests."""
    headers = [(b"authorization", f"Bearer {bearer}".encode())] if bearer is not None else []
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    began = time.process_time()
    for _ in range(count):
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        await app(scope, receive, send)
    spent = time.process_time() - began
    assert statuses == [200] * count, statuses
    return spent
