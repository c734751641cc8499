"""Who is here, and who of them runs the pool, on the command line."""

import json

import pytest
from support.fake_users import person


def test_people_are_listed_by_their_addresses(cli):
    lines = cli("admin", "users").text.splitlines()
    assert lines[0].split() == ["ADDRESS", "USER", "ROLE", "SINCE", "ID"]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["rita@example.org", "Rita", "user"],
        ["hugo@example.org", "Hugo", "user"],
        ["ada@example.org", "Ada", "admin"],
    ]


def test_people_are_searched_by_a_part_of_the_address_and_by_role(cli):
    assert [line.split()[0] for line in cli("admin", "users", "--search", "hug").text.splitlines()[1:]] == [
        "hugo@example.org"
    ]
    found = json.loads(cli("admin", "users", "--role", "admin", "--json").text)
    assert ([one["id"] for one in found["items"]], found["more"]) == (["user_ada"], False)
    assert "Nobody is like that." in cli("admin", "users", "--search", "zoe").err


def test_a_long_list_is_asked_for_page_by_page_and_says_that_there_is_more(cli, hub):
    hub.users.people = [person(f"p{number:03}") for number in range(450)]
    result = cli("admin", "users", "-n", "430")
    assert len(result.text.splitlines()) == 431
    assert "The newest 430; more with --limit." in result.err
    assert len(json.loads(cli("admin", "users", "-n", "1000", "--json").text)["items"]) == 450


def test_the_role_of_an_admin_is_given_and_taken(cli, hub):
    assert cli("admin", "users", "role", "rita@example.org", "admin").err == (
        "rita@example.org is an admin, from the next sign-in on.\n"
    )
    assert cli("admin", "users", "role", "user_rita", "admin").err == "rita@example.org is an admin already.\n"
    assert json.loads(cli("admin", "users", "role", "user_rita", "user", "--json").text)["role"] == "user"
    assert cli("admin", "users", "role", "user_rita", "user").err == "rita@example.org is no admin already.\n"
    cli("admin", "users", "role", "user_rita", "admin")
    assert cli("admin", "users", "role", "user_rita", "user").err == (
        "rita@example.org is no admin any more: their sessions and tokens have ended.\n"
    )
    last = cli("admin", "users", "role", "ada@example.org", "user")
    assert (last.code, "ada@example.org is the only admin" in last.err) == (1, True)
    assert "There is no user zoe@example.org." in cli("admin", "users", "role", "zoe@example.org", "admin").err
    assert cli("admin", "users", "role", "rita@example.org", "king").code == 2


def test_a_table_of_people_fits_into_a_narrow_terminal(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    text = cli("admin", "users").text
    assert "user_rita" in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 60


@pytest.mark.parametrize("command", [("show",), ("set", "--slices", "5")])
def test_limits_are_asked_for_by_address_too(cli, hub, command):
    cli("admin", "limits", "set", "user_rita", "--slices", "8")
    result = cli("admin", "limits", command[0], "rita@example.org", *command[1:])
    assert (result.code, "user_rita" in result.text) == (0, True), result.err
