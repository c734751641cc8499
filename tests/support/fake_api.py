"""A fake hub: a real HTTP and WebSocket server in a thread, which plays the hub's public API and its troubles.

It keeps everything in memory, runs nothing, and is told by a test what its jobs do. It can be stopped and started again
on the same port with its state, lose answers after doing the work, cut bodies short and block WebSockets.
"""

import asyncio
import base64
import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from support.fake_market import FakeMarket
from support.fake_users import FakeUsers
from support.fake_wallet import FakeWallet
from support.prompt_server import PromptServer
from support.waiting import eventually, patience

TOKEN = "cp_fake_token"
ME = "user_00000000000000000000000001"
CREATED = "2026-01-02T03:04:05Z"


def now() -> str:
    return datetime.now(UTC).isoformat()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass
class FakeJob:
    document: dict[str, Any]
    logs: dict[tuple[int, int], bytearray] = field(default_factory=dict)
    outputs: list[tuple[int, int, str, bytes]] = field(default_factory=list)
    receipts: list[dict[str, Any]] = field(default_factory=list)
    streamed: dict[tuple[int, int], int] = field(default_factory=dict)
    """By slice and attempt: how much of the log some stream has sent."""
    version: int = 0

    @property
    def id(self) -> str:
        return str(self.document["id"])

    def slice(self, index: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.document["slices"][index]
        return found

    def touch(self) -> None:
        counts = dict.fromkeys(("queued", "running", "succeeded", "failed", "canceled"), 0)
        for part in self.document["slices"]:
            counts[part["state"]] += 1
            for attempt in part["attempts"]:
                # As on a hub, where the length is known with the receipt.
                log = self.logs.get((part["index"], attempt["number"]), b"")
                attempt["log_bytes"] = len(log) if attempt.get("finished_at") else 0
        self.document["counts"] = counts
        self.version += 1

    def begin(self, index: int = 0, *, own: bool = True, isolation: str = "bubblewrap", node: str = "alpha") -> int:
        """A new attempt is running; its number."""
        part = self.slice(index)
        number = len(part["attempts"]) + 1
        part["attempts"].append(
            {
                "id": f"attempt_{number:026}",
                "number": number,
                "fence": number,
                "node_id": "node_00000000000000000000000001",
                "node_name": node,
                "own": own,
                "state": "running",
                "isolation": isolation,
                "leased_at": now(),
                "started_at": now(),
                "log_bytes": 0,
            }
        )
        part["state"] = self.document["state"] = "running"
        self.document["started_at"] = self.document["started_at"] or now()
        self.logs[(index, number)] = bytearray()
        self.touch()
        return number

    def write(self, data: bytes, index: int = 0) -> None:
        self.logs[(index, len(self.slice(index)["attempts"]))] += data

    def lose(self, index: int = 0) -> None:
        part = self.slice(index)
        part["attempts"][-1].update(state="lost", verdict="host", finished_at=now())
        part["state"] = "queued"
        self.touch()

    def finish(
        self, exit_code: int | None = 0, *, verdict: str | None = None, state: str | None = None, **more: Any
    ) -> None:
        verdict = verdict or ("ok" if exit_code == 0 else "renter")
        state = state or ("succeeded" if verdict == "ok" else "failed")
        for part in self.document["slices"]:
            part.update(state=state, verdict=verdict, exit_code=exit_code)
            if part["attempts"]:
                part["attempts"][-1].update(state=state, verdict=verdict, exit_code=exit_code, finished_at=now())
        self.document.update(state=state, verdict=verdict, exit_code=exit_code, finished_at=now(), **more)
        self.touch()

    def cancel(self) -> None:
        self.document["cancel_requested_at"] = now()
        self.finish(None, verdict="renter", state="canceled", reason="canceled")


Play = Callable[[FakeJob], None]


def prints(data: bytes, exit_code: int = 0, outputs: dict[str, bytes] | None = None, **begin: Any) -> Play:
    """A job that prints and ends at once."""

    def play(job: FakeJob) -> None:
        for part in job.document["slices"]:
            index = part["index"]
            job.begin(index, **begin)
            job.write(data, index)
            job.outputs += [(index, 1, path, content) for path, content in (outputs or {}).items()]
        job.finish(exit_code)

    return play


class FakeHub:
    def __init__(self) -> None:
        self.jobs: dict[str, FakeJob] = {}
        self.keys: dict[str, tuple[bytes, str]] = {}
        self.blobs: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.sizes: dict[str, int] = {}
        self.nodes: list[dict[str, Any]] = [node()]
        self.events: list[dict[str, Any]] = []
        self.audits: list[dict[str, Any]] = []
        self.accusations: list[dict[str, Any]] = []
        self.canaries: list[dict[str, Any]] = []
        self.known: list[dict[str, Any]] = []
        """Results that canaries are drawn from."""
        self.checks: dict[str, Any] = {"replicas": [], "checks": []}
        """What moved the reliability of a node."""
        self.telemetry: dict[str, Any] = {"columns": [], "gpus": [], "step_seconds": 900, "points": 0}
        self.asked_history: list[dict[str, str]] = []
        self.timeline: list[dict[str, Any]] = []
        self.timeline_page = 2
        self.nodes_online = 1
        self.nodes_away = 0
        self.tokens: list[dict[str, Any]] = []
        self.my_token_id: str | None = None
        self.why: dict[str, Any] = {}
        self.hub_keys: list[dict[str, str]] = []
        self.market = FakeMarket()
        self.wallet = FakeWallet()
        self.users = FakeUsers()
        self.play: Play = prints(b"42\n")
        """What a job does when it is submitted."""
        self.part_bytes = 1024 * 1024
        self.shown_slices = 1000
        self.page_items = 100
        self.log_page_bytes = 1024 * 1024
        self.frame_bytes = 7
        """Small, so that chunks end in the middle of lines and characters."""
        self.device_answers: list[tuple[int, dict[str, Any]]] = []

        self.refuse: list[int] = []
        """Statuses to answer next, before anything is done."""
        self.lose_answers = 0
        """Requests that will be done, and their answer lost."""
        self.block_sockets = False
        self.cut_bodies_after: int | None = None
        """A log or file body breaks off after this many bytes, once each time it is set."""
        self.close_sockets_after: int | None = None
        """A stream breaks off after this many frames, every time, with this code."""
        self.close_code = 1012
        self.expire_urls = 0
        """Signed URLs to refuse."""
        self.requests: list[tuple[str, str]] = []
        self.queries: list[str] = []
        self.authorizations: dict[str, list[str]] = {}

        self.port = 0
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # ── starting and stopping ────────────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> "FakeHub":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        # With the protocol left at 0 asyncio does not turn Nagle's algorithm off, and every answer takes 40 ms.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app(), log_level="critical", ws="websockets-sansio", timeout_graceful_shutdown=0, lifespan="off"
        )
        self._server = server = PromptServer(config)
        self._thread = threading.Thread(target=self._serve, args=(server, listener), daemon=True)
        self._thread.start()
        eventually(lambda: server.started, "the fake hub listens", every=0.005)

    @staticmethod
    def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
        asyncio.run(server.serve(sockets=[listener]))
        listener.close()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = self._server.force_exit = True
            self._thread.join(patience())
            self._server = None

    def restart(self, away_seconds: float = 0.0) -> None:
        self.stop()
        time.sleep(away_seconds)
        self.start()

    # ── routes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _app(self) -> ASGIApp:
        api = "/api/v1"
        routes = [
            Route(f"{api}/version", self._version),
            Route(f"{api}/keys", self._keys),
            Route(f"{api}/stats", self._stats),
            Route(f"{api}/me", self._me),
            Route(f"{api}/tokens", self._tokens, methods=["GET", "POST"]),
            Route(f"{api}/tokens/{{id}}", self._revoke, methods=["DELETE"]),
            Route(f"{api}/sessions", self._end_sessions, methods=["DELETE"]),
            Route(f"{api}/auth/device", self._device, methods=["POST"]),
            Route(f"{api}/auth/device/token", self._device_token, methods=["POST"]),
            Route(f"{api}/auth/logout", self._logout, methods=["POST"]),
            Route(f"{api}/nodes", self._nodes),
            Route(f"{api}/nodes/join-tokens", self._join_token, methods=["POST"]),
            Route(f"{api}/nodes/{{id}}", self._node, methods=["GET", "PATCH"]),
            Route(f"{api}/nodes/{{id}}/{{change}}", self._change_node, methods=["POST"]),
            Route(f"{api}/nodes/{{id}}/telemetry", self._telemetry),
            Route(f"{api}/jobs/{{id}}/timeline", self._timeline),
            Route(f"{api}/nodes/{{id}}/reliability", self._reliability),
            Route(f"{api}/nodes/{{id}}/reliability/{{event}}/contest", self._settle_event, methods=["POST"]),
            Route(f"{api}/admin/contests", self._contests),
            Route(f"{api}/admin/audits", self._audits),
            Route(f"{api}/admin/accusations", self._accusations),
            Route(f"{api}/admin/accusations/{{id}}/{{decision}}", self._decide_accusation, methods=["POST"]),
            Route(f"{api}/admin/canaries", self._canaries, methods=["GET", "POST"]),
            Route(f"{api}/admin/canaries/answers", self._vouch, methods=["POST"]),
            Route(f"{api}/admin/canaries/answers/{{id}}/withdraw", self._withdraw, methods=["POST"]),
            Route(f"{api}/jobs/{{id}}/checks", self._checks),
            Route(f"{api}/admin/contests/{{event}}/resolve", self._settle_event, methods=["POST"]),
            Route(f"{api}/admin/nodes/{{id}}/{{mark}}", self._mark_node, methods=["POST"]),
            Route(f"{api}/artifacts", self._artifact, methods=["POST"]),
            Route(f"{api}/artifacts/{{id}}/complete", self._complete, methods=["POST"]),
            Route("/store/{digest}/{part:int}", self._part, methods=["GET", "PUT"]),
            Route(f"{api}/jobs", self._jobs, methods=["GET", "POST"]),
            Route(f"{api}/jobs/{{id}}", self._job),
            Route(f"{api}/jobs/{{id}}/cancel", self._cancel, methods=["POST"]),
            Route(f"{api}/jobs/{{id}}/retry", self._retry, methods=["POST"]),
            Route(f"{api}/jobs/{{id}}/logs", self._logs),
            Route(f"{api}/jobs/{{id}}/artifacts", self._outputs),
            Route(f"{api}/jobs/{{id}}/why", self._why),
            Route(f"{api}/jobs/{{id}}/receipts", self._receipts),
            WebSocketRoute(f"{api}/jobs/{{id}}/stream", self._stream),
            *self.market.routes(api),
            *self.wallet.routes(api),
            *self.users.routes(api),
        ]
        return _Gate(self, Starlette(routes=routes))

    async def _version(self, _: Request) -> Response:
        return JSONResponse({"version": "0.1.0", "api": "v1"})

    async def _keys(self, _: Request) -> Response:
        return JSONResponse({"hub_id": "hub_1", "items": self.hub_keys})

    async def _stats(self, _: Request) -> Response:
        return JSONResponse({"nodes_total": self.nodes_online + self.nodes_away, "nodes_online": self.nodes_online})

    async def _me(self, _: Request) -> Response:
        return JSONResponse(
            {"id": ME, "email": "ada@example.org", "name": "Ada", "role": "admin", "token_id": self.my_token_id}
        )

    async def _end_sessions(self, request: Request) -> Response:
        return Response(status_code=204)

    async def _tokens(self, request: Request) -> Response:
        if request.method == "GET":
            return _page(self.tokens)
        body = await request.json()
        made = {"id": f"token_{len(self.tokens)}", "created_at": CREATED, **body}
        self.tokens.append(made)
        return JSONResponse({**made, "token": TOKEN}, 201)

    async def _revoke(self, request: Request) -> Response:
        self.tokens = [token for token in self.tokens if token["id"] != request.path_params["id"]]
        return Response(status_code=204)

    async def _device(self, _: Request) -> Response:
        return JSONResponse(
            {
                "device_code": "device-1",
                "user_code": "ABCD-EFGH",
                "verification_uri": f"{self.url}/device",
                "interval": 0,
                "expires_in": 60,
            }
        )

    async def _device_token(self, _: Request) -> Response:
        status, body = self.device_answers.pop(0)
        return JSONResponse(body, status)

    async def _logout(self, _: Request) -> Response:
        return Response(status_code=204)

    async def _nodes(self, _: Request) -> Response:
        return _page(self.nodes)

    async def _join_token(self, request: Request) -> Response:
        body = await request.json()
        return JSONResponse({"token": "cpj_1", "expires_at": CREATED, "uses": body["uses"]}, 201)

    async def _node(self, request: Request) -> Response:
        found = next((item for item in self.nodes if item["id"] == request.path_params["id"]), None)
        if found is None:
            return _error(404, "not_found", "There is no such node.")
        if request.method == "PATCH":
            found.update(await request.json())
        return JSONResponse(found)

    async def _telemetry(self, request: Request) -> Response:
        self.asked_history.append(dict(request.query_params))
        return JSONResponse(self.telemetry)

    async def _timeline(self, request: Request) -> Response:
        start = int(request.query_params.get("cursor", 0))
        beyond = start + self.timeline_page
        after = str(beyond) if beyond < len(self.timeline) else None
        return JSONResponse({"items": self.timeline[start:beyond], "next": after})

    async def _change_node(self, request: Request) -> Response:
        found = next(item for item in self.nodes if item["id"] == request.path_params["id"])
        states = {"drain": "draining", "resume": "online", "ban": "banned"}
        found["state"] = states[request.path_params["change"]]
        return JSONResponse(found)

    # ── reputation ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _reliability(self, _: Request) -> Response:
        return JSONResponse({"items": self.events, "next": None})

    async def _audits(self, request: Request) -> Response:
        states = request.query_params.getlist("state")
        return _page([one for one in self.audits if not states or one["state"] in states])

    async def _accusations(self, request: Request) -> Response:
        states = request.query_params.getlist("state")
        return _page([accusation for accusation in self.accusations if accusation["state"] in states])

    async def _decide_accusation(self, request: Request) -> Response:
        found = next(each for each in self.accusations if each["id"] == request.path_params["id"])
        found["state"] = {"confirm": "confirmed", "dismiss": "dismissed"}[request.path_params["decision"]]
        return JSONResponse(found | await request.json())

    async def _canaries(self, request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse({"rate_per_day": 0.2, "items": self.known})
        self.canaries.append(await request.json())
        return JSONResponse({"job_id": "job_hidden"}, status_code=201)

    async def _vouch(self, request: Request) -> Response:
        body = await request.json()
        made = {"id": f"check_{len(self.known)}", "kind": "known", "gpu_class": None, "seconds": 12.3, "since": CREATED}
        self.known.append({**made, **body})
        return JSONResponse(self.known[-1], status_code=201)

    async def _withdraw(self, request: Request) -> Response:
        self.known = [one for one in self.known if one["id"] != request.path_params["id"]]
        return JSONResponse({"id": request.path_params["id"]})

    async def _checks(self, _: Request) -> Response:
        return JSONResponse(self.checks)

    async def _contests(self, _: Request) -> Response:
        return _page([{**one, "node_name": "alpha", "owner_id": ME} for one in self.events if one["contested_at"]])

    async def _settle_event(self, request: Request) -> Response:
        found = next(one for one in self.events if str(one["id"]) == request.path_params["event"])
        body = await request.json()
        if "reason" in body:
            found |= {"contested_at": CREATED, "contest_reason": body["reason"]}
        else:
            found |= {"resolution": body["resolution"], "resolution_note": body["note"]}
        return JSONResponse(found)

    async def _mark_node(self, request: Request) -> Response:
        verified = request.path_params["mark"] == "verify"
        missing = [] if verified else ["the operator has not checked its owner"]
        return JSONResponse({"verified": verified, "missing_for_verified": missing})

    # ── artifacts ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _artifact(self, request: Request) -> Response:
        body = await request.json()
        self.sizes[body["digest"]] = body["size_bytes"]
        return JSONResponse(self._artifact_view(body["digest"]))

    def _artifact_view(self, key: str) -> dict[str, Any]:
        size, have = self.sizes[key], self.parts.setdefault(key, {})
        count = max(1, -(-size // self.part_bytes))
        missing = [] if key in self.blobs else [part for part in range(count) if part not in have]
        return {
            "id": "artifact_" + key[7:33],
            "digest": key,
            "size_bytes": size,
            "state": "stored" if key in self.blobs else "uploading",
            "part_bytes": self.part_bytes,
            "uploads": [
                {"part": part, "url": f"/store/{key}/{part}", "headers": {"x-signed-for": f"{key}/{part}"}}
                for part in missing
            ],
        }

    async def _complete(self, request: Request) -> Response:
        key = next(key for key in self.sizes if "artifact_" + key[7:33] == request.path_params["id"])
        data = b"".join(self.parts[key][part] for part in sorted(self.parts[key]))
        if digest(data) != key:
            return _error(422, "digest_mismatch", "These are not the bytes that were announced.")
        self.blobs[key] = data
        return JSONResponse(self._artifact_view(key))

    async def _part(self, request: Request) -> Response:
        key, part = request.path_params["digest"], request.path_params["part"]
        if self.expire_urls:
            self.expire_urls -= 1
            return _error(403, "url_expired", "This URL is over.")
        if request.method == "PUT":
            if request.headers.get("x-signed-for") != f"{key}/{part}":
                return _error(403, "signature_mismatch", "The signed headers are missing.")
            self.parts[key][part] = await request.body()
            return Response(status_code=204)
        data = self.blobs[key][part * self.part_bytes : (part + 1) * self.part_bytes]
        wanted = request.headers.get("range")
        start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
        return self._body(data[start:], 206 if wanted else 200, {})

    def _body(self, data: bytes, status: int, headers: dict[str, str]) -> Response:
        headers = {**headers, "Content-Length": str(len(data)), "Content-Type": "application/octet-stream"}
        cut, self.cut_bodies_after = self.cut_bodies_after, None
        if cut is None or cut >= len(data):
            return Response(data, status, headers)

        async def pieces() -> Any:
            yield data[:cut]
            await asyncio.sleep(0.05)
            raise ConnectionResetError

        return StreamingResponse(pieces(), status, headers)

    # ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _jobs(self, request: Request) -> Response:
        if request.method == "GET":
            states = request.query_params.getlist("state")
            found = [job.document for job in reversed(self.jobs.values())]
            if request.query_params.get("mine") == "true":
                found = [document for document in found if document["owner_id"] == ME]
            hidden = ("slices", "spec")
            items = [
                {key: value for key, value in document.items() if key not in hidden}
                for document in found
                if not states or document["state"] in states
                if request.query_params.get("search", "") in document["name"]
            ]
            start, limit = int(request.query_params.get("cursor", 0)), int(request.query_params.get("limit", 50))
            after = start + limit if start + limit < len(items) else None
            return JSONResponse({"items": items[start : start + limit], "next": after and str(after)})
        body = await request.body()
        key = request.headers.get("idempotency-key", "")
        if key in self.keys:
            known, job_id = self.keys[key]
            if known != body:
                return _error(409, "idempotency_mismatch", "This key was used for another job.")
            return JSONResponse(self.jobs[job_id].document, 201)
        job = self.add_job(json.loads(body), bundle=request.query_params.get("bundle"))
        self.keys[key] = (body, job.id)
        document = dict(job.document)
        threading.Thread(target=self.play, args=(job,), daemon=True).start()
        return JSONResponse(document, 201)

    def add_job(self, spec: dict[str, Any], **more: Any) -> FakeJob:
        part = {"verdict": None, "exit_code": None, "reason": None, "state": "queued"}
        job = FakeJob(
            {
                "id": f"job_{len(self.jobs) + 1:026}",
                "name": spec.get("name") or "",
                "state": "queued",
                "verdict": None,
                "exit_code": None,
                "owner_id": ME,
                "created_at": CREATED,
                "started_at": None,
                "finished_at": None,
                "spec": spec,
                "slice_count": int(spec.get("slices", 1)),
                "slices": [{**part, "index": index, "attempts": []} for index in range(int(spec.get("slices", 1)))],
                **more,
            }
        )
        job.touch()
        self.jobs[job.id] = job
        return job

    def _find(self, scope: Request | WebSocket) -> FakeJob | None:
        return self.jobs.get(scope.path_params["id"])

    async def _job(self, request: Request) -> Response:
        job = self._find(request)
        if job is None:
            return _error(404, "not_found", "There is no such job.")
        job.touch()
        first = int(request.query_params.get("from_slice", 0))
        most = int(request.query_params.get("slice_limit", self.shown_slices))
        return JSONResponse(self._shown(job, first, most))

    def _shown(self, job: FakeJob, first: int = 0, most: int | None = None) -> dict[str, Any]:
        slices = job.document["slices"]
        end = first + min(most or self.shown_slices, self.shown_slices)
        return {**job.document, "slices": slices[first:end], "next_slice": end if end < len(slices) else None}

    async def _cancel(self, request: Request) -> Response:
        job = self._find(request)
        assert job is not None
        job.cancel()
        return JSONResponse(job.document)

    async def _retry(self, request: Request) -> Response:
        old = self._find(request)
        assert old is not None
        again = self.add_job(old.document["spec"], retry_of=old.id)
        threading.Thread(target=self.play, args=(again,), daemon=True).start()
        return JSONResponse(again.document, 201)

    async def _why(self, request: Request) -> Response:
        job = self._find(request)
        assert job is not None
        return JSONResponse({"job_id": job.id, "state": job.document["state"], **self.why})

    async def _receipts(self, request: Request) -> Response:
        job = self._find(request)
        assert job is not None
        return self._page_of(request, job.receipts)

    async def _outputs(self, request: Request) -> Response:
        job = self._find(request)
        assert job is not None
        items = []
        for index, attempt, path, content in job.outputs:
            key = digest(content)
            self.blobs.setdefault(key, content)
            count = max(1, -(-len(content) // self.part_bytes))
            items.append(
                {
                    "slice": index,
                    "attempt": attempt,
                    "path": path,
                    "size_bytes": len(content),
                    "digest": key,
                    "part_bytes": self.part_bytes,
                    "downloads": [f"{self.url}/store/{key}/{part}" for part in range(count)],
                }
            )
        return self._page_of(request, items)

    # ── logs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _logs(self, request: Request) -> Response:
        job = self._find(request)
        assert job is not None
        index = int(request.query_params.get("slice", 0))
        attempt = int(request.query_params.get("attempt", len(job.slice(index)["attempts"])))
        after = int(request.query_params.get("after", 0))
        log = bytes(job.logs.get((index, attempt), b""))
        data = log[after : after + self.log_page_bytes]
        complete = job.document["finished_at"] is not None or attempt < len(job.slice(index)["attempts"])
        headers = {
            "X-Next-Offset": str(after + len(data)),
            "X-Log-Complete": str(int(complete)),
            "X-Attempt": str(attempt),
        }
        return self._body(data, 200, headers)

    def _page_of(self, request: Request, items: list[dict[str, Any]]) -> Response:
        start = int(request.query_params.get("cursor", 0))
        end = start + self.page_items
        return JSONResponse({"items": items[start:end], "next": str(end) if end < len(items) else None})

    async def _stream(self, ws: WebSocket) -> None:
        job = self._find(ws)
        self.queries.append(ws.url.query)
        if job is None or self.block_sockets:
            await ws.close()
            return
        await ws.accept()
        sent = _positions(ws.query_params.get("from", ""))
        only = ws.query_params.get("slice")
        frames, version = 0, -1
        while True:
            # The end is looked at first: what was written before it is then sent before it.
            final, seen = job.document["finished_at"] is not None, job.version
            messages: list[dict[str, Any]] = []
            if seen != version:
                version = seen
                messages.append({"type": "job", "job": self._shown(job)})
            for (index, attempt), log in list(job.logs.items()):
                newest = attempt == len(job.slice(index)["attempts"])
                if newest and (only is None or int(only) == index):
                    start = sent.get((index, attempt), 0)
                    for offset in range(start, len(log), self.frame_bytes):
                        data = bytes(log[offset : offset + self.frame_bytes])
                        sent[(index, attempt)] = offset + len(data)
                        text = base64.b64encode(data).decode()
                        frame = {"type": "log", "slice": index, "attempt": attempt, "offset": offset, "data": text}
                        messages.append(frame)
            if final:
                job.touch()
                messages.append({"type": "end", "job": self._shown(job)})
            for message in messages:
                if self.close_sockets_after is not None and frames >= self.close_sockets_after:
                    await ws.close(self.close_code)
                    return
                await ws.send_text(json.dumps(message))
                frames += 1
                if message["type"] == "log":
                    end = message["offset"] + len(base64.b64decode(message["data"]))
                    job.streamed[message["slice"], message["attempt"]] = end
            if final:
                await ws.close()
                return
            await asyncio.sleep(0.01)


class _Gate:
    """Signs callers in, notes what they asked, and makes the troubles that a test ordered."""

    PUBLIC = ("/store/", "/api/v1/version", "/api/v1/keys", "/api/v1/stats", "/api/v1/auth/device")

    def __init__(self, hub: FakeHub, app: ASGIApp) -> None:
        self._hub = hub
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        hub, path = self._hub, scope["path"]
        authorization = dict(scope["headers"]).get(b"authorization", b"").decode()
        hub.authorizations.setdefault(path, []).append(authorization)
        if scope["type"] == "http":
            hub.requests.append((scope["method"], path))
            if hub.refuse:
                refusal = _error(hub.refuse.pop(0), "unavailable", "Later, perhaps.")
                await refusal(scope, receive, send)
                return
        known = authorization == f"Bearer {TOKEN}" or path.startswith(self.PUBLIC)
        if not known and scope["type"] == "http":
            refusal = _error(401, "unauthenticated", "Who are you?", hint="Sign in: computepool login URL")
            await refusal(scope, receive, send)
            return
        if hub.lose_answers and scope["type"] == "http":
            hub.lose_answers -= 1
            await self._app(scope, receive, _nowhere)
            # A server that fails before it answers says 500; one that breaks off in the middle says nothing.
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
            await send({"type": "http.response.body", "body": b"{", "more_body": True})
            raise ConnectionResetError("the answer is lost")
        await self._app(scope, receive, send)


async def _nowhere(_: Any) -> None:
    return None


def _positions(text: str) -> dict[tuple[int, int], int]:
    found = {}
    for item in filter(None, text.split(",")):
        where, offset = item.split(":")
        index, attempt = where.split(".")
        found[(int(index), int(attempt))] = int(offset)
    return found


def _page(items: list[dict[str, Any]]) -> Response:
    return JSONResponse({"items": items, "next": None})


def _error(status: int, code: str, message: str, **more: Any) -> Response:
    return JSONResponse({"error": {"code": code, "message": message, **more}}, status)


def node(number: int = 1, *, owner_id: str = ME, name: str = "alpha", state: str = "online") -> dict[str, Any]:
    gib = 1024**3
    capacity = {"cpus": 8, "memory_bytes": 16 * gib, "disk_bytes": 100 * gib, "gpus": [], "isolation": ["bubblewrap"]}
    return {
        "id": f"node_{number:026}",
        "name": name,
        "state": state,
        "owner_id": owner_id,
        "country": "IN",
        "tags": ["lab"],
        "capacity": {**capacity, "soft_limits": True, "platform": "linux", "simulated": False},
        "free": {"cpus": 8, "memory_bytes": 16 * gib, "disk_bytes": 100 * gib, "gpus": 0},
        "agent_version": "0.1.0",
        "created_at": CREATED,
        "last_seen_at": CREATED,
        "running_attempts": 0,
    }
