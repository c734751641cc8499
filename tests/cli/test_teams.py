"""Teams on the command line."""

import json
from typing import Any

import pytest

from computepool.client.pool import Pool


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What a hub was asked whose team has five members, two a page."""
    members: list[dict[str, Any]] = [
        {"user_id": f"user_{n}", "handle": f"member-{n}", "name": "", "role": "member", "service": False, "email": None}
        for n in range(5)
    ]
    asked: list[tuple[str, str]] = []

    def call(pool: Pool, method: str, path: str, body: object = None) -> Any:
        asked.append((method, path))
        if method != "GET":
            return {}
        start = int(path.partition("cursor=2%2F")[2] or 0)
        return {"items": members[start : start + 2], "next": f"2/{start + 2}" if start + 2 < len(members) else None}

    monkeypatch.setattr(Pool, "call", call)
    return asked


def test_members_of_every_page_are_listed(cli, asked):
    shown = json.loads(cli("team", "members", "my-lab", "--json").out)
    assert [one["handle"] for one in shown["items"]] == [f"member-{n}" for n in range(5)]
    assert shown["next"] is None
    assert len(asked) == 3
    assert "member-4" in cli("team", "members", "my-lab").text


def test_a_member_of_the_last_page_is_found(cli, asked):
    assert cli("team", "role", "my-lab", "member-4", "admin").code == 0
    assert asked[-1] == ("PATCH", "/teams/my-lab/members/user_4")
    assert cli("team", "remove", "my-lab", "member-5").code != 0
