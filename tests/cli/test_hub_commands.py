"""An operator's commands, from an empty folder to a hub that serves, is backed up, and comes back elsewhere."""

import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from support.children import Child, ForkedChild, environment_with
from support.mail_server import mail_server
from support.waiting import patience

pytestmark = pytest.mark.slow

PASSPHRASE = "a long passphrase for a test"


@contextmanager
def served(home: Path, *words: str, **environment: str) -> Iterator[tuple[Child, str]]:
    """`hub serve` on a free port, until it says where."""
    child = ForkedChild(
        "hub serve",
        ["hub", "serve", "--port", "0", *words],
        log=home.parent / f"serve-{time.monotonic_ns()}.log",
        environment=environment_with(COMPUTEPOOL_HOME=home, **environment),
        cwd=home.parent,
    )
    try:
        yield child, child.wait_for(r"The hub is ready: (http://127\.0\.0\.1:[1-9]\d*)")
    finally:
        child.stop()


def sign_in(url: str, path: str) -> httpx.Response:
    return httpx.post(f"{url}/api/v1/auth/one-time", json={"token": path.partition("#sign-in=")[2]}, timeout=patience())


def me(url: str, token: str) -> httpx.Response:
    return httpx.get(f"{url}/api/v1/me", headers={"Authorization": f"Bearer {token}"}, timeout=patience())


def test_migrate_says_what_comes_next(cli):
    result = cli("hub", "migrate")
    assert result.code == 0
    assert "computepool hub admin\n" in result.err
    assert "computepool hub serve\n" in result.err
    elsewhere = cli("hub", "migrate", "--home", "other place")
    assert "computepool hub admin --home 'other place'\n" in elsewhere.err


def test_admin_of_a_stopped_hub_is_made_once_and_signed_in_by_its_links(cli):
    cli("hub", "migrate")
    first, second = cli("hub", "admin"), cli("hub", "admin", "--token")
    assert "Made the first admin" in first.err
    assert "This link signs in as the admin admin@localhost, user_" in second.err
    assert "first admin" not in second.err
    assert re.findall(r"user_\w+", first.err) == re.findall(r"user_\w+", second.err)
    link, token = second.text.split()
    assert "after its next start" in second.err
    with served(cli.home) as (_, url):
        assert sign_in(url, first.text.strip()).status_code == 200
        opened = sign_in(url, link)
        assert me(url, opened.json()["access_token"]).json()["role"] == "admin"
        assert me(url, token).json()["role"] == "admin"


def test_link_made_beside_a_running_hub_works_at_once(cli):
    cli("hub", "migrate")
    with served(cli.home) as (child, url):
        made = json.loads(cli("hub", "admin", "--token", "--json").out)
        assert sign_in(url, made["sign_in_url"]).status_code == 200
        assert me(url, made["token"]).status_code == 401
        assert child.stop() == 0
    with served(cli.home) as (_, url):
        assert me(url, made["token"]).json()["id"] == made["admin_id"]


def test_link_begins_with_the_hubs_own_address(cli, monkeypatch):
    cli("hub", "migrate")
    monkeypatch.setenv("COMPUTEPOOL_PUBLIC_URL", "https://pool.example.org")
    result = cli("hub", "admin")
    assert result.text.startswith("https://pool.example.org/#sign-in=cpo_")
    assert "127.0.0.1" not in result.err


def test_first_admin_gets_an_address_beside_a_running_hub(cli):
    cli("hub", "migrate")
    assert json.loads(cli("hub", "admin", "--json").out)["email"] == "admin@localhost"
    with served(cli.home) as (_, url):
        bob = {"email": "bob@example.org", "password": "a long password of bob", "name": "Bob", "country": "DE"}
        assert httpx.post(f"{url}/api/v1/auth/register", json=bob, timeout=patience()).status_code == 201
        result = cli("hub", "admin", "--email", " Ops@Example.org ")
        assert result.code == 0
        assert "ops@example.org" in result.err
        opened = sign_in(url, result.text.strip()).json()
        assert me(url, opened["access_token"]).json()["email"] == "ops@example.org"

        taken = cli("hub", "admin", "--email", "bob@example.org")
        assert (taken.code, taken.text) == (1, "")
        assert "Another account has the address bob@example.org" in taken.err
        for wrong in ("nobody", "a b@example.org", "admin@localhost", "a\x1b@example.org"):
            refused = cli("hub", "admin", "--email", wrong)
            assert (refused.code, refused.text) == (2, "")
            assert "The email address is not valid" in refused.err
        assert json.loads(cli("hub", "admin", "--json").out)["email"] == "ops@example.org", "as it was set"


def test_doctor_names_the_command_when_no_admin_gets_mails(cli, monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_PUBLIC_URL", "https://pool.example.org")
    cli("hub", "migrate")
    cli("hub", "admin")
    assert "mail to admins" not in cli("hub", "doctor").text, "without a mail server there is nothing to warn of"
    with mail_server() as server:
        monkeypatch.setenv("COMPUTEPOOL_SMTP_URL", server.url)
        warned = cli("hub", "doctor")
        assert warned.code == 0
        assert "! mail to admins: no admin has an address" in warned.text
        assert "computepool hub admin --email ADDRESS" in warned.text
        rows = json.loads(cli("hub", "doctor", "--json").out)["checks"]
        assert [row["name"] for row in rows if row["level"] == "warn"] == ["mail to admins"]
        assert cli("hub", "admin", "--email", "ops@example.org").code == 0
        assert "✓ mail to admins: goes to ops@example.org" in cli("hub", "doctor").text


@pytest.mark.parametrize("words", [["admin"], ["serve", "--port", "0"], ["keys", "announce"], ["backup", "x"]])
def test_command_on_a_hub_that_was_never_made_says_so_in_a_line(cli, monkeypatch, words):
    monkeypatch.setenv("COMPUTEPOOL_BACKUP_PASSPHRASE", PASSPHRASE)
    result = cli("hub", *words)
    assert result.code == 1
    assert re.search(r"^error: (There is no|The database is empty|\S+secret.key does not exist)", result.err)
    assert "fault" not in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("words", ["serve --port 0", "migrate", "admin"])
def test_database_that_does_not_answer_is_told_in_a_line(cli, monkeypatch, words):
    monkeypatch.setenv("COMPUTEPOOL_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2")
    result = cli("hub", *words.split())
    assert result.code == 1
    assert "fault" not in result.err
    assert result.err.startswith("error: The database d")


def test_second_hub_is_refused_in_a_line(cli):
    cli("hub", "migrate")
    with served(cli.home) as (child, _):
        for words in (["serve", "--port", "0"], ["migrate"]):
            result = cli("hub", *words)
            assert result.code == 1
            assert re.fullmatch(rf"error: A hub is already running on .*\(process {child.pid}\)\.\n", result.err)
        assert "already running" in cli("hub", "doctor").text


def test_hub_whose_lock_is_gone_ends_with_an_error(cli, monkeypatch, postgres_url):
    monkeypatch.setenv("COMPUTEPOOL_DATABASE_URL", postgres_url)
    assert cli("hub", "migrate").code == 0
    with served(cli.home) as (child, _):
        with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
            ended = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'computepool hub%'"
            )
            assert connection.execute(ended).fetchall() == [(True,)]
        assert child.wait() == 1
        assert "error: The hub stopped: it lost its lock on " in child.shown


@pytest.mark.parametrize("what", ["backup", "restore"])
def test_passphrase_without_a_terminal_comes_from_the_environment(cli, monkeypatch, what):
    monkeypatch.delenv("COMPUTEPOOL_BACKUP_PASSPHRASE", raising=False)
    cli("hub", "migrate")
    if what == "restore":
        Path("pool.backup").write_bytes(b"x")
    result = cli("hub", what, "pool.backup")
    assert result.code == 2
    assert "COMPUTEPOOL_BACKUP_PASSPHRASE" in result.err
    assert "Warning" not in result.err


def test_hub_comes_back_from_its_backup_elsewhere(cli, monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_BACKUP_PASSPHRASE", PASSPHRASE)
    cli("hub", "migrate")
    made = json.loads(cli("hub", "admin", "--token", "--json").out)
    with served(cli.home):
        saved = cli("hub", "backup", "pool.backup")
    assert saved.code == 0
    assert "Not in it: artifacts and logs" in saved.err

    again = cli("hub", "backup", "pool.backup")
    assert (again.code, again.err.splitlines()[0]) == (1, "error: pool.backup exists already.")
    full = cli("hub", "restore", "pool.backup")
    assert (full.code, len(full.err.splitlines())) == (1, 1)
    assert "The database is not empty" in full.err
    monkeypatch.setenv("COMPUTEPOOL_BACKUP_PASSPHRASE", "another")
    wrong = cli("hub", "restore", "pool.backup", "--home", "restored")
    assert (wrong.code, len(wrong.err.splitlines())) == (1, 1)
    assert "fault" not in wrong.err

    monkeypatch.setenv("COMPUTEPOOL_BACKUP_PASSPHRASE", PASSPHRASE)
    done = cli("hub", "restore", "pool.backup", "--home", "restored")
    assert done.code == 0, done.err
    assert "Not in it: artifacts and logs" in done.err
    assert done.err.endswith("Start it: computepool hub serve --home restored\n")
    with served(Path("restored").absolute()) as (_, url):
        assert me(url, made["token"]).json()["id"] == made["admin_id"]


def test_keys_are_announced_and_then_rotated(cli):
    cli("hub", "migrate")
    with served(cli.home) as (_, url):
        first = httpx.get(f"{url}/api/v1/keys", timeout=patience()).json()["items"]
        announced = cli("hub", "keys", "announce")
    assert "Restart the hub now" in announced.err
    assert cli("hub", "keys", "announce").text == announced.text, "there is at most one next key"
    rotated = cli("hub", "keys", "rotate")
    assert rotated.text == announced.text
    assert "Restart the hub now" in rotated.err
    with served(cli.home) as (_, url):
        keys = [item["key_id"] for item in httpx.get(f"{url}/api/v1/keys", timeout=patience()).json()["items"]]
    assert keys == [announced.text.strip(), first[0]["key_id"]]
    nothing = cli("hub", "keys", "rotate")
    assert nothing.code == 1
    assert "hub keys announce" in nothing.err


def test_port_in_use_says_which_to_take(cli):
    cli("hub", "migrate")
    with served(cli.home) as (_, url):
        port = url.rpartition(":")[2]
        result = cli("hub", "serve", "--port", port, "--home", "other")
    assert result.code == 1
    assert f"Port {port} is in use" in result.err


def test_hub_ends_well_when_it_is_told_to(cli):
    cli("hub", "migrate")
    with served(cli.home) as (child, _):
        child.signal(signal.SIGTERM)
        assert child.wait() == 0


def test_secret_in_the_environment_is_replaced_by_the_one_in_another_variable(cli, monkeypatch):
    old, new = "the old secret key of this operator", "the new secret key of this operator"
    monkeypatch.setenv("COMPUTEPOOL_SECRET_KEY", old)
    cli("hub", "migrate")
    announced = cli("hub", "keys", "announce").out.decode().strip()
    asked = cli("hub", "keys", "rotate-secret")
    assert asked.code == 2
    assert "COMPUTEPOOL_NEW_SECRET_KEY" in asked.err
    monkeypatch.setenv("COMPUTEPOOL_NEW_SECRET_KEY", "short")
    assert "too short" in cli("hub", "keys", "rotate-secret").err
    monkeypatch.setenv("COMPUTEPOOL_NEW_SECRET_KEY", new)
    done = cli("hub", "keys", "rotate-secret")
    assert done.code == 0
    assert "Set COMPUTEPOOL_SECRET_KEY to the new secret now" in done.err
    assert new not in done.err + done.out.decode()
    assert "This was done before" in cli("hub", "keys", "rotate-secret").err
    monkeypatch.setenv("COMPUTEPOOL_SECRET_KEY", new)
    assert cli("hub", "keys", "announce").out.decode().strip() == announced
    assert cli("hub", "keys", "list").out.count(b"\n") == 2
