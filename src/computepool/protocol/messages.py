"""What the agent and the hub say to each other, over a WebSocket or by long poll: the same messages, one JSON each.

    agent                                   hub
      │  hello(node, instance)               │
      │ ───────────────────────────────────► │
      │             challenge(nonce, time)   │
      │ ◄─────────────────────────────────── │
      │  proof(signature, capacity, running) │
      │ ───────────────────────────────────► │
      │          welcome(stream, constants)  │
      │ ◄─────────────────────────────────── │
      │  heartbeat, update, log, finished …  │
      │ ◄──────────────────────────────────► │
      │      offer, stop  (numbered)         │

Commands (offer, stop) are numbered within a stream; the agent tells how far it got with its cursor, so a switch of
link neither drops nor repeats one. Reports carry (attempt, fence) and are repeated until they are acknowledged: a
duplicate is a no-op, a stale fence is refused. Changes only add: an unknown message is skipped by an older peer.
"""

from datetime import datetime
from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from computepool.protocol.benchmark import BenchmarkFromAgent, BenchmarkFromHub
from computepool.protocol.capacity import MOST_GPUS, Bytes, Capacity, HouseRules
from computepool.protocol.limits import CHECKPOINT_FILES_LIMIT, OUTPUT_FILES_LIMIT
from computepool.protocol.manifest import SavedFile
from computepool.protocol.model import Wire
from computepool.protocol.owner_requests import OwnerRequest, PolicyReport
from computepool.protocol.signing import Signed
from computepool.protocol.states import AttemptState, IsolationLevel
from computepool.protocol.telemetry import USAGE_ATTEMPTS_LIMIT, USAGE_SAMPLES_LIMIT, MachineLoad, UsageSample

PROTOCOL_VERSION = 1

LOG_CHUNK_LIMIT_BYTES = 256 * 1024
LOG_LIMIT_BYTES = 1_000_000_000
"""Of one attempt. An agent keeps the head and the tail of a longer one, and a line that says what is missing."""
MESSAGE_LIMIT_BYTES = 4 * 1024 * 1024
HOLDING_LIMIT = 5_000
"""Attempts that a node may have at once. The hub gives no node so many."""
CACHED_LIMIT = 1_000
"""Things at hand that a node tells of: the digests of inputs, and images by name."""
CACHED_IMAGE = "image:"


def cached_image(name: str) -> str:
    """How an image is told of, however its name is written: `python` means `python:latest`."""
    bare, _, digest = name.partition("@")
    tagged = ":" in bare.rpartition("/")[2]
    return f"{CACHED_IMAGE}{bare}" if tagged or digest else f"{CACHED_IMAGE}{bare}:latest"


CHECKPOINT_NUMBER_LIMIT = 10**9
UPLOAD_PART_BYTES = 32 * 1024 * 1024
"""What is uploaded travels in parts of this size; the last may be shorter."""


Id = Annotated[str, Field(max_length=80, pattern=r"^[a-zA-Z0-9_-]+$")]
"""Ids go into file names and questions to databases: on the line they are letters and digits."""
AgentVersion = Annotated[str, Field(max_length=40, pattern=r"^[ -~]*$")]


class AttemptRef(Wire):
    attempt_id: Id
    fence: int


# ── agent → hub ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Holding(AttemptRef):
    """An attempt that the agent still has: running, or ended with a result that was not yet acknowledged."""

    state: AttemptState
    gone: bool = False
    """It ended without a result, and the agent is about to say why: nobody need renew it, or take it back."""


class Hello(Wire):
    type: Literal["hello"] = "hello"
    protocol: int = PROTOCOL_VERSION
    node_id: Id
    instance_id: str = Field(max_length=80)
    """Random for each start of the agent: two at once under one node id are a cloned disk."""
    agent_version: AgentVersion


class Availability(Wire):
    """What the owner's policy leaves to strangers right now. The owner's own jobs are not held back by it."""

    strangers: bool = True
    reason: str = Field(default="", max_length=200)
    """Why not, for people: `the keyboard was used 3 minutes ago`."""
    gpus_in_use: tuple[str, ...] = Field(default=(), max_length=MOST_GPUS)
    """The ids of GPUs that the owner uses, or keeps."""
    gpu_only: bool = False
    """Only what uses one of the other GPUs: the rest of the machine is the owner's."""


class Proof(Wire):
    type: Literal["proof"] = "proof"
    signature: str
    """Over `link_challenge(...)`, with the node's key."""
    capacity: Capacity
    holding: tuple[Holding, ...] = Field(default=(), max_length=HOLDING_LIMIT)
    stream_id: str | None = None
    cursor: int = 0
    state: Literal["online", "paused", "draining"] = "online"
    availability: Availability = Availability()
    cached: tuple[str, ...] = Field(default=(), max_length=CACHED_LIMIT)


class Heartbeat(Wire):
    """Renews the leases of what it names. Touches the hub's memory, never its database."""

    type: Literal["heartbeat"] = "heartbeat"
    cursor: int = 0
    holding: tuple[AttemptRef, ...] = Field(default=(), max_length=HOLDING_LIMIT)
    state: Literal["online", "paused", "draining"] = "online"
    availability: Availability = Availability()
    preparing: tuple[AttemptRef, ...] | None = Field(default=None, max_length=HOLDING_LIMIT)
    """Of `holding`, those that the agent works on and whose command does not run yet: it fetches, unpacks, or waits for
    another attempt that fetches the same. None from an agent that does not tell."""


class GpuLoad(Wire):
    """A GPU as it is now; None for what its driver does not tell."""

    id: str = Field(max_length=100)
    utilisation: float | None = Field(default=None, ge=0, le=1)
    memory_used_bytes: Bytes | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = Field(default=None, ge=0)


class AttemptUsage(AttemptRef):
    """Consecutive samples of one attempt, oldest first. A hub skips samples that it already has."""

    first: int = Field(ge=0, lt=2**53)
    """The number of the first sample; the attempt's samples are counted from 0."""
    samples: tuple[UsageSample, ...] = Field(max_length=USAGE_SAMPLES_LIMIT)


class NodeReport(Wire):
    """How the node is doing. What it has is told when a line comes up; loads and usage become its history."""

    type: Literal["node"] = "node"
    gpus: tuple[GpuLoad, ...] = Field(default=(), max_length=MOST_GPUS)
    cached: tuple[str, ...] | None = Field(default=None, max_length=CACHED_LIMIT)
    """The digests of bundles and inputs at hand, and images as `image:name`; None if they are the same as before."""
    rules: HouseRules | None = None
    """What the host has just decided; None if it is the same as before."""
    machine: MachineLoad | None = None
    usage: tuple[AttemptUsage, ...] = Field(default=(), max_length=USAGE_ATTEMPTS_LIMIT)
    """Samples of attempts that were taken since the report before."""


class Update(AttemptRef):
    type: Literal["update"] = "update"
    sequence: int
    state: Literal["preparing", "running", "suspended", "finishing"]
    isolation: IsolationLevel | None = None
    at: datetime | None = None
    image_digest: str | None = Field(default=None, max_length=200)
    """What the image's name meant: told when it runs."""


class LogChunk(AttemptRef):
    type: Literal["log"] = "log"
    offset: int = Field(ge=0)
    data: bytes = Field(max_length=LOG_CHUNK_LIMIT_BYTES)


class UploadFile(Wire):
    path: str
    size_bytes: int
    digest: str
    part_digests: tuple[str, ...] = ()
    """Of each part, in order, when there is more than one: every URL is bound to the digest of what is put there."""


class UploadRequest(AttemptRef):
    """Asks for URLs to put output files to; each is bound to this attempt, its size and its digest."""

    type: Literal["upload_request"] = "upload_request"
    request: int
    files: tuple[UploadFile, ...] = Field(max_length=OUTPUT_FILES_LIMIT)
    """More of them come from no agent: each takes ten times its bytes once it is read."""
    purpose: Literal["output", "checkpoint"] = "output"


class CheckpointSaved(AttemptRef):
    """Its files are uploaded. Once this is acknowledged the next attempt starts from here."""

    type: Literal["checkpoint"] = "checkpoint"
    sequence: int
    number: int = Field(ge=1, le=CHECKPOINT_NUMBER_LIMIT)
    files: tuple[SavedFile, ...] = Field(max_length=CHECKPOINT_FILES_LIMIT)
    running_seconds: float = Field(ge=0)
    """Of this attempt, when the folder was read."""


class Finished(AttemptRef):
    type: Literal["finished"] = "finished"
    sequence: int
    receipt: Signed


LEASE_OVER = "the hub was away for longer than the lease"
"""Why a job with network access had to be ended."""


class Gone(AttemptRef):
    """The agent no longer has it and never will: it crashed, or the machine was reset, in the middle."""

    type: Literal["gone"] = "gone"
    sequence: int = 0
    """Acknowledged like any report; repeated until then."""
    reason: str


FromAgent = Annotated[
    Hello | Proof | Heartbeat | NodeReport | Update | LogChunk | UploadRequest | CheckpointSaved | Finished | Gone
    | PolicyReport | BenchmarkFromAgent,
    Field(discriminator="type"),
]  # fmt: skip

# ── hub → agent ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Challenge(Wire):
    type: Literal["challenge"] = "challenge"
    nonce: str
    hub_time: datetime


class Welcome(Wire):
    type: Literal["welcome"] = "welcome"
    hub_id: str
    stream_id: str
    """New for each start of the hub: a cursor counts within it."""
    hub_time: datetime
    heartbeat_seconds: float
    lease_seconds: float
    hub_version: str = ""
    agent_minimum: str = ""
    """An older agent gets no strangers' work."""
    notice: str = ""
    """What the node's owner should know, such as that the agent is old."""
    end_reasons: tuple[str, ...] = ()
    """Which of the end reasons that came later (`receipt.OLDER_REASONS`) this hub knows."""


class Offer(Wire):
    type: Literal["offer"] = "offer"
    number: int
    manifest: Signed
    downloads: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Where to get each input, by digest: the URLs of its parts, in order."""


class Stop(AttemptRef):
    type: Literal["stop"] = "stop"
    number: int
    reason: Literal["canceled", "superseded", "evicted"]
    grace_seconds: float = 10.0


class HeartbeatAck(Wire):
    type: Literal["heartbeat_ack"] = "heartbeat_ack"
    hub_time: datetime
    renewed: tuple[AttemptRef, ...] = ()


class ReportAck(AttemptRef):
    type: Literal["report_ack"] = "report_ack"
    sequence: int
    problem: str | None = None
    """It was heard, but changes nothing: why a checkpoint does not count."""


class LogAck(AttemptRef):
    type: Literal["log_ack"] = "log_ack"
    offset: int
    """Everything before it is durable; the agent goes on from here."""


class UploadTarget(Wire):
    path: str
    urls: tuple[str, ...]
    """One for each part, in order, "" for a part that is there already; none at all when everything is."""
    headers: tuple[dict[str, str], ...] = ()
    """What must be sent with each part, besides its Content-Length; in the order of `urls`."""
    part_bytes: int


class UploadGrant(AttemptRef):
    type: Literal["upload_grant"] = "upload_grant"
    request: int
    targets: tuple[UploadTarget, ...] = ()
    refused: str | None = None
    """Why none are granted, such as a limit on size."""


class Refused(AttemptRef):
    """The attempt is not this node's any more: end it, drop what was spooled."""

    type: Literal["refused"] = "refused"
    code: str
    message: str


class KeyAnnouncement(Wire):
    """The hub's next key, signed by its current one."""

    type: Literal["key_announcement"] = "key_announcement"
    announcement: Signed


class KeyRetirement(Wire):
    """When an earlier key of the hub ends, signed by its current one."""

    type: Literal["key_retirement"] = "key_retirement"
    retirement: Signed


class Goodbye(Wire):
    """The hub ends the link, and says whether coming back makes sense."""

    type: Literal["goodbye"] = "goodbye"
    code: str
    message: str
    retry: bool


FromHub = Annotated[
    Challenge
    | Welcome
    | Offer
    | Stop
    | HeartbeatAck
    | ReportAck
    | LogAck
    | UploadGrant
    | Refused
    | KeyAnnouncement
    | KeyRetirement
    | OwnerRequest
    | Goodbye
    | BenchmarkFromHub,
    Field(discriminator="type"),
]

Command = Offer | Stop

_FROM_AGENT: TypeAdapter[FromAgent] = TypeAdapter(FromAgent)
_FROM_HUB: TypeAdapter[FromHub] = TypeAdapter(FromHub)
M = TypeVar("M")


class MalformedMessage(Exception):
    """Not a message of this protocol, or one with wrong fields."""


def parse_from_agent(raw: str | bytes) -> FromAgent | None:
    """None for a type that this version does not know."""
    return _parse(_FROM_AGENT, raw)


def parse_from_hub(raw: str | bytes) -> FromHub | None:
    return _parse(_FROM_HUB, raw)


def _parse(adapter: TypeAdapter[M], raw: str | bytes) -> M | None:
    if len(raw) > MESSAGE_LIMIT_BYTES:
        raise MalformedMessage(f"a message of {len(raw)} bytes; the limit is {MESSAGE_LIMIT_BYTES}")
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "union_tag_invalid":
            return None
        where = ".".join(str(part) for part in first["loc"])
        raise MalformedMessage(f"{where}: {first['msg']}") from None


def link_challenge(hub_id: str, node_id: str, instance_id: str, nonce: str) -> bytes:
    """The body that a node signs to prove itself: bound to this hub, this node, this start and this link."""
    return f"{hub_id}\0{node_id}\0{instance_id}\0{nonce}".encode()


LINK_PROOF = "link_proof"

# ── the same messages by long poll ───────────────────────────────────────────────────────────────────────────────────

POLL = "poll"
POLL_SIGNATURE_HEADER = "X-Computepool-Signature"
POLL_HEAD = "poll_head"
LINK_PATH = "/api/v1/agent/link"
"""Where an agent opens its WebSocket."""
POLL_HEAD_HEADER = "X-Computepool-Poll"
POLL_HEAD_SIGNATURE_HEADER = "X-Computepool-Poll-Signature"


class PollRequest(Wire):
    """One exchange of a polled link. Both directions are counted, so a lost reply loses and repeats no message.

    The body's signature (type `poll`, the node's key) travels in `POLL_SIGNATURE_HEADER`, and a `PollHead` beside it.
    """

    node_id: Id
    session: str = Field(min_length=32, max_length=64)
    """Random, made by the agent: one polled link."""
    start: int = Field(ge=0)
    """How many messages of this session came before these."""
    messages: tuple[str, ...] = ()
    received: int = Field(ge=0)
    """How many messages of the hub the agent has, in this session: the hub forgets those."""
    wait_seconds: float = Field(ge=0, le=60)


class PollHead(Wire):
    """Who polls with which body, so that the hub knows it before it reads the body. Older agents do not send one.

    Its JSON is in `POLL_HEAD_HEADER`, its signature (type `poll_head`, the node's key) in `POLL_HEAD_SIGNATURE_HEADER`.
    """

    node_id: Id
    session: str = Field(min_length=32, max_length=64)
    body_digest: str = Field(max_length=80)
    """`sha256:…`"""


class PollReply(Wire):
    accepted: int
    """How many of the agent's messages the hub has, in this session."""
    start: int
    messages: tuple[str, ...] = ()
    closed: bool = False
    """The link is over: begin a new session."""
