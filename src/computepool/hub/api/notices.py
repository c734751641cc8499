"""Notices: what the caller should know, with what was read already."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field, StrictBool, model_validator

from computepool.hub.core.http import Caller, Routes, Scope
from computepool.hub.core.notices import Severity
from computepool.hub.core.paging import Cursor
from computepool.hub.engine import Engine
from computepool.hub.mail import notice_feed
from computepool.hub.mail.notice_feed import ShownNotice
from computepool.protocol.model import Documented

PAGE_LIMIT = 200
IDS_LIMIT = 500
NoticeKind = Literal["jobs", "money", "disputes", "nodes", "account"]


class NoticeView(Documented):
    id: int
    at: datetime
    code: str
    """What happened, such as `job.failed`: the same word for the same cause."""
    kind: NoticeKind
    """What it is about."""
    severity: Severity
    """How much it matters: info, warning or error."""
    title: str
    """What happened, in a sentence."""
    text: str
    """More about it; may be empty."""
    link: str | None
    """The page of the web app that shows more, as a path; null where there is none."""
    subject_id: str
    """The id of what it is about: a job, a node, a cash-out."""
    read_at: datetime | None
    """When it was read; null before."""


class NoticePage(Documented):
    items: list[NoticeView]
    next: str | None
    total: int | None
    unread: int | None
    """How many are unread in all; null for more than 10,000."""


class ReadNotices(Documented):
    """Which notices were read: some, or all."""

    model_config = ConfigDict(extra="forbid")

    ids: list[Annotated[int, Field(ge=1, le=2**53)]] | None = Field(default=None, max_length=IDS_LIMIT)
    """These."""
    all: StrictBool = False
    """Every one."""

    @model_validator(mode="after")
    def _one_of_them(self) -> "ReadNotices":
        if (self.ids is None) is not self.all:
            raise ValueError("give ids, or all: true; one of them")
        return self


class UnreadNotices(Documented):
    unread: int | None
    """How many are unread now; null for more than 10,000."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = Routes(engine.directory.authenticate, tags=["notices"])

    @routes.get("/notices", visible="own", scope=Scope.ACCOUNT_READ, name="list")
    async def list_notices(
        caller: Caller,
        unread: Annotated[bool, Query(description="Only those that were not read yet.")] = False,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
        cursor: Cursor = None,
    ) -> NoticePage:
        """What the caller should know, the newest first. Kept for 90 days. `notice` in the event stream tells of new
        ones."""
        found, following, total, new = await context.db.read(
            notice_feed.list_notices, context, caller.owner_ids, unread, cursor, limit
        )
        return NoticePage(items=[_view(one) for one in found], next=following, total=total, unread=new)

    @routes.post("/notices/read", visible="own", scope=Scope.ACCOUNT_WRITE, name="mark_read")
    async def mark_notices_read(body: ReadNotices, caller: Caller) -> UnreadNotices:
        """Mark notices as read. Ids of others, and of those that are gone, are passed over."""
        left = await context.db.run(notice_feed.mark_read, context, caller.owner_ids, body.ids, context.now())
        return UnreadNotices(unread=left)

    return routes.router


def _view(shown: ShownNotice) -> NoticeView:
    row = shown.row
    return NoticeView.model_validate(
        {
            "id": row.id,
            "at": row.at,
            "code": row.action,
            "kind": shown.kind,
            "severity": shown.severity,
            "title": shown.title,
            "text": shown.text,
            "link": shown.link,
            "subject_id": row.subject,
            "read_at": row.read_at,
        }
    )
