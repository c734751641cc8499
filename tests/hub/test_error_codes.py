"""Every code of the API's errors is named by a test that reaches it: clients match on codes."""

from typing import get_args

from support.engine import ADMIN, play
from support.seen_codes import ELSEWHERE, NOT_REACHED, TESTS, files_that_name, judge

from computepool.protocol.errors import ErrorCode

CODES = set(get_args(ErrorCode))
NEEDS_NO_ANSWER = ELSEWHERE.keys() | NOT_REACHED.keys()


def test_every_code_is_named_by_a_test_or_has_a_reason():
    """A whole run of the tests also fails if a code was in no answer (`support/seen_codes.py`)."""
    assert [code for code in CODES - NEEDS_NO_ANSWER if not files_that_name(code)] == []
    assert NEEDS_NO_ANSWER <= CODES
    assert not ELSEWHERE.keys() & NOT_REACHED.keys()
    assert [path for path in ELSEWHERE.values() if not (TESTS / path).exists()] == []


def test_whole_run_fails_for_a_code_that_no_answer_had_unless_a_test_of_it_was_skipped():
    assert judge(CODES, set()) == ([], [])
    assert judge(CODES - {"no_such_voucher"}, {"agent/test_setup.py"}) == (["no_such_voucher"], [])
    assert judge(CODES - {"no_such_voucher"}, {"hub/test_error_codes.py"}) == ([], ["no_such_voucher"])
    assert judge(CODES - {"too_slow"}, set()) == ([], [])  # a test meets it elsewhere


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
