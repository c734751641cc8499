"""What a client is told when something is refused. Clients match on `code`, never on text."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from computepool.protocol.model import Documented

SIGNED_OUT = 4401
"""Closes a stream whose reader's token was revoked meanwhile."""

ErrorCode = Literal[
    "accusation_decided", "artifact_in_use", "authorization_pending", "bad_amount", "bad_bundle", "bad_canary",
    "bad_credentials", "bad_filter", "bad_inputs", "bad_invitation", "bad_join_token", "bad_market_table", "bad_proof",
    "bad_refresh_token", "bad_request", "bad_setting", "bad_sign_in_link", "bad_signature", "bad_spec", "bad_token",
    "bank_decides",
    "below_minimum", "cash_out_state", "cash_outs_frozen", "code_taken", "conflict", "denied", "digest_mismatch",
    "dispute_resolved", "disputed_before", "email_taken", "expired", "forbidden", "foreign_page",
    "handle_limit", "handle_taken",
    "head_too_large",
    "idempotency_mismatch", "insufficient_credits", "internal", "invalid", "invitation_of_another",
    "job_disputed", "job_not_final",
    "job_not_finished", "key_ended", "key_taken", "last_admin", "last_owner", "ledger_key_taken", "mail_not_given_up",
    "mail_not_sent",
    "market_table_changed", "method_not_allowed", "missing_scope", "money_off", "more_than_owed",
    "more_than_was_paid", "more_than_you_have", "needs_sign_in", "no_payment_processor", "no_payout_account",
    "no_receipt", "no_saved_card", "no_such_accusation", "no_such_canary_answer", "no_such_cash_out",
    "no_such_difference", "no_such_dispute", "no_such_event", "no_such_job", "no_such_join_token", "no_such_mail",
    "no_such_node",
    "no_such_setting", "no_such_share", "no_such_team", "no_such_top_up", "no_such_user_code", "no_such_voucher",
    "no_such_wallet", "node_state", "not_cashable", "not_contestable",
    "not_found", "not_paid", "not_supported_yet", "nothing_left", "nothing_owed", "nothing_paid", "output_altered",
    "owner_owes",
    "paid_by_hand", "paid_by_processor", "processor_away", "public_name_taken", "queue_full",
    "refresh_token_reused", "refused", "registration_closed", "removed", "repeated", "replaced_already",
    "request_changed", "role_too_low", "session_ended",
    "setting_changed",
    "signature_missing", "signature_refused", "size_mismatch", "slow_down", "stale_lease", "storage_daily_quota",
    "storage_full", "storage_quota", "storage_unavailable", "storage_unpaid", "team_limit",
    "token_expired", "token_limit",
    "token_mistyped", "token_revoked", "too_busy", "too_large", "too_late_to_dispute", "too_many_bundles",
    "too_many_connections", "too_many_failures", "too_many_requests", "too_many_streams", "too_many_tries",
    "too_slow", "unauthenticated", "unavailable", "unknown_node", "upload_incomplete", "upload_mismatch",
    "upload_over", "url_expired", "voucher_over", "wrong_password", "wrong_token",
]  # fmt: skip
"""Every code that the API's errors have. A newer hub may know more: a client treats an unknown one by its status."""


def _encodable(text: object) -> object:
    """JSON can write half of a surrogate pair, which no UTF-8 can: what is told back shows its escape instead."""
    return text.encode(errors="backslashreplace").decode() if isinstance(text, str) else text


Words = Annotated[str, BeforeValidator(_encodable)]
"""May quote what a stranger sent."""


class FieldError(Documented):
    """One field of a request that was refused."""

    field: Words
    """Its name, with dots between the parts: `resources.gpu`."""
    message: Words
    """What is wrong with it. Reads on after the name of the field."""
    value: Words | None = None
    """What was sent, shortened. Left out where it may be secret."""
    hint: Words | None = None
    """What to write instead."""


class ErrorDetail(Documented):
    code: str
    """Stable: programs match on it."""
    message: Words
    """What happened, for people."""
    hint: Words | None = None
    """What to do next, for people."""
    fields: list[FieldError] | None = None
    """Which fields of the request were refused, and why."""


class ErrorBody(Documented):
    """The body of every answer with a status of 400 or more."""

    error: ErrorDetail
    """What was refused, and what to do."""
