r"""JSON can say `"\ud800"`, half of a pair that no UTF-8 has: the caller's mistake, told in words."""

import pytest
from support.engine import ADMIN, play

PASSWORD = '"password": "long enough to be one"'


@pytest.mark.parametrize(
    ("path", "body", "user"),
    [
        ("auth/register", rf'{{"email": "a@example.org", {PASSWORD}, "name": "\ud800"}}', None),
        ("auth/register", rf'{{"email": "\ud800@example.org", {PASSWORD}, "name": "A"}}', None),
        ("auth/register", rf'{{"email": "a@example.org", {PASSWORD}, "name": "A", "\ud800": "extra"}}', None),
        ("auth/register", r'{"email": "a@example.org", "password": "long enough \ud800 to be one", "name": "A"}', None),
        ("auth/login", r'{"email": "\udfff", "password": "a\ud800"}', None),
        ("admin/grants", r'{"owner_id": "user_\udcff", "credits": "\udcff", "note": "bad \udcff byte"}', ADMIN),
        ("wallet/cash-outs", r'{"credits": "\ud800"}', ADMIN),
        ("wallet/vouchers", r'{"code": "\ud800"}', ADMIN),
        ("jobs", r'{"run": "true \ud800"}', ADMIN),
        ("jobs", r'{"run": ["true", "\ud800"]}', ADMIN),
        ("jobs", r'{"run": "true", "name": "\ud800"}', ADMIN),
        ("jobs", r'{"run": "true", "env": {"A": "\ud800"}}', ADMIN),
        ("jobs", r'{"run": "true", "env": {"\ud800": "1"}}', ADMIN),
        ("jobs", r'{"run": "true", "\ud800": "1"}', ADMIN),
        ("jobs", r'{"run": "true", "max_price": "\ud800"}', ADMIN),
        ("jobs", r'{"run": "true", "resources": {"gpu": "\ud800"}}', ADMIN),
        ("market/quote", r'{"run": "true", "where": {"node": "\ud800"}}', ADMIN),
    ],
)
def test_half_a_surrogate_pair_is_refused_in_words(hub_url, path, body, user):
    async def story(pool):
        headers = {"Content-Type": "application/json"}
        answer = await pool.call("POST", path, user=user, content=body, headers=headers)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["code"] != "internal"

    play(hub_url, story)


def test_the_refused_text_is_told_back_with_its_escape(hub_url):
    async def story(pool):
        body = rf'{{"email": "a@example.org", {PASSWORD}, "name": "Ann \ud800"}}'
        answer = await pool.call(
            "POST", "auth/register", user=None, content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.json()["error"]["fields"] == [
            {"field": "name", "message": "is not text in UTF-8", "value": r"Ann \ud800"}
        ]

    play(hub_url, story)
