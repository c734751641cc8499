"""A post office on a real database, with a clock that is moved by hand: people with addresses, notices, mails."""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session
from support.engine import HUB_ID, SECRET_KEY, InlineDatabase, in_place, shared_engine
from support.small_hub import HandClock

from computepool.hub.accounts.service import create_user
from computepool.hub.core.bus import Bus
from computepool.hub.core.context import Context
from computepool.hub.core.db import Database
from computepool.hub.core.http import Role
from computepool.hub.core.notices import ADMINS, mail_topic
from computepool.hub.core.records import record
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.mail.background import Mailer
from computepool.hub.mail.smtp import Post
from computepool.hub.mail.tables import Mail

ADA, BEN, ROOT = "user_ada", "user_ben", "user_root"
SETTINGS = {"public_url": "https://pool.example.org"}
MONEY = {"owner": ADA, "micros": 25_500_000}


class Office:
    def __init__(self, url: str, smtp_url: str | None = None, **settings: Any) -> None:
        self.clock = HandClock()
        self.db = InlineDatabase(shared_engine(url))
        self.context = Context(
            settings=Settings(database_url=url, smtp_url=smtp_url, **SETTINGS | settings),
            db=cast(Database, self.db),
            clock=self.clock,
            randbits=random.Random(5).getrandbits,
            bus=Bus(),
            offload=in_place,
            secret_key=SECRET_KEY,
            hub_id=HUB_ID,
            fence_epoch=1,
        )
        self.mailer = Mailer(self.context)

    def know(self, user_id: str, address: str | None = None, role: Role = Role.USER) -> None:
        email = address or f"{user_id.removeprefix('user_')}@example.org"
        self.run(
            create_user, user_id, self.clock.now(), email=email, name="X", country=None, password_hash=None, role=role
        )

    def tell(self, owner_id: str, action: str = "cash_out.paid", subject: str = "cashout_1", **details: Any) -> None:
        """Something happened that they should get a mail about."""
        topics = (mail_topic(owner_id),)
        self.run(record, action, subject, self.clock.now(), topics=topics, **{**MONEY, **details})

    def tell_admins(self, action: str, subject: str, **details: Any) -> None:
        self.tell(ADMINS, action, subject, **details)

    def restart(self, post: Post | None = None) -> None:
        """The memory is gone, the rows stay."""
        self.mailer = Mailer(self.context, post)

    def work(self) -> float | None:
        return asyncio.run(self.mailer.work())

    def work_for(self, step_seconds: float, *, hours: float) -> None:
        """Time goes by, and the mailer works now and then."""
        for _ in range(round(hours * 3600 / step_seconds)):
            self.clock.move(seconds=step_seconds)
            self.work()

    def run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return asyncio.run(self.db.run(fn, *args, **kwargs))

    def rows(self, table: type[Any], **equal: Any) -> Sequence[Any]:
        with Session(self.db.engine) as session:
            return session.scalars(select(table).filter_by(**equal)).all()

    @property
    def mails(self) -> list[Mail]:
        return sorted(self.rows(Mail), key=lambda one: (one.created_at, one.id))

    @property
    def notices(self) -> int:
        return sum(row.topic.startswith("mail/") for row in self.rows(OutboxRow))

    def audits(self, action: str) -> list[dict[str, Any]]:
        return [row.details for row in self.rows(AuditRow, action=action)]

    def later(self, **by: float) -> None:
        self.clock.move(**by)

    def close(self) -> None:
        self.db.close()


DAY = timedelta(days=1)
