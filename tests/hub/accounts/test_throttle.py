import asyncio

import pytest
from support.small_hub import PASSWORD, HandClock, small_hub

from computepool.hub.accounts.errors import TooManyTries
from computepool.hub.accounts.service import Visitor
from computepool.hub.accounts.throttle import PER_ADDRESS, PER_EMAIL, REMEMBERED, Throttle, new_accounts


def tries_until_refused(throttle, *keys):
    for count in range(10_000):
        try:
            throttle.begin(*keys)
        except TooManyTries as refused:
            return count, refused.retry_after_seconds
    raise AssertionError("never refused")


def test_waits_double_up_to_the_longest():
    clock = HandClock()
    throttle = Throttle(clock)
    key = PER_EMAIL, "a@example.org"
    waits = []
    for _ in range(14):
        _, wait = tries_until_refused(throttle, key)
        waits.append(wait)
        clock.move(seconds=wait)
    assert waits[:4] == [1, 2, 4, 8]
    assert waits == sorted(waits)
    assert max(waits) <= PER_EMAIL.longest_wait_seconds


def test_free_tries_come_first_and_come_back_with_time():
    clock = HandClock()
    throttle = Throttle(clock)
    key = PER_EMAIL, "a@example.org"
    assert tries_until_refused(throttle, key) == (PER_EMAIL.free, 1)
    clock.move(seconds=PER_EMAIL.forgiven_every_seconds * PER_EMAIL.free)
    assert tries_until_refused(throttle, key) == (PER_EMAIL.free, 1)


def test_success_clears_an_email_but_gives_an_address_only_its_own_try_back():
    throttle = Throttle(HandClock())
    email, address = (PER_EMAIL, "a@example.org"), (PER_ADDRESS, "10.0.0.1")
    for _ in range(4):
        throttle.begin(email, address)
    throttle.succeeded(email, address)
    assert tries_until_refused(throttle, email)[0] == PER_EMAIL.free
    assert tries_until_refused(throttle, address)[0] == PER_ADDRESS.free - 3


def test_one_guesser_does_not_hold_up_others():
    throttle = Throttle(HandClock())
    tries_until_refused(throttle, (PER_EMAIL, "a@example.org"))
    throttle.begin((PER_EMAIL, "b@example.org"))


def test_memory_is_bounded():
    throttle = Throttle(HandClock())
    for number in range(REMEMBERED + 100):
        throttle.begin((PER_EMAIL, f"{number}@example.org"))
    assert len(throttle._tries) == REMEMBERED


def test_login_is_refused_with_a_time_to_come_back_even_with_the_right_password(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            await hub.register("a@example.org")
            wrong = {"email": "A@example.org", "password": "a wrong password"}
            right = {"email": "a@example.org", "password": PASSWORD}
            answers = await asyncio.gather(*[hub.post("auth/login", wrong) for _ in range(12)])
            codes = sorted(answer.status_code for answer in answers)
            assert codes == [401] * 5 + [429] * 7  # at once, too: a try counts before its outcome
            refused = await hub.post("auth/login", right)
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["error"]["code"] == "too_many_tries"
            hub.clock.move(seconds=1)
            assert (await hub.post("auth/login", right)).status_code == 200
            for _ in range(4):  # and the slate is clean
                assert (await hub.post("auth/login", wrong)).status_code == 401

    asyncio.run(story())


def test_one_address_cannot_try_one_password_on_everybody(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            codes = [
                (await hub.post("auth/login", {"email": f"{n}@example.org", "password": PASSWORD})).status_code
                for n in range(PER_ADDRESS.free + 5)
            ]
            assert codes == [401] * PER_ADDRESS.free + [429] * 5

    asyncio.run(story())


def test_wait_is_told_in_whole_seconds():
    clock = HandClock()
    throttle = Throttle(clock)
    key = PER_EMAIL, "a@example.org"
    tries_until_refused(throttle, key)
    clock.move(seconds=0.5)
    with pytest.raises(TooManyTries) as refused:
        throttle.begin(key)
    assert refused.value.retry_after_seconds == 1


def test_new_accounts_of_an_address_are_few_in_an_hour():
    clock = HandClock()
    throttle = Throttle(clock)
    key = new_accounts(10), "10.0.0.1"
    assert tries_until_refused(throttle, key) == (10, 360)
    made = 0
    for _ in range(60):
        clock.move(seconds=60)
        made += tries_until_refused(throttle, key)[0]
    assert made == 10


def test_registration_says_what_there_was_too_much_of_and_when_to_come_back(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", limit_registrations_per_address=3) as hub:
            for number in range(3):
                await hub.register(f"{number}@example.org")
            refused = await hub.post("auth/register", {"email": "x@example.org", "password": PASSWORD, "name": "X"})
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1200"
            error = refused.json()["error"]
            assert (error["code"], error["message"]) == ("too_many_tries", "Too many new accounts from this address.")
            assert error["hint"] == "Try again in 1200 s."
            hub.clock.move(seconds=1200)
            await hub.register("x@example.org")

    asyncio.run(story())


def test_network_of_ipv6_counts_as_one():
    assert Visitor("2001:db8::1", "").network == Visitor("2001:db8::2:3", "").network
    assert Visitor("2001:db8::1", "").network != Visitor("2001:db8:0:1::1", "").network
