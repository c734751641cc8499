"""Cash-outs through the processor, the whole way: asked for, approved, sent, and told of what came of it."""

import random
from typing import Any

import pytest
from support.engine import ADMIN
from support.fake_stripe import hosting
from support.fake_stripe.server import FAULTS
from support.planted import each_check, each_mutant
from support.proofs import figure
from support.till import CREDIT, DAVE, Till, play_with_stripe

from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.freezing import freeze, thaw
from computepool.hub.payments import cash_outs
from computepool.hub.payments.cash_out_rows import CashOutRow

FUNDS = 10**9


async def ready(till: Till, credits: int = 1_000) -> None:
    till.give(DAVE, Kind.EARNINGS, credits, "earned")
    till.stripe.world.add_funds(FUNDS)
    await till.onboard(DAVE)


async def request(till: Till, credits: object, *, status: int = 201) -> Any:
    return await till.ask("POST", "wallet/cash-outs", {"credits": credits}, user=DAVE, status=status)


async def approve(till: Till, cash_out_id: str, *, status: int = 200) -> Any:
    return await till.ask("POST", f"admin/cash-outs/{cash_out_id}/approve", {}, user=ADMIN, status=status)


def has(till: Till) -> dict[str, int]:
    assert till.pool.db is not None
    return till.has(DAVE)


def test_approved_cash_out_is_sent_and_paid(hub_url):
    async def story(till: Till) -> None:
        till.give(DAVE, Kind.EARNINGS, 1_000, "earned")
        till.stripe.world.add_funds(FUNDS)
        refused = await request(till, 600, status=409)
        assert refused["error"]["code"] == "no_payout_account"
        account = await till.onboard(DAVE)
        assert (await request(till, "500.001", status=422))["error"]["code"] == "bad_amount"
        made = await request(till, 600)
        done = await approve(till, made["id"])
        assert (done["state"], done["way"]) == ("paid", "stripe")
        (transfer,) = till.stripe.world.all("transfer")
        assert (transfer["amount"], transfer["destination"], done["reference"]) == (600_00, account, transfer["id"])
        await till.tell()
        assert has(till) == {"earnings": 400}
        await till.ask("POST", f"admin/cash-outs/{made['id']}/paid", {"reference": "x"}, user=ADMIN, status=409)

    play_with_stripe(hub_url, story)


def test_what_the_processor_is_busy_with_is_not_paid_or_rejected_by_hand(sqlite_hub):
    async def story(till: Till) -> None:
        await ready(till)
        made = await request(till, 600)
        till.stripe.is_down = True
        assert (await approve(till, made["id"]))["state"] == "approved"
        for what, body in (("paid", {"reference": "x"}), ("reject", {"note": "x"})):
            path = f"admin/cash-outs/{made['id']}/{what}"
            refused = await till.ask("POST", path, body, user=ADMIN, status=409)
            assert refused["error"]["code"] == "paid_by_processor"
        assert has(till) == {"earnings": 400, "cashing_out": 600}
        till.stripe.is_down = False
        await till.later(700)
        assert [row.state for row in till.rows(CashOutRow)] == ["paid"]
        assert has(till) == {"earnings": 400}

    play_with_stripe(sqlite_hub, story)


def test_nothing_is_sent_while_the_ledger_does_not_add_up(hub_url):
    async def story(till: Till) -> None:
        await ready(till)
        made = await request(till, 600)
        till.stripe.is_down = True
        await approve(till, made["id"])
        till.stripe.is_down = False
        await till.pool.db.run(freeze, ["something is wrong"], till.pool.clock.now())
        await till.later(700)
        assert till.stripe.world.all("transfer") == []
        await till.pool.db.run(thaw, till.pool.clock.now())
        await till.later(700)
        assert len(till.stripe.world.all("transfer")) == 1
        assert has(till) == {"earnings": 400}

    play_with_stripe(hub_url, story)


def test_cash_out_that_cannot_be_sent_gives_the_credits_back(hub_url):
    async def story(till: Till) -> None:
        await ready(till)
        made = await request(till, 600)
        account = till.stripe.world.all("account")[-1]
        account["capabilities"]["transfers"] = "inactive"
        done = await approve(till, made["id"])
        assert done["state"] == "failed"
        assert "cannot receive transfers" in done["note"]
        assert has(till) == {"earnings": 1_000}
        account["capabilities"]["transfers"] = "active"
        await approve(till, (await request(till, 600))["id"])
        assert has(till) == {"earnings": 400}

    play_with_stripe(hub_url, story)


def test_what_is_taken_back_from_a_paid_one_is_there_again(hub_url):
    async def story(till: Till) -> None:
        await ready(till)
        made = await request(till, 600)
        await approve(till, made["id"])
        (transfer,) = till.stripe.world.all("transfer")
        for cents in ("10000", "50000"):
            hosting.create_reversal(till.stripe.world, transfer["id"], {"amount": cents})
            await till.tell()
        assert has(till) == {"earnings": 1_000}
        shown = await till.ask("GET", f"wallet/cash-outs/{made['id']}", user=DAVE)
        assert (shown["state"], shown["returned_micros"]) == ("paid", 600 * CREDIT)

    play_with_stripe(hub_url, story)


# ── promise 17, the whole way ────────────────────────────────────────────────────────────────────────────────────────

WAITS_SECONDS = (1, 60, 700, 3_700, 83_000, 86_500, 100_000)


async def one_cash_out(till: Till, chance: random.Random) -> None:
    """Asked for and approved by people who try again, sent through trouble, hubs that start anew; then peace."""
    key = {"Idempotency-Key": f"{chance.random()}"}
    ids = set()
    for _ in range(chance.randrange(1, 4)):
        answer = await till.pool.call("POST", "wallet/cash-outs", {"credits": 1}, user=DAVE, headers=key)
        ids.add(answer.json()["id"])
    (name,) = ids
    for _ in range(chance.randrange(1, 6)):
        fault = chance.choice((*FAULTS, "", "down", "restart"))
        till.stripe.next_faults = [fault] if fault in FAULTS else []
        till.stripe.is_down = fault == "down"
        await till.pool.call("POST", f"admin/cash-outs/{name}/approve", {}, user=ADMIN)
        await till.payments.work()
        till.stripe.is_down, till.stripe.next_faults = False, []
        if fault == "restart":
            await till.pool.restart()
        till.pool.clock.skip(chance.choice(WAITS_SECONDS))
    for _ in range(5):
        await till.tell()
        till.pool.clock.skip(4_000)
    paid = [one for one in till.stripe.world.all("transfer") if one["transfer_group"] == f"pay-out/{name}"]
    assert len(paid) == 1, f"paid {len(paid)} times"
    (row,) = till.rows(CashOutRow, id=name)
    assert (row.state, row.reference) == ("paid", paid[0]["id"]), f"paid 1 times, and {row.state}"


def every_cash_out_is_paid_once(url: str) -> None:
    schedules = figure(20, 1_000)

    async def story(till: Till) -> None:
        chance = random.Random(170)
        await ready(till, schedules + 5)
        for number in range(schedules):
            await one_cash_out(till, chance)
            left = {"earnings": schedules + 4 - number}
            assert has(till) == left, f"paid {number + 1} times, and {has(till)} are left"

    play_with_stripe(url, story, cash_out_min=1)


def the_end_is_not_posted(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(cash_outs, "_pay", lambda *_: None)


def paid_comes_back(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(
        cash_outs, "_pay", lambda session, row, now, actor: cash_outs._give_back(session, row, "x", now, actor)
    )


MUTANTS = {every_cash_out_is_paid_once: [the_end_is_not_posted, paid_comes_back]}


@pytest.mark.proof
@pytest.mark.timeout(3600)
@each_check(MUTANTS)
def test_cash_out_is_paid_once_the_whole_way(sqlite_hub, check):
    check(sqlite_hub)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"paid \d+ times"):
        check(sqlite_hub)
