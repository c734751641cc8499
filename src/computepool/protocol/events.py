"""What the hub tells the readers of its event streams, and what they may ask for.

`WS /api/v1/events` carries one message per frame. `GET /api/v1/events` carries the same as server-sent events: `event:`
is the message's type, `id:` its id, `data:` the message.

Messages with an id are events: each is told once, in order, also to a reader that was away and comes back with the last
id it has. Messages without an id show how something is now (`wallet`, `load`, `why`, `slices`, `log`, `public`): the
newest one replaces those before it, and a reader that comes back gets the current one.

Readers ignore types and fields that they do not know: later versions only add.

Messages that show jobs are in `hub/api/stream_views.py`, with what the API shows of jobs.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from computepool.protocol.messages import GpuLoad
from computepool.protocol.model import Wire
from computepool.protocol.spec import MAX_SLICES
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import AttemptState, JobState, NodeState, Verdict

EVENTS_VERSION = 1
WINDOW_LIMIT = 1_000
"""Slices that one subscription shows."""
CLIENT_MESSAGE_LIMIT_BYTES = 4096
JobId = Annotated[str, Field(max_length=40, pattern=r"^[a-zA-Z0-9_-]+$")]


class Told(Wire):
    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_serialization_defaults_required=True)


# ── events: each is told once ────────────────────────────────────────────────────────────────────────────────────────


class JobEvent(Told):
    """One of your jobs changed."""

    type: Literal["job"] = "job"
    job_id: str
    change: Literal["submitted", "cancel_requested", "ended", "deleted", "result_corrected"]
    state: JobState | None = None
    """Of the job, where it changed."""
    slices: int | None = None
    """How many it has, when it was submitted."""
    slice: int | None = None
    """Whose result was corrected."""
    verdict: Verdict | None = None
    reason: EndedBy | None = None
    exit_code: int | None = None


class AttemptEvent(Told):
    """An attempt of one of your jobs changed its state."""

    type: Literal["attempt"] = "attempt"
    job_id: str
    attempt_id: str
    slice: int
    node_id: str
    state: AttemptState
    verdict: Verdict | None = None
    reason: EndedBy | None = None
    taken_back: bool = False
    """It was lost, and goes on where it was."""


class CheckpointEvent(Told):
    """A slice of one of your jobs was saved: its next attempt can start there."""

    type: Literal["checkpoint"] = "checkpoint"
    job_id: str
    attempt_id: str
    slice: int
    number: int
    size_bytes: int


class CostEvent(Told):
    """A part of a running attempt was settled, or could not be paid."""

    type: Literal["cost"] = "cost"
    job_id: str
    attempt_id: str
    slice: int
    cost_micros: int = 0
    out_of_credits: bool = False
    """It was asked to leave its node, as the next part cannot be paid."""


class HostedEvent(Told):
    """Somebody else's attempt changed its state on one of your nodes."""

    type: Literal["hosted"] = "hosted"
    node_id: str
    attempt_id: str
    state: AttemptState
    verdict: Verdict | None = None
    reason: EndedBy | None = None


class NodeEvent(Told):
    """One of your nodes changed."""

    type: Literal["node"] = "node"
    node_id: str
    change: Literal[
        "enrolled", "state", "changed", "drain", "resume", "benchmark", "quarantined", "quarantine_over", "declines",
        "slots", "verified", "unverified", "cloned", "key_replaced", "policy",
    ]  # fmt: skip
    state: NodeState | None = None
    until: datetime | None = None
    """How long it is quarantined, or asked less often."""
    slots: int | None = None
    """How many slices of strangers it may have at once."""


class NoticeEvent(Told):
    """Something that you should look at."""

    type: Literal["notice"] = "notice"
    about: Literal[
        "dispute_opened", "dispute_resolved", "disputed", "dispute_decided", "restitution_owed", "restitution_paid",
        "clawback", "contest_opened", "contest_decided", "node_accused", "accusation_decided", "node_proven_wrong",
    ]  # fmt: skip
    subject_id: str
    """What it is about: a dispute, an attempt, a node."""
    job_id: str | None = None
    node_id: str | None = None
    outcome: str | None = None
    micros: int | None = None


class PaymentEvent(Told):
    """Money or credits moved in your wallet by other means than a job, or how they move changed."""

    type: Literal["payment"] = "payment"
    change: Literal[
        "credits_granted", "credits_withdrawn", "voucher_redeemed", "debt_written_off", "top_up_credited",
        "top_up_failed", "top_up_requires_action", "refunded", "chargeback", "dispute_refund_undone",
        "cash_out_requested", "cash_out_approved", "cash_out_rejected", "cash_out_paid", "cash_out_failed",
        "cash_out_returned", "cash_out_canceled", "card_saved", "card_forgotten", "card_plan_changed", "card_stopped",
        "payout_account_changed", "storage_unpaid",
    ]  # fmt: skip
    subject_id: str | None = None
    """A cash-out, a top-up, a voucher; None where there is only one."""
    micros: int | None = None


class AccountEvent(Told):
    """Who may act in your name, or how much, changed."""

    type: Literal["account"] = "account"
    change: Literal["session_opened", "token_created", "role_changed", "limits_changed", "storage_limits_changed"]
    subject_id: str | None = None
    """The session or the token."""
    by: str | None = None
    """How a session was opened: password, one_time, device, registration."""


class AdminEvent(Told):
    """For admins: something needs a person, or no longer does."""

    type: Literal["admin"] = "admin"
    change: Literal[
        "dispute_opened", "dispute_resolved", "cash_out_requested", "cash_out_canceled", "cash_out_not_returned",
        "contest_opened",
        "node_accused", "payment_difference", "ledger_frozen", "ledger_thawed", "mail_given_up", "user_registered",
        "setting_changed",
    ]  # fmt: skip
    subject_id: str


PoolEvent = Annotated[
    JobEvent
    | AttemptEvent
    | CheckpointEvent
    | CostEvent
    | HostedEvent
    | NodeEvent
    | NoticeEvent
    | PaymentEvent
    | AccountEvent
    | AdminEvent,
    Field(discriminator="type"),
]


# ── messages of the hub ──────────────────────────────────────────────────────────────────────────────────────────────


class HelloMessage(Told):
    """The first message. Events after `id` follow."""

    type: Literal["hello"] = "hello"
    version: int = EVENTS_VERSION
    id: str
    """Where the stream begins: what you sent, or the newest event."""


class EventMessage(Told):
    type: Literal["event"] = "event"
    id: str
    """Send the last one you have as `?after=` or `Last-Event-ID` to go on from there. Opaque: compare for equality
    only."""
    at: datetime
    event: PoolEvent
    notice: bool = False
    """`GET /notices` has something new because of it."""


class StartOverMessage(Told):
    """Events between what you have and `id` are not told: read what you show anew, then go on from `id`."""

    type: Literal["start_over"] = "start_over"
    id: str
    reason: Literal["pruned", "too_many", "unknown_id"]
    """pruned: they are older than the hub keeps them. too_many: more than are told at once. unknown_id: not an id of
    this hub, or from before it was restored from a backup."""


class WalletMessage(Told):
    """What is in the wallet now, in millionths of a credit. At most a few a second, however much moves."""

    type: Literal["wallet"] = "wallet"
    owner_id: str
    spendable_micros: int
    available_micros: int
    promotional_micros: int
    earnings_micros: int
    held_micros: int
    cashing_out_micros: int
    debt_micros: int


class NodeLoadMessage(Told):
    """How busy one of your nodes is now. Its telemetry has a new sample too."""

    type: Literal["load"] = "load"
    node_id: str
    gpus: tuple[GpuLoad, ...]
    """As in `gpu_loads` of the node; empty where it has no GPU."""


class WhyMessage(Told):
    """Why a job that you watch still waits; sent when that changes."""

    type: Literal["why"] = "why"
    job_id: str
    state: JobState
    summary: str


class LogMessage(Told):
    """A piece of an attempt's log."""

    type: Literal["log"] = "log"
    job_id: str | None = None
    """Always told; older hubs left it out on the stream of one job."""
    slice: int
    attempt: int
    offset: int
    """Of its first byte in the log."""
    data: str
    """The bytes in base64."""


class WatchEndedMessage(Told):
    """What you subscribed to is over: the job is final and everything was sent, or it cannot be shown."""

    type: Literal["watch_ended"] = "watch_ended"
    job_id: str
    slice: int | None = None
    """Of the log that was followed; None for a window."""
    code: str | None = None
    """Why, if it was refused; an error code of the API."""
    message: str | None = None


class RefusedMessage(Told):
    """A message of yours was not understood, or asks for too much. The stream goes on."""

    type: Literal["refused"] = "refused"
    code: Literal["bad_message", "too_many_subscriptions"]
    message: str


# ── messages of the reader, over a WebSocket ─────────────────────────────────────────────────────────────────────────


class WatchMessage(Told):
    """Show me a window of a job's slices, and why it waits. Again with another window: that one instead."""

    type: Literal["watch"] = "watch"
    job_id: JobId
    from_slice: int = Field(default=0, ge=0, le=MAX_SLICES)
    slice_limit: int = Field(default=100, ge=1, le=WINDOW_LIMIT)
    why: bool = True


class UnwatchMessage(Told):
    type: Literal["unwatch"] = "unwatch"
    job_id: JobId


class FollowLogMessage(Told):
    """Send me the log of a slice's attempts as it is written, from `offset` of `attempt` on."""

    type: Literal["follow_log"] = "follow_log"
    job_id: JobId
    slice: int = Field(default=0, ge=0, le=MAX_SLICES)
    attempt: int | None = Field(default=None, ge=1)
    """The newest from its beginning, if it is not said."""
    offset: int = Field(default=0, ge=0)
    """Only with `attempt`."""


class UnfollowLogMessage(Told):
    type: Literal["unfollow_log"] = "unfollow_log"
    job_id: JobId
    slice: int = Field(default=0, ge=0, le=MAX_SLICES)


ReaderMessage = Annotated[
    WatchMessage | UnwatchMessage | FollowLogMessage | UnfollowLogMessage, Field(discriminator="type")
]
_READER: TypeAdapter[ReaderMessage] = TypeAdapter(ReaderMessage)


def parse_reader_message(raw: str | bytes) -> ReaderMessage:
    """Raises pydantic.ValidationError."""
    return _READER.validate_json(raw)
