"""Rows of the outbox as events for their readers: in public words, without anything that is not the reader's.

Which reader hears of a row is decided by its topic, when it is written: `owner/…` for what is theirs, `host/…` for what
happens on their nodes, `wallet/…`, and `admin`. What a token may read is decided here, by the event's type.
"""

from collections.abc import Callable, Mapping
from typing import Any

from computepool.hub.core.http import Scope
from computepool.hub.core.records import ADMIN_TOPIC, Event
from computepool.protocol.events import (
    AccountEvent,
    AdminEvent,
    AttemptEvent,
    CheckpointEvent,
    CostEvent,
    HostedEvent,
    JobEvent,
    NodeEvent,
    NoticeEvent,
    PaymentEvent,
    PoolEvent,
)
from computepool.protocol.states import JOB_FINAL, AttemptState, NodeState

Payload = Mapping[str, Any]
Maker = Callable[[Payload], PoolEvent]

SCOPES: Mapping[str, Scope] = {
    "job": Scope.JOBS_READ,
    "attempt": Scope.JOBS_READ,
    "checkpoint": Scope.JOBS_READ,
    "cost": Scope.JOBS_READ,
    "hosted": Scope.NODES_READ,
    "node": Scope.NODES_READ,
    "notice": Scope.ACCOUNT_READ,
    "payment": Scope.WALLET_READ,
    "account": Scope.ACCOUNT_READ,
    "admin": Scope.ADMIN_READ,
}
"""What a token must have to hear of events of a type."""


def render(event: Event) -> PoolEvent | None:
    """None for what no reader hears of."""
    maker = _MAKERS.get((event.topic.partition("/")[0], event.payload["action"]))
    return maker(event.payload) if maker is not None else None


def is_not_told(topic: str, action: str) -> bool:
    """Whether it is known that no reader hears of it."""
    return (topic.partition("/")[0], action) in NOT_TOLD


def _job(change: Any) -> Maker:
    def make(told: Payload) -> JobEvent:
        return JobEvent(
            job_id=told["subject"],
            change=change,
            state=told.get("state"),
            slices=told.get("slices"),
            slice=told.get("slice"),
        )

    return make


def _ended(state: str) -> Maker:
    def make(told: Payload) -> JobEvent:
        how = {name: told.get(name) for name in ("verdict", "reason", "exit_code")}
        return JobEvent(job_id=told["subject"], change="ended", state=state, **how)  # type: ignore[arg-type]  # validated

    return make


def _attempt(state: AttemptState | None) -> Maker:
    def make(told: Payload) -> AttemptEvent:
        return AttemptEvent(
            job_id=told["job"],
            attempt_id=told["subject"],
            slice=told["slice"],
            node_id=told["node"],
            state=state or told["state"],
            verdict=told.get("verdict"),
            reason=told.get("reason"),
            taken_back=state is None,
        )

    return make


def _hosted(state: AttemptState | None) -> Maker:
    def make(told: Payload) -> HostedEvent:
        return HostedEvent(
            node_id=told["node"],
            attempt_id=told["subject"],
            state=state or told["state"],
            verdict=told.get("verdict"),
            reason=told.get("reason"),
        )

    return make


def _checkpoint(told: Payload) -> CheckpointEvent:
    return CheckpointEvent(
        job_id=told["job"],
        attempt_id=told["subject"],
        slice=told["slice"],
        number=told["number"],
        size_bytes=told["size_bytes"],
    )


def _cost(told: Payload) -> CostEvent:
    is_out = told["action"] == "attempt.out_of_money"
    place = {"job_id": told["job"], "attempt_id": told["subject"], "slice": told["slice"]}
    return CostEvent(**place, cost_micros=told.get("cost_micros", 0), out_of_credits=is_out)


def _node(change: Any, state: NodeState | None = None) -> Maker:
    def make(told: Payload) -> NodeEvent:
        # A quarantine that was decided says how long; the same state also follows from what the agent says.
        is_decided = state is NodeState.QUARANTINED and "until" in told
        return NodeEvent(
            node_id=told["subject"],
            change="quarantined" if is_decided else change,
            state=state,
            until=told.get("until"),
            slots=told.get("slots"),
        )

    return make


def _notice(about: Any, outcome: str | None = None, *, shows_job: bool = True) -> Maker:
    def make(told: Payload) -> NoticeEvent:
        return NoticeEvent(
            about=about,
            subject_id=told["subject"],
            job_id=told.get("job") if shows_job else None,
            node_id=told.get("node"),
            outcome=outcome or told.get("outcome"),
            micros=told.get("micros"),
        )

    return make


def _about_node(about: Any, outcome: str | None = None) -> Maker:
    def make(told: Payload) -> NoticeEvent:
        return NoticeEvent(about=about, subject_id=told["subject"], node_id=told["subject"], outcome=outcome)

    return make


def _payment(change: Any, subject: str | None = None) -> Maker:
    def make(told: Payload) -> PaymentEvent:
        return PaymentEvent(change=change, subject_id=told[subject] if subject else None, micros=told.get("micros"))

    return make


def _account(change: Any, *, has_subject: bool = False) -> Maker:
    def make(told: Payload) -> AccountEvent:
        return AccountEvent(change=change, subject_id=told["subject"] if has_subject else None, by=told.get("by"))

    return make


def _admin(change: Any) -> Maker:
    return lambda told: AdminEvent(change=change, subject_id=told["subject"])


_OWNER: dict[str, Maker] = {
    "job.submitted": _job("submitted"),
    "job.cancel_requested": _job("cancel_requested"),
    "job.deleted": _job("deleted"),
    "job.result_corrected": _job("result_corrected"),
    **{f"job.{state}": _ended(state) for state in JOB_FINAL},
    **{f"attempt.{state}": _attempt(state) for state in AttemptState},
    "attempt.taken_back": _attempt(None),
    "attempt.checkpoint": _checkpoint,
    "attempt.instalment": _cost,
    "attempt.out_of_money": _cost,
    **{f"node.{state}": _node("state", state) for state in NodeState},
    "node.enrolled": _node("enrolled"),
    "node.changed": _node("changed"),
    "node.drain": _node("drain"),
    "node.resume": _node("resume"),
    "node.benchmark": _node("benchmark"),
    "node.quarantine_over": _node("quarantine_over"),
    "node.declines": _node("declines"),
    "node.slots": _node("slots"),
    "node.cloned": _node("cloned"),
    "node.key_replaced": _node("key_replaced"),
    "node.policy": _node("policy"),
    "node.verified": _node("verified"),
    "node.unverified": _node("unverified"),
    "node.accused": _about_node("node_accused"),
    "node.accusation_confirmed": _about_node("accusation_decided", "confirmed"),
    "node.accusation_dismissed": _about_node("accusation_decided", "dismissed"),
    "node.proven_wrong": _about_node("node_proven_wrong"),
    "reputation.contested": _about_node("contest_opened"),
    "reputation.upheld": _about_node("contest_decided", "upheld"),
    "reputation.dismissed": _about_node("contest_decided", "dismissed"),
    "dispute.opened": _notice("dispute_opened"),
    "dispute.resolved": _notice("dispute_resolved"),
    "restitution.owed": _notice("restitution_owed"),
    "restitution.paid": _notice("restitution_paid"),
    **{f"clawback.{state}": _notice("clawback", state) for state in ("done", "overturned")},
    "session.opened": _account("session_opened", has_subject=True),
    "token.created": _account("token_created", has_subject=True),
    "user.role_changed": _account("role_changed"),
    "owner.limits": _account("limits_changed"),
    "owner.storage_limits": _account("storage_limits_changed"),
}
_HOST: dict[str, Maker] = {
    **{f"attempt.{state}": _hosted(state) for state in AttemptState},
    "attempt.taken_back": _hosted(None),
    "dispute.about_you": _notice("disputed", shows_job=False),
    "dispute.decided_about_you": _notice("dispute_decided", shows_job=False),
}
_WALLET: dict[str, Maker] = {
    "credits.granted": _payment("credits_granted"),
    "credits.withdrawn": _payment("credits_withdrawn"),
    "voucher.redeemed": _payment("voucher_redeemed", "subject"),
    "debt.written_off": _payment("debt_written_off"),
    "payment.credited": _payment("top_up_credited"),
    "payment.refunded": _payment("refunded"),
    "dispute.refund_undone": _payment("dispute_refund_undone"),
    "top_up.failed": _payment("top_up_failed", "top_up"),
    "top_up.requires_action": _payment("top_up_requires_action", "top_up"),
    "card.saved": _payment("card_saved"),
    "card.forgotten": _payment("card_forgotten"),
    "card.plan": _payment("card_plan_changed"),
    "card.stopped": _payment("card_stopped"),
    "payout_account.changed": _payment("payout_account_changed"),
    "storage.unpaid": _payment("storage_unpaid"),
    **{f"payment.chargeback_{state}": _payment("chargeback") for state in ("opened", "won", "lost")},
    **{
        f"cash_out.{step}": _payment(f"cash_out_{step}", "subject")
        for step in ("requested", "approved", "rejected", "paid", "failed", "returned", "canceled")
    },
}
_ADMIN: dict[str, Maker] = {
    "dispute.opened": _admin("dispute_opened"),
    "dispute.resolved": _admin("dispute_resolved"),
    "cash_out.requested": _admin("cash_out_requested"),
    "cash_out.canceled": _admin("cash_out_canceled"),
    "cash_out.not_returned": _admin("cash_out_not_returned"),
    "reputation.contested": _admin("contest_opened"),
    "node.accused": _admin("node_accused"),
    "payment.difference": _admin("payment_difference"),
    "ledger.frozen": _admin("ledger_frozen"),
    "ledger.thawed": _admin("ledger_thawed"),
    "mail.given_up": _admin("mail_given_up"),
    "user.created": _admin("user_registered"),
    "setting.changed": _admin("setting_changed"),
}
_MAKERS: dict[tuple[str, str], Maker] = {
    (kind, action): maker
    for kind, makers in (("owner", _OWNER), ("host", _HOST), ("wallet", _WALLET), (ADMIN_TOPIC, _ADMIN))
    for action, maker in makers.items()
}
NOT_TOLD = frozenset({("host", f"attempt.{what}") for what in ("checkpoint", "instalment", "out_of_money")})
"""What a job saves and costs is its renter's; a host sees earnings in the wallet."""
