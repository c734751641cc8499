"""What a person should hear of: as mails, by topics of the outbox, and as notices, which are kept until they are old.

Whoever records something need not know who sends mails, nor who shows notices.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

PREFIX = "mail/"
ADMINS = "admins"
"""In place of an owner: everybody who runs the pool."""


def mail_topic(owner_id: str) -> str:
    return f"{PREFIX}{owner_id}"


def mailed_to(topic: str) -> str | None:
    """The owner, or ADMINS; None for news that are no mail's."""
    return topic.removeprefix(PREFIX) if topic.startswith(PREFIX) else None


class MailKind(StrEnum):
    """What a person may turn off."""

    JOBS = "jobs"
    MONEY = "money"
    DISPUTES = "disputes"
    NODES = "nodes"


_KINDS = {
    "job": MailKind.JOBS,
    "top_up": MailKind.MONEY,
    "card": MailKind.MONEY,
    "cash_out": MailKind.MONEY,
    "restitution": MailKind.MONEY,
    "storage": MailKind.MONEY,
    "dispute": MailKind.DISPUTES,
    "node": MailKind.NODES,
    "reputation": MailKind.NODES,
}


def kind_of(action: str) -> MailKind | None:
    """None: a notice that nobody can turn off."""
    return _KINDS.get(action.partition(".")[0])


Severity = Literal["info", "warning", "error"]
UNMAILED: Mapping[str, str] = {
    "job.succeeded": "owner",
    "job.failed": "owner",
    "job.canceled": "owner",
    "attempt.out_of_money": "owner",
    "node.offline": "owner",
    "node.quarantined": "owner",
    "node.quarantine_over": "owner",
    "clawback.done": "owner",
    "payment.credited": "wallet",
    "payment.refunded": "wallet",
}
"""Actions that become notices also where they become no mail: for the owner who is told on this kind of topic. What
becomes a mail becomes a notice too."""
_SEVERITIES: Mapping[str, Severity] = {
    **dict.fromkeys(("node.banned", "node.accused", "node.proven_wrong", "node.cloned", "clawback.done"), "error"),
    **dict.fromkeys(("card.stopped", "storage.unpaid"), "error"),
    **dict.fromkeys(("job.succeeded", "job.canceled", "node.quarantine_over", "node.key_replaced"), "info"),
    **dict.fromkeys(("payment.credited", "payment.refunded", "restitution.paid", "dispute.resolved"), "info"),
    **dict.fromkeys(("cash_out.requested", "cash_out.approved", "cash_out.paid"), "info"),
    **dict.fromkeys(("reputation.upheld", "reputation.dismissed", "node.accusation_dismissed"), "info"),
}


def severity_of(action: str) -> Severity:
    """A warning, unless it is said otherwise."""
    return _SEVERITIES.get(action, "warning")


def noticed_by(action: str, topics: tuple[str, ...], details: Mapping[str, Any]) -> frozenset[str]:
    """The owners who get a notice of it."""
    kind_told = UNMAILED.get(action)
    # The state alone follows from what the agent says; only a quarantine that was decided says how long it lasts.
    is_echo = action == "node.quarantined" and "until" not in details
    if is_echo or details.get("simulated"):
        kind_told = None
    return frozenset(
        owner_id
        for kind, _, owner_id in (topic.partition("/") for topic in topics)
        if (kind == "mail" and owner_id != ADMINS) or kind == kind_told
    )
