"""A small hub for the agent's tests: the real protocol over real WebSockets and HTTP, everything else in memory.

`FakeHub` decides nothing on its own: a test offers, stops, refuses, drops lines and holds back answers, and reads what
arrived. It can go away and come back on the same port.
"""

import asyncio
import base64
import contextlib
import hashlib
import secrets
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from support.waiting import patience

from computepool.agent.own_jobs import OwnJobs
from computepool.protocol.enrol import EnrolReply, EnrolRequest
from computepool.protocol.hub_keys import KEY_ANNOUNCEMENT, KEY_RETIREMENT, HubKey, Retirement
from computepool.protocol.manifest import MANIFEST, BundleRef, Grant, Manifest
from computepool.protocol.messages import (
    LINK_PROOF,
    POLL,
    POLL_SIGNATURE_HEADER,
    Challenge,
    CheckpointSaved,
    Finished,
    Gone,
    Goodbye,
    Heartbeat,
    HeartbeatAck,
    Hello,
    KeyAnnouncement,
    KeyRetirement,
    LogAck,
    LogChunk,
    NodeReport,
    Offer,
    PollReply,
    PollRequest,
    Proof,
    Refused,
    ReportAck,
    Stop,
    Update,
    UploadGrant,
    UploadRequest,
    UploadTarget,
    Welcome,
    link_challenge,
    parse_from_agent,
)
from computepool.protocol.model import Wire
from computepool.protocol.own_job import OWN_JOB, OwnJob, Work, key_text
from computepool.protocol.owner_requests import PolicyReport
from computepool.protocol.receipt import OLDER_REASONS, RECEIPT, Receipt
from computepool.protocol.signing import Signed, key_id_of, load_public_key, sign, verify
from computepool.protocol.states import IsolationLevel

MEGABYTE = 1024 * 1024
LOOK_SECONDS = 0.05
"""How often `until` looks at its condition when nothing was heard."""
LAST_WORDS_SECONDS = 1.0
"""How long a line that is over may go on to write."""


def raw_public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


@dataclass
class Node:
    node_id: str
    sign_key: bytes
    instance_id: str | None = None
    line: "Line | None" = None
    commands: list[Offer | Stop] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    heartbeats: list[Heartbeat] = field(default_factory=list)
    reports: list[NodeReport] = field(default_factory=list)
    policies: list[PolicyReport] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """The kinds of the lines it has had."""


class Line:
    """One connected agent: what it says comes in, what the hub says goes into `queue`."""

    def __init__(self, hub: "FakeHub", kind: str) -> None:
        self.hub = hub
        self.kind = kind
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.node: Node | None = None
        self.news = asyncio.Event()
        self.closed = False
        self._hello: Hello | None = None
        self._nonce = secrets.token_hex(16)

    def say(self, message: Wire) -> None:
        if not self.closed:
            self.queue.put_nowait(message.to_bytes())
            self.news.set()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.queue.put_nowait(None)
            self.news.set()
            if self.node is not None and self.node.line is self:
                self.node.line = None

    def hear(self, raw: bytes) -> None:
        message = parse_from_agent(raw)
        if isinstance(message, Hello):
            self._hello = message
            self.say(Challenge(nonce=self._nonce, hub_time=self.hub.now()))
        elif isinstance(message, Proof):
            self._prove(message)
        elif self.node is not None and message is not None:
            self.hub.hear(self, self.node, message)

    def _prove(self, proof: Proof) -> None:
        assert self._hello is not None
        hello, hub = self._hello, self.hub
        node = hub.nodes.get(hello.node_id)
        if node is None:
            return self._goodbye("unknown_node", "join again", retry=False)
        signed = Signed(
            type=LINK_PROOF,
            key_id="node",
            body=link_challenge(hub.hub_id, hello.node_id, hello.instance_id, self._nonce).decode(),
            signature=proof.signature,
        )
        verify(signed, LINK_PROOF, {"node": load_public_key(node.sign_key)})
        if node.line is not None and node.instance_id != hello.instance_id:
            return self._goodbye("cloned", "another machine runs under this node's identity", retry=False)
        if node.line is not None:
            node.line.close()
        node.instance_id, node.line, self.node = hello.instance_id, self, node
        node.proofs.append(proof)
        node.lines.append(self.kind)
        self.say(
            Welcome(
                hub_id=hub.hub_id,
                stream_id=hub.stream_id,
                hub_time=hub.now(),
                heartbeat_seconds=hub.heartbeat_seconds,
                lease_seconds=120,
                end_reasons=hub.end_reasons,
            )
        )
        cursor = proof.cursor if proof.stream_id == hub.stream_id else 0
        for command in node.commands:
            if command.number > cursor:
                self.say(command)
        return None

    def _goodbye(self, code: str, message: str, *, retry: bool) -> None:
        self.say(Goodbye(code=code, message=message, retry=retry))
        self.close()


@dataclass
class PollSession:
    line: Line
    accepted: int = 0
    first: int = 0
    pending: list[str] = field(default_factory=list)

    def collect(self) -> None:
        while not self.line.queue.empty():
            raw = self.line.queue.get_nowait()
            if raw is not None:
                self.pending.append(raw.decode())


class FakeHub:
    def __init__(self, *, heartbeat_seconds: float = 0.5) -> None:
        self.key = Ed25519PrivateKey.generate()
        self.key_id = key_id_of(raw_public(self.key))
        self.owner_key = Ed25519PrivateKey.generate()
        """Of the CLI of the nodes' owner: no hub has it. The manifests of own jobs come signed with it."""
        self.hub_id = "hub_" + secrets.token_hex(8)
        self.stream_id = secrets.token_hex(8)
        self.heartbeat_seconds = heartbeat_seconds
        self.time_offset = timedelta(0)
        self.nodes: dict[str, Node] = {}
        self.tokens: set[str] = {"token"}
        self.enrolments: list[EnrolRequest] = []
        # what arrived
        self.updates: dict[str, list[Update]] = defaultdict(list)
        self.logs: dict[str, bytearray] = defaultdict(bytearray)
        self.receipts: dict[str, Receipt] = {}
        self.finished_count: dict[str, int] = defaultdict(int)
        self.gone: dict[str, Gone] = {}
        self.stored: dict[str, bytes] = {}
        self.downloads: dict[str, bytes] = {}
        self.ranges: list[str] = []
        self.checkpoints: dict[str, list[CheckpointSaved]] = defaultdict(list)
        self.refused_checkpoints: list[CheckpointSaved] = []
        self.uploads: list[str] = []
        self.end_reasons: tuple[str, ...] = tuple(OLDER_REASONS)
        """Empty for a hub that is older than the agent."""
        # faults
        self.checkpoint_problem: str | None = None
        self.refused: set[str] = set()
        self.acknowledge_heartbeats = True
        self.acknowledge_logs = True
        self.acknowledge_reports = True
        self.block_websockets = False
        self.lose_poll_replies = 0
        self.break_downloads = 0
        self.cut_off: dict[bytes, int] = {}
        """Contents that stop after so many bytes, without the line being closed."""
        self.fail_uploads = 0
        self.upload_refusal: str | None = None
        self.corrupt_downloads = False
        self.part_bytes = MEGABYTE
        self._changed = asyncio.Condition()
        self._polls: dict[str, PollSession] = {}
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port = 0
        self._numbers: dict[str, int] = defaultdict(int)

    # ── serving ──

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def hub_keys(self) -> tuple[HubKey, ...]:
        return (HubKey(key_id=self.key_id, public_key=base64.b64encode(raw_public(self.key)).decode()),)

    async def __aenter__(self) -> "FakeHub":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.go_away()

    async def start(self) -> None:
        app = Starlette(
            routes=[
                WebSocketRoute("/api/v1/agent/link", self._websocket),
                Route("/api/v1/agent/poll", self._poll, methods=["POST"]),
                Route("/api/v1/nodes/enroll", self._enroll, methods=["POST"]),
                Route("/api/v1/version", lambda _: JSONResponse({"version": "0", "api": "v1"})),
                Route("/files/{name}", self._download, methods=["GET"]),
                Route("/files/{name}/{part:int}", self._upload, methods=["PUT"]),
            ]
        )
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=self.port,
            log_level="critical",
            lifespan="off",
            ws="websockets-sansio",
            ws_ping_interval=None,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._serving = asyncio.ensure_future(self._serve(self._server))
        while not self._server.started:
            if self._serving.done():
                await self._serving
            await asyncio.sleep(0.005)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]

    @staticmethod
    async def _serve(server: uvicorn.Server) -> None:
        # Without `serve`, which would take the test runner's signal handlers.
        await server._serve()

    async def go_away(self, *, restart: bool = True) -> None:
        """Every line is cut. With `restart` the next start is a new process of the hub: its stream begins anew."""
        self.drop_lines()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            self._server.force_exit = True
            await self._serving
            self._server = None
        self._polls.clear()
        if restart:
            self.stream_id = secrets.token_hex(8)
            for node in self.nodes.values():
                node.commands.clear()
                self._numbers[node.node_id] = 0

    def drop_lines(self) -> None:
        for node in self.nodes.values():
            if node.line is not None:
                node.line.close()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.time_offset

    async def _websocket(self, socket: WebSocket) -> None:
        if self.block_websockets:
            await socket.close()
            return
        await socket.accept()
        line = Line(self, "websocket")

        async def write() -> None:
            while (raw := await line.queue.get()) is not None:
                await socket.send_text(raw.decode())
            await socket.close()

        writer = asyncio.ensure_future(write())
        try:
            while not line.closed:
                line.hear((await socket.receive_text()).encode())
                await self._notify()
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            line.close()
            with contextlib.suppress(Exception):
                await asyncio.wait_for(writer, LAST_WORDS_SECONDS)

    async def _poll(self, request: Request) -> Response:
        reply = await self.poll(await request.body(), request.headers[POLL_SIGNATURE_HEADER])
        if self.lose_poll_replies > 0:
            self.lose_poll_replies -= 1
            return Response(status_code=502)
        return Response(reply.to_bytes())

    async def poll(self, body: bytes, signature: str) -> PollReply:
        poll = PollRequest.model_validate_json(body)
        node = self.nodes[poll.node_id]
        signed = Signed(type=POLL, key_id="node", body=body.decode(), signature=signature)
        verify(signed, POLL, {"node": load_public_key(node.sign_key)})
        session = self._polls.get(poll.session)
        if session is None:
            if poll.start or poll.received:
                return PollReply(accepted=0, start=0, closed=True)
            session = self._polls[poll.session] = PollSession(Line(self, "long_poll"))
        for index, message in enumerate(poll.messages, start=poll.start):
            if index == session.accepted:
                session.accepted += 1
                session.line.hear(message.encode())
        await self._notify()
        del session.pending[: max(0, poll.received - session.first)]
        session.first = max(session.first, poll.received)
        session.collect()
        if not session.pending and poll.wait_seconds:
            session.line.news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(poll.wait_seconds):
                    while not session.pending and not session.line.closed:
                        await session.line.news.wait()
                        session.line.news.clear()
                        session.collect()
        return PollReply(
            accepted=session.accepted,
            start=session.first,
            messages=tuple(session.pending),
            closed=session.line.closed and not session.pending,
        )

    async def _enroll(self, request: Request) -> Response:
        enrol = EnrolRequest.model_validate_json(await request.body())
        if enrol.token not in self.tokens:
            error = {"code": "bad_join_token", "message": "used", "hint": None}
            return JSONResponse({"error": error}, status_code=422)
        self.tokens.discard(enrol.token)
        self.enrolments.append(enrol)
        node_id = self.add_node(base64.b64decode(enrol.sign_key)).node_id
        reply = EnrolReply(node_id=node_id, name=enrol.name, hub_id=self.hub_id, keys=self.hub_keys)
        return Response(reply.to_bytes(), status_code=201)

    def add_node(self, sign_key: bytes, node_id: str | None = None) -> Node:
        node = Node(node_id or "node_" + secrets.token_hex(8), sign_key)
        self.nodes[node.node_id] = node
        return node

    async def _download(self, request: Request) -> Response:
        data = self.downloads[request.path_params["name"]]
        asked = request.headers.get("Range", "")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-") or 0)
        if self.corrupt_downloads:
            data = bytes(len(data))
        if data in self.cut_off:
            return _Stalled(data[start : self.cut_off[data]], len(data) - start, 206 if start else 200)
        if self.break_downloads > 0:
            self.break_downloads -= 1
            # The length says more than what comes: the line breaks in the middle.
            half = data[start : start + max(1, (len(data) - start) // 2)]
            return _Broken(half, len(data) - start, 206 if start else 200)
        return Response(data[start:], status_code=206 if start else 200)

    async def _upload(self, request: Request) -> Response:
        if self.fail_uploads > 0:
            self.fail_uploads -= 1
            return Response(status_code=503)
        body = await request.body()
        name, part = request.path_params["name"], request.path_params["part"]
        data = bytearray(self.stored.get(name, b""))
        start = part * self.part_bytes
        data[start : start + len(body)] = body
        self.stored[name] = bytes(data)
        self.uploads.append(name)
        return Response(status_code=200)

    # ── what agents say ──

    def hear(self, line: Line, node: Node, message: Wire) -> None:
        if isinstance(message, Heartbeat):
            node.heartbeats.append(message)
            renewed = message.holding if self.acknowledge_heartbeats else ()
            line.say(HeartbeatAck(hub_time=self.now(), renewed=renewed))
            return
        if isinstance(message, NodeReport):
            node.reports.append(message)
            return
        if isinstance(message, PolicyReport):
            node.policies.append(message)
            return
        attempt_id: str = message.attempt_id  # type: ignore[attr-defined]
        fence: int = message.fence  # type: ignore[attr-defined]
        if attempt_id in self.refused:
            line.say(Refused(attempt_id=attempt_id, fence=fence, code="stale_fence", message="given to another"))
        elif isinstance(message, LogChunk):
            self._hear_log(line, message)
        elif isinstance(message, UploadRequest):
            line.say(self._grant(message))
        elif isinstance(message, CheckpointSaved):
            self._hear_checkpoint(line, message)
        elif isinstance(message, Update | Finished | Gone):
            self._hear_report(line, node, message)

    def _hear_report(self, line: Line, node: Node, message: Update | Finished | Gone) -> None:
        if isinstance(message, Update):
            if message.sequence not in {update.sequence for update in self.updates[message.attempt_id]}:
                self.updates[message.attempt_id].append(message)
        elif isinstance(message, Gone):
            self.gone[message.attempt_id] = message
        elif self.acknowledge_reports:
            keys = {message.receipt.key_id: load_public_key(node.sign_key)}
            receipt = Receipt.model_validate_json(verify(message.receipt, RECEIPT, keys))
            log = bytes(self.logs[message.attempt_id])
            assert receipt.log_bytes == len(log)
            assert receipt.log_digest == "sha256:" + hashlib.sha256(log).hexdigest()
            self.receipts[message.attempt_id] = receipt
            self.finished_count[message.attempt_id] += 1
        if self.acknowledge_reports:
            line.say(ReportAck(attempt_id=message.attempt_id, fence=message.fence, sequence=message.sequence))

    def _hear_checkpoint(self, line: Line, message: CheckpointSaved) -> None:
        heard = self.checkpoints[message.attempt_id] if self.checkpoint_problem is None else self.refused_checkpoints
        heard.append(message)
        line.say(
            ReportAck(
                attempt_id=message.attempt_id,
                fence=message.fence,
                sequence=message.sequence,
                problem=self.checkpoint_problem,
            )
        )

    def content(self, message: CheckpointSaved) -> dict[str, bytes]:
        """What a checkpoint that was reported would restore."""
        return {file.path: self.stored.get(file.digest.partition(":")[2], b"") for file in message.files}

    def _hear_log(self, line: Line, chunk: LogChunk) -> None:
        log = self.logs[chunk.attempt_id]
        end = chunk.offset + len(chunk.data)
        if chunk.offset <= len(log) < end:
            log += chunk.data[len(log) - chunk.offset :]
        if self.acknowledge_logs:
            line.say(LogAck(attempt_id=chunk.attempt_id, fence=chunk.fence, offset=len(log)))

    def _grant(self, request: UploadRequest) -> UploadGrant:
        targets = []
        for file in request.files:
            name = file.digest.partition(":")[2]
            parts = max(1, -(-file.size_bytes // self.part_bytes))
            known = hashlib.sha256(self.stored.get(name, b"")).hexdigest() == name and file.size_bytes > 0
            urls = () if known else tuple(f"/files/{name}/{part}" for part in range(parts))
            targets.append(UploadTarget(path=file.path, urls=urls, part_bytes=self.part_bytes))
        return UploadGrant(
            attempt_id=request.attempt_id,
            fence=request.fence,
            request=request.request,
            targets=() if self.upload_refusal else tuple(targets),
            refused=self.upload_refusal,
        )

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, condition) -> None:
        """Wait for something that an agent does."""
        async with asyncio.timeout(patience()):
            while not condition():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS), self._changed:
                        await self._changed.wait()

    # ── what a test does ──

    def manifest(self, node: Node, argv: tuple[str, ...], **changes: object) -> Manifest:
        number = secrets.token_hex(8)
        now = self.now()
        fields: dict[str, object] = {
            "hub_id": self.hub_id,
            "node_id": node.node_id,
            "job_id": f"job_{number}",
            "attempt_id": f"attempt_{number}",
            "attempt_number": 1,
            "slice_index": 0,
            "slices": 1,
            "fence": 7,
            "issued_at": now,
            "expires_at": now + timedelta(seconds=300),
            "spec_digest": "sha256:" + "0" * 64,
            "name": "test",
            "argv": argv,
            "env": {},
            "grant": Grant(cpus=0.1, memory_bytes=64 * MEGABYTE, disk_bytes=1024 * MEGABYTE),
            "isolation": IsolationLevel.PROCESS,
            "own": True,
            "max_runtime_seconds": 3600.0,
        }
        manifest = Manifest.model_validate(fields | changes)
        if not manifest.own or "own_job" in changes:
            return manifest
        return manifest.model_copy(update={"own_job": self.own_job(manifest)})

    def own_job(self, manifest: Manifest, **changes: object) -> Signed:
        """The owner's signature under what the manifest orders, or under something else."""
        statement = OwnJob(
            hub_id=self.hub_id,
            work=Work.ordered_by(manifest).digest(),
            expires_at=self.now() + timedelta(days=7),
        )
        body = statement.model_copy(update=changes).to_bytes()
        return sign(self.owner_key, key_id_of(raw_public(self.owner_key)), OWN_JOB, body)

    @property
    def own_jobs(self) -> OwnJobs:
        """As an agent knows them whose owner's CLI is in the same home, and that `up` started."""
        return OwnJobs(home_key=key_text(self.owner_key.public_key()), from_up=True)

    def sign_manifest(self, manifest: Manifest) -> Signed:
        return sign(self.key, self.key_id, MANIFEST, manifest.to_bytes())

    def bundle(self, data: bytes, parts: int = 1) -> tuple[BundleRef, dict[str, tuple[str, ...]]]:
        digest = hashlib.sha256(data).hexdigest()
        size = -(-len(data) // parts)
        names = [f"{digest}.{part}" for part in range(parts)]
        for part, name in enumerate(names):
            self.downloads[name] = data[part * size : (part + 1) * size]
        ref = BundleRef(digest=f"sha256:{digest}", size_bytes=len(data))
        return ref, {ref.digest: tuple(f"/files/{name}" for name in names)}

    def command(self, node: Node, make) -> None:
        self._numbers[node.node_id] += 1
        command = make(self._numbers[node.node_id])
        node.commands.append(command)
        if node.line is not None:
            node.line.say(command)

    def offer_signed(self, node: Node, signed: Signed, downloads=None) -> None:
        self.command(node, lambda number: Offer(number=number, manifest=signed, downloads=downloads or {}))

    def offer(self, node: Node, *argv: str, downloads=None, **changes: object) -> str:
        """Offer a command; the attempt's id."""
        manifest = self.manifest(node, argv, **changes)
        self.offer_signed(node, self.sign_manifest(manifest), downloads)
        return manifest.attempt_id

    def stop(
        self,
        node: Node,
        attempt_id: str,
        *,
        grace_seconds: float = 1.0,
        fence: int = 7,
        reason: Literal["canceled", "evicted"] = "canceled",
    ) -> None:
        self.command(
            node,
            lambda number: Stop(
                attempt_id=attempt_id, fence=fence, number=number, reason=reason, grace_seconds=grace_seconds
            ),
        )

    def refuse(self, node: Node, attempt_id: str, fence: int = 7) -> None:
        self.refused.add(attempt_id)
        assert node.line is not None
        node.line.say(Refused(attempt_id=attempt_id, fence=fence, code="stale_fence", message="given to another"))

    def announce_key(self, node: Node, key: Ed25519PrivateKey) -> None:
        raw = raw_public(key)
        body = HubKey(key_id=key_id_of(raw), public_key=base64.b64encode(raw).decode()).to_bytes()
        assert node.line is not None
        node.line.say(KeyAnnouncement(announcement=sign(self.key, self.key_id, KEY_ANNOUNCEMENT, body)))

    def retire_key(self, node: Node, key_id: str, not_after: datetime) -> None:
        body = Retirement(hub_id=self.hub_id, key_id=key_id, not_after=not_after).to_bytes()
        assert node.line is not None
        node.line.say(KeyRetirement(retirement=sign(self.key, self.key_id, KEY_RETIREMENT, body)))


class _Broken(Response):
    """Says a length and delivers less."""

    def __init__(self, body: bytes, claimed: int, status: int) -> None:
        super().__init__(body, status_code=status)
        self.headers["Content-Length"] = str(claimed)


class _Stalled(_Broken):
    """Delivers the first bytes, and then nothing, until the other side has had enough."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
