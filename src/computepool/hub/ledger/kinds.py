"""Every kind of entry that the ledger has, for whoever asks for entries by it. One that is no longer written stays
here: old ledgers have it.
"""

from collections.abc import Mapping
from typing import Literal, get_args

EntryKind = Literal[
    # given and taken by the operator
    "grant",
    "withdrawal",
    "welcome",
    "voucher",
    # of jobs
    "hold",
    "settle",
    "give_back",
    "clawback",
    "clawback_overturned",
    "restitution",
    "dispute_refund",
    "dispute_refund_undone",
    # of what is stored
    "storage",
    # of debts
    "debt_filled",
    "write_off",
    "write_off_returned",
    # of cards and banks
    "top_up",
    "refund_asked",
    "refund",
    "refund_failed",
    "chargeback",
    "chargeback_won",
    "cash_out",
    "cash_out_returned",
    "pay_out",
]
ENTRY_KINDS: frozenset[str] = frozenset(get_args(EntryKind))
ENTRY_WORDS: Mapping[str, str] = {
    "grant": "Credits from the operator.",
    "withdrawal": "Credits that the operator took back.",
    "welcome": "Promotional credits for a new account.",
    "voucher": "A voucher.",
    "hold": "Set aside while an attempt runs.",
    "settle": "An attempt was billed.",
    "give_back": "Paid by an instalment, and given back by the verdict.",
    "clawback": "Given back: a result of the node was proven wrong.",
    "clawback_overturned": "Paid again: what was proven wrong turned out to be right.",
    "restitution": "Given back later, as the host had spent it.",
    "dispute_refund": "Given back after a dispute.",
    "dispute_refund_undone": "Paid again: what a dispute gave back.",
    "storage": "Storage beyond the free amount, for a day.",
    "debt_filled": "Earnings or credits that filled a debt.",
    "write_off": "A debt that the operator bears.",
    "write_off_returned": "A debt that was written off and is owed again.",
    "top_up": "Credits that were bought.",
    "refund_asked": "Set aside for a refund of a top-up.",
    "refund": "A top-up was refunded.",
    "refund_failed": "A refund did not succeed, and the credits came back.",
    "chargeback": "The bank took a top-up back.",
    "chargeback_won": "A chargeback was decided for the pool.",
    "cash_out": "Set aside for a cash-out, or paid out.",
    "cash_out_returned": "A cash-out was not paid, and the credits came back.",
    "pay_out": "A cash-out was paid.",
}
"""What each kind is, in a sentence."""


def entry_title(kind: str) -> str:
    """The same without its full stop. Also of a kind that only an older ledger has."""
    return ENTRY_WORDS.get(kind, kind.replace("_", " ").capitalize()).rstrip(".")
