"""A zero byte in a text is the caller's mistake on every database, and never the hub's."""

import pytest
from support.engine import ADMIN, play

WORDS = {"email": "a\0@example.org", "password": "long enough to be one", "name": "A\0", "country": "IN"}


@pytest.mark.parametrize(
    ("path", "body", "user"),
    [
        ("auth/register", WORDS, None),
        ("auth/login", {"email": WORDS["email"], "password": "x\0"}, None),
        ("admin/canaries", {"job_id": "job_\0", "node_id": "node_\0"}, ADMIN),
        ("market/quote", {"run": "true", "where": {"node": "node_\0"}}, ADMIN),
        ("jobs", {"run": "true\0"}, ADMIN),
    ],
)
def test_no_text_with_a_zero_byte_breaks_the_hub(hub_url, path, body, user):
    async def story(pool):
        assert (await pool.call("POST", path, body, user=user)).status_code < 500

    play(hub_url, story)
