"""Receipts as the hub hands them out. Apart from the other models: only `verify` needs what they are made of."""

from computepool.client.models import Model
from computepool.protocol.messages import HubKey
from computepool.protocol.signing import Signed


class ReceiptNode(Model):
    id: str
    name: str = ""
    sign_key: str


class ReceiptItem(Model):
    """The order and the answer to it, each in the bytes that were signed."""

    slice: int
    attempt: int
    manifest: Signed
    receipt: Signed
    node: ReceiptNode
    hub_keys: tuple[HubKey, ...] = ()
