"""How a machine becomes a node, and replaces its keys later. It makes them itself, and shows that it holds them."""

from typing import Annotated

from pydantic import Field

from computepool.protocol.capacity import Capacity
from computepool.protocol.countries import Country
from computepool.protocol.hub_keys import HubKey
from computepool.protocol.messages import AgentVersion
from computepool.protocol.model import Wire
from computepool.protocol.signing import Signed
from computepool.protocol.spec_fields import TAG

ENROL_PROOF = "enrol_proof"
NODE_KEY_CHANGE = "node_key_change"
NAME_PATTERN = r"^[^\x00-\x1f\x7f]+$"


class EnrolRequest(Wire):
    token: str = Field(max_length=200)
    name: str = Field(min_length=1, max_length=64, pattern=NAME_PATTERN)
    country: Country | None = None
    tags: tuple[Annotated[str, Field(pattern=f"^{TAG.pattern}$")], ...] = Field(default=(), max_length=32)
    sign_key: str
    """Base64 of the node's raw Ed25519 public key."""
    seal_key: str
    """Base64 of the node's raw X25519 public key."""
    signature: str
    """Over `enrol_proof_body(...)`, type `enrol_proof`, with the sign key: whoever enrols holds it."""
    capacity: Capacity
    agent_version: AgentVersion
    replace: str | None = None
    """An earlier node of the same owner whose record this one goes on with."""


class EnrolReply(Wire):
    node_id: str
    name: str
    hub_id: str
    keys: tuple[HubKey, ...]
    """The hub's keys, to be pinned."""


class NodeKeyChange(Wire):
    """The statement that a node signs with the key that it has, and with the one that replaces it."""

    hub_id: str = Field(max_length=80)
    """The only hub that it is for."""
    node_id: str = Field(max_length=80)
    sign_key: str = Field(max_length=64)
    """Base64 of the new Ed25519 public key."""
    seal_key: str = Field(max_length=64)
    """Base64 of the new X25519 public key."""


class NodeKeyRequest(Wire):
    change: Signed
    """A `NodeKeyChange`, type `node_key_change`, signed with the key that the node had until now."""
    signature: str = Field(max_length=100)
    """Over the same body, with the new key: whoever asks holds it."""


class NodeKeyReply(Wire):
    node_id: str
    key_id: str
    """The only key that the hub takes from this node from now on."""


def enrol_proof_body(token: str, sign_key: str, seal_key: str) -> bytes:
    return f"{token}\0{sign_key}\0{seal_key}".encode()
