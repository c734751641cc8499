import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import structlog

from computepool.hub.accounts import repository, teams
from computepool.hub.accounts.directory import Revoked, TokenDirectory
from computepool.hub.accounts.service import TOPIC
from computepool.hub.core.bus import LISTENER_QUEUE_LIMIT
from computepool.hub.core.context import Context
from computepool.hub.core.idempotency import prune_idempotency_keys
from computepool.hub.core.pruning import prune_in_batches
from computepool.hub.core.records import Event

log = structlog.get_logger()

FLUSH_SECONDS = 60
PRUNE_SECONDS = 3600


@asynccontextmanager
async def keep_directory(context: Context, directory: TokenDirectory) -> AsyncIterator[None]:
    """Know all tokens from here on: loaded before the first request, then told of every change."""
    with context.bus.listen(TOPIC) as news:  # before the load, or what changes meanwhile would be missed
        await load_directory(context, directory)
        tasks = [asyncio.create_task(_follow(context, directory, news)), asyncio.create_task(_tidy(context, directory))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await _flush_used(context, directory)


async def load_directory(context: Context, directory: TokenDirectory) -> None:
    async with directory.refreshing:
        memberships = await context.db.read(teams.load_memberships)
        directory.load(await context.db.read(repository.load_directory, context.now()), memberships)


async def refresh_memberships(context: Context, directory: TokenDirectory, user_ids: Iterable[str]) -> None:
    """What the users may do in teams from now on. One after the other: what is read last is also set last."""
    for user_id in user_ids:
        async with directory.refreshing:
            directory.set_memberships(user_id, await context.db.read(teams.memberships_of, user_id))


async def _follow(context: Context, directory: TokenDirectory, news: asyncio.Queue[Event]) -> None:
    while True:
        event = await news.get()
        try:
            if news.qsize() >= LISTENER_QUEUE_LIMIT - 1:  # the bus has dropped some, so ask for the whole truth
                await load_directory(context, directory)
            await _apply(context, directory, event)
        except Exception:
            log.exception("accounts.news_failed", subject=event.payload["subject"])


async def _apply(context: Context, directory: TokenDirectory, event: Event) -> None:
    action, subject = event.payload["action"], event.payload["subject"]
    match action:
        case "session.revoked":
            directory.revoke(Revoked(sessions=[subject]))
        case "token.revoked":
            directory.revoke(Revoked(tokens=[subject]))
        case "user.disabled":
            directory.disable_user(subject)
        case "user.enabled":
            directory.enable_user(subject)
        case "team.joined" | "team.left" | "team.role_changed":
            await refresh_memberships(context, directory, [subject])
        case "team.handle_changed":
            await refresh_memberships(context, directory, await context.db.read(teams.list_member_ids, subject))
        case "token.created":
            token = await context.db.read(repository.find_live_token, subject, context.now())
            if token is not None:
                directory.admit_token(token)


async def _tidy(context: Context, directory: TokenDirectory) -> None:
    pruned_at = context.clock.monotonic()
    while True:
        await asyncio.sleep(FLUSH_SECONDS)
        try:
            await _flush_used(context, directory)
            if context.clock.monotonic() - pruned_at >= PRUNE_SECONDS:
                pruned_at = context.clock.monotonic()
                await prune(context)
        except Exception:
            log.exception("accounts.tidy_failed")


async def prune(context: Context) -> None:
    for kind in (repository.prune_accounts, prune_idempotency_keys):
        await prune_in_batches(context.db, kind, context.now())


async def _flush_used(context: Context, directory: TokenDirectory) -> None:
    used = directory.take_used()
    if used:
        await context.db.run(repository.mark_tokens_used, used)
