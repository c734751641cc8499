"""The text of mails: for each action a title, the facts, and what to do next. No network, no database.

Text that a person typed becomes one line of bounded length, so that it can neither end a header nor pass for the hub's
own text. A mail links only to pages of the pool, and to links that its operator or payment processor wrote.
"""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from computepool.hub.mail.letter import of_a_stranger, one_line
from computepool.hub.mail.tables import SUBJECT_LIMIT
from computepool.hub.payments.amounts import Units
from computepool.protocol.units import about_bytes, spell_credits

NAME_SHOWN, NOTE_SHOWN = 60, 400
SHOWN = 20
"""A mail lists at most so many notices, and counts the rest."""
PROBLEMS_SHOWN = 5
SUBJECT_IS_NODE = ("node", "reputation")
IN_THE_WALLET = ("cash_out", "top_up", "card", "storage", "payment", "dispute")
LABEL_WIDTH = 12


@dataclass(frozen=True)
class Notice:
    action: str
    subject: str
    details: Mapping[str, Any] = field(default_factory=dict)
    for_admins: bool = False


@dataclass(frozen=True)
class Known:
    """What the writers need besides the notices."""

    units: Units
    base: str | None = None
    """Address of the pool's web app."""
    jobs: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    """Name and message by job id."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    money: bool = True
    """Whether money is on. If not, mails do not mention it."""

    def job(self, job_id: str) -> str:
        name = of_a_stranger(self.jobs.get(job_id, ("", None))[0], NAME_SHOWN)
        return f"{name} ({job_id})" if name else job_id

    def node(self, node_id: str) -> str:
        name = of_a_stranger(self.nodes.get(node_id, ""), NAME_SHOWN)
        return f"{name} ({node_id})" if name else node_id

    def amount(self, micros: int) -> str:
        """In credits, and their value, rounded down to the smallest unit of the currency."""
        minor = self.units.minor_below(micros)
        return f"{spell_credits(micros)} ({self.units.spelled(minor)})"


@dataclass(frozen=True)
class Item:
    title: str
    text: str = ""
    facts: tuple[tuple[str, object], ...] = ()
    todo: tuple[str, ...] = ()


Writer = Callable[[Notice, Known], Item]
WRITERS: dict[str, Writer] = {}
FOR_ADMINS: dict[str, Writer] = {}


def write(notices: Sequence[Notice], known: Known, more: int = 0) -> tuple[str, str]:
    """Subject and body of one mail about all notices. `more`: the number of notices that are only counted."""
    items = [item_of(notice, known) for notice in notices]
    count = len(items) + more
    subject = items[0].title if count == 1 else f"{items[0].title} And {count - 1} more"
    parts = ["\n\n".join(_written(item, _address(notice, known)) for notice, item in zip(notices, items, strict=True))]
    if more:
        parts.append(f"And {more} more notices. The commands above list all of them.")
    parts.append("-- \n" + _signature(known.base))
    return one_line(subject, SUBJECT_LIMIT), "\n\n".join(parts) + "\n"


def item_of(notice: Notice, known: Known, writers: Mapping[str, Writer] | None = None) -> Item:
    """A notice with missing details or without a writer gets a plain title, so that it does not stop the others."""
    writer = (writers or (FOR_ADMINS if notice.for_admins else WRITERS)).get(notice.action)
    if writer is not None:
        with contextlib.suppress(LookupError, TypeError, ValueError, ArithmeticError):
            return writer(notice, known)
    return Item(f"{one_line(notice.action, NAME_SHOWN)}: {one_line(notice.subject, NAME_SHOWN)}.")


def page_of(notice: Notice) -> str | None:
    """Path of the web app's page about the notice's subject."""
    feature, about = notice.action.partition(".")[0], notice.details
    if feature == "job":
        return f"/jobs/{notice.subject}"
    if feature in SUBJECT_IS_NODE:
        return f"/nodes/{notice.subject}"
    if notice.action == "clawback.done":
        return f"/nodes/{about['node']}"
    if notice.action in ("attempt.out_of_money", "restitution.owed", "restitution.paid"):
        return f"/jobs/{about['job']}"
    if notice.action in ("dispute.opened", "dispute.resolved") and str(about.get("about", "")).startswith("job_"):
        return f"/jobs/{about['about']}"
    return "/wallet" if feature in IN_THE_WALLET else None


def _address(notice: Notice, known: Known) -> str:
    """URL of that page; empty if there is no page, or if the pool's address is unknown."""
    with contextlib.suppress(LookupError):
        page = "/admin" if notice.for_admins else page_of(notice)
        if known.base and page and re.fullmatch(r"[a-zA-Z0-9_/-]+", page) and (known.money or page != "/wallet"):
            return known.base.rstrip("/") + page
    return ""


def _written(item: Item, address: str) -> str:
    lines = [item.title, *([item.text] if item.text else [])]
    facts = [(label, one_line(value, NOTE_SHOWN)) for label, value in item.facts if value not in (None, "")]
    if facts:
        lines += ["", *(f"  {label:<{LABEL_WIDTH}}{value}" for label, value in facts)]
    if item.todo:
        lines += ["", *item.todo]
    if address:
        lines += ["", address]
    return "\n".join(lines)


def _typed(text: str | None) -> str:
    """Text from a renter or a node."""
    return of_a_stranger(text or "", NOTE_SHOWN)


def _signature(base: str | None) -> str:
    where = f" at {base}" if base else ""
    return f"ComputePool{where}. This is an automatic mail. Please do not reply: replies are not read."


def _for(*actions: str, admins: bool = False) -> Callable[[Writer], Writer]:
    def add(writer: Writer) -> Writer:
        (FOR_ADMINS if admins else WRITERS).update(dict.fromkeys(actions, writer))
        return writer

    return add


# ── cash-outs ────────────────────────────────────────────────────────────────────────────────────────────────────────

_CASH_OUT = {
    "requested": ("was requested.", "An operator will review it. The credits are set aside until then."),
    "approved": ("was approved.", "The money is on its way."),
    "paid": ("was paid.", ""),
    "rejected": ("was rejected.", "The credits are back in your earnings."),
    "failed": ("failed.", "The credits are back in your earnings."),
}


@_for(*(f"cash_out.{step}" for step in (*_CASH_OUT, "returned")))
def _cash_out(notice: Notice, known: Known) -> Item:
    about, step = notice.details, notice.action.partition(".")[2]
    facts = (("cash-out", notice.subject), ("reference", about.get("reference")), ("note", about.get("note")))
    todo = ["Your cash-outs: computepool wallet cash-outs"]
    if step == "returned":
        micros, whole = about["returned_micros"], about["micros"]
        text = f"{known.amount(whole)} had been paid. The credits pay what you owe first; the rest is in your earnings."
        return Item(f"{known.amount(micros)} of a cash-out were taken back.", text, facts, tuple(todo))
    happened, text = _CASH_OUT[step]
    if step == "failed":
        todo.insert(0, "Check your payout account: computepool wallet payout-account")
    if step in ("rejected", "failed"):
        todo.append("When the problem is solved, request it again: computepool wallet cash-out CREDITS")
    return Item(f"Your cash-out of {known.amount(about['micros'])} {happened}", text, facts, tuple(todo))


@_for("cash_out.requested", admins=True)
def _cash_out_to_decide(notice: Notice, known: Known) -> Item:
    title = f"A cash-out of {known.amount(notice.details['micros'])} waits for your approval."
    todo = (
        f"To approve it: computepool admin cash-outs approve {notice.subject}",
        f"To reject it: computepool admin cash-outs reject {notice.subject} --note WHY",
    )
    return Item(title, facts=(("cash-out", notice.subject), ("host", notice.details.get("owner"))), todo=todo)


@_for("cash_out.not_returned", admins=True)
def _cash_out_not_reversed(notice: Notice, known: Known) -> Item:
    about = notice.details
    facts = (("cash-out", notice.subject), ("host", about.get("owner")), ("the processor", about.get("note")))
    todo = (f"Try it again later: computepool admin cash-outs reverse {notice.subject} --note WHY",)
    title = f"{known.amount(about['micros'])} of a cash-out could not be taken back."
    return Item(title, "No money and no credits were moved.", facts, todo)


# ── disputes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@_for("dispute.opened")
def _dispute_opened(notice: Notice, known: Known) -> Item:
    about = notice.details
    facts = (("dispute", notice.subject), ("reason", _typed(about.get("reason"))))
    if about.get("kind") == "chargeback":
        title = f"Your bank charged back a payment of {known.amount(about['micros'])}."
        text = "The credits were taken from your wallet. You owe the part that you had already spent."
        return Item(title, text, facts, ("Your wallet: computepool wallet", "Your disputes: computepool dispute"))
    title = f"You disputed a job that cost {known.amount(about['micros'])}."
    text = "An operator will decide. Until then, the host cannot cash out what it earned with this job."
    return Item(title, text, (("job", known.job(about["about"])), *facts), ("Your disputes: computepool dispute",))


@_for("dispute.opened", admins=True)
def _dispute_to_decide(notice: Notice, known: Known) -> Item:
    about = notice.details
    what = "A payment was charged back" if about.get("kind") == "chargeback" else "A renter disputes a job"
    todo = (f"To review it: computepool admin disputes show {notice.subject}",)
    facts = (("dispute", notice.subject), ("about", about.get("about")), ("reason", _typed(about.get("reason"))))
    return Item(f"{what}: {known.amount(about['micros'])}.", facts=facts, todo=todo)


@_for("dispute.about_you")
def _dispute_about_you(notice: Notice, known: Known) -> Item:
    text = "You cannot cash out what you earned with it until an operator has decided. You do not need to do anything."
    job_id = notice.details["job"]
    facts = (("dispute", notice.subject), ("job", job_id))
    return Item(
        "A renter disputes a job that ran on your machine.",
        text,
        facts,
        (f"What it earned: computepool explain {job_id}",),
    )


_OUTCOMES = {"full": "You get a full refund", "partial": "You get a partial refund", "none": "You get no refund"}


@_for("dispute.resolved")
def _dispute_resolved(notice: Notice, known: Known) -> Item:
    about = notice.details
    outcome = _OUTCOMES.get(about.get("outcome", ""), "See your disputes")
    back = f": {known.amount(about['refunded_micros'])}" if about.get("refunded_micros") else ""
    facts = (("dispute", notice.subject), ("about", about.get("about")), ("note", about.get("note")))
    return Item(f"Your dispute is decided. {outcome}{back}.", facts=facts, todo=("Your disputes: computepool dispute",))


@_for("dispute.decided_about_you")
def _dispute_decided_about_you(notice: Notice, known: Known) -> Item:
    about = notice.details
    went = {
        "full": "The renter gets a full refund, so you earn nothing with this job.",
        "partial": "The renter gets a partial refund, which is taken from what you earned with this job.",
        "none": "The renter gets no refund. You keep what you earned with this job.",
    }
    facts = (("dispute", notice.subject), ("job", about.get("job")), ("note", about.get("note")))
    todo = (f"Details: computepool explain {about['job']}",) if about.get("job") else ()
    text = went.get(about.get("outcome", ""), "")
    return Item("A dispute about a job that ran on your machine is decided.", text, facts, todo)


# ── what hosts owe renters ───────────────────────────────────────────────────────────────────────────────────────────


@_for("restitution.owed")
def _owed(notice: Notice, known: Known) -> Item:
    text = "You get a refund for a job, but its host has already spent this part of it. You get it when the host has "
    text += "earned it. Any other part of the refund is already in your wallet."
    job_id = notice.details["job"]
    todo = ("Your wallet: computepool wallet", f"Details: computepool explain {job_id}")
    return Item(f"A host owes you {known.amount(notice.details['micros'])}.", text, (("job", known.job(job_id)),), todo)


@_for("restitution.paid")
def _owed_and_paid(notice: Notice, known: Known) -> Item:
    about, job_id = notice.details, notice.details["job"]
    left = about["owed_micros"]
    text = f"The host still owes you {known.amount(left)}." if left else "The debt is fully paid."
    todo = ("Your wallet: computepool wallet", f"Details: computepool explain {job_id}")
    title = f"You got {known.amount(about['micros'])} that a host owed you."
    return Item(title, text, (("job", known.job(job_id)),), todo)


# ── top-ups ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@_for("top_up.requires_action")
def _bank_asks(notice: Notice, known: Known) -> Item:
    title = f"Your bank wants you to confirm a top-up of {known.amount(notice.details['micros'])}."
    todo = ("Get the link to confirm it: computepool wallet top-ups",)
    return Item(title, "Your card is not charged until you confirm.", (("top-up", notice.details.get("top_up")),), todo)


@_for("top_up.failed")
def _top_up_failed(notice: Notice, known: Known) -> Item:
    title = f"A top-up of {known.amount(notice.details['micros'])} failed. Your card was not charged."
    facts = (("top-up", notice.details.get("top_up")), ("reason", notice.details.get("words")))
    return Item(title, facts=facts, todo=("Try again: computepool wallet top-up CREDITS",))


@_for("card.stopped")
def _card_stopped(notice: Notice, known: Known) -> Item:
    text = "Your card is no longer charged automatically. Jobs that cost more than your balance will wait."
    todo = (
        "Use another card: computepool wallet card",
        "Choose what is charged automatically: computepool wallet plan",
        "Or top up by hand: computepool wallet top-up CREDITS",
    )
    return Item("Automatic top-ups have stopped.", text, (("reason", notice.details.get("words")),), todo)


@_for("storage.unpaid")
def _storage_unpaid(notice: Notice, known: Known) -> Item:
    about = notice.details
    text = (
        "Nothing is deleted. If the amount is still unpaid on the day below, uploads and new jobs are refused until "
        "it is paid."
    )
    facts = (
        ("stored", about_bytes(about["bytes"])),
        ("free", about_bytes(about["free_bytes"])),
        ("refused from", about["refused_from"]),
    )
    todo = (
        "Buy credits: computepool wallet top-up CREDITS",
        "Or delete what you no longer need: computepool artifacts list, computepool prune --older-than 30d",
    )
    return Item(
        f"You do not have enough credits to pay for your storage: {known.amount(about['micros'])}.", text, facts, todo
    )


# ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_CONTEST = (
    "If this is wrong, contest it. Find the EVENT with: computepool node show {node}. Then run: computepool node "
)
_CONTEST += "contest {node} EVENT --reason WHY"


@_for("node.proven_wrong")
def _proven_wrong(notice: Notice, known: Known) -> Item:
    about = notice.details
    back = about.get("given_back_micros", 0) if known.money else 0
    text = "Other machines computed the same job and agree on a different result. Your machine gets no work "
    text += "of other users for a while."
    if back:
        text += f" {known.amount(back)} that it earned since its last successful check were given back."
    facts = (("machine", known.node(notice.subject)), ("attempt", about.get("attempt")), ("times", about.get("times")))
    todo = (_CONTEST.format(node=notice.subject),)
    return Item("A result of your machine was proven wrong.", text, facts, todo)


@_for("node.accused")
def _accused(notice: Notice, known: Known) -> Item:
    text = "Other machines computed the same job and agree on a different result. An operator of the pool will decide. "
    text += "Until then your machine works as before"
    text += ", but you cannot cash out what it earned since its last successful check." if known.money else "."
    facts = (("machine", known.node(notice.subject)), ("attempt", notice.details.get("attempt")))
    todo = (f"The machine's record: computepool node show {notice.subject}",)
    return Item("A result of your machine is in doubt.", text, facts, todo)


@_for("node.accusation_dismissed")
def _accusation_dismissed(notice: Notice, known: Known) -> Item:
    text = "An operator of the pool dismissed the accusation. Nothing counts against your machine"
    text += ", and you can cash out its earnings again." if known.money else "."
    about = notice.details
    facts = (("machine", known.node(notice.subject)), ("attempt", about.get("attempt")), ("note", about.get("note")))
    todo = (f"The machine's record: computepool node show {notice.subject}",)
    return Item("A result of your machine is no longer in doubt.", text, facts, todo)


@_for("node.banned")
def _banned(notice: Notice, known: Known) -> Item:
    text = "The ban is permanent. The machine gets no more work, and the jobs that ran on it run on other machines."
    todo = (_CONTEST.format(node=notice.subject), "If you do not know why, ask the operator of the pool.")
    return Item("Your machine was banned.", text, (("machine", known.node(notice.subject)),), todo)


@_for("node.cloned")
def _cloned(notice: Notice, known: Known) -> Item:
    text = "The hub refused the second agent; the first one continues. A copy of the agent folder contains the key."
    todo = (
        "If you made the copy, delete its agent folder and join it as a new machine: computepool join",
        "If you did not, replace the key. On the original machine, run: computepool agent stop, then computepool agent "
        "rotate-key",
    )
    facts = (("machine", known.node(notice.subject)),)
    return Item("A second agent tried to connect with the key of your machine.", text, facts, todo)


@_for("node.key_replaced")
def _key_replaced(notice: Notice, known: Known) -> Item:
    text = "Its earlier key is no longer valid."
    facts = (("machine", known.node(notice.subject)), ("new key", notice.details.get("key")))
    todo = (
        f"If you did not do this: computepool node ban {notice.subject}, then join the machine again with --replace "
        f"{notice.subject}",
    )
    return Item("The key of your machine was replaced.", text, facts, todo)


@_for("reputation.upheld", "reputation.dismissed")
def _contest_decided(notice: Notice, known: Known) -> Item:
    upheld = notice.action.endswith("upheld")
    text = "The event no longer counts." if upheld else "The event still counts."
    title = f"Your contest was {'upheld' if upheld else 'dismissed'}."
    about = notice.details
    facts = (("machine", known.node(notice.subject)), ("event", about.get("event")), ("note", about.get("note")))
    return Item(title, text, facts, (f"The machine's record: computepool node show {notice.subject}",))


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@_for("job.succeeded", "job.failed", "job.canceled")
def _job_ended(notice: Notice, known: Known) -> Item:
    about, state = notice.details, notice.action.partition(".")[2]
    was = "was canceled" if state == "canceled" else state
    name, message = known.jobs.get(notice.subject, ("", None))
    title = f"Job {of_a_stranger(name, NAME_SHOWN) or notice.subject} {was}."
    code = about.get("exit_code") if state == "failed" else None
    facts = (("job", notice.subject), ("exit code", code), ("reason", _typed(message) if state == "failed" else None))
    todo = [f"Log: computepool logs {notice.subject}"]
    if state == "succeeded":
        todo.append(f"Outputs: computepool get {notice.subject}")
    if known.money:
        todo.append(f"Cost: computepool explain {notice.subject}")
    return Item(title, facts=facts, todo=tuple(todo))


# ── for admins ───────────────────────────────────────────────────────────────────────────────────────────────────────


@_for("node.accused", admins=True)
def _accusation_opened(notice: Notice, known: Known) -> Item:
    text = "Please decide about the accusation. Until then nothing is taken from the machine."
    facts = (("machine", known.node(notice.subject)), ("attempt", notice.details.get("attempt")))
    todo = (
        "The accusation: computepool admin accusations list",
        f"Checks of the machine: computepool admin audits --node {notice.subject}",
    )
    return Item("Other nodes disagree with a result.", text, facts, todo)


@_for("ledger.frozen", admins=True)
def _frozen(notice: Notice, known: Known) -> Item:
    problems = [str(problem) for problem in notice.details.get("problems", ())]
    text = "No cash-out is paid until a check finds no problem."
    facts = tuple(("problem", problem) for problem in problems[:PROBLEMS_SHOWN])
    return Item(
        "The ledger does not add up. Cash-outs are frozen.",
        text,
        facts,
        ("Check again: computepool admin ledger check",),
    )


@_for("ledger.thawed", admins=True)
def _thawed(notice: Notice, known: Known) -> Item:
    return Item("The ledger adds up again. Cash-outs continue.", todo=("Check again: computepool admin ledger check",))


@_for("payment.difference", admins=True)
def _difference(notice: Notice, known: Known) -> Item:
    text = "The hub corrects differences that a lost webhook event caused. Please look into all others."
    facts = (("kind", notice.details.get("kind")), ("difference", notice.details.get("words")))
    todo = ("List them: GET /api/v1/admin/payments/differences",)
    return Item("The payment processor and the ledger disagree.", text, facts, todo)
