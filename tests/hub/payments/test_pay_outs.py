"""Money to hosts: a cash-out is paid once, whatever the processor forgets, loses or breaks (promise 17)."""

import contextlib
import random
from collections import Counter

import pytest
from support.fake_stripe import hosting
from support.fake_stripe.server import FAULTS
from support.planted import each_check, each_mutant
from support.proofs import figure
from support.till import CREDIT, DAVE, Till, play_with_stripe

from computepool.hub.payments import outgoing
from computepool.hub.payments.errors import NoPayoutAccount
from computepool.hub.payments.pay_outs import ask_reversal
from computepool.hub.payments.provider import ProviderUnreachable
from computepool.hub.payments.stripe_provider import StripeProvider
from computepool.hub.payments.tables import MovementRow, RequestRow


def test_pay_out_reaches_the_hosts_account(hub_url):
    async def story(till: Till) -> None:
        till.keep_results()
        till.stripe.world.add_funds(1_000_00)
        with pytest.raises(NoPayoutAccount):
            await till.pay_out("cashout_0", DAVE, 500)
        account = await till.onboard(DAVE)
        await till.payments.send(await till.pay_out("cashout_1", DAVE, 500))
        (transfer,) = till.stripe.world.all("transfer")
        assert (transfer["amount"], transfer["destination"]) == (500_00, account)
        assert transfer["transfer_group"] == "pay-out/cashout_1"
        (result,) = till.paid
        assert (result.cash_out_id, result.micros, result.state) == ("cashout_1", 500 * CREDIT, "paid")
        await till.tell()
        assert len(till.paid) == 1, "the message tells the same once more"
        again = await till.pay_out("cashout_1", DAVE, 500)
        await till.payments.send(again)
        assert len(till.stripe.world.all("transfer")) == len(till.paid) == 1, "asked again is not paid again"

    play_with_stripe(hub_url, story)


def test_pay_out_that_is_refused_is_told_in_words(sqlite_hub):
    async def story(till: Till) -> None:
        till.keep_results()
        account = await till.onboard(DAVE)
        till.stripe.world.get("account", account)["capabilities"]["transfers"] = "inactive"
        await till.payments.send(await till.pay_out("cashout_1", DAVE, 500))
        (result,) = till.paid
        assert result.state == "failed"
        assert "cannot receive transfers" in result.words
        await till.payments.work()
        assert len(till.paid) == 1

    play_with_stripe(sqlite_hub, story)


def test_pay_out_waits_for_the_pools_own_funds(sqlite_hub):
    """The refusal is kept for its key, so that it is tried under another one; and nobody is told that it failed."""

    async def story(till: Till) -> None:
        till.keep_results()
        await till.onboard(DAVE)
        await till.payments.send(await till.pay_out("cashout_1", DAVE, 500))
        await till.later(600)
        assert till.paid == []
        till.stripe.world.add_funds(1_000_00)
        await till.later(2 * 3600)
        assert [result.state for result in till.paid] == ["paid"]
        assert len(till.stripe.world.all("transfer")) == 1

    play_with_stripe(sqlite_hub, story)


def test_pay_out_can_be_taken_back(hub_url):
    async def story(till: Till) -> None:
        back = []
        till.payments.hooks.on_reversal = lambda session, result, now: back.append(result)
        till.keep_results()
        till.stripe.world.add_funds(1_000_00)
        await till.onboard(DAVE)
        await till.payments.send(await till.pay_out("cashout_1", DAVE, 500))
        context, now = till.pool.engine.context, till.pool.clock.now()
        for name, credits in (("reversal_1", 200), ("reversal_2", 400)):
            asked = ("cashout_1", name, credits * CREDIT, credits * 100, "a mistake", now)
            row = await till.pool.db.run(ask_reversal, context, *asked)
            await till.payments.send(row.id)
        await till.tell()
        assert [(one.reversal_id, one.state, one.micros // CREDIT) for one in back] == [
            ("reversal_1", "done", 200),
            ("reversal_2", "failed", 400),
        ]
        (transfer,) = till.stripe.world.all("transfer")
        hosting.create_reversal(till.stripe.world, transfer["id"], {"amount": "10000"})
        await till.tell()
        assert [(one.reversal_id, one.micros // CREDIT) for one in back[2:]] == [(None, 100)], "by hand, at Stripe"

    play_with_stripe(hub_url, story)


# ── promise 17 ───────────────────────────────────────────────────────────────────────────────────────────────────────

WAITS_SECONDS = (1, 60, 700, 3_700, 20_000, 83_000, 86_500, 100_000)
"""Across everything that is kept for a while: a claim, a backoff, a doubtful answer, the processor's day."""


async def one_cash_out(till: Till, number: int, chance: random.Random, fired: Counter[str]) -> None:
    """Trouble for a while, then peace. It has to be paid once."""
    name, context = f"cashout_{number}", till.pool.engine.context
    request_id = await till.pay_out(name, DAVE, 1)
    for _ in range(chance.randrange(1, 7)):
        fault = chance.choice((*FAULTS, "", "killed", "down"))
        till.stripe.next_faults = [fault] if fault in FAULTS else []
        till.stripe.is_down = fault == "down"
        fired[fault] += 1
        if fault == "killed":
            # What a process does that dies before it notes the answer: it sends, and that was all.
            sending = await till.pool.db.run(outgoing.claim, request_id, context.now(), context.hub_id)
            if sending is not None and not sending.is_outdated:
                with contextlib.suppress(ProviderUnreachable):  # what an earlier fault left behind for this key
                    till.payments._carry_out(sending)
        else:
            await till.payments.send(request_id)
        till.stripe.is_down, till.stripe.next_faults = False, []
        till.pool.clock.skip(chance.choice(WAITS_SECONDS))
    for _ in range(5):
        await till.payments.send(request_id)
        till.pool.clock.skip(4_000)
    paid = [one for one in till.stripe.world.all("transfer") if one["transfer_group"] == f"pay-out/{name}"]
    assert len(paid) == 1, f"paid {len(paid)} times"
    assert [result.state for result in till.paid if result.cash_out_id == name] == ["paid"]


def every_cash_out_is_paid_once(url: str) -> None:
    fired: Counter[str] = Counter()

    async def story(till: Till) -> None:
        chance = random.Random(17)
        till.keep_results()
        till.stripe.world.add_funds(10**9)
        await till.onboard(DAVE)
        schedules = figure(30, 1_000)
        for number in range(schedules):
            await one_cash_out(till, number, chance, fired)
        assert len(till.rows(MovementRow, kind="pay_out")) == schedules
        assert max(row.generation for row in till.rows(RequestRow, kind="pay_out")) > 1, "no key was ever renewed"
        assert min(fired[fault] for fault in (*FAULTS, "killed", "down")) >= figure(3, 200), fired

    play_with_stripe(url, story)


def never_look_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the processor's memory of keys were for ever."""
    monkeypatch.setattr(StripeProvider, "find", lambda self, request: None)


def new_key_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "is_outdated", lambda *_: True)
    monkeypatch.setattr(StripeProvider, "find", lambda self, request: None)


def trust_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if an answer that did not come meant that nothing was done: the next request has a key of its own, and the
    processor is not asked what it knows."""
    monkeypatch.setattr(outgoing, "DOUBT", outgoing.DOUBT * 0)
    monkeypatch.setattr(outgoing, "KEY_KEPT", outgoing.KEY_KEPT * 0)
    monkeypatch.setattr(StripeProvider, "find", lambda self, request: None)


MUTANTS = {every_cash_out_is_paid_once: [never_look_first, new_key_each_time, trust_a_failure]}


@pytest.mark.proof
@pytest.mark.timeout(3600)
@each_check(MUTANTS)
def test_cash_out_is_paid_once(sqlite_hub, check):
    check(sqlite_hub)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"paid \d+ times"):
        check(sqlite_hub)
