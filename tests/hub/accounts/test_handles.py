import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, text
from support.small_hub import small_hub

from computepool.hub.accounts.handles import RESERVED, generated, key_of, read_handle
from computepool.hub.core.errors import Invalid
from computepool.hub.schema import changing_schema, upgrade


@pytest.mark.parametrize("typed", ["ada", " My-Lab ", "a1b", "x" * 32])
def test_handle_is_read_in_one_spelling(typed):
    assert read_handle(typed) == typed.strip().lower()


@pytest.mark.parametrize(
    "typed",
    ["", "ab", "x" * 33, "1abc", "-abc", "abc-", "a--b", "a_b", "a.b", "аda", "ad\u200ba", "a b", "user_01",
     *sorted(RESERVED), "adm1n", "ad-min", "c0mputepool", "he1p"],
)  # fmt: skip
def test_what_deceives_or_is_reserved_is_no_handle(typed):
    with pytest.raises(Invalid):
        read_handle(typed)


@pytest.mark.parametrize("twin", ["mylab", "my-1ab", "my-iab", "m-ylab", "my-lab"])
def test_handles_that_look_alike_are_the_same(twin):
    assert key_of(twin) == key_of("my-lab")


@given(st.text(min_size=1), st.integers(0, 9))
def test_generated_handle_is_a_good_one(owner_id, number):
    assert read_handle(generated(owner_id, number)) == generated(owner_id, number)


def test_handle_belongs_to_one_owner_for_ever(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            ada, bob = [(await hub.register())["access_token"] for _ in range(2)]
            assert (await hub.get("me", ada)).json()["handle"].startswith("user-")

            async def choose(token, handle):
                answer = await hub.patch("me", {"handle": handle}, token)
                return answer.json()["handle"] if answer.status_code == 200 else answer.json()["error"]["code"]

            assert await choose(ada, "ada-l") == "ada-l"
            assert await choose(bob, "ada-1") == "handle_taken"
            assert await choose(ada, "lovelace") == "lovelace"
            assert await choose(bob, "ada-l") == "handle_taken"
            assert (await hub.post("teams", {"handle": "lovelace"}, bob)).json()["error"]["code"] == "handle_taken"
            assert await choose(ada, "adal") == "adal"  # a former one, written in another way
            for number in range(5):
                last = await choose(ada, f"name-{'abcdefg'[number]}")
            assert last == "handle_limit"

    asyncio.run(story())


def test_migration_gives_every_user_one(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/hub.db")
    with changing_schema(engine) as connection:
        upgrade(connection, "0036")
        at = "2026-01-02 03:04:05"
        for number, public in enumerate(["GPU garage.42", "gpu garage 42", "admin x", "Администратор", None]):
            user = f"user_{number}"
            connection.execute(text(f"INSERT INTO owners VALUES ('{user}', 'user', '{at}')"))
            values = f"'{user}', '{user}@b', 'A', 'user', '{at}'"
            connection.execute(text(f"INSERT INTO users (id, email, name, role, created_at) VALUES ({values})"))
            if public is not None:
                connection.execute(text(f"INSERT INTO public_names VALUES ('{user}', '{public}', 'key {number}')"))
        upgrade(connection, "0037")
        found: dict[str, str] = dict(
            connection.execute(text("SELECT owner_id, handle FROM handles WHERE is_current")).all()
        )
    engine.dispose()
    assert (found["user_0"], found["user_2"]) == ("gpu-garage-42", "admin-x")
    assert all(found[f"user_{number}"].startswith("user-") for number in (1, 3, 4))
