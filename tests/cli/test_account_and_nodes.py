"""Signing in and out, tokens, and machines."""

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.fake_api import TOKEN, FakeHub, node

from computepool.client.config import load_credentials

PENDING = (400, {"error": {"code": "authorization_pending", "message": "Not yet."}})


@pytest.fixture
def signed_out(cli, monkeypatch):
    monkeypatch.delenv("COMPUTEPOOL_URL")
    monkeypatch.delenv("COMPUTEPOOL_TOKEN")
    return cli


def test_login_with_a_token_is_kept_for_the_next_command(hub, signed_out):
    assert signed_out("login", hub.url, "--token", TOKEN).code == 0
    assert signed_out("whoami").text.count("ada@example.org") == 1
    path: Path = signed_out.home / "credentials.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_wrong_token_is_not_kept(hub, signed_out):
    assert signed_out("login", hub.url, "--token", "wrong").code == 77
    assert load_credentials(signed_out.home) is None


def test_login_in_a_browser_waits_for_the_person(hub: FakeHub, signed_out):
    pair = {"access_token": TOKEN, "refresh_token": "r", "expires_in": 900}
    hub.device_answers = [PENDING, PENDING, (200, pair)]
    result = signed_out("login", hub.url)
    assert result.code == 0
    assert "ABCD-EFGH" in result.err
    # What is kept is a personal token, not the short session's.
    assert hub.tokens[0]["name"].startswith("CLI on ")
    assert ("POST", "/api/v1/auth/logout") in hub.requests


def test_denied_login_says_so(hub, signed_out):
    hub.device_answers = [PENDING, (400, {"error": {"code": "denied", "message": "The login was denied."}})]
    result = signed_out("login", hub.url)
    assert result.code == 1
    assert "denied" in result.err
    assert load_credentials(signed_out.home) is None


def test_logout_revokes_and_forgets(hub, signed_out):
    signed_out("login", hub.url, "--token", TOKEN)
    hub.tokens, hub.my_token_id = [{"id": "token_9", "name": "cli"}], "token_9"
    assert signed_out("logout").code == 0
    assert hub.tokens == []
    assert load_credentials(signed_out.home) is None
    assert "Nobody is signed in" in signed_out("logout").err


def test_logout_everywhere_ends_the_sessions_of_browsers_too(hub, signed_out):
    signed_out("login", hub.url, "--token", TOKEN)
    hub.tokens, hub.my_token_id = [{"id": "token_9", "name": "cli"}], "token_9"
    assert signed_out("logout", "--everywhere").code == 0
    assert ("DELETE", "/api/v1/sessions") in hub.requests
    assert hub.tokens == []


def test_logout_forgets_even_when_the_hub_is_gone(hub, signed_out):
    signed_out("login", hub.url, "--token", TOKEN)
    hub.stop()
    assert signed_out("logout").code == 0
    assert load_credentials(signed_out.home) is None


def test_command_without_a_sign_in_says_how(hub, signed_out):
    result = signed_out("--url", hub.url, "whoami")
    assert result.code == 77
    assert "computepool login" in result.err


@pytest.mark.parametrize("place", ["before", "after"])
def test_home_and_url_may_stand_before_or_after_the_command(hub, signed_out, tmp_path, place):
    other = str(tmp_path / "other")
    signed_out("login", hub.url, "--token", TOKEN, "--home", other)
    words = ["--home", other, "whoami"] if place == "before" else ["whoami", "--home", other]
    assert signed_out(*words).code == 0
    assert signed_out("whoami", "--url", hub.url).code == 77


def test_token_is_made_listed_and_revoked(hub, cli):
    made = json.loads(cli("token", "create", "ci", "--scope", "jobs:read", "--days", "30", "--json").out)
    assert made["token"] == TOKEN
    assert hub.tokens[0] == {**hub.tokens[0], "scopes": ["jobs:read"], "expires_in_days": 30}
    assert "ci" in cli("token", "list").text
    assert json.loads(cli("token", "list", "--json").out)["items"][0]["name"] == "ci"
    assert cli("token", "revoke", "ci").code == 0
    assert hub.tokens == []
    assert cli("token", "revoke", "ci").code == 1


def test_token_alone_is_on_standard_output(hub, cli):
    assert cli("token", "create", "ci").out == TOKEN.encode() + b"\n"


def test_nodes_are_listed_with_what_they_share(hub, cli):
    text = cli("nodes").text
    for part in ("alpha", "online", "8 cores", "16 GB", "bubblewrap", "soft limits", "lab"):
        assert part in text
    assert json.loads(cli("nodes", "--json").out)["items"][0]["id"] == node()["id"]


def test_machine_without_isolation_is_labelled(hub, cli):
    hub.nodes[0]["capacity"]["isolation"] = ["process"]
    assert "not isolated: own jobs only" in cli("nodes").text


def test_node_is_shown_by_its_name(hub, cli):
    assert node()["id"] in cli("node", "show", "alpha").text
    assert json.loads(cli("node", "show", "alpha", "--json").out)["tags"] == ["lab"]
    assert cli("node", "show", "beta").code == 1


def test_tags_are_shown_set_and_cleared(hub, cli):
    assert cli("node", "tags", "alpha").text == "lab\n"
    assert cli("node", "tags", "alpha", "fast", "big").text == "fast\nbig\n"
    assert hub.nodes[0]["tags"] == ["fast", "big"]
    assert cli("node", "tags", "alpha", "--clear").text == "no tags\n"
    assert cli("node", "tags", "alpha", "--clear", "x").code == 2


def test_join_token_comes_as_the_line_to_run(hub, cli):
    key = cli("key").text.strip()
    assert cli("node", "join-token").text == f"computepool join {hub.url} --token cpj_1 --owner-key {key}\n"


@pytest.mark.parametrize(
    ("hours", "said"),
    [("0.25", "15 minutes"), ("1", "1 hour"), ("24", "1 day"), ("1.5", "1 hour 30 minutes"), ("0.01", "36 seconds")],
)
def test_join_token_says_how_long_it_is_good(hub, cli, hours, said):
    assert f"Good for one machine, for {said}." in cli("node", "join-token", "--hours", hours).err


@pytest.mark.parametrize(("what", "state"), [("drain", "draining"), ("resume", "online"), ("ban", "banned")])
def test_machine_is_drained_resumed_and_banned(hub, cli, what, state):
    words = ["-y"] if what == "ban" else []
    result = cli("node", what, "alpha", *words)
    assert result.code == 0
    assert ("POST", f"/api/v1/nodes/{node()['id']}/{what}") in hub.requests
    assert result.err.startswith("alpha ")
    assert result.err.endswith(f"It is {state}.\n")
    assert json.loads(cli("node", what, "alpha", *words, "--json").out)["state"] == state


def test_ban_without_a_yes_changes_nothing(hub, cli):
    result = cli("node", "ban", "alpha")
    assert result.code == 2
    assert "add -y" in result.err
    assert hub.nodes[0]["state"] == "online"


def test_machine_is_renamed(hub, cli):
    assert cli("node", "rename", "alpha", "beta").code == 0
    assert hub.nodes[0]["name"] == "beta"
    assert cli("node", "rename", "alpha", "gamma").code == 1


def test_empty_pool_says_how_to_join(hub, cli):
    hub.nodes = []
    result = cli("nodes")
    assert result.out == b""
    assert "join-token" in result.err


@pytest.mark.parametrize(("seconds", "said"), [(2, "now"), (30, "s ago"), (3600, "1h00m ago")])
def test_node_is_seen_when_it_was_heard_and_not_by_its_state(hub: FakeHub, cli, seconds, said):
    seen = datetime.now(UTC) - timedelta(seconds=seconds)
    hub.nodes = [{**node(state="online"), "last_seen_at": seen.isoformat()}]
    assert said in cli("nodes").text
    assert said in cli("node", "show", "alpha").text
