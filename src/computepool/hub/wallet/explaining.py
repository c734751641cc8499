"""Why was I paid this, and why did it cost that? From entries, attempts and checks to lines and words. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from computepool.hub.jobs.money import SETTLED
from computepool.hub.ledger.accounts import SPENT_FIRST, Kind, Pocket
from computepool.hub.wallet.amounts import came_back, signed, spelled
from computepool.hub.wallet.explain_views import AttemptExplained, PaymentView, RecordView, View
from computepool.hub.wallet.facts import AttemptFacts, EntryFacts
from computepool.hub.wallet.payments import Money, money_of, payment_view
from computepool.hub.wallet.rate_steps import rate_steps
from computepool.protocol.states import AttemptState, Verdict

HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Returned:
    """What came back of an attempt that had been paid for."""

    micros: int = 0
    owed: int = 0
    lost: int = 0

    def after(self, entry: EntryFacts, renter_id: str) -> "Returned":
        micros, owed = self.micros, self.owed + entry.owed
        if entry.kind not in (HOLD, SETTLED):
            micros += max(0, entry.change_of(renter_id))
        if entry.kind == "clawback_overturned":  # what was not given back is rightly paid
            return Returned(micros, owed)
        return Returned(micros, owed, self.lost + int(entry.details.get("lost_micros", 0)))

    @property
    def words(self) -> list[str]:
        return came_back(self.micros, self.owed, self.lost)


def explain_attempt(attempt: AttemptFacts, entries: Iterable[EntryFacts], view: View) -> AttemptExplained:
    """`entries`: those of the attempt, the oldest first."""
    viewer_id = attempt.parties.renter_id if view == "renter" else attempt.parties.host_id
    sum_of, payments, pockets, back = Money(), list[PaymentView](), Counter[str](), Returned()
    for entry in entries:
        pockets.update(entry.pockets_of(viewer_id))
        back = back.after(entry, viewer_id)
        if entry.kind == HOLD or not _concerns(entry, viewer_id):
            continue
        payments.append(payment_view(entry, attempt, view, sum_of))
        sum_of += money_of(entry, attempt.parties, view, sum_of)
    return AttemptExplained(
        attempt_id=attempt.id,
        job_id=attempt.job_id,
        slice=attempt.slice,
        number=attempt.number,
        node_id=attempt.node_id,
        node_name=attempt.node_name,
        state=AttemptState(attempt.state),
        verdict=None if attempt.verdict is None else Verdict(attempt.verdict),
        reason=attempt.reason,
        own=attempt.own,
        price_micros=attempt.price_micros,
        rate=[] if attempt.own else rate_steps(attempt.price, attempt.price_micros),
        payments=payments,
        held_micros=pockets[Kind.HELD],
        billed_seconds=attempt.billed_seconds,
        cost_micros=sum_of.cost,
        fee_micros=sum_of.fee,
        earned_micros=sum_of.earned,
        change_micros=pockets.total(),
        pockets={cast("Pocket", kind): micros for kind, micros in pockets.items() if micros},
        owed_micros=back.owed if view == "renter" else 0,
        words=_words(attempt, payments, sum_of, pockets, view) + (back.words if view == "renter" else []),
        records=[RecordView(id=one.id, at=one.at, action=one.action) for one in attempt.records],
    )


def summary(
    attempts: Sequence[AttemptExplained], others: int, change: int, held: int, view: View, *, never_ran: bool = False
) -> list[str]:
    """Of the whole job. `never_ran`: it ended, and no node ever had a part of it."""
    words = []
    if never_ran and not change and not held:
        return ["It never ran, and cost nothing."]
    if view == "renter":
        words.append(f"This job cost {spelled(-change)}." if change <= 0 else f"You have {signed(change)} more.")
        if held:
            words.append(f"{signed(held)} more are held for what runs now; what is not used comes back.")
    elif change >= 0:
        words.append(f"You earned {spelled(change)} by this job.")
    else:
        words.append(f"You gave back {spelled(-change)} more than you got by this job.")
    if attempts and all(one.own for one in attempts) and not others:
        words.append("It ran on nodes of its owner, which costs nothing.")
    return words


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _concerns(entry: EntryFacts, viewer_id: str) -> bool:
    """A host is not shown what went between the renter and the platform alone, but an end that paid nothing is."""
    return entry.kind == "settle" or bool(entry.pockets_of(viewer_id))


def _words(
    attempt: AttemptFacts, payments: Sequence[PaymentView], sum_of: Money, pockets: Mapping[str, int], view: View
) -> list[str]:
    if attempt.own:
        return ["It ran on a node of the job's owner: nothing is paid."]
    if not attempt.price_micros:
        return ["The node asked for nothing."]
    words = []
    if attempt.is_replica and view == "renter":
        words.append("A replica: it ran the slice once more, so that the results could be compared.")
    last = next((one.rule for one in reversed(payments) if one.verdict is not None), None)
    if last is not None:
        words.append(last)
    elif not payments:
        words.append("Nothing is settled yet." if attempt.verdict is None else "Nothing was paid for it.")
    if sum_of.cost or sum_of.earned:
        words.append(_sum_words(sum_of, view))
    words += _from_pockets(pockets) if view == "renter" else _into_pockets(pockets)
    if attempt.check_id is not None:
        which = "Its result" if attempt.wrong_itself else "Another result of the same machine"
        words.append(
            f"{which} was proven wrong by {attempt.check_id}: what the machine earned since it was last found right "
            "goes back to who had paid for it."
        )
    return words


def _sum_words(sum_of: Money, view: View) -> str:
    cost, fee, earned = spelled(sum_of.cost), signed(sum_of.fee), signed(sum_of.earned)
    if view == "host":
        return f"It cost {cost}: {earned} went to you, {fee} are the platform's fee."
    if sum_of.fee < 0:
        return f"It cost {cost}: {earned} went to the host, and the pool paid {signed(-sum_of.fee)} of that."
    return f"It cost {cost}: {earned} went to the host, {fee} are the platform's fee."


def _from_pockets(pockets: Mapping[str, int]) -> list[str]:
    taken = [_taken(kind, -pockets[kind]) for kind in SPENT_FIRST if pockets.get(kind, 0) < 0]
    words = [f"Taken from: {', '.join(taken)}."] if taken else []
    if pockets.get(Kind.HELD):
        words.append(f"{signed(pockets[Kind.HELD])} of that are only held: what is not used comes back.")
    return words


def _into_pockets(pockets: Mapping[str, int]) -> list[str]:
    words, debt = [], pockets.get(Kind.DEBT, 0)
    if pockets.get(Kind.PROMOTIONAL):
        words.append(f"{signed(pockets[Kind.PROMOTIONAL])} of that are promotional: to be spent here, not cashed out.")
    if debt > 0:
        words.append(f"{signed(debt)} of that filled up what you owed.")
    elif debt < 0:
        words.append(f"{signed(-debt)} of what goes back was spent already: your next earnings fill it up.")
    return words


def _taken(kind: Kind, micros: int) -> str:
    return f"{signed(micros)} of your earnings" if kind is Kind.EARNINGS else spelled(micros, kind.value)
