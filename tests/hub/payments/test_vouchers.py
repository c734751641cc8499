"""Vouchers: presents for whoever knows the code, once each."""

import asyncio

from sqlalchemy import update
from support.engine import ADMIN, ALICE, BOB, Pool, play

from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.journal import balances
from computepool.hub.payments.vouchers import VoucherRow, digests_of_code, new_code, read_code

CREDIT = 1_000_000


async def ask(pool: Pool, method: str, path: str, body: object = None, *, user: str = ALICE, status: int = 200, **more):
    answer = await pool.call(method, path, body, user=user, **more)
    assert answer.status_code == status, answer.text
    return answer.json()


async def make(pool: Pool, credits: object = 50, *, status: int = 201, headers: dict | None = None, **more):
    body = {"credits": credits, **more}
    return await ask(pool, "POST", "admin/vouchers", body, user=ADMIN, status=status, headers=headers or {})


async def redeem(pool: Pool, code: str, *, user: str = ALICE, status: int = 201):
    return await ask(pool, "POST", "wallet/vouchers", {"code": code}, user=user, status=status)


async def presents(pool: Pool, user: str = ALICE) -> int:
    return (await pool.db.read(balances, user))[Kind.PROMOTIONAL] // CREDIT


def test_voucher_is_a_present_for_each_user_once(hub_url):
    async def story(pool: Pool) -> None:
        made = await make(pool, 50, uses=2, note="for the lab")
        given = await redeem(pool, made["code"].lower().replace("-", " "))
        assert (given["credits"], given["promotional_micros"]) == ("50", 50 * CREDIT)
        again = await redeem(pool, made["code"], status=409)
        assert again["error"]["message"] == "You have redeemed this voucher already."
        await redeem(pool, made["code"], user=BOB)
        used_up = await redeem(pool, made["code"], user=ADMIN, status=409)
        assert used_up["error"]["message"] == "This voucher has no uses left."
        assert [await presents(pool, user) for user in (ALICE, BOB, ADMIN)] == [50, 50, 0]
        (listed,) = (await ask(pool, "GET", "admin/vouchers", user=ADMIN))["items"]
        assert (listed["used"], listed["uses"], listed["note"]) == (2, 2, "for the lab")
        assert "code" not in listed

    play(hub_url, story)


def test_only_a_keyed_digest_of_the_code_is_kept(sqlite_hub):
    async def story(pool: Pool) -> None:
        made = await make(pool)
        (row,) = pool.rows(VoucherRow)
        assert made["code"].replace("-", "") not in str(vars(row))
        secret = pool.engine.context.secret_key
        assert [row.digest] == await pool.db.read(digests_of_code, secret, made["code"])
        other = b"another secret of another hub of others"
        assert [row.digest] != await pool.db.read(digests_of_code, other, made["code"])

    play(sqlite_hub, story)


def test_voucher_expires_and_is_withdrawn(hub_url):
    async def story(pool: Pool) -> None:
        made = await make(pool, expires_in_days=1, uses=5, code="Spring 2027 lab")
        assert made["code"] == "Spring 2027 lab"
        await redeem(pool, "SPRING-2027-LAB")
        await pool.db.run(lambda session: session.execute(update(VoucherRow).values(expires_at=pool.clock.now())))
        assert (await redeem(pool, "SPRING-2027-LAB", user=BOB, status=409))["error"]["code"] == "voucher_over"
        other = await make(pool, uses=5)
        await ask(pool, "POST", f"admin/vouchers/{other['id']}/withdraw", user=ADMIN)
        await redeem(pool, other["code"], status=409)
        await ask(pool, "POST", "admin/vouchers/voucher_none/withdraw", user=ADMIN, status=404)
        await make(pool, code="spring-2027-LAB", status=409)

    play(hub_url, story)


def test_guessing_is_slowed_down(sqlite_hub):
    async def story(pool: Pool) -> None:
        made = await make(pool, uses=5)
        codes = []
        for number in range(8):
            answer = await pool.call("POST", "wallet/vouchers", {"code": f"GUESS-{number:04}"})
            codes.append(answer.status_code)
        assert codes == [404] * 5 + [429] * 3
        assert int(answer.headers["retry-after"]) >= 1
        await redeem(pool, made["code"], user=BOB)
        await pool.settle(3600)
        await redeem(pool, made["code"])

    play(sqlite_hub, story)


def test_many_at_once_use_it_as_often_as_allowed(hub_url):
    async def story(pool: Pool) -> None:
        made = await make(pool, uses=1)
        users = [ALICE, BOB, ADMIN]
        calls = [
            pool.call("POST", "wallet/vouchers", {"code": made["code"]}, user=user) for user in users for _ in "ab"
        ]
        answers = await asyncio.gather(*calls)
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
        assert sum([await presents(pool, user) for user in users]) == 50

    play(hub_url, story)


def test_making_one_twice_with_a_key_tells_the_same_code(hub_url):
    async def story(pool: Pool) -> None:
        headers = {"Idempotency-Key": "once"}
        first, second = [await make(pool, 5, headers=headers) for _ in range(2)]
        assert first == second
        assert len(pool.rows(VoucherRow)) == 1
        await make(pool, 6, headers=headers, status=409)

    play(hub_url, story)


def test_codes_that_are_none_are_refused(sqlite_hub):
    async def story(pool: Pool) -> None:
        for code in ("SHORT", "-", "ß" * 20, "X" * 61, "       -        "):
            await make(pool, code=code, status=422)
            await redeem(pool, code, status=422)

    play(sqlite_hub, story)


def test_only_operators_make_them(sqlite_hub):
    async def story(pool: Pool) -> None:
        await ask(pool, "POST", "admin/vouchers", {"credits": 5}, status=403)
        await make(pool, 0, status=422)
        await make(pool, -1, status=422)
        await make(pool, 5, uses=0, status=422)

    play(sqlite_hub, story)


def test_code_of_the_hub_can_be_read_aloud():
    code = new_code(lambda bits: 5)
    assert code == "7777-7777-7777-7777"
    assert read_code(" 7777 7777-7777.7777 ") == "7" * 16
