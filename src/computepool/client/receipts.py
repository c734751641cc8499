"""Receipts as the hub hands them out. Apart from the other models: only `verify` needs what they are made of."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import ValidationError

from computepool.client.errors import ClientError
from computepool.client.models import Model
from computepool.protocol.hub_keys import HubKey
from computepool.protocol.problem_words import words_for
from computepool.protocol.signing import Signed


class ReceiptNode(Model):
    id: str
    name: str = ""
    sign_key: str
    key_ended_at: datetime | None = None
    """When the node replaced that key."""


class Instead(Model):
    """The manifest and receipt of an attempt that ran the slice once more, elsewhere, and whose outputs count."""

    job_id: str
    attempt: int
    manifest: Signed
    receipt: Signed
    node: ReceiptNode


class ReceiptItem(Model):
    """The order and the answer to it, each in the bytes that were signed."""

    slice: int
    attempt: int
    manifest: Signed
    receipt: Signed
    node: ReceiptNode
    hub_keys: tuple[HubKey, ...] = ()
    instead: Instead | None = None
    """Others proved this one wrong: whose outputs are the slice's instead."""


def read_receipt(item: Mapping[str, object]) -> ReceiptItem:
    try:
        return ReceiptItem.model_validate(item)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise ClientError(
            f"A receipt of slice {item.get('slice')} is not one: {place} {words_for(problem)}.",
            hint="Do not rely on the job's results; tell the operator of the hub.",
            code="bad_receipt",
        ) from None
