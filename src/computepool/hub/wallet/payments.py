"""One entry of an attempt, from its renter's side or its host's: what it cost, and by which calculation. Pure.

The amounts are those that the ledger posted; the calculation is made anew from what the entry remembers. A test holds
that they are the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from computepool.hub.jobs.money import SETTLED
from computepool.hub.ledger.accounts import Pocket
from computepool.hub.ledger.kinds import EntryKind, entry_title
from computepool.hub.ledger.settlement import Basis, Payer, cost_of, rule_of
from computepool.hub.wallet.amounts import signed
from computepool.hub.wallet.explain_views import PaymentView, SecondsView, Step, View
from computepool.hub.wallet.facts import AttemptFacts, EntryFacts, Parties
from computepool.hub.wallet.views import ENTRY_PREFIX
from computepool.protocol.states import Verdict

WHOSE = {
    Verdict.OK: "It ended well",
    Verdict.RENTER: "It ended by the job's own doing: its exit code, its limits, or a cancel",
    Verdict.HOST: "The machine failed it",
    Verdict.OWNER: "The machine's owner took it back",
    Verdict.PREEMPTED: "Another job took the slot",
    Verdict.HUB: "It ended by the hub's doing",
    Verdict.BUDGET: "The credits for it were used up",
}
_PAID = {
    (Payer.RENTER, Basis.METERED): "the renter pays for the time that it ran",
    (Payer.RENTER, Basis.SAVED): "the renter pays up to the last checkpoint that it saved",
    (Payer.PLATFORM, Basis.METERED): "the pool pays for the time that it ran, and the renter nothing",
    (Payer.NOBODY, Basis.METERED): "nobody pays: jobs that fail cost nothing here",
    (Payer.NOBODY, Basis.KEPT): "nobody pays; of earlier instalments that stays paid which a checkpoint saved",
}
_LATER = {
    "give_back": "Paid by an instalment, and given back by the verdict",
    "clawback": "Given back: a result of this machine was proven wrong",
    "restitution": "Given back later, as the host had spent it",
    "dispute_refund": "Given back after a dispute",
    "dispute_refund_undone": "Paid again: what a dispute gave back",
    "clawback_overturned": "Paid again: what was proven wrong turned out to be right",
}


@dataclass(frozen=True, slots=True)
class Money:
    """cost = fee + earned, in each of them."""

    cost: int = 0
    fee: int = 0
    earned: int = 0

    def __add__(self, other: "Money") -> "Money":
        return Money(self.cost + other.cost, self.fee + other.fee, self.earned + other.earned)


def rule_words(verdict: str, *, refund_failed: bool) -> str:
    rule = rule_of(Verdict(verdict), refund_failed=refund_failed)
    return f"{WHOSE[Verdict(verdict)]}: {_PAID[rule.payer, rule.basis]}."


def payment_view(entry: EntryFacts, attempt: AttemptFacts, view: View, before: Money) -> PaymentView:
    """`before`: what the earlier entries of the attempt came to."""
    viewer_id = attempt.parties.renter_id if view == "renter" else attempt.parties.host_id
    money = money_of(entry, attempt.parties, view, before)
    settled = entry.kind == SETTLED
    return PaymentView(
        entry_id=f"{ENTRY_PREFIX}{entry.id}",
        kind=cast("EntryKind", entry.kind),
        title=entry_title(entry.kind),
        at=entry.at,
        verdict=entry.details.get("verdict") if settled else None,
        rule=_rule(entry),
        seconds=_seconds(entry.details) if settled else None,
        cost_micros=money.cost,
        fee_micros=money.fee,
        earned_micros=money.earned,
        change_micros=entry.change_of(viewer_id),
        pockets=cast("dict[Pocket, int]", entry.pockets_of(viewer_id)),
        steps=_steps(entry, money, view),
        check_id=entry.details.get("check", attempt.check_id) if entry.kind.startswith("clawback") else None,
        note=entry.note,
    )


def other_view(entry: EntryFacts, viewer_id: str) -> PaymentView:
    """An entry about the job as a whole."""
    change = entry.change_of(viewer_id)
    return PaymentView(
        entry_id=f"{ENTRY_PREFIX}{entry.id}",
        kind=cast("EntryKind", entry.kind),
        title=entry_title(entry.kind),
        at=entry.at,
        verdict=None,
        rule=_rule(entry),
        seconds=None,
        cost_micros=0,
        fee_micros=0,
        earned_micros=0,
        change_micros=change,
        pockets=cast("dict[Pocket, int]", entry.pockets_of(viewer_id)),
        steps=[],
        note=entry.note,
    )


# ── amounts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def money_of(entry: EntryFacts, parties: Parties, view: View, before: Money) -> Money:
    """`before`: what the earlier entries of the attempt came to, in the same view."""
    return _as_renter(entry, parties) if view == "renter" else _as_host(entry, parties.host_id, before)


def _as_renter(entry: EntryFacts, parties: Parties) -> Money:
    cost = -entry.change_of(parties.renter_id)
    # What its host owes it has not given back yet. Where the renter's credits do not change, the pool paid.
    earned = entry.change_of(parties.host_id) + entry.owed if cost else 0
    return Money(cost, cost - earned, earned)


def _as_host(entry: EntryFacts, host_id: str, before: Money) -> Money:
    """Whoever paid: what the platform pays for the checks of its own is paid like a renter's."""
    earned = entry.change_of(host_id)
    if entry.kind == SETTLED:
        cost = _metered_cost(entry.details) if earned else 0
    elif earned and earned == -before.earned:
        cost = -before.cost
    elif earned and entry.details.get("cost_micros"):
        cost = abs(int(entry.details["cost_micros"])) * (1 if earned > 0 else -1)
    else:
        cost = earned
    return Money(cost, cost - earned, earned)


def _metered_cost(details: Mapping[str, Any]) -> int:
    cost = cost_of(details["price_micros"], details["seconds"]["billed"])
    return min(cost, details["hold_micros"]) if details.get("hold_micros") else cost


# ── calculations ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _rule(entry: EntryFacts) -> str:
    if entry.kind == SETTLED:
        verdict = entry.details.get("verdict")
        if verdict is None:
            return "An instalment, while it runs: the host is not at risk for longer than that."
        return rule_words(verdict, refund_failed=bool(entry.details.get("refund_failed")))
    words = _LATER.get(entry.kind, entry.kind.replace("_", " ").capitalize())
    return f"{words} ({entry.note.rstrip('.')})." if entry.note else f"{words}."


def _seconds(details: Mapping[str, Any]) -> SecondsView | None:
    return SecondsView(**details["seconds"]) if "seconds" in details else None


def _steps(entry: EntryFacts, money: Money, view: View) -> list[Step]:
    if entry.kind == SETTLED and "seconds" in entry.details:
        return _settled_steps(entry.details, money)
    if not (money.cost or money.fee or money.earned):
        return []
    back = money.cost < 0
    steps = [Step(label="given back" if back else "paid", figure="", micros=money.cost)]
    if money.fee:
        label = "of that the platform's part" if view == "renter" else "of that its fee"
        steps.append(Step(label=label, figure="", micros=money.fee))
    steps.append(Step(label="of that the host's part", figure="", micros=money.earned))
    return steps


def _settled_steps(details: Mapping[str, Any], money: Money) -> list[Step]:
    seconds = details["seconds"]
    steps = [*_time_steps(seconds), Step(label="billed", figure=f"= {seconds['billed']} s")]
    if not money.cost:
        return [*steps, Step(label="cost", figure="=", micros=0)]
    price, billed = details["price_micros"], seconds["billed"]
    figure = f"{signed(price)} × {billed} ÷ 3600"
    steps.append(Step(label="cost, rounded up to a millionth", figure=figure, micros=cost_of(price, billed)))
    if money.cost != cost_of(price, billed):
        steps.append(Step(label="not more than was held", figure="=", micros=money.cost))
    percent = f"{details['fee_bps'] / 100:g}"
    steps.append(Step(label="fee, rounded down", figure=f"− {percent} %", micros=money.fee))
    steps.append(Step(label="the host earns", figure="=", micros=money.earned))
    return steps


def _time_steps(seconds: Mapping[str, Any]) -> list[Step]:
    if seconds["preparing"]:
        return [
            Step(label="canceled while it was made ready, at most 60 s of that count", figure=_s(seconds["preparing"]))
        ]
    steps = [Step(label="ran, on the hub's clock", figure=_s(seconds["hub"]))]
    if seconds["claimed"] is not None:
        steps.append(Step(label="ran, as the node says (the lesser counts)", figure=_s(seconds["claimed"])))
    if seconds["suspended"]:
        steps.append(Step(label="suspended, in neither of them", figure=_s(seconds["suspended"])))
    if seconds["capped"]:
        steps.append(Step(label="with its power capped", figure=f"− {_s(seconds['capped'])}"))
    if seconds["saved"] is not None:
        steps.append(Step(label="last checkpoint taken at", figure=_s(seconds["saved"])))
    if seconds["settled_before"]:
        steps.append(Step(label="settled by earlier instalments", figure=f"− {seconds['settled_before']} s"))
    return steps


def _s(seconds: float) -> str:
    return f"{seconds:,.3f}".rstrip("0").rstrip(".") + " s"
