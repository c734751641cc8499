"""A fake Stripe: a small, stateful part of its API over plain HTTP on 127.0.0.1, for the real SDK to talk to.

Not Stripe: it knows only what the hub uses, trusts whoever has the key, and its banks do what a test says. It does
model what goes wrong with processors: idempotency keys that are kept for a day and then forgotten, its own failures
that it then repeats for their key, answers that are lost after the work was done, and hours in which nothing answers.
"""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.fake_stripe import hosting, paying
from support.fake_stripe.world import Refusal, Shape, World, invalid

KEY = "sk_test_fake"
KEYS_KEPT = timedelta(hours=24)
FAULTS = ("unsent", "lost", "broken_before", "broken_after", "busy")
"""unsent: nothing happens, no answer. lost: it is done, no answer. broken: a 500 that the key then keeps, before or
after the work. busy: 429, which no key keeps."""

LISTS = {
    "payment_intents": "payment_intent",
    "checkout/sessions": "checkout.session",
    "refunds": "refund",
    "disputes": "dispute",
    "accounts": "account",
    "transfers": "transfer",
    "payouts": "payout",
    "customers": "customer",
    "payment_methods": "payment_method",
    "setup_intents": "setup_intent",
    "charges": "charge",
    "balance_transactions": "balance_transaction",
    "events": "event",
}
CURRENCIES = frozenset({"eur", "inr", "jpy", "usd"})
"""A few of those that Stripe has."""
FILTERS = ("customer", "payment_intent", "transfer_group", "charge", "source", "type", "destination")
CREATE: dict[str, Callable[[World, Shape], Shape]] = {
    "customers": paying.create_customer,
    "payment_intents": paying.create_intent,
    "checkout/sessions": paying.create_page,
    "refunds": paying.create_refund,
    "accounts": hosting.create_account,
    "account_links": hosting.create_link,
    "transfers": hosting.create_transfer,
    "payouts": hosting.create_payout,
}


@dataclass(frozen=True)
class Kept:
    """The answer to an idempotency key."""

    asked: str
    status: int
    body: bytes
    at: datetime


@dataclass
class FakeStripe:
    world: World = field(default_factory=World)
    url: str = ""
    is_down: bool = False
    next_faults: list[str] = field(default_factory=list)
    """What goes wrong with the next requests that change something, one each; an empty string: nothing."""
    fired: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    keys: dict[str, Kept] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.RLock)

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, bytes] | None:
        """None: the connection breaks."""
        with self.lock:
            if self.is_down:
                self.fired["down"] += 1
                return None
            place = urlsplit(target)
            path = place.path.removeprefix("/v1/").strip("/")
            self.asked[f"{method} {path.partition('/')[0]}"] += 1
            if headers.get("Authorization") != f"Bearer {KEY}":
                error = Refusal(401, "invalid_request_error", "Invalid API Key provided")
                return error.status, _json(error.body)
            if method == "GET":
                return _told(lambda: self._read(path, nested(place.query)))
            return self._change(method, path, headers.get("Idempotency-Key"), body)

    def _change(self, method: str, path: str, key: str | None, body: bytes) -> tuple[int, bytes] | None:
        now, asked = self.world.now(), hashlib.sha256(f"{method} {path} ".encode() + body).hexdigest()
        self.keys = {name: kept for name, kept in self.keys.items() if now - kept.at < KEYS_KEPT}
        fault = self.next_faults.pop(0) if self.next_faults else ""
        if fault:
            self.fired[fault] += 1
        if fault == "unsent":
            return None
        if fault == "busy":
            return 429, _json(Refusal(429, "invalid_request_error", "Too many requests", code="rate_limit").body)
        if key is not None and (kept := self.keys.get(key)) is not None:
            if kept.asked != asked:
                words = "Keys for idempotent requests can only be used with the same parameters."
                return 400, _json(Refusal(400, "idempotency_error", words).body)
            return None if fault == "lost" else (kept.status, kept.body)
        broken = 500, _json(Refusal(500, "api_error", "Something went wrong on our side.").body)
        if fault == "broken_before":
            found = broken
        else:
            found = _told(lambda: self._write(method, path, nested(body.decode())))
            if fault == "broken_after":
                found = broken
        if key is not None:
            self.keys[key] = Kept(asked, *found, now)
        return None if fault == "lost" else found

    def _write(self, method: str, path: str, params: Shape) -> Shape:
        parts = path.split("/")
        if path in CREATE:
            return CREATE[path](self.world, params)
        if parts[0] == "payment_intents" and parts[2:] == ["confirm"]:
            return paying.confirm_intent(self.world, parts[1], params)
        if parts[0] == "transfers" and parts[2:] == ["reversals"]:
            return hosting.create_reversal(self.world, parts[1], params)
        raise invalid(f"Unrecognized request URL ({method}: /v1/{path}).", status=404)

    def _read(self, path: str, params: Shape) -> Shape:
        expand = params.pop("expand", [])
        parts = path.split("/")
        if params.get("currency", "inr") not in CURRENCIES:
            raise invalid(f"Invalid currency: {params['currency']}.")
        if parts[0] == "transfers" and parts[2:] == ["reversals"]:
            self.world.get("transfer", parts[1])
            found = [one for one in self.world.all("transfer_reversal") if one["transfer"] == parts[1]]
            return self._page(path, found, params, expand)
        if path in LISTS:
            everything = self.world.events if path == "events" else self.world.all(LISTS[path])
            return self._page(path, everything, params, expand)
        kind = LISTS.get("/".join(parts[:-1]))
        if kind is None:
            raise invalid(f"Unrecognized request URL (GET: /v1/{path}).", status=404)
        if kind == "account" and parts[-1] not in self.world.objects.get("account", {}):
            raise Refusal(403, "invalid_request_error", "No access to this account.", code="account_invalid")
        return self._expanded(self.world.get(kind, parts[-1]), expand)

    def _page(self, path: str, everything: list[Shape], params: Shape, expand: list[str]) -> Shape:
        """The newest first, as Stripe does."""
        created = params.get("created", {})
        found = [
            one
            for one in reversed(everything)
            if all(one.get(name) == params[name] for name in FILTERS if name in params)
            and one["created"] >= int(created.get("gte", 0))
            and one["created"] < int(created.get("lt", 2**40))
        ]
        after = params.get("starting_after")
        if after is not None:
            found = found[[one["id"] for one in found].index(after) + 1 :]
        limit = int(params.get("limit", 10))
        inner = [name.removeprefix("data.") for name in expand]
        data = [self._expanded(one, inner) for one in found[:limit]]
        return {"object": "list", "url": f"/v1/{path}", "has_more": len(found) > limit, "data": data}

    def _expanded(self, shape: Shape, names: list[str]) -> Shape:
        result = dict(shape)
        for name in names:
            first, _, rest = name.partition(".")
            referred = result.get(first)
            found = self.world.any(referred) if isinstance(referred, str) else None
            if found is not None:
                result[first] = self._expanded(found, [rest] if rest else [])
        return result


def nested(query: str) -> Shape:
    """`a[b][0]=c` as Stripe reads it; a dict whose keys are numbers is a list."""
    result: Shape = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        names = key.replace("]", "").split("[")
        place = result
        for name in names[:-1]:
            place = place.setdefault(name, {})
        place[names[-1] or str(len(place))] = value
    return {name: _listed(value) for name, value in result.items()}


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(name.isdigit() for name in value):
        return [_listed(value[name]) for name in sorted(value, key=int)]
    return {name: _listed(one) for name, one in value.items()}


def _told(work: Callable[[], Shape]) -> tuple[int, bytes]:
    try:
        return 200, _json(work())
    except Refusal as refusal:
        return refusal.status, _json(refusal.body)


def _json(body: Shape) -> bytes:
    return json.dumps(body).encode()


@contextmanager
def fake_stripe(now: Callable[[], datetime] | None = None) -> Iterator[FakeStripe]:
    """`now` is the fake's own clock: it forgets keys by it."""
    fake = FakeStripe(World(now or (lambda: datetime.now(UTC))))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet for head and body: two would wait for each other
        timeout = 30

        def do_GET(self) -> None:
            self._do()

        def do_POST(self) -> None:
            self._do()

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = fake.answer(self.command, self.path, self.headers, body)
            if found is None:
                self.close_connection = True
                return
            status, content = found
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
