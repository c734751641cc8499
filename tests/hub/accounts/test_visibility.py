import asyncio

from sqlalchemy import select
from support.small_hub import small_hub
from support.waiting import patience

from computepool.hub.accounts.service import TOPIC
from computepool.hub.accounts.tables import PersonalToken
from computepool.hub.accounts.visibility import owned_by
from computepool.hub.core.bus import LISTENER_QUEUE_LIMIT
from computepool.hub.core.http import Principal, Role, Scope
from computepool.hub.core.records import Event, record


def principal(*owner_ids, role=Role.USER, scopes=None):
    return Principal(owner_ids[0], role, role.scopes if scopes is None else scopes, frozenset(owner_ids), "access")


def test_caller_sees_their_own_and_their_teams_and_an_admin_all(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            people = [await hub.register() for _ in range(3)]
            for person in people:
                await hub.personal_token(person["access_token"])
            first, second, third = [person["user_id"] for person in people]

            async def seen_by(who):
                query = select(PersonalToken.user_id).where(owned_by(who, PersonalToken.user_id))
                return await hub.context.db.read(lambda session: set(session.scalars(query)))

            assert await seen_by(principal(first)) == {first}
            assert await seen_by(principal(first, third)) == {first, third}
            assert await seen_by(principal("user_of_nothing")) == set()
            assert await seen_by(principal("admin", role=Role.ADMIN)) == {first, second, third}
            narrow = principal(second, role=Role.ADMIN, scopes=frozenset({Scope.JOBS_READ}))
            assert await seen_by(narrow) == {second}  # an admin's token without the admin scope

    asyncio.run(story())


def test_directory_asks_the_truth_again_when_the_bus_dropped_news(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            access = (await hub.register())["access_token"]
            made = await hub.personal_token(access)

            def revoke_in_silence(session):
                session.get_one(PersonalToken, made["id"]).revoked_at = hub.clock.now()
                record(session, "token.revoked", made["id"], hub.clock.now())  # and no topic, as if it was dropped

            await hub.context.db.run(revoke_in_silence)
            assert (await hub.get("me", made["token"])).status_code == 200
            noise = Event(TOPIC, {"action": "session.revoked", "subject": "session_of_nobody"}, hub.clock.now())
            hub.context.bus.publish([noise] * (LISTENER_QUEUE_LIMIT + 10))
            # Until the directory notices that it missed something.
            async with asyncio.timeout(patience()):
                while (await hub.get("me", made["token"])).status_code != 401:  # noqa: ASYNC110 - it is asked over HTTP
                    await asyncio.sleep(0.01)

    asyncio.run(story())
