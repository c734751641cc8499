"""What a person should get a mail about, as topics of the outbox. Whoever records it need not know who sends mails."""

from enum import StrEnum

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
