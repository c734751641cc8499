import asyncio

from support.small_hub import small_hub

from computepool.hub.accounts.states import NEXT, DeviceState, sources_of
from computepool.hub.accounts.tokens import USER_CODE_ALPHABET


def code_of(answer):
    return answer.json()["error"]["code"]


def test_device_is_signed_in_once_after_approval(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            person = await hub.register()
            begun = (await hub.post("auth/device")).json()
            assert begun["verification_uri"] == "http://hub.test/device"
            assert begun["verification_uri_complete"].endswith(f"?code={begun['user_code']}")
            assert begun["expires_in"] == 600
            poll = {"device_code": begun["device_code"]}

            waiting = await hub.post("auth/device/token", poll)
            assert (waiting.status_code, code_of(waiting)) == (400, "authorization_pending")
            assert code_of(await hub.post("auth/device/token", poll)) == "slow_down"

            typed = begun["user_code"].lower().replace("-", " ")
            approved = await hub.post("auth/device/approve", {"user_code": typed}, person["access_token"])
            assert approved.status_code == 204, approved.text
            hub.clock.move(seconds=begun["interval"])
            pair = (await hub.post("auth/device/token", poll)).json()
            assert (await hub.get("me", pair["access_token"])).json()["id"] == person["user_id"]
            hub.clock.move(seconds=begun["interval"])
            assert code_of(await hub.post("auth/device/token", poll)) == "expired"
            again = await hub.post("auth/device/approve", {"user_code": typed}, person["access_token"])
            assert again.status_code == 404

    asyncio.run(story())


def test_approved_device_code_is_traded_once_by_many_at_once(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            person = await hub.register()
            begun = (await hub.post("auth/device")).json()
            await hub.post("auth/device/approve", {"user_code": begun["user_code"]}, person["access_token"])
            polls = [hub.post("auth/device/token", {"device_code": begun["device_code"]}) for _ in range(5)]
            answers = await asyncio.gather(*polls)
            assert [answer.status_code for answer in answers].count(200) == 1

    asyncio.run(story())


def test_denied_and_expired_devices_are_told_so(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            person = await hub.register()
            denied, late = [(await hub.post("auth/device")).json() for _ in range(2)]
            body = {"user_code": denied["user_code"], "approve": False}
            assert (await hub.post("auth/device/approve", body, person["access_token"])).status_code == 204
            assert code_of(await hub.post("auth/device/token", {"device_code": denied["device_code"]})) == "denied"
            hub.clock.move(minutes=10)
            assert code_of(await hub.post("auth/device/token", {"device_code": late["device_code"]})) == "expired"
            fresh = await hub.post("auth/refresh", {"refresh_token": person["refresh_token"]})
            too_late = await hub.post(
                "auth/device/approve", {"user_code": late["user_code"]}, fresh.json()["access_token"]
            )
            assert too_late.status_code == 404
            assert code_of(await hub.post("auth/device/token", {"device_code": "cpd_never"})) == "expired"

    asyncio.run(story())


def test_device_code_survives_a_restart(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            person = await hub.register()
            begun = (await hub.post("auth/device")).json()
        async with small_hub(database_url) as hub:
            body = {"user_code": begun["user_code"]}
            assert (await hub.post("auth/device/approve", body, person["access_token"])).status_code == 204
            answer = await hub.post("auth/device/token", {"device_code": begun["device_code"]})
            assert answer.status_code == 200

    asyncio.run(story())


def test_approval_needs_a_signed_in_person_with_all_rights(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            begun = (await hub.post("auth/device")).json()
            body = {"user_code": begun["user_code"]}
            assert (await hub.post("auth/device/approve", body)).status_code == 401
            access = (await hub.register())["access_token"]
            narrow = (await hub.personal_token(access, scopes=["account:write"]))["token"]
            refused = await hub.post("auth/device/approve", body, narrow)
            assert (refused.status_code, code_of(refused)) == (403, "more_than_you_have")

    asyncio.run(story())


def test_guessing_user_codes_is_slowed_down(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            access = (await hub.register())["access_token"]
            codes = [
                (await hub.post("auth/device/approve", {"user_code": "BBBB-BBBB"}, access)).status_code
                for _ in range(15)
            ]
            assert codes == [404] * 10 + [429] * 5

    asyncio.run(story())


def test_user_codes_have_no_letter_that_can_be_misread():
    assert not set("AEIOUY0123456789") & set(USER_CODE_ALPHABET)  # no words, no digits to mistake letters for
    assert len(set(USER_CODE_ALPHABET)) == 20


def test_device_states_move_only_forward():
    for target in DeviceState:
        assert sources_of(target) == [state for state in DeviceState if target in NEXT[state]]
    assert NEXT[DeviceState.USED] == NEXT[DeviceState.DENIED] == frozenset()
