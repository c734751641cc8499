"""A role that changes while its holder signs in or makes a token, on a PostgreSQL that lets both run side by side."""

import asyncio
import random
import threading
from datetime import timedelta

import pytest
from sqlalchemy.orm import Session
from support.side_by_side import wait_until_blocked_or_done
from support.small_hub import small_hub
from support.waiting import patience

from computepool.hub.accounts import repository, service
from computepool.hub.accounts.errors import MoreThanYouHave
from computepool.hub.accounts.service import Visitor
from computepool.hub.accounts.states import SignInMethod
from computepool.hub.accounts.tokens import new_personal_token
from computepool.hub.core.http import Role, Scope
from computepool.hub.core.records import write_records
from computepool.hub.core.tables import AuditRow

TOKEN = new_personal_token(random.Random(1).getrandbits)


def make_token(session, user_id, now):
    lifetime, scopes = timedelta(days=9), frozenset(Scope)
    more = {"name": "x", "scopes": scopes, "lifetime": lifetime, "actor": user_id}
    return service.create_personal_token(session, "token_race", TOKEN, user_id, now, **more)


def sign_in(session, user_id, now):
    return service.open_session(
        session, "session_race", user_id, now, visitor=Visitor("", ""), by=SignInMethod.PASSWORD
    )


def dismiss(session, user_id, now):
    return service.set_role(session, user_id, Role.USER, now, actor="hub")


def one_after_the_other(engine, user_id, now, first, second):
    """What each gives: the second has looked at the user before the first writes, and comes before it commits."""
    results = []
    looked, written = threading.Event(), threading.Event()

    def follow():
        try:
            with Session(engine) as session, session.begin():
                seen = repository.find_user(session, user_id)
                looked.set()
                assert written.wait(patience())
                results.append(second(session, user_id, now))
                write_records(session)
                assert seen is not None
        except MoreThanYouHave as refused:
            results.append(refused)

    thread = threading.Thread(target=follow)
    thread.start()
    assert looked.wait(patience())
    with Session(engine) as session, session.begin():
        done = first(session, user_id, now)
        write_records(session)
        session.flush()
        written.set()
        wait_until_blocked_or_done(engine, lambda: not thread.is_alive())
    thread.join()
    return done, results[0]


@pytest.fixture
def race(postgres_hub):
    """Plays two acts upon an admin who is not the only one; what each gave, the hub, and its records."""

    def play(first, second, check):
        async def story():
            async with small_hub(postgres_hub) as hub:
                now, run = hub.clock.now(), hub.context.db.run
                rita, other = [(await hub.register())["user_id"] for _ in range(2)]
                for name in (rita, other):
                    await run(service.set_role, name, Role.ADMIN, now, actor="hub")
                engine = hub.context.db.engine
                given = await asyncio.to_thread(one_after_the_other, engine, rita, now, first, second)
                await check(hub, rita, *given)

        asyncio.run(story())

    return play


def test_who_is_dismissed_while_they_make_a_token_gets_none_of_an_admin(race):
    async def check(hub, rita, dismissed, made):
        assert isinstance(made, MoreThanYouHave)

    race(dismiss, make_token, check)


def test_who_is_dismissed_while_they_sign_in_is_no_admin_there(race):
    async def check(hub, rita, dismissed, opened):
        assert opened.role is Role.USER

    race(dismiss, sign_in, check)


def test_a_token_that_was_just_made_ends_with_its_makers_role(race):
    async def check(hub, rita, made, dismissed):
        assert dismissed.tokens == ["token_race"]
        hub.directory.revoke(dismissed)
        hub.directory.admit_token(made)  # its news may come later
        assert (await hub.get("me", TOKEN)).status_code == 401

    race(make_token, dismiss, check)


def test_a_session_that_was_just_opened_ends_with_its_users_role(race):
    async def check(hub, rita, opened, dismissed):
        assert "session_race" in dismissed.sessions

    race(sign_in, dismiss, check)


def test_two_who_dismiss_the_same_person_at_once_do_it_once(race):
    async def check(hub, rita, first, second):
        assert (second.sessions, second.tokens) == ([], [])

        def told(session):
            changes = session.query(AuditRow).filter_by(action="user.role_changed", subject=rita)
            return [row.details["role"] for row in changes.order_by(AuditRow.id)]

        assert await hub.context.db.read(told) == ["admin", "user"]

    race(dismiss, dismiss, check)
