"""The hub's side of the post: writes mails from what was noticed, and hands them over one after the other.

Nothing happens while there is nothing to tell: commits wake it, and what could not be sent says when it is due. While
its server is away, mails wait. The hub is alone on its database (`hub/lock.py`), so no two send the same.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from computepool.hub.core.context import Context
from computepool.hub.core.notices import mailed_to
from computepool.hub.core.pruning import prune_in_batches
from computepool.hub.core.records import Event
from computepool.hub.mail import queue
from computepool.hub.mail.letter import Letter
from computepool.hub.mail.smtp import Away, Later, NotDelivered, NotTaken, Post, open_post, sender_of
from computepool.hub.mail.tables import Mail, MailState
from computepool.hub.mail.writing import write_mails

SETTLE_SECONDS = 2.0
"""What happens in one moment is told in one mail."""
FAILED_SECONDS = 60.0
HELD_BACK_SECONDS = 300.0
"""Until somebody who has had enough mails is looked at again."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 900.0
"""While the server is away, doubled each time."""
PATIENCE_SECONDS = 5.0
AT_ONCE = 50
IN_A_ROW = 3
"""After so many mails that were not taken for now, the server is left alone for a while."""

log = structlog.get_logger()


@dataclass
class Counts:
    """Since the hub started, but for those that wait."""

    sent: int = 0
    logged: int = 0
    given_up: int = 0
    skipped: int = 0
    failed_tries: int = 0
    waiting: int = 0


class Mailer:
    def __init__(self, context: Context, post: Post | None = None) -> None:
        self._context = context
        self._sender = sender_of(context.settings)
        self.post = post or open_post(context.settings)
        self.counts = Counts()
        self.away: str | None = None
        """Why nothing can be sent, as long as it cannot."""
        self._away_until = 0.0
        self._failures = 0
        self._wake = asyncio.Event()
        self._working = asyncio.Lock()
        self._handing_over: asyncio.Task[NotDelivered | None] | None = None

    def hear(self, events: Sequence[Event]) -> None:
        """What commits told."""
        if any(mailed_to(event.topic) is not None for event in events):
            self._wake.set()

    def wake(self) -> None:
        """There is something to send."""
        self._wake.set()

    async def run(self) -> None:
        """For ever."""
        while True:
            self._wake.clear()
            try:
                pause = await self.work()
            except Exception:
                log.exception("mail.failed")
                pause = FAILED_SECONDS
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(SETTLE_SECONDS)

    async def work(self) -> float | None:
        """Everything that is due now. After how many seconds there is more to do; None: when something happens."""
        async with self._working:
            try:
                return await self._work()
            finally:
                if not self._is_handing_over:  # a word on the line in the middle of a mail would be in the mail
                    await self._context.offload(self.post.close)

    async def tidy(self) -> None:
        await prune_in_batches(self._context.db, queue.prune_mails, self._context.now())
        self._wake.set()

    async def close(self) -> None:
        """What is being handed over gets a moment to be marked. The rest stays rows, for the next start."""
        if self._handing_over is not None and self._is_handing_over:
            await asyncio.wait([self._handing_over], timeout=PATIENCE_SECONDS)
            if self._handing_over.cancel():
                return  # the server has not answered yet: it is sent again
        await self._context.offload(self.post.close)

    @property
    def _is_handing_over(self) -> bool:
        return self._handing_over is not None and not self._handing_over.done()

    async def send_test(self, address: str, actor: str) -> str:
        """At once, beside all others. What the server said; raises NotDelivered."""
        context = self._context
        where = f" at {context.settings.public_url}" if context.settings.public_url else ""
        body = f"This is a test mail from the ComputePool{where}. Mail delivery works.\n\nRequested by {actor}.\n"
        mail_id, now = context.new_id("mail"), context.now()
        letter = Letter(mail_id, address, self._message_id(mail_id), "Test mail from your pool", body, now)
        async with self._working:
            try:
                return await context.offload(self.post.send, letter)
            finally:
                await context.offload(self.post.close)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _work(self) -> float | None:
        context, held_back = self._context, False
        found = await context.db.read(queue.look)
        while found.notices:
            written = await context.db.run(write_mails, context, self._sender.domain, context.now())
            self.counts.skipped += written.skipped
            held_back = written.held_back
            if not written.mails and not written.skipped:
                break
            found = await context.db.read(queue.look)
        if found.waiting:
            self.counts.given_up += await context.db.run(queue.give_up_old, context.now())
            await self._send_due()
            found = await context.db.read(queue.look)
        self.counts.waiting = found.waiting
        return self._pause(found.next_try_at, held_back)

    def _pause(self, next_try_at: datetime | None, held_back: bool) -> float | None:
        pauses = [HELD_BACK_SECONDS] if held_back else []
        if next_try_at is not None:
            until_due = (next_try_at - self._context.now()).total_seconds()
            pauses.append(max(until_due, self._away_until - self._context.clock.monotonic(), 0.1))
        return min(pauses, default=None)

    async def _send_due(self) -> None:
        context, in_a_row = self._context, 0
        while context.clock.monotonic() >= self._away_until:
            due = await context.db.read(queue.list_due, context.now(), AT_ONCE)
            if not due:
                return
            for mail_id in due:
                # Its mark is written also if the hub is asked to stop meanwhile: what was taken is not sent twice.
                self._handing_over = asyncio.create_task(self._deliver(mail_id))
                failed = await asyncio.shield(self._handing_over)
                in_a_row = in_a_row + 1 if isinstance(failed, Later) else 0
                if isinstance(failed, Away) or in_a_row == IN_A_ROW:
                    self._leave_alone(failed)
                    return
                if failed is None:
                    self.away, self._failures = None, 0

    async def _deliver(self, mail_id: str) -> NotDelivered | None:
        context = self._context
        mail = await context.db.run(queue.claim, mail_id, context.now(), context.randbits)
        if mail is None:
            return None
        try:
            answer = await context.offload(self.post.send, _letter(mail))
        except NotTaken as never:
            if await context.db.run(queue.end, mail_id, MailState.GIVEN_UP, never.words, context.now()):
                self.counts.given_up += 1
            log.warning("mail.given_up", mail_id=mail_id, user_id=mail.user_id, words=never.words)
            return never
        except NotDelivered as failed:
            self.counts.failed_tries += 1
            due_at = context.now() if isinstance(failed, Away) else None
            await context.db.run(queue.note, mail_id, failed.words, due_at=due_at)
            return failed
        state = MailState.LOGGED if self.post.keeps else MailState.SENT
        await context.db.run(queue.end, mail_id, state, answer, context.now())
        if self.post.keeps:
            self.counts.logged += 1
        else:
            self.counts.sent += 1
            log.info("mail.sent", mail_id=mail_id, user_id=mail.user_id, notices=mail.notices)
        return None

    def _leave_alone(self, failed: NotDelivered | None) -> None:
        self.away = failed.words if failed is not None else "unknown"
        self._failures += 1
        seconds = min(FIRST_PAUSE_SECONDS * 2 ** min(self._failures - 1, 20), LONGEST_PAUSE_SECONDS)
        seconds *= queue.jitter(self._context.randbits)
        self._away_until = self._context.clock.monotonic() + seconds
        log.warning("mail.server_away", where=self.post.where, words=self.away, again_in_seconds=round(seconds))

    def _message_id(self, mail_id: str) -> str:
        return f"<{mail_id}@{self._sender.domain}>"


def _letter(mail: Mail) -> Letter:
    return Letter(mail.id, mail.address, mail.message_id, mail.subject, mail.body, mail.created_at)
