"""An approved cash-out that the processor was never asked for: an operator may end it, and then nobody sends it."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session
from support.engine import ADMIN
from support.planted import each_check, each_mutant
from support.side_by_side import wait_until_blocked_or_done
from support.till import CREDIT, DAVE, Till, play_with_stripe

from computepool.hub.core.errors import PoolError
from computepool.hub.core.records import write_records
from computepool.hub.ledger.accounts import Kind
from computepool.hub.payments import cash_outs, outgoing
from computepool.hub.payments.cash_out_rows import CashOutRow, move_cash_out
from computepool.hub.payments.outgoing import Sending
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import RequestRow

Step = Callable[[Session], Any]
BY_OPERATORS = (("reject", {"note": "no key"}, "rejected"), ("paid", {"reference": "UTR 1"}, "paid"))


async def ready(till: Till, credits: int = 10_000) -> None:
    till.give(DAVE, Kind.EARNINGS, credits, "earned")
    till.stripe.world.add_funds(10**9)
    await till.onboard(DAVE)


async def request(till: Till) -> str:
    made = await till.ask("POST", "wallet/cash-outs", {"credits": 600}, user=DAVE, status=201)
    name: str = made["id"]
    return name


def approving(till: Till, name: str) -> Step:
    """As a hub does that stops before it sends it."""
    desk = (till.pool.engine.context, till.payments.provider, till.payments.units)
    return lambda session: cash_outs.approve(session, *desk, name, "", ADMIN, till.pool.clock.now())


def rejecting(till: Till, name: str) -> Step:
    return lambda session: cash_outs.reject(session, name, "no", ADMIN, till.pool.clock.now())


def paying_by_hand(till: Till, name: str) -> Step:
    return lambda session: cash_outs.mark_paid(session, name, "UTR 1", "", ADMIN, till.pool.clock.now())


def claiming(till: Till, name: str) -> Step:
    """What whoever sends it does first. Its request is looked for here, as an operator may have ended it."""

    def claim(session: Session) -> Sending | None:
        row = outgoing.find_request(session, f"pay-out/{name}")
        return outgoing.claim(session, row.id, till.pool.clock.now(), till.pool.engine.context.hub_id) if row else None

    return claim


@pytest.mark.parametrize(("what", "body", "state"), BY_OPERATORS)
def test_what_waits_without_a_key_is_ended_by_an_operator(hub_url, what, body, state):
    async def story(till: Till) -> None:
        await ready(till, 1_000)
        name, kept = await request(till), till.pool.settings
        approved_with_a_key = approving(till, name)
        till.pool.settings = kept.model_copy(update={"stripe_secret_key": None})
        await till.pool.restart()
        await till.pool.db.run(approved_with_a_key)
        await asyncio.sleep(600)  # nobody sends it
        assert till.has(DAVE) == {"earnings": 400, "cashing_out": 600}
        done = await till.ask("POST", f"admin/cash-outs/{name}/{what}", body, user=ADMIN)
        assert (done["state"], done["way"]) == (state, "manual" if state == "paid" else "stripe")
        left = {"earnings": 400 if state == "paid" else 1_000}
        assert till.has(DAVE) == left
        (asked,) = till.rows(RequestRow, kind="pay_out")
        assert (asked.state, asked.tries) == (RequestState.DROPPED, 0)
        assert asked.words == f"{state} by an operator"

        till.pool.settings = kept
        await till.pool.restart()
        await till.payments.send(asked.id)
        await till.later(90_000)
        assert till.stripe.world.all("transfer") == []
        assert till.has(DAVE) == left
        listed = await till.ask("GET", "admin/payments/requests?state=dropped", user=ADMIN)
        assert [one["key"] for one in listed["items"]] == [asked.key]

    play_with_stripe(hub_url, story)


@pytest.mark.parametrize(("what", "body", "state"), BY_OPERATORS)
def test_what_may_have_been_sent_is_the_processors(sqlite_hub, what, body, state):
    """Also without a key, and with a new one that it was given because nothing was found of it."""

    async def story(till: Till) -> None:
        await ready(till)
        name = await request(till)
        till.stripe.is_down = True
        await till.ask("POST", f"admin/cash-outs/{name}/approve", {}, user=ADMIN)
        (asked,) = till.rows(RequestRow, kind="pay_out")
        renewed = update(RequestRow).where(RequestRow.id == asked.id).values(first_sent_at=None, generation=2)
        await till.pool.db.run(lambda session: session.execute(renewed))
        till.pool.settings = till.pool.settings.model_copy(update={"stripe_secret_key": None})
        await till.pool.restart()
        refused = await till.ask("POST", f"admin/cash-outs/{name}/{what}", body, user=ADMIN, status=409)
        assert refused["error"]["code"] == "paid_by_processor"
        assert "key for stripe" in refused["error"]["hint"]
        assert till.has(DAVE)["cashing_out"] == 600

    play_with_stripe(sqlite_hub, story)


# ── at the same moment, with real locks ──────────────────────────────────────────────────────────────────────────────


def at_once(till: Till, first: Step, second: Step) -> tuple[Any, Any]:
    """The second begins while the first has done its work and not committed; what came of each."""
    with ThreadPoolExecutor(1) as threads:
        with Session(till.pool.db.engine, expire_on_commit=False) as session, session.begin():
            one = first(session)
            write_records(session)
            other = threads.submit(alone, till, second)
            wait_until_blocked_or_done(till.pool.db.engine, other.done)
        return one, other.result()


def alone(till: Till, step: Step) -> Any:
    try:
        with Session(till.pool.db.engine, expire_on_commit=False) as session, session.begin():
            result = step(session)
            write_records(session)
            return result
    except PoolError as refused:
        return refused


async def carry_on(till: Till, results: tuple[Any, Any]) -> None:
    """Whoever has the right to send it does so."""
    for sending in results:
        if isinstance(sending, Sending):
            fact = till.payments._carry_out(sending)
            with contextlib.suppress(PoolError):  # a bug that was put in: the money is gone, and nobody can note it
                await till.pool.db.run(till.payments._finish, sending, fact, till.pool.clock.now())
    await till.later(700)


def nobody_is_paid_in_two_ways(url: str) -> None:
    async def story(till: Till) -> None:
        await ready(till)
        races = (
            (claiming, rejecting, "paid", 1),
            (rejecting, claiming, "rejected", 0),
            (claiming, paying_by_hand, "paid", 1),
            (paying_by_hand, claiming, "paid", 0),
            (approving, rejecting, "rejected", 0),
            (rejecting, paying_by_hand, "rejected", 0),
        )
        for first, second, state, transfers in races:
            name = await request(till)
            if first is not approving:
                await till.pool.db.run(approving(till, name))
            await carry_on(till, at_once(till, first(till, name), second(till, name)))
            sent = [one for one in till.stripe.world.all("transfer") if one["transfer_group"] == f"pay-out/{name}"]
            (row,) = till.rows(CashOutRow, id=name)
            what = f"{first.__name__} and {second.__name__}: {row.state}, and sent {len(sent)} times"
            assert (row.state, len(sent)) == (state, transfers), what
            assert "cashing_out" not in till.has(DAVE), what
        paid = [row for row in till.rows(CashOutRow) if row.state == "paid"]
        assert till.has(DAVE) == {"earnings": 10_000 - sum(row.micros for row in paid) // CREDIT}

    play_with_stripe(url, story)


def end_it_whoever_has_it(plant: pytest.MonkeyPatch) -> None:
    def drop(session: Session, key: str, words: str, now: Any) -> bool:
        session.execute(update(RequestRow).where(RequestRow.key == key).values(state=RequestState.DROPPED))
        return True

    plant.setattr(outgoing, "drop", drop)


def leave_the_request(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(outgoing, "drop", lambda *_: True)


def look_before_the_lock(plant: pytest.MonkeyPatch) -> None:
    """Read whether it was sent, then write: as if nobody could come in between."""

    def drop(session: Session, key: str, words: str, now: Any) -> bool:
        row = outgoing.find_request(session, key)
        if row is None or row.state != RequestState.WAITING or row.tries:
            return False
        session.execute(update(RequestRow).where(RequestRow.key == key).values(state=RequestState.DROPPED))
        return True

    plant.setattr(outgoing, "drop", drop)


def trust_what_was_seen(plant: pytest.MonkeyPatch) -> None:
    def move(session: Session, name: str, to: Any, now: Any, *, seen: str | None = None, **values: Any) -> bool:
        return move_cash_out(session, name, to, now, **values)

    plant.setattr(cash_outs, "move_cash_out", move)


MUTANTS = {
    nobody_is_paid_in_two_ways: [end_it_whoever_has_it, leave_the_request, look_before_the_lock, trust_what_was_seen]
}


@each_check(MUTANTS)
def test_operator_and_sender_at_the_same_moment(postgres_hub, check):
    check(postgres_hub)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(postgres_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"sent \d times"):
        check(postgres_hub)
