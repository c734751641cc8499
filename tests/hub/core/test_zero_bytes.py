"""A zero byte in a text is the caller's mistake on every database, and never the hub's."""

import pytest
from pydantic import ValidationError
from support.engine import ADMIN, ALICE, play

from computepool.hub.api.payment_views import Asking

WORDS = {"email": "a\0@example.org", "password": "long enough to be one", "name": "A\0", "country": "IN"}
ONE = {"credits": "1", "note": "why\0"}
ABOUT_MONEY = [
    ("admin/grants", {"user": ALICE, **ONE}, "note"),
    ("admin/grants", {"user": "a\0@example.org", "credits": "1", "note": "why"}, "user"),
    ("admin/withdrawals", {"user": ALICE, **ONE}, "note"),
    ("admin/ledger/write-offs", {"user": ALICE, **ONE}, "note"),
    ("admin/top-ups/topup_1/refund", ONE, "note"),
    ("admin/cash-outs/cashout_1/approve", {"note": "\0"}, "note"),
    ("admin/cash-outs/cashout_1/reject", {"note": "why\0"}, "note"),
    ("admin/cash-outs/cashout_1/paid", {"reference": "7\0"}, "reference"),
    ("admin/cash-outs/cashout_1/reverse", ONE, "note"),
    ("admin/vouchers", ONE, "note"),
    ("admin/vouchers", {"credits": "1", "code": "SPRING-2027\0-LAB"}, "code"),
    ("admin/disputes/dispute_1/resolve", {"outcome": "none", "note": "why\0"}, "note"),
    ("jobs/job_1/dispute", {"reason": "wrong\0"}, "reason"),
    ("wallet/vouchers", {"code": "SPRING-2027\0-LAB"}, "code"),
    ("wallet/top-ups", {"credits": "10", "owner_id": "user_\0"}, "owner_id"),
    ("wallet/cash-outs", {"credits": "10", "owner_id": "user_\0"}, "owner_id"),
]
NUMBERS = {"credits", "below", "amount", "monthly"}
"""Texts of these are read, and never kept."""


@pytest.mark.parametrize(
    ("path", "body", "user"),
    [
        ("auth/register", WORDS, None),
        ("auth/login", {"email": WORDS["email"], "password": "x\0"}, None),
        ("admin/canaries", {"job_id": "job_\0", "node_id": "node_\0"}, ADMIN),
        ("market/quote", {"run": "true", "where": {"node": "node_\0"}}, ADMIN),
        ("jobs", {"run": "true\0"}, ADMIN),
        ("admin/market/regions/import", {"csv": "DE,0.95,E\0U"}, ADMIN),
    ],
)
def test_no_text_with_a_zero_byte_breaks_the_hub(hub_url, path, body, user):
    async def story(pool):
        assert (await pool.call("POST", path, body, user=user)).status_code < 500

    play(hub_url, story)


def test_what_is_said_about_money_is_refused_with_the_name_of_the_field(hub_url):
    async def story(pool):
        for path, body, field in ABOUT_MONEY:
            answer = await pool.call("POST", path, body, user=ADMIN)
            told = [(one["field"], one["message"]) for one in answer.json()["error"].get("fields") or []]
            assert (answer.status_code, told) == (422, [(field, "has a zero byte in it")]), path

    play(hub_url, story)


def test_no_amount_has_a_zero_byte(hub_url):
    async def story(pool):
        for path in ("admin/grants", "admin/withdrawals", "admin/ledger/write-offs"):
            for text in ("1\0", "\0"):
                answer = await pool.call("POST", path, {"user": ALICE, "credits": text, "note": "why"}, user=ADMIN)
                assert answer.status_code == 422, path

    play(hub_url, story)


def _all_below(kind):
    return [kind, *(deeper for below in kind.__subclasses__() for deeper in _all_below(below))]


def test_no_request_about_money_has_a_text_that_takes_a_zero_byte():
    """Also one that somebody adds later."""
    kinds = _all_below(Asking)
    assert len(kinds) > 10, "all features are loaded"
    for kind in kinds:
        for name in set(kind.model_fields) - NUMBERS:
            with pytest.raises(ValidationError) as refused:
                kind.model_validate({name: "long\0enough"})
            assert name in [one["loc"][0] for one in refused.value.errors()], f"{kind.__name__}.{name}"
