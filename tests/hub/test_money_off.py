"""A pool whose operator switched money off: every route there is either is about money and says that there is none,
or works and says no word of it. Routes are taken from the API's own description, so that a new one is asked too."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session
from support.asgi_socket import connected
from support.engine import ADMIN, ALICE, BOB, play
from support.money_words import told_in, words_in
from support.scripted_agent import add_agent

from computepool.hub.accounts.service import create_user
from computepool.hub.core.http import API_PREFIX
from computepool.hub.core.money import MARK

OPENAPI = json.loads((Path(__file__).resolve().parents[1] / "snapshots" / "openapi.json").read_text())
SCHEMAS = OPENAPI["components"]["schemas"]
ROUTES = [(method.upper(), path) for path, methods in sorted(OPENAPI["paths"].items()) for method in methods]
SPEC = {"run": ["true"], "max_runtime": "10m"}
BODIES: dict[str, Any] = {
    "POST /jobs": SPEC,
    "POST /jobs/check": {**SPEC, "deterministic": True, "verify": {"replicas": 2}},
    "POST /market/quote": SPEC,
    "PATCH /nodes/{node_id}": {"tags": ["lab"]},
    "PUT /admin/limits/{owner_id}": {"slices": 5},
    "POST /admin/users/{user}/disable": {"reason": "a test"},
    "PUT /admin/users/{user}/role": {"role": "user"},
}
ASKED_BY = {"POST /jobs/{job_id}/retry": ALICE}
"""Who asks, where an administrator may not: only the owner of a job can run it again."""
LAST = ("/auth/", "/sessions", "/ban")
"""What ends a session or a node is asked when everything else was."""
ABOUT_MONEY = frozenset(
    one.strip()
    for one in """
    GET /admin/cash-outs; GET /admin/disputes; GET /admin/reports; GET /admin/vouchers; GET /admin/payments/events
    GET /admin/payments/requests; GET /admin/payments/differences; GET /admin/ledger/check; GET /admin/market/{name}
    POST /admin/grants; POST /admin/withdrawals; POST /jobs/{job_id}/dispute; POST /payments/stripe/webhook
    POST /admin/ledger/write-offs
    GET /wallet; GET /jobs/{job_id}/explain; GET /market/prices; GET /market/earnings; GET /disputes
""".replace("\n", ";").split(";")
    if one.strip()
)


async def earlier_work(pool: Any) -> tuple[str, str, str]:
    """A job that was paid for, one that waits, and the node, all from before money was switched off."""
    agent = await add_agent(pool, owner=BOB)
    await pool.call("PATCH", f"nodes/{agent.node_id}", {"price": {"fixed_micros": 1_000_000}}, user=BOB)
    limits = {"slices": 50, "hourly_micros": 5_000_000, "daily_micros": 300_000}
    await pool.call("PUT", f"admin/limits/{ALICE}", limits, user=ADMIN)
    done = await pool.submit(max_runtime="10m")
    work = await agent.take_offer()
    await agent.update(work, "running")
    await pool.settle(500)
    await agent.finish(work)
    assert pool.attempt(work.id).cost_micros > 0
    waiting = await pool.submit(resources={"gpu": {"name": "rtx-4090", "count": 1}})
    return done, waiting, agent.node_id


def add_guest(session: Session, now: datetime) -> str:
    return create_user(session, "user_guest", now, email="g@example.org", name="G", country=None, password_hash=None)


async def switch_off(pool: Any) -> None:
    pool.settings = pool.settings.model_copy(update={"money": "off"})
    await pool.restart()


ENDLESS = ("GET /events", "GET /public/events")
"""They go on until their reader leaves, unless they are asked not to."""


async def ask_all(pool: Any, values: dict[str, str]) -> dict[str, Any]:
    answers = {}
    order = ["GET", "PATCH", "POST", "PUT", "DELETE"]
    for method, path in sorted(
        ROUTES, key=lambda route: (any(part in route[1] for part in LAST), order.index(route[0]), route)
    ):
        name, url = f"{method} {path.removeprefix(API_PREFIX)}", f"http://hub.test{path}"
        for parameter, value in values.items():
            url = url.replace(f"{{{parameter}}}", value)
        if name in ENDLESS:
            url += "?follow=false"
        body = BODIES.get(name, {}) if method != "GET" else None
        answers[name] = await pool.call(method, url, body, user=ASKED_BY.get(name, ADMIN))
    return answers


def is_off(answer: Any) -> bool:
    return answer.status_code == 404 and answer.json()["error"]["code"] == "money_off"


def told(answer: Any) -> list[str]:
    media_type = answer.headers.get("content-type", "")
    if "json" in media_type and answer.content:
        return list(told_in(answer.json()))
    if media_type.startswith("text/event-stream"):
        messages = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
        return [told for message in messages for told in told_in(json.loads(message))]
    return words_in(answer.text)


async def told_by_streams(pool: Any, job_id: str) -> list[str]:
    """Of a job that has ended."""
    found, headers = [], {"Authorization": f"Bearer {pool.token(ALICE)}"}
    for query in ("", "?frames=changes"):
        path, message = f"{API_PREFIX}/jobs/{job_id}/stream{query}", {"type": ""}
        async with connected(pool.client._transport.app, path, headers) as socket:
            while message["type"] != "end":
                message = await socket.receive()
                found += [f"{query} {told}" for told in told_in(message)]
    return found


def amounts_in(schema: Any, seen: set[str]) -> Iterator[tuple[str, bool]]:
    """Every property that is called after money, and whether it is marked."""
    if isinstance(schema, list):
        for one in schema:
            yield from amounts_in(one, seen)
    elif isinstance(schema, dict):
        target = str(schema.get("$ref", "")).rpartition("/")[2]
        if target == "WireSpec":  # what the renter wrote, and no word of the pool's
            return
        if target in SCHEMAS and target not in seen:
            seen.add(target)
            yield from amounts_in(SCHEMAS[target], seen)
        for name, inner in schema.get("properties", {}).items():
            if MARK in inner or (words_in(name) and inner.get("type") != "boolean"):
                yield name, MARK in inner
            else:
                yield from amounts_in(inner, seen)
        yield from amounts_in([value for key, value in schema.items() if key != "properties"], seen)


def amounts_of(name: str) -> dict[str, bool]:
    method, path = name.split()
    found = [one for one in ROUTES if one[0] == method and one[1] in (path, API_PREFIX + path)]
    return dict(amounts_in(OPENAPI["paths"][found[0][1]][method.lower()]["responses"], set()))


def test_words_about_money_are_found_and_digests_are_not_taken_for_them():
    told_places = {
        ".cost_micros": {"cost_micros": 0},
        ".jobs[1].price": {"jobs": [{"price": None}, {"price": {"micros": 5}}]},
        ".hint: Your Wallet has 5 credits.": {"hint": "Your Wallet has 5 credits."},
        "[0]: 3 credits/h": ["3 credits/h"],
    }
    assert {place: list(told_in(document)) for place, document in told_places.items()} == {
        place: [place] for place in told_places
    }
    silent = {"paid": False, "fee": None, "signature": "a+fee/Pay=", "digest": "sha256:9fee7", "name": "payload"}
    assert list(told_in({"papers": [silent]})) == []


def test_no_route_of_a_pool_without_money_says_a_word_of_it(sqlite_hub):
    async def story(pool):
        done, waiting, node_id = await earlier_work(pool)
        await switch_off(pool)
        agent = await add_agent(pool, owner=BOB)
        guest = await pool.db.run(add_guest, pool.clock.now())
        values = {"job_id": done, "node_id": node_id, "owner_id": ALICE, "name": "rates", "user": guest}
        assert await told_by_streams(pool, done) == []
        answers = await ask_all(pool, values)
        assert agent.node_id in answers["GET /market/offers"].text
        # The schema of events is that of every pool, as the OpenAPI document is.
        works = {
            name: answer for name, answer in answers.items() if not is_off(answer) and name != "GET /events/schema"
        }
        assert [name for name, answer in works.items() if answer.status_code >= 500] == []
        assert [f"{name} {words}" for name, answer in works.items() for words in told(answer)] == []
        assert told(await pool.call("GET", f"jobs/{waiting}/why")) == []
        assert sorted(ABOUT_MONEY & works.keys()) == []
        # What is shown with amounts elsewhere was really shown here, and each of them is marked as one.
        shown = {name: amounts for name in works if (amounts := amounts_of(name))}
        assert len(shown) > 10
        # Users of this hub have no account; tests/e2e/test_money_off.py asks these two by `whoami`.
        failed = [name for name in shown if not works[name].is_success and not name.endswith(" /me")]
        assert failed == [], "BODIES has to have what it takes"
        assert [f"{name} {one}" for name, found in shown.items() for one, marked in found.items() if not marked] == []

    play(sqlite_hub, story)


def test_with_money_the_same_routes_show_amounts(sqlite_hub):
    """Else the test above would find nothing for another reason."""

    async def story(pool):
        done, _, node_id = await earlier_work(pool)
        await add_agent(pool, owner=BOB)
        for path in (f"jobs/{done}", f"nodes/{node_id}", "market/offers", f"admin/limits/{ALICE}"):
            assert told(await pool.call("GET", path, user=ADMIN)), path
        assert {told.partition(" ")[0] for told in await told_by_streams(pool, done)} == {"", "?frames=changes"}

    play(sqlite_hub, story)


def test_without_money_a_limit_that_was_spent_keeps_nobody_waiting(sqlite_hub):
    async def story(pool):
        await earlier_work(pool)
        await switch_off(pool)
        agent = await add_agent(pool, owner=BOB)
        job_id = await pool.submit(max_runtime="2h")
        await agent.finish(await agent.take_offer())
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "market/offers?order=price", None),
        ("GET", "market/offers?order=-tier,core_price", None),
        ("GET", "market/offers?filter=price<40", None),
        ("PUT", f"admin/limits/{ALICE}", {"daily_micros": 5}),
        ("PATCH", "nodes/{node_id}", {"price": {"floor_micros": 5}}),
        ("PATCH", "nodes/{node_id}", {"price": None}),
    ],
)
def test_without_money_nobody_asks_by_price_or_sets_an_amount(sqlite_hub, method, path, body):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        answer = await pool.call(method, path.format(node_id=agent.node_id), body, user=ADMIN)
        assert is_off(answer)

    play(sqlite_hub, story, settings={"money": "off"})


def test_without_money_a_stranger_is_still_asked_who_they_are(sqlite_hub):
    async def story(pool):
        assert (await pool.call("GET", "wallet", user=None)).status_code == 401
        assert (await pool.call("GET", "admin/vouchers", user=ALICE)).status_code == 403

    play(sqlite_hub, story, settings={"money": "off"})
