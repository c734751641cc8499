"""What a mail says: for each action a title, the facts, and what to do next. No network, no database.

Whatever a person typed stands here as one line of bounded length, so that it can neither end a head nor pretend to be
the hub's own words. A mail links to pages of the pool, and to what its operator or processor wrote.
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
"""Of many notices so many are told one by one."""
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
    """What the words need besides the notices."""

    units: Units
    base: str | None = None
    """The pool's page."""
    jobs: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    """By id, name and message."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    money: bool = True
    """Whether the pool has any: else no mail says a word of it."""

    def job(self, job_id: str) -> str:
        name = of_a_stranger(self.jobs.get(job_id, ("", None))[0], NAME_SHOWN)
        return f"{name} ({job_id})" if name else job_id

    def node(self, node_id: str) -> str:
        name = of_a_stranger(self.nodes.get(node_id, ""), NAME_SHOWN)
        return f"{name} ({node_id})" if name else node_id

    def amount(self, micros: int) -> str:
        """In credits, and what that is worth: rounded down, since nobody is promised a part of a coin."""
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
    """Subject and body of one mail about all of them. `more`: those that are only counted."""
    items = [item_of(one, known) for one in notices]
    count = len(items) + more
    subject = items[0].title if count == 1 else f"{items[0].title} And {count - 1} more"
    parts = ["\n\n".join(_written(item, _address(one, known)) for one, item in zip(notices, items, strict=True))]
    if more:
        parts.append(f"And {more} more of the kind. Everything is where these commands look.")
    parts.append("-- \n" + _signature(known.base))
    return one_line(subject, SUBJECT_LIMIT), "\n\n".join(parts) + "\n"


def item_of(notice: Notice, known: Known, writers: Mapping[str, Writer] | None = None) -> Item:
    """A notice that lacks something, or that nobody has words for, is told all the same: it must not stop others."""
    writer = (writers or (FOR_ADMINS if notice.for_admins else WRITERS)).get(notice.action)
    if writer is not None:
        with contextlib.suppress(LookupError, TypeError, ValueError, ArithmeticError):
            return writer(notice, known)
    return Item(f"{one_line(notice.action, NAME_SHOWN)}: {one_line(notice.subject, NAME_SHOWN)}.")


def page_of(notice: Notice) -> str | None:
    """Where the web app shows what a notice to its user is about, from the hub's root."""
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
    """Of that page; empty where there is none, or nobody said where the pool is."""
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
    """By a renter, or in the words of a node."""
    return of_a_stranger(text or "", NOTE_SHOWN)


def _signature(base: str | None) -> str:
    where = f" at {base}" if base else ""
    return f"ComputePool{where}. A program sent this; nobody reads answers to it."


def _for(*actions: str, admins: bool = False) -> Callable[[Writer], Writer]:
    def add(writer: Writer) -> Writer:
        (FOR_ADMINS if admins else WRITERS).update(dict.fromkeys(actions, writer))
        return writer

    return add


# ── cash-outs ────────────────────────────────────────────────────────────────────────────────────────────────────────

_CASH_OUT = {
    "requested": ("was asked for.", "An operator looks at it. The credits are set aside meanwhile."),
    "approved": ("was approved.", "The money is on its way."),
    "paid": ("was paid.", ""),
    "rejected": ("was rejected.", "The credits are in your earnings again."),
    "failed": ("failed.", "The credits are in your earnings again."),
}


@_for(*(f"cash_out.{step}" for step in (*_CASH_OUT, "returned")))
def _cash_out(notice: Notice, known: Known) -> Item:
    about, step = notice.details, notice.action.partition(".")[2]
    facts = (("cash-out", notice.subject), ("reference", about.get("reference")), ("note", about.get("note")))
    todo = ["Your cash-outs: computepool wallet cash-outs"]
    if step == "returned":
        micros, whole = about["returned_micros"], about["micros"]
        text = f"Of {known.amount(whole)} that were paid. It is in your earnings again, what you owed first."
        return Item(f"{known.amount(micros)} of a cash-out came back.", text, facts, tuple(todo))
    happened, text = _CASH_OUT[step]
    if step == "failed":
        todo.insert(0, "Look at where your money goes: computepool wallet payout-account")
    if step in ("rejected", "failed"):
        todo.append("Ask again when it is mended: computepool wallet cash-out CREDITS")
    return Item(f"Your cash-out of {known.amount(about['micros'])} {happened}", text, facts, tuple(todo))


@_for("cash_out.requested", admins=True)
def _cash_out_to_decide(notice: Notice, known: Known) -> Item:
    title = f"A cash-out of {known.amount(notice.details['micros'])} waits for you."
    todo = (
        f"Approve it: computepool admin cash-outs approve {notice.subject}",
        f"Or reject it: computepool admin cash-outs reject {notice.subject} --note WHY",
    )
    return Item(title, facts=(("cash-out", notice.subject), ("host", notice.details.get("owner"))), todo=todo)


@_for("cash_out.not_returned", admins=True)
def _cash_out_not_reversed(notice: Notice, known: Known) -> Item:
    about = notice.details
    facts = (("cash-out", notice.subject), ("host", about.get("owner")), ("the processor", about.get("note")))
    todo = (f"Try it again later: computepool admin cash-outs reverse {notice.subject} --note WHY",)
    title = f"{known.amount(about['micros'])} of a cash-out could not be taken back."
    return Item(title, "Nothing moved.", facts, todo)


# ── disputes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@_for("dispute.opened")
def _dispute_opened(notice: Notice, known: Known) -> Item:
    about = notice.details
    facts = (("dispute", notice.subject), ("reason", _typed(about.get("reason"))))
    if about.get("kind") == "chargeback":
        title = f"Your bank took a payment of {known.amount(about['micros'])} back."
        text = "So many credits were taken from your wallet, or are owed where you have spent them."
        return Item(title, text, facts, ("Your wallet: computepool wallet", "Your disputes: computepool dispute"))
    title = f"You dispute a job that cost {known.amount(about['micros'])}."
    text = "An operator looks at it; until then nobody is paid for it."
    return Item(title, text, (("job", known.job(about["about"])), *facts), ("Your disputes: computepool dispute",))


@_for("dispute.opened", admins=True)
def _dispute_to_decide(notice: Notice, known: Known) -> Item:
    about = notice.details
    what = "A bank took a payment back" if about.get("kind") == "chargeback" else "A renter disputes a job"
    todo = (f"Look at it, then decide: computepool admin disputes show {notice.subject}",)
    facts = (("dispute", notice.subject), ("about", about.get("about")), ("reason", _typed(about.get("reason"))))
    return Item(f"{what}: {known.amount(about['micros'])}.", facts=facts, todo=todo)


@_for("dispute.about_you")
def _dispute_about_you(notice: Notice, known: Known) -> Item:
    text = "What you earned with it cannot be cashed out before an operator has decided. You need not do anything."
    job_id = notice.details["job"]
    facts = (("dispute", notice.subject), ("job", job_id))
    return Item("A renter disputes a job that ran at yours.", text, facts, (f"computepool explain {job_id}",))


_OUTCOMES = {"full": "You get all of it back", "partial": "You get a part of it back", "none": "Nothing is given back"}


@_for("dispute.resolved")
def _dispute_resolved(notice: Notice, known: Known) -> Item:
    about = notice.details
    outcome = _OUTCOMES.get(about.get("outcome", ""), "It is decided")
    back = f": {known.amount(about['refunded_micros'])}" if about.get("refunded_micros") else ""
    facts = (("dispute", notice.subject), ("about", about.get("about")), ("note", about.get("note")))
    return Item(f"Your dispute is decided. {outcome}{back}.", facts=facts, todo=("computepool dispute",))


@_for("dispute.decided_about_you")
def _dispute_decided_about_you(notice: Notice, known: Known) -> Item:
    about = notice.details
    went = {
        "full": "The renter gets everything back: you earn nothing with it.",
        "partial": "The renter gets a part back, which is taken from what you earned with it.",
        "none": "You keep what you earned with it.",
    }
    facts = (("dispute", notice.subject), ("job", about.get("job")), ("note", about.get("note")))
    todo = (f"What became of it: computepool explain {about['job']}",) if about.get("job") else ()
    text = went.get(about.get("outcome", ""), "")
    return Item("A dispute about a job that ran at yours is decided.", text, facts, todo)


# ── what hosts owe renters ───────────────────────────────────────────────────────────────────────────────────────────


@_for("restitution.owed")
def _owed(notice: Notice, known: Known) -> Item:
    text = "So much of what a job cost goes back to you, and its host has spent it. You get it when the host has earned"
    text += " it; the rest, if there was any, is yours again already."
    job_id = notice.details["job"]
    todo = ("Your wallet: computepool wallet", f"What became of it: computepool explain {job_id}")
    return Item(f"Owed to you: {known.amount(notice.details['micros'])}.", text, (("job", known.job(job_id)),), todo)


@_for("restitution.paid")
def _owed_and_paid(notice: Notice, known: Known) -> Item:
    about, job_id = notice.details, notice.details["job"]
    left = about["owed_micros"]
    text = f"Still to come: {known.amount(left)}." if left else "That is all."
    todo = ("Your wallet: computepool wallet", f"What became of it: computepool explain {job_id}")
    title = f"Paid of what was owed to you: {known.amount(about['micros'])}."
    return Item(title, text, (("job", known.job(job_id)),), todo)


# ── top-ups ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@_for("top_up.requires_action")
def _bank_asks(notice: Notice, known: Known) -> Item:
    title = f"Your bank wants you to confirm a top-up of {known.amount(notice.details['micros'])}."
    todo = ("Where to confirm it: computepool wallet top-ups",)
    return Item(title, "Until then nothing was charged.", (("top-up", notice.details.get("top_up")),), todo)


@_for("top_up.failed")
def _top_up_failed(notice: Notice, known: Known) -> Item:
    title = f"A top-up of {known.amount(notice.details['micros'])} failed. Nothing was taken."
    facts = (("top-up", notice.details.get("top_up")), ("because", notice.details.get("words")))
    return Item(title, facts=facts, todo=("Try again: computepool wallet top-up CREDITS",))


@_for("card.stopped")
def _card_stopped(notice: Notice, known: Known) -> Item:
    text = "Your card is not charged by itself any more. Jobs that cost more than you have will wait."
    todo = (
        "Another card: computepool wallet card",
        "What is charged by itself: computepool wallet plan",
        "Or top up by hand: computepool wallet top-up CREDITS",
    )
    return Item("Automatic top-ups have stopped.", text, (("because", notice.details.get("words")),), todo)


@_for("storage.unpaid")
def _storage_unpaid(notice: Notice, known: Known) -> Item:
    about = notice.details
    text = (
        "Your credits do not cover it. Nothing is deleted. If it is still unpaid on the day below, uploads and new "
        "jobs are refused until it is paid."
    )
    facts = (
        ("stored", about_bytes(about["bytes"])),
        ("free of it", about_bytes(about["free_bytes"])),
        ("refused from", about["refused_from"]),
    )
    todo = (
        "Buy credits: computepool wallet top-up CREDITS",
        "Or delete what you no longer need: computepool artifacts list, computepool prune --older-than 30d",
    )
    return Item(f"Your storage could not be paid: {known.amount(about['micros'])}.", text, facts, todo)


# ── machines ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_CONTEST = "If that is not so, find the event and contest it: computepool node show {node}, then computepool node "
_CONTEST += "contest {node} EVENT --reason WHY"


@_for("node.proven_wrong")
def _proven_wrong(notice: Notice, known: Known) -> Item:
    about = notice.details
    back = about.get("given_back_micros", 0) if known.money else 0
    text = "Others computed the same and agree on another result. It gets no strangers' work for a while"
    text += f", and {known.amount(back)} that it earned since it was last found right go back." if back else "."
    facts = (("machine", known.node(notice.subject)), ("attempt", about.get("attempt")), ("times", about.get("times")))
    todo = (_CONTEST.format(node=notice.subject),)
    return Item("A result of your machine was proven wrong.", text, facts, todo)


@_for("node.accused")
def _accused(notice: Notice, known: Known) -> Item:
    text = (
        "Other nodes computed the same job and agree on another result. The operator of the pool decides. Until then "
    )
    text += "your machine works as before"
    text += ", and what it earned since it was last found right cannot be cashed out." if known.money else "."
    facts = (("machine", known.node(notice.subject)), ("attempt", notice.details.get("attempt")))
    todo = (f"Its record: computepool node show {notice.subject}",)
    return Item("A result of your machine is in doubt.", text, facts, todo)


@_for("node.accusation_dismissed")
def _accusation_dismissed(notice: Notice, known: Known) -> Item:
    text = "The operator of the pool looked at it. Nothing counts against your machine"
    text += ", and its earnings can be cashed out again." if known.money else "."
    about = notice.details
    facts = (("machine", known.node(notice.subject)), ("attempt", about.get("attempt")), ("note", about.get("note")))
    todo = (f"Its record: computepool node show {notice.subject}",)
    return Item("A result of your machine is not in doubt any more.", text, facts, todo)


@_for("node.banned")
def _banned(notice: Notice, known: Known) -> Item:
    text = "It is dismissed for good: it gets no work any more, and what ran there runs elsewhere."
    todo = (_CONTEST.format(node=notice.subject), "If you do not know why, ask the operator of the pool.")
    return Item("Your machine was banned.", text, (("machine", known.node(notice.subject)),), todo)


@_for("node.cloned")
def _cloned(notice: Notice, known: Known) -> Item:
    text = "The hub refused it, and the first one works on. Whoever has a copy of a machine's folder has its key."
    todo = (
        "If the copy is yours, remove its agent folder and join it as a machine of its own: computepool join",
        "If it is not, replace the key, on the machine that shall keep it: computepool agent stop, then computepool "
        "agent rotate-key",
    )
    facts = (("machine", known.node(notice.subject)),)
    return Item("A second agent came with the key of your machine.", text, facts, todo)


@_for("node.key_replaced")
def _key_replaced(notice: Notice, known: Known) -> Item:
    text = "Its earlier key is not valid any more."
    facts = (("machine", known.node(notice.subject)), ("new key", notice.details.get("key")))
    todo = (
        f"If that was not you: computepool node ban {notice.subject}, then join the machine again with --replace "
        f"{notice.subject}",
    )
    return Item("The key of your machine was replaced.", text, facts, todo)


@_for("reputation.upheld", "reputation.dismissed")
def _contest_decided(notice: Notice, known: Known) -> Item:
    upheld = notice.action.endswith("upheld")
    text = "It is as if it had never been." if upheld else "It counts as before."
    title = f"Your contest was {'upheld' if upheld else 'dismissed'}."
    about = notice.details
    facts = (("machine", known.node(notice.subject)), ("event", about.get("event")), ("note", about.get("note")))
    return Item(title, text, facts, (f"computepool node show {notice.subject}",))


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@_for("job.succeeded", "job.failed", "job.canceled")
def _job_ended(notice: Notice, known: Known) -> Item:
    about, state = notice.details, notice.action.partition(".")[2]
    was = "was canceled" if state == "canceled" else state
    name, message = known.jobs.get(notice.subject, ("", None))
    title = f"Job {of_a_stranger(name, NAME_SHOWN) or notice.subject} {was}."
    code = about.get("exit_code") if state == "failed" else None
    facts = (("job", notice.subject), ("exit code", code), ("because", _typed(message) if state == "failed" else None))
    todo = [f"Its log: computepool logs {notice.subject}"]
    if state == "succeeded":
        todo.append(f"Its outputs: computepool get {notice.subject}")
    if known.money:
        todo.append(f"What it cost: computepool explain {notice.subject}")
    return Item(title, facts=facts, todo=tuple(todo))


# ── for those who run the pool ───────────────────────────────────────────────────────────────────────────────────────


@_for("node.accused", admins=True)
def _accusation_opened(notice: Notice, known: Known) -> Item:
    text = "The machine loses nothing until you decide."
    facts = (("machine", known.node(notice.subject)), ("attempt", notice.details.get("attempt")))
    todo = ("computepool admin accusations list", f"computepool admin audits --node {notice.subject}")
    return Item("Other nodes found a result wrong.", text, facts, todo)


@_for("ledger.frozen", admins=True)
def _frozen(notice: Notice, known: Known) -> Item:
    problems = [str(one) for one in notice.details.get("problems", ())]
    text = "Nobody is paid out until a check finds everything in order."
    facts = tuple(("problem", one) for one in problems[:PROBLEMS_SHOWN])
    return Item("The ledger does not add up. Cash-outs are frozen.", text, facts, ("computepool admin ledger check",))


@_for("ledger.thawed", admins=True)
def _thawed(notice: Notice, known: Known) -> Item:
    return Item("The ledger adds up again. Cash-outs go on.", todo=("computepool admin ledger check",))


@_for("payment.difference", admins=True)
def _difference(notice: Notice, known: Known) -> Item:
    text = "What a lost message caused is healed by itself; the rest is yours to look into."
    facts = (("kind", notice.details.get("kind")), ("what", notice.details.get("words")))
    todo = ("GET /api/v1/admin/payments/differences",)
    return Item("The payment processor and the ledger disagree.", text, facts, todo)
