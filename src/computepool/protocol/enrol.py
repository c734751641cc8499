"""How a machine becomes a node: it makes its keys itself, and shows that it holds them."""

from typing import Annotated

from pydantic import Field

from computepool.protocol.capacity import Capacity
from computepool.protocol.countries import Country
from computepool.protocol.hub_keys import HubKey
from computepool.protocol.messages import AgentVersion
from computepool.protocol.model import Wire
from computepool.protocol.spec_fields import TAG

ENROL_PROOF = "enrol_proof"
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


def enrol_proof_body(token: str, sign_key: str, seal_key: str) -> bytes:
    return f"{token}\0{sign_key}\0{seal_key}".encode()
