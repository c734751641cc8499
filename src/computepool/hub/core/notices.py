"""What a person should get a mail about, as topics of the outbox. Whoever records it need not know who sends mails."""

PREFIX = "mail/"
ADMINS = "admins"
"""In place of an owner: everybody who runs the pool."""


def mail_topic(owner_id: str) -> str:
    return f"{PREFIX}{owner_id}"


def mailed_to(topic: str) -> str | None:
    """The owner, or ADMINS; None for news that are no mail's."""
    return topic.removeprefix(PREFIX) if topic.startswith(PREFIX) else None
