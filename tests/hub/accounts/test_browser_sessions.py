"""A browser's session: the refresh token in a cookie that only two routes read, from the hub's own pages alone."""

import asyncio
from http.cookies import SimpleCookie

import pytest
from support.planted import each_mutant
from support.small_hub import PASSWORD, bearer, small_hub

from computepool.hub.accounts import repository
from computepool.hub.accounts.browser_cookie import NAME, BrowserCookie
from computepool.hub.accounts.passwords import Passwords
from computepool.hub.accounts.throttle import Throttle
from computepool.hub.api import accounts
from computepool.hub.core.origins import public_origin

ORIGIN = "https://pool.example.org"
OWN_PAGE = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
PERSON = {"email": "ann@example.org", "password": PASSWORD, "name": "Ann", "browser": True}


def code_of(answer):
    return answer.json()["error"]["code"]


def cookie_of(answer):
    """The cookie that an answer sets, with its attributes."""
    found = SimpleCookie(answer.headers["set-cookie"])
    assert list(found) == [NAME]
    return found[NAME]


async def call(hub, path, body=None, *, cookie=None, token=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    if cookie is not None:
        headers["Cookie"] = f"{NAME}={cookie}"
    hub.client.cookies.clear()
    return await hub.client.post(f"/api/v1/{path}", json=body or {}, headers=headers | bearer(token))


async def sign_up(hub):
    answer = await call(hub, "auth/register", PERSON, Origin=ORIGIN)
    assert answer.status_code == 201, answer.text
    assert answer.json()["refresh_token"] is None
    return answer.json()["access_token"], cookie_of(answer).value


def test_browser_at_the_public_address_gets_a_cookie_and_no_refresh_token(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", public_url=ORIGIN) as hub:
            answer = await call(hub, "auth/register", PERSON, Origin=ORIGIN)
            cookie = cookie_of(answer)
            assert cookie["httponly"]
            assert cookie["secure"]
            assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("strict", "/", "")
            assert cookie.value not in answer.text
            login = {"email": PERSON["email"], "password": PASSWORD}
            for asked, origin in ((False, ORIGIN), (True, "https://other.example.org"), (True, None)):
                answer = await call(hub, "auth/login", {**login, "browser": asked}, Origin=origin)
                assert "set-cookie" not in answer.headers
                assert answer.json()["refresh_token"].startswith("cpr_")

    asyncio.run(story())


@pytest.mark.parametrize("public_url", [None, "http://127.0.0.1:8000"])
def test_plain_http_has_no_cookie_and_does_not_read_one(tmp_path, public_url):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", public_url=public_url) as hub:
            answer = await call(hub, "auth/register", PERSON, Origin=public_url or "http://hub.test")
            assert "set-cookie" not in answer.headers
            refresh_token = answer.json()["refresh_token"]
            refused = await call(hub, "auth/refresh", cookie=refresh_token, Sec_Fetch_Site="same-origin")
            assert (refused.status_code, code_of(refused)) == (401, "bad_refresh_token")
            assert (
                await call(hub, "auth/logout", cookie=refresh_token, Sec_Fetch_Site="same-origin")
            ).status_code == 401

    asyncio.run(story())


def test_cookie_is_renewed_with_each_use_and_an_old_one_ends_the_session(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", public_url=ORIGIN) as hub:
            _, first = await sign_up(hub)
            answer = await call(hub, "auth/refresh", cookie=first, Sec_Fetch_Site="same-origin")
            assert answer.status_code == 200
            assert answer.json()["refresh_token"] is None
            second = cookie_of(answer).value
            assert second != first
            assert (await hub.get("me", answer.json()["access_token"])).json()["email"] == PERSON["email"]
            hub.clock.move(seconds=11)
            reused = await call(hub, "auth/refresh", cookie=first, Sec_Fetch_Site="same-origin")
            assert (reused.status_code, code_of(reused)) == (401, "refresh_token_reused")
            assert cookie_of(reused)["max-age"] == "0"
            ended = await call(hub, "auth/refresh", cookie=second, Sec_Fetch_Site="same-origin")
            assert (ended.status_code, code_of(ended)) == (401, "session_ended")

    asyncio.run(story())


FOREIGN = {
    "cross-site": {"Sec_Fetch_Site": "cross-site", "Origin": "https://evil.example"},
    "same-site": {"Sec_Fetch_Site": "same-site", "Origin": "https://other.example.org"},
    "same-site, another port": {"Sec_Fetch_Site": "same-site", "Origin": ORIGIN + ":8443"},
    "none": {"Sec_Fetch_Site": "none"},
    "a lying origin": {"Sec_Fetch_Site": "cross-site", "Origin": ORIGIN},
    "unknown site": {"Sec_Fetch_Site": "SAME-ORIGIN"},
    "empty site": {"Sec_Fetch_Site": "", "Origin": ORIGIN},
    "null origin": {"Origin": "null"},
    "missing": {},
    "old browser, another origin": {"Origin": "https://evil.example"},
    "old browser, http": {"Origin": "http://pool.example.org"},
    "old browser, prefix": {"Origin": ORIGIN + ".evil.example"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_other_pages_can_use_the_cookie_on_neither_route(tmp_path, headers):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", public_url=ORIGIN) as hub:
            access, kept = await sign_up(hub)
            for path in ("auth/refresh", "auth/logout"):
                refused = await call(hub, path, cookie=kept, **headers)
                assert (refused.status_code, code_of(refused)) == (403, "foreign_page")
                assert "set-cookie" not in refused.headers
            assert (await hub.get("me", access)).status_code == 200  # nobody was signed out
            # With a token of its own a program is what it says it is, and the cookie plays no part.
            other = (await call(hub, "auth/login", {"email": PERSON["email"], "password": PASSWORD})).json()
            left = await call(hub, "auth/logout", cookie=kept, token=other["access_token"], **headers)
            assert (left.status_code, left.headers.get("set-cookie")) == (204, None)
            renewed = await call(hub, "auth/refresh", cookie=kept, Origin=ORIGIN)
            assert renewed.status_code == 200

    asyncio.run(story())


@pytest.mark.parametrize("headers", [{"Sec_Fetch_Site": "same-origin"}, {"Origin": ORIGIN}], ids=["new", "old"])
@pytest.mark.parametrize("token", ["none", "its own", "expired"])
def test_browser_signs_out_by_its_cookie(tmp_path, headers, token):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", public_url=ORIGIN) as hub:
            access, kept = await sign_up(hub)
            if token == "expired":
                hub.clock.move(minutes=16)
            sent = None if token == "none" else access
            answer = await call(hub, "auth/logout", cookie=kept, token=sent, **headers)
            assert answer.status_code == 204
            assert (cookie_of(answer).value, cookie_of(answer)["max-age"]) == ("", "0")
            assert (await call(hub, "auth/refresh", cookie=kept, **headers)).status_code == 401
            assert (await hub.get("me", access)).status_code == 401

    asyncio.run(story())


def test_cookie_planted_before_sign_in_does_not_survive_it(tmp_path):
    """Session fixation: what an attacker put into the browser is neither kept nor renewed."""

    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db", public_url=ORIGIN) as hub:
            _, planted = await sign_up(hub)
            await hub.register("victim@example.org")
            login = {"email": "victim@example.org", "password": PASSWORD, "browser": True}
            answer = await call(hub, "auth/login", login, cookie=planted, Origin=ORIGIN)
            fresh = cookie_of(answer).value
            assert fresh.split(".")[0] != planted.split(".")[0]
            renewed = await call(hub, "auth/refresh", cookie=fresh, Origin=ORIGIN)
            assert (await hub.get("me", renewed.json()["access_token"])).json()["email"] == "victim@example.org"
            twice = await hub.client.post(
                "/api/v1/auth/refresh",
                json={},
                headers={"Cookie": f"{NAME}={planted}; {NAME}={fresh}", "Origin": ORIGIN},
            )
            assert twice.status_code == 401

    asyncio.run(story())


def test_change_of_password_ends_every_session_and_begins_a_new_one(database_url):
    async def story():
        async with small_hub(database_url, public_url=ORIGIN) as hub:
            access, kept = await sign_up(hub)
            login = {"email": PERSON["email"], "password": PASSWORD}
            elsewhere = (await hub.post("auth/login", login)).json()
            token = (await hub.personal_token(access))["token"]
            body = {"current_password": PASSWORD, "new_password": "quite another one", "browser": True}
            changed = await call(hub, "me/password", body, cookie=kept, token=access, Origin=ORIGIN)
            assert changed.status_code == 200, changed.text
            fresh = cookie_of(changed).value
            assert fresh.split(".")[0] != kept.split(".")[0]
            for ended in (access, elsewhere["access_token"]):
                assert (await hub.get("me", ended)).status_code == 401
            assert (await hub.post("auth/refresh", {"refresh_token": elsewhere["refresh_token"]})).status_code == 401
            assert (await call(hub, "auth/refresh", cookie=fresh, Origin=ORIGIN)).status_code == 200
            assert (await hub.get("me", changed.json()["access_token"])).status_code == 200
            assert (await hub.get("me", token)).status_code == 200  # personal tokens are apart
            assert (await hub.post("auth/login", login)).status_code == 401
            assert (await hub.post("auth/login", {**login, "password": "quite another one"})).status_code == 200

    asyncio.run(story())


def test_password_is_changed_only_by_who_knows_it_and_guesses_wait(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            access = (await hub.register())["access_token"]
            token = (await hub.personal_token(access))["token"]
            body = {"current_password": PASSWORD, "new_password": "quite another one"}
            refused = await hub.post("me/password", body, token)
            assert (refused.status_code, code_of(refused)) == (403, "needs_sign_in")
            short = await hub.post("me/password", {**body, "new_password": "short"}, access)
            assert short.json()["error"]["fields"][0]["field"] == "new_password"
            for wrong in ({"current_password": "not this one"}, {"current_password": None}):
                answer = await hub.post("me/password", {**body, **wrong}, access)
                assert (answer.status_code, code_of(answer)) == (403, "wrong_password")
            codes = [
                code_of(await hub.post("me/password", {**body, "current_password": "x"}, access)) for _ in range(5)
            ]
            assert codes[-1] == "too_many_tries"
            hub.clock.move(minutes=10)
            assert (await hub.post("me/password", body, access)).status_code == 200

    asyncio.run(story())


def test_who_came_by_a_link_sets_a_first_password(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            pair = await hub.register("link@example.org")

            def forget_password(session):
                from computepool.hub.accounts.tables import User

                session.get_one(User, pair["user_id"]).password_hash = None

            await hub.context.db.run(forget_password)
            access = pair["access_token"]
            assert (await hub.get("me", access)).json()["has_password"] is False
            first = await hub.post("me/password", {"new_password": "the first of all"}, access)
            assert first.status_code == 200
            access = first.json()["access_token"]
            assert (await hub.get("me", access)).json()["has_password"] is True
            again = await hub.post("me/password", {"new_password": "and a second one"}, access)
            assert code_of(again) == "wrong_password"

    asyncio.run(story())


def test_sessions_say_which_is_the_current_one_where_from_and_how(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            pair = await hub.register("ann@example.org")
            login = {"email": "ann@example.org", "password": PASSWORD}
            agent = {"User-Agent": "Mozilla/5.0 (test)"}
            hub.clock.move(seconds=1)
            second = (await hub.client.post("/api/v1/auth/login", json=login, headers=agent)).json()
            items = (await hub.get("sessions", second["access_token"])).json()["items"]
            assert [(one["current"], one["method"]) for one in items] == [(True, "password"), (False, "registration")]
            assert (items[0]["user_agent"], items[0]["address"]) == ("Mozilla/5.0 (test)", "127.0.0.1")
            answer = await hub.client.delete(
                "/api/v1/sessions?keep_current=true", headers=bearer(second["access_token"])
            )
            assert answer.status_code == 204
            assert (await hub.get("me", pair["access_token"])).status_code == 401
            token = (await hub.personal_token(second["access_token"]))["token"]
            assert (await hub.delete("sessions", token)).status_code == 204
            assert (await hub.get("me", second["access_token"])).status_code == 401
            assert (await hub.get("sessions", token)).json()["items"] == []

    asyncio.run(story())


def test_profile_is_changed_field_by_field(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            access = (await hub.register())["access_token"]

            async def change(**body):
                return await hub.client.patch("/api/v1/me", json=body, headers=bearer(access))

            assert (await change(name="Ann Other", country="de")).json()["country"] == "DE"
            mails = (await change(mails={"jobs": False})).json()["mails"]
            assert mails == {"jobs": False, "money": True, "disputes": True, "nodes": True}
            assert (await change(mails={"nodes": False})).json()["mails"]["jobs"] is False
            me = (await change(country=None, mails={"jobs": True, "nodes": True})).json()
            assert (me["name"], me["country"], set(me["mails"].values())) == ("Ann Other", None, {True})
            assert (await change(email="other@example.org")).status_code == 422
            assert (await change(name="  ")).status_code == 422

    asyncio.run(story())


def test_device_code_is_looked_at_before_it_is_approved(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            access = (await hub.register())["access_token"]
            begun = (
                await hub.client.post("/api/v1/auth/device", headers={"User-Agent": "computepool/9 on laptop"})
            ).json()
            hub.clock.move(seconds=42)
            look = {"user_code": begun["user_code"].lower()}
            shown = (await hub.post("auth/device/look", look, access)).json()
            assert shown["user_agent"] == "computepool/9 on laptop"
            assert (shown["address"], shown["same_address"], shown["age_seconds"]) == ("127.0.0.1", True, 42)
            assert "jobs:write" in shown["scopes"]
            assert "admin" not in shown["scopes"]
            assert begun["device_code"] not in str(shown)
            await hub.post("auth/device/approve", {"user_code": begun["user_code"]}, access)
            gone = await hub.post("auth/device/look", look, access)
            assert (gone.status_code, code_of(gone)) == (404, "no_such_user_code")
            codes = [code_of(await hub.post("auth/device/look", {"user_code": "BBBB-BBBB"}, access)) for _ in range(11)]
            assert codes[-1] == "too_many_tries"
            approve = await hub.post("auth/device/approve", {"user_code": "BBBB-BBBB"}, access)
            assert code_of(approve) == "too_many_tries"

    asyncio.run(story())


# ── bugs that were put in on purpose ─────────────────────────────────────────────────────────────────────────────────


def every_foreign_page(tmp_path):
    for number, headers in enumerate(FOREIGN.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        test_other_pages_can_use_the_cookie_on_neither_route(folder, headers)


def plain_http(tmp_path):
    test_plain_http_has_no_cookie_and_does_not_read_one(tmp_path, "http://127.0.0.1:8000")


def first_sign_in(tmp_path):
    test_browser_at_the_public_address_gets_a_cookie_and_no_refresh_token(tmp_path)


def wrong_passwords(tmp_path):
    test_password_is_changed_only_by_who_knows_it_and_guesses_wait(tmp_path)


def new_password(tmp_path):
    test_change_of_password_ends_every_session_and_begins_a_new_one(f"sqlite:///{tmp_path}/hub.db")


def look_at_code(tmp_path):
    test_device_code_is_looked_at_before_it_is_approved(f"sqlite:///{tmp_path}/hub.db")


def _own_pages(monkeypatch, is_own):
    monkeypatch.setattr(BrowserCookie, "is_own_page", lambda self, request: is_own(request.headers, self._origin))


def same_site_is_own(monkeypatch):
    _own_pages(monkeypatch, lambda told, own: told.get("sec-fetch-site") in ("same-origin", "same-site"))


def typed_address_is_own(monkeypatch):
    _own_pages(monkeypatch, lambda told, own: told.get("sec-fetch-site") in ("same-origin", "none"))


def origin_goes_before_site(monkeypatch):
    _own_pages(monkeypatch, lambda told, own: told.get("origin") == own or told.get("sec-fetch-site") == "same-origin")


def silence_is_own(monkeypatch):
    _own_pages(monkeypatch, lambda told, own: told.get("sec-fetch-site", "same-origin") == "same-origin")


def origin_is_compared_by_its_beginning(monkeypatch):
    _own_pages(monkeypatch, lambda told, own: told.get("origin", "").startswith(own))


def page_is_not_checked(monkeypatch):
    monkeypatch.setattr(BrowserCookie, "check_page", lambda self, request: None)


def http_has_a_cookie_too(monkeypatch):
    monkeypatch.setattr(
        BrowserCookie,
        "__init__",
        lambda self, settings: setattr(self, "_origin", public_origin(settings)),
    )


def every_page_gets_a_cookie(monkeypatch):
    monkeypatch.setattr(BrowserCookie, "is_for", lambda self, request, *, wanted: wanted)


def scripts_can_read_the_cookie(monkeypatch):
    monkeypatch.setattr(
        BrowserCookie,
        "put",
        lambda self, response, token: response.set_cookie(NAME, token, secure=True, samesite="strict"),
    )


def answer_has_the_token_too(monkeypatch):
    def both(cookie, request, response, pair, *, wanted):
        if cookie.is_for(request, wanted=wanted):
            cookie.put(response, pair.refresh_token)
        return pair

    monkeypatch.setattr(accounts, "hand_over", both)


def other_sessions_stay(monkeypatch):
    monkeypatch.setattr(repository, "revoke_live_sessions", lambda session, *conditions, now: [])


def any_password_will_do(monkeypatch):
    async def yes(self, password_hash, password):
        return True

    monkeypatch.setattr(Passwords, "verify", yes)


def nobody_waits(monkeypatch):
    monkeypatch.setattr(Throttle, "begin", lambda self, *keys: None)


MUTANTS = {
    every_foreign_page: [
        same_site_is_own,
        typed_address_is_own,
        origin_goes_before_site,
        silence_is_own,
        origin_is_compared_by_its_beginning,
        page_is_not_checked,
    ],
    plain_http: [http_has_a_cookie_too],
    first_sign_in: [every_page_gets_a_cookie, scripts_can_read_the_cookie, answer_has_the_token_too],
    new_password: [other_sessions_stay],
    wrong_passwords: [any_password_will_do, nobody_waits],
    look_at_code: [nobody_waits],
}


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, monkeypatch, tmp_path):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        check(tmp_path)
