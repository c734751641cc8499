import asyncio

from sqlalchemy import func, select
from support.small_hub import PASSWORD, small_hub

from computepool.hub.accounts import service
from computepool.hub.accounts.tables import User, UserSession
from computepool.hub.core.owners import Owner
from computepool.hub.core.tables import AuditRow


def test_registered_user_signs_in_and_is_known(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            await hub.register("Alice@Example.org")
            answer = await hub.post("auth/login", {"email": " ALICE@example.org ", "password": PASSWORD})
            assert answer.status_code == 200, answer.text
            pair = answer.json()
            assert pair["token_type"] == "Bearer"
            assert pair["expires_in"] == 900
            me = (await hub.get("me", pair["access_token"])).json()
            assert me["email"] == "alice@example.org"
            assert me["role"] == "user"
            assert "admin" not in me["scopes"]
            assert me["token_kind"] == "access"

    asyncio.run(story())


def test_user_and_owner_are_made_together_and_recorded(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            user_id = (await hub.register())["user_id"]

            def look(session):
                actions = session.scalars(select(AuditRow.action).where(AuditRow.actor == user_id)).all()
                return session.get(Owner, user_id).kind, session.get(User, user_id).password_hash, list(actions)

            kind, password_hash, actions = await hub.context.db.read(look)
            assert kind == "user"
            assert password_hash.startswith("$argon2id$")
            assert {"user.created", "session.opened"} <= set(actions)

    asyncio.run(story())


def test_email_is_taken_once_whatever_its_case(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            body = {"email": "twin@example.org", "password": PASSWORD, "name": "Twin", "country": "de"}
            upper = body | {"email": "TWIN@example.org"}
            answers = await asyncio.gather(*[hub.post("auth/register", each) for each in (body, upper, body, upper)])
            assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
            codes = [answer.json()["error"]["code"] for answer in answers if answer.status_code == 409]
            assert set(codes) == {"email_taken"}
            counts = await hub.context.db.read(
                lambda session: [session.scalar(select(func.count()).select_from(table)) for table in (User, Owner)]
            )
            assert counts == [1, 1]

    asyncio.run(story())


def test_bad_registration_names_the_field_and_never_tells_the_password_back(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            good = {"email": "a@example.org", "password": PASSWORD, "name": "A", "country": "IN"}
            for field, value in [
                ("email", "nobody"),
                ("email", "a@b@c"),
                ("email", "a\0@example.org"),
                ("email", "a\x1b@example.org"),
                ("name", "A\0"),
                ("name", "A\r\nBcc: b@example.org"),
                ("name", "A\x9b"),
                ("email", "a" * 300 + "@example.org"),
                ("password", "short-pw1"),
                ("password", "A@example.org"),
                ("password", "x" * 2000),
                ("name", "   "),
                ("country", "DEU"),
                ("shoe_size", 43),
            ]:
                answer = await hub.post("auth/register", good | {field: value})
                assert answer.status_code == 422, (field, value, answer.text)
                error = answer.json()["error"]
                assert error["code"] == "invalid"
                assert [each["field"] for each in error["fields"]] == [field]
                if field == "password":
                    assert str(value) not in answer.text

    asyncio.run(story())


def test_closed_registration_is_refused(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", registration="closed") as hub:
            answer = await hub.post("auth/register", {"email": "a@b.org", "password": PASSWORD, "name": "A"})
            assert answer.status_code == 403
            assert answer.json()["error"]["code"] == "registration_closed"

    asyncio.run(story())


def test_unknown_email_wrong_password_and_disabled_user_look_the_same(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            await hub.register("known@example.org")
            gone = await hub.register("gone@example.org")
            await hub.context.db.run(service.disable_user, gone["user_id"], hub.clock.now(), actor="hub")
            bodies = [
                {"email": "unknown@example.org", "password": PASSWORD},
                {"email": "known@example.org", "password": "a wrong password"},
                {"email": "gone@example.org", "password": PASSWORD},
            ]
            answers = [await hub.post("auth/login", body) for body in bodies]
            assert {answer.status_code for answer in answers} == {401}
            assert len({answer.text for answer in answers}) == 1

    asyncio.run(story())


def test_refresh_gives_a_new_pair_and_the_old_token_works_no_more(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            first = await hub.register()
            hub.clock.move(minutes=20)
            assert (await hub.get("me", first["access_token"])).json()["error"]["code"] == "token_expired"
            second = (await hub.post("auth/refresh", {"refresh_token": first["refresh_token"]})).json()
            assert second["refresh_token"] != first["refresh_token"]
            assert (await hub.get("me", second["access_token"])).status_code == 200
            hub.clock.move(minutes=20)
            third = (await hub.post("auth/refresh", {"refresh_token": second["refresh_token"]})).json()
            assert (await hub.get("me", third["access_token"])).status_code == 200

    asyncio.run(story())


def test_refresh_is_no_act_of_a_person_and_leaves_no_audit_record(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            pair = await hub.register()

            def count(session):
                return len(session.scalars(select(AuditRow.id)).all())

            before = await hub.context.db.read(count)
            assert (await hub.post("auth/refresh", {"refresh_token": pair["refresh_token"]})).status_code == 200
            assert await hub.context.db.read(count) == before

    asyncio.run(story())


def test_reused_refresh_token_ends_the_whole_session_at_once(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            pairs = [await hub.register()]
            for _ in range(3):
                hub.clock.move(minutes=1)
                answer = await hub.post("auth/refresh", {"refresh_token": pairs[-1]["refresh_token"]})
                pairs.append(answer.json())
            assert (await hub.get("me", pairs[-1]["access_token"])).status_code == 200

            reused = await hub.post("auth/refresh", {"refresh_token": pairs[0]["refresh_token"]})
            assert reused.status_code == 401
            assert reused.json()["error"]["code"] == "refresh_token_reused"
            for pair in pairs:  # all of them, also the thief's newest
                assert (await hub.get("me", pair["access_token"])).status_code == 401
                again = await hub.post("auth/refresh", {"refresh_token": pair["refresh_token"]})
                assert again.json()["error"]["code"] == "session_ended"
            revoked_at = await hub.context.db.read(lambda session: session.scalar(select(UserSession.revoked_at)))
            assert revoked_at is not None  # refusing must not have undone the revocation

    asyncio.run(story())


def test_reuse_of_the_last_token_but_one_is_found_after_the_grace(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            first = await hub.register()
            await hub.post("auth/refresh", {"refresh_token": first["refresh_token"]})
            hub.clock.move(seconds=11)
            reused = await hub.post("auth/refresh", {"refresh_token": first["refresh_token"]})
            assert reused.json()["error"]["code"] == "refresh_token_reused"

    asyncio.run(story())


def test_refresh_whose_answer_was_lost_is_answered_again_with_the_same_token(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            first = await hub.register()
            body = {"refresh_token": first["refresh_token"]}
            answers = await asyncio.gather(*[hub.post("auth/refresh", body) for _ in range(6)])
            hub.clock.move(seconds=9)
            answers.append(await hub.post("auth/refresh", body))
            assert {answer.status_code for answer in answers} == {200}
            assert len({answer.json()["refresh_token"] for answer in answers}) == 1
            hub.clock.move(minutes=1)
            onward = await hub.post("auth/refresh", {"refresh_token": answers[0].json()["refresh_token"]})
            assert onward.status_code == 200

    asyncio.run(story())


def test_session_ends_after_idleness_and_after_its_longest_life(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            idle, busy = await hub.register(), await hub.register()
            days = 0
            while days < 89:
                hub.clock.move(days=20 if days < 80 else 9)
                days += 20 if days < 80 else 9
                answer = await hub.post("auth/refresh", {"refresh_token": busy["refresh_token"]})
                assert answer.status_code == 200, days
                busy = answer.json()
            hub.clock.move(days=2)
            for pair in (idle, busy):
                answer = await hub.post("auth/refresh", {"refresh_token": pair["refresh_token"]})
                assert answer.json()["error"]["code"] == "session_ended"

    asyncio.run(story())


def test_logout_ends_the_session_at_once_by_either_token(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            for use_refresh in (True, False):
                pair = await hub.register()
                assert (await hub.get("me", pair["access_token"])).status_code == 200
                if use_refresh:
                    answer = await hub.post("auth/logout", {"refresh_token": pair["refresh_token"]})
                else:
                    answer = await hub.post("auth/logout", None, pair["access_token"])
                assert answer.status_code == 204, answer.text
                assert (await hub.get("me", pair["access_token"])).json()["error"]["code"] == "token_revoked"
                refreshed = await hub.post("auth/refresh", {"refresh_token": pair["refresh_token"]})
                assert refreshed.status_code == 401
            assert (await hub.post("auth/logout")).status_code == 401

    asyncio.run(story())


def test_sessions_are_listed_and_ended_by_their_user_only(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            alice = await hub.register("alice@example.org")
            other = (await hub.post("auth/login", {"email": "alice@example.org", "password": PASSWORD})).json()
            bob = await hub.register()
            items = (await hub.get("sessions", alice["access_token"])).json()["items"]
            assert [item["current"] for item in items].count(True) == 1
            other_id = next(item["id"] for item in items if not item["current"])
            assert (await hub.delete(f"sessions/{other_id}", bob["access_token"])).status_code == 404
            assert (await hub.get("me", other["access_token"])).status_code == 200
            assert (await hub.delete(f"sessions/{other_id}", alice["access_token"])).status_code == 204
            assert (await hub.get("me", other["access_token"])).status_code == 401
            assert (await hub.get("me", alice["access_token"])).status_code == 200

    asyncio.run(story())


def test_password_hash_is_renewed_when_its_parameters_change(tmp_path):
    async def story():
        from argon2 import PasswordHasher

        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            user_id = (await hub.register("old@example.org"))["user_id"]
            old = PasswordHasher(time_cost=2, memory_cost=8, parallelism=1).hash(PASSWORD)

            def weaken(session):
                session.get(User, user_id).password_hash = old

            await hub.context.db.run(weaken)
            answer = await hub.post("auth/login", {"email": "old@example.org", "password": PASSWORD})
            assert answer.status_code == 200
            new = await hub.context.db.read(lambda session: session.get_one(User, user_id).password_hash)
            assert new
            assert new != old
            assert "t=1" in new
            again = await hub.post("auth/login", {"email": "old@example.org", "password": PASSWORD})
            assert again.status_code == 200

    asyncio.run(story())
