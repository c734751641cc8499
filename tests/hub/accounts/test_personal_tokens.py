import asyncio
from datetime import timedelta

from sqlalchemy import select
from support.small_hub import small_hub

from computepool.hub.accounts.bootstrap import ADMIN_EMAIL, sign_in_this_machine
from computepool.hub.accounts.service import TOKENS_EACH, create_personal_token
from computepool.hub.accounts.tables import PersonalToken, User
from computepool.hub.accounts.tokens import new_personal_token
from computepool.hub.core.http import Scope
from computepool.hub.core.tables import AuditRow


def test_token_is_shown_once_and_only_its_hash_is_kept(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            pair = await hub.register()
            made = await hub.personal_token(pair["access_token"], name="laptop")
            assert made["token"].startswith("cp_")
            assert len(made["token"]) == 3 + 36 + 6
            listed = (await hub.get("tokens", made["token"])).json()
            assert [item["name"] for item in listed["items"]] == ["laptop"]
            assert "token" not in listed["items"][0]
            assert listed["next"] is None

            def everything(session):
                columns = PersonalToken.__table__.columns
                rows = session.execute(select(*columns)).all()
                audits = session.execute(select(*AuditRow.__table__.columns)).all()
                return repr(rows) + repr(audits)

            stored = await hub.context.db.read(everything)
            assert made["token"] not in stored
            assert made["id"] in stored

    asyncio.run(story())


def test_token_lives_ninety_days_unless_told_otherwise(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            access = (await hub.register())["access_token"]
            default = (await hub.personal_token(access))["token"]
            long = (await hub.personal_token(access, expires_in_days=366))["token"]
            for days in (367, 0, -1):
                answer = await hub.post("tokens", {"name": "x", "expires_in_days": days}, access)
                assert answer.status_code == 422
            hub.clock.move(days=89)
            assert (await hub.get("me", default)).status_code == 200
            hub.clock.move(days=1)
            assert (await hub.get("me", default)).json()["error"]["code"] == "token_expired"
            assert (await hub.get("me", long)).status_code == 200

    asyncio.run(story())


def test_revoked_token_is_refused_in_the_next_request(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            access = (await hub.register())["access_token"]
            made = await hub.personal_token(access)
            assert (await hub.get("me", made["token"])).status_code == 200
            assert (await hub.delete(f"tokens/{made['id']}", access)).status_code == 204
            assert (await hub.get("me", made["token"])).json()["error"]["code"] == "token_revoked"
            assert (await hub.delete(f"tokens/{made['id']}", access)).status_code == 204  # once more is harmless
            assert (await hub.get("tokens", access)).json()["items"] == []

    asyncio.run(story())


def test_nobody_sees_or_revokes_anothers_token(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            alice, bob = [(await hub.register())["access_token"] for _ in range(2)]
            made = await hub.personal_token(alice)
            assert (await hub.get("tokens", bob)).json()["items"] == []
            stolen = await hub.delete(f"tokens/{made['id']}", bob)
            missing = await hub.delete("tokens/token_00000000000000000000000000", bob)
            assert stolen.status_code == missing.status_code == 404
            assert stolen.json()["error"]["code"] == missing.json()["error"]["code"]
            assert (await hub.get("me", made["token"])).status_code == 200

    asyncio.run(story())


def test_missing_scope_is_named(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            access = (await hub.register())["access_token"]
            reader = (await hub.personal_token(access, scopes=["account:read"]))["token"]
            assert (await hub.get("me", reader)).json()["scopes"] == ["account:read"]
            refused = await hub.post("tokens", {"name": "more"}, reader)
            assert refused.status_code == 403
            assert refused.json()["error"]["code"] == "missing_scope"
            assert "account:write" in refused.json()["error"]["message"]

    asyncio.run(story())


def test_nobody_hands_on_more_than_they_have(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            access = (await hub.register())["access_token"]
            narrow = (await hub.personal_token(access, scopes=["account:read", "account:write"]))["token"]
            for token, scopes in [(access, ["admin"]), (narrow, ["jobs:write"]), (narrow, ["account:read", "admin"])]:
                refused = await hub.post("tokens", {"name": "more", "scopes": scopes}, token)
                assert refused.status_code == 403
                assert refused.json()["error"]["code"] == "more_than_you_have"
            inherited = await hub.post("tokens", {"name": "same"}, narrow)
            assert inherited.json()["scopes"] == ["account:read", "account:write"]
            for scopes in ([], ["jobs"], ["*"]):
                assert (await hub.post("tokens", {"name": "x", "scopes": scopes}, access)).status_code == 422

    asyncio.run(story())


def test_use_is_noted_later_in_one_go(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            access = (await hub.register())["access_token"]
            made = await hub.personal_token(access)
            hub.clock.move(hours=1)
            used_at = hub.clock.now()
            for _ in range(3):
                await hub.get("stats", made["token"])
                assert (await hub.get("me", made["token"])).status_code == 200
            rows = await hub.context.db.read(lambda session: session.scalars(select(PersonalToken.last_used_at)).all())
            assert rows == [None]
        async with small_hub(database_url) as hub:  # a stop writes what was noted
            rows = await hub.context.db.read(lambda session: session.scalars(select(PersonalToken.last_used_at)).all())
            assert rows == [used_at]

    asyncio.run(story())


def test_tokens_of_one_user_are_limited(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            pair = await hub.register()

            def fill(session):
                for _ in range(TOKENS_EACH):
                    create_personal_token(
                        session,
                        hub.context.new_id("token"),
                        new_personal_token(hub.context.randbits),
                        pair["user_id"],
                        hub.clock.now(),
                        name="one of many",
                        scopes=frozenset({Scope.JOBS_READ}),
                        lifetime=timedelta(days=1),
                        actor=pair["user_id"],
                    )

            await hub.context.db.run(fill)
            refused = await hub.post("tokens", {"name": "one too many"}, pair["access_token"])
            assert refused.status_code == 409
            assert refused.json()["error"]["code"] == "token_limit"

    asyncio.run(story())


def test_first_start_makes_an_admin_without_a_password_and_signs_this_machine_in(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            first = await sign_in_this_machine(hub.context, hub.directory, None)
            me = (await hub.get("me", first.token)).json()
            assert (me["email"], me["role"], me["id"]) == (ADMIN_EMAIL, "admin", first.user_id)
            assert "admin" in me["scopes"]
            for password in ("", "admin", "password", "None"):
                answer = await hub.post("auth/login", {"email": ADMIN_EMAIL, "password": password})
                assert answer.status_code in (401, 422)
            row = await hub.context.db.read(lambda session: session.get_one(User, first.user_id))
            assert row.password_hash is None
        async with small_hub(database_url) as hub:  # the next start uses what the first has kept
            second = await sign_in_this_machine(hub.context, hub.directory, first.token)
            assert (second.user_id, second.token, second.is_new_token) == (first.user_id, first.token, False)
            third = await sign_in_this_machine(hub.context, hub.directory, "cp_lost")
            assert third.user_id == first.user_id
            assert third.is_new_token
            assert (await hub.get("me", third.token)).status_code == 200

    asyncio.run(story())


def test_sign_in_link_works_once_and_for_a_quarter_of_an_hour(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            admin = await sign_in_this_machine(hub.context, hub.directory, None)
            answers = await asyncio.gather(
                *[hub.post("auth/one-time", {"token": admin.sign_in_token}) for _ in range(4)]
            )
            assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]
            pair = next(answer.json() for answer in answers if answer.status_code == 200)
            assert (await hub.get("me", pair["access_token"])).json()["role"] == "admin"
            late = await sign_in_this_machine(hub.context, hub.directory, admin.token)
            hub.clock.move(minutes=15)
            refused = await hub.post("auth/one-time", {"token": late.sign_in_token})
            assert refused.json()["error"]["code"] == "bad_sign_in_link"

    asyncio.run(story())


def test_repeated_request_for_a_token_makes_one_and_tells_it_again(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            access = (await hub.register())["access_token"]

            async def ask(key, token=access, **body):
                headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
                return await hub.client.post("/api/v1/tokens", json={"name": "ci", **body}, headers=headers)

            first, again, other = await ask("one"), await ask("one"), await ask("two")
            assert [answer.status_code for answer in (first, again, other)] == [201, 201, 201]
            assert first.json() == again.json()
            assert other.json()["token"] != first.json()["token"]
            assert (await hub.get("me", first.json()["token"])).status_code == 200
            assert len((await hub.get("tokens", access)).json()["items"]) == 2
            changed = await ask("one", expires_in_days=1)
            assert (changed.status_code, changed.json()["error"]["code"]) == (409, "idempotency_mismatch")
            narrow = (await ask("narrow", scopes=["account:write"])).json()["token"]
            refused = await ask("one", narrow)
            assert refused.status_code == 403
            assert "token" not in refused.json()

    asyncio.run(story())


def test_same_key_of_another_person_makes_another_token(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            made = set()
            for _ in range(2):
                headers = {"Authorization": f"Bearer {(await hub.register())['access_token']}", "Idempotency-Key": "k"}
                answer = await hub.client.post("/api/v1/tokens", json={"name": "ci"}, headers=headers)
                made.add(answer.json()["token"])
            assert len(made) == 2

    asyncio.run(story())
