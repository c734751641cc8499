"""Every kind of entry that the ledger has, for whoever asks for entries by it. One that is no longer written stays
here: old ledgers have it.
"""

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
