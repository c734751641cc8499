"""Every code of the API's errors is named by a test that reaches it: clients match on codes."""

import re
from typing import get_args

from support.engine import ADMIN, play
from support.error_classes import error_classes
from support.seen_codes import ELSEWHERE, NOT_REACHED, TESTS

from computepool.protocol.errors import ErrorCode


def test_every_code_is_named_by_a_test_or_has_a_reason():
    """A whole run of the tests also looks whether every code was in an answer (`support/seen_codes.py`)."""
    sources = [path for path in TESTS.rglob("*.py") if path.name not in ("test_openapi.py", "seen_codes.py")]
    text = "\n".join(path.read_text() for path in sources)
    known = ELSEWHERE.keys() | NOT_REACHED.keys()
    missing = [code for code in set(get_args(ErrorCode)) - known if not names(text, code)]
    assert missing == []
    assert known <= set(get_args(ErrorCode))
    assert not ELSEWHERE.keys() & NOT_REACHED.keys()
    assert [path for path in ELSEWHERE.values() if not (TESTS / path).exists()] == []


def names(text, code):
    """A test may look at the class of an error that a service raises."""
    classes = [error.__name__ for error in error_classes() if error.code == code]
    return re.search(rf"[\"'`]{code}[\"'`]", text) or any(re.search(rf"\b{name}\b", text) for name in classes)


def test_what_is_not_there_has_a_code_of_its_own(sqlite_hub):
    async def story(pool):
        async def code_of(method, path, body=None, **options):
            return (await pool.call(method, path, body, **options)).json()["error"]["code"]

        nothing = {
            "no_such_canary_answer": ("POST", "admin/canaries/answers/check_1/withdraw"),
            "no_such_difference": ("POST", "admin/payments/differences/1/settle"),
            "no_such_dispute": ("GET", "admin/disputes/dispute_1"),
            "no_such_top_up": ("GET", "wallet/top-ups/topup_1"),
            "no_such_voucher": ("POST", "admin/vouchers/voucher_1/withdraw"),
        }
        found = {code: await code_of(*asked, user=ADMIN) for code, asked in nothing.items()}
        assert found == {code: code for code in nothing}
        assert await code_of("GET", "wallet?owner_id=user_bob") == "no_such_wallet"

    play(sqlite_hub, story)


def test_what_cannot_be_done_has_a_code_of_its_own(sqlite_hub):
    async def story(pool):
        async def code_of(method, path, body=None, **options):
            return (await pool.call(method, path, body, **options)).json()["error"]["code"]

        account = {"email": "ann@example.org", "password": "correct horse battery"}
        pair = (await pool.call("POST", "auth/register", {**account, "name": "Ann"}, user=None)).json()
        wrong = {**account, "password": "another horse"}
        assert await code_of("POST", "auth/login", wrong, user=None) == "bad_credentials"
        refresh = {"Authorization": f"Bearer {pair['refresh_token']}"}
        assert await code_of("GET", "me", user=None, headers=refresh) == "wrong_token"
        assert await code_of("POST", "wallet/cash-outs", {"credits": "0.000001"}) == "below_minimum"
        voucher = {"credits": 5, "code": "spring-is-here-2026"}
        assert (await pool.call("POST", "admin/vouchers", voucher, user=ADMIN)).status_code == 201
        assert await code_of("POST", "admin/vouchers", voucher, user=ADMIN) == "code_taken"
        rates = {"value": {"base_micros": 1}, "version": 7}
        assert await code_of("PUT", "admin/market/rates", rates, user=ADMIN) == "market_table_changed"

    play(sqlite_hub, story)
