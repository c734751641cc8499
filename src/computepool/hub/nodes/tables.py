from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id


class Node(Base):
    """An enrolled machine."""

    __tablename__ = "nodes"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), index=True)
    name: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(12))
    drain_requested: Mapped[bool]
    """Its owner wants it to take nothing new, whatever its agent says."""
    sign_key: Mapped[str] = mapped_column(String(64), unique=True)
    """Base64 of the Ed25519 public key that the node proves itself with and signs receipts with."""
    seal_key: Mapped[str] = mapped_column(String(64))
    """Base64 of the X25519 public key that secrets for it are sealed to."""
    country: Mapped[str | None] = mapped_column(String(2))
    tags: Mapped[list[str]]
    capacity: Mapped[dict[str, Any]]
    agent_version: Mapped[str] = mapped_column(String(40))
    replaces: Mapped[str | None] = mapped_column(Id)
    """The owner's earlier node whose place this one took."""
    record_id: Mapped[str | None] = mapped_column(Id)
    """The first of the nodes that it replaced, one after the other: whose record it goes on with. None: its own."""
    created_at: Mapped[datetime]
    last_seen_at: Mapped[datetime | None]
    """When it was last seen to come or go; heartbeats in between stay in memory."""
    price_per: Mapped[str | None] = mapped_column(String(4))
    """`gpu` or `core`, where its host set a price: an hour of what. None leaves it to the pool."""
    price_floor_micros: Mapped[int | None] = mapped_column(BigInteger)
    price_fixed_micros: Mapped[int | None] = mapped_column(BigInteger)
    clone_seen_at: Mapped[datetime | None]
    """When a second agent with this node's key was last refused. None again once the key is replaced."""
    clone_instance_id: Mapped[str | None] = mapped_column(String(80))
    """Which start of that agent."""
    clone_told_at: Mapped[datetime | None]
    """When its owner got a mail about it."""
    join_token_id: Mapped[str | None] = mapped_column(Id, index=True)
    """The token that it enrolled with. None for nodes from before that was kept."""
    enrolled_by: Mapped[str | None] = mapped_column(Id)
    """Of a team's node: who made that token. None: its owner themself."""


class NodeKey(Base):
    """A key that a node had before. It signs nothing new; receipts of attempts from its time are checked with it."""

    __tablename__ = "node_keys"

    id: Mapped[str] = mapped_column(String(80), primary_key=True)
    """The key's own id."""
    node_id: Mapped[str] = mapped_column(ForeignKey("nodes.id"), index=True)
    sign_key: Mapped[str] = mapped_column(String(64))
    ended_at: Mapped[datetime]


class JoinToken(Base):
    """Lets a machine enrol as a node of its maker. Short-lived, and single-use by default."""

    __tablename__ = "join_tokens"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"), index=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    uses: Mapped[int] = mapped_column(server_default="1")
    """How many machines it was made for."""
    uses_left: Mapped[int]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    made_by: Mapped[str | None] = mapped_column(Id)
    """Of a team's token: the member who made it. None: its owner themself."""


class NodePolicy(Base):
    """What a node's owner allows, as its agent last told it."""

    __tablename__ = "node_policies"

    node_id: Mapped[str] = mapped_column(ForeignKey("nodes.id"), primary_key=True)
    report: Mapped[dict[str, Any]]
    """A `PolicyReport`."""
    remote_edits: Mapped[bool]
    """Its agent follows requests through the hub."""
    paused: Mapped[str | None] = mapped_column(String(8))
    """`hub` or `machine`: where its owner paused it."""
    reported_at: Mapped[datetime]


class NodeRequest(Base):
    """The newest thing of its kind that a node's owner asked of it through the hub."""

    __tablename__ = "node_requests"

    node_id: Mapped[str] = mapped_column(ForeignKey("nodes.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(8), primary_key=True)
    """`policy` or `pause`."""
    number: Mapped[int] = mapped_column(BigInteger)
    """Grows, also across a restore from a backup: the agent deals with each once."""
    body: Mapped[dict[str, Any]]
    """An `OwnerRequest`."""
    state: Mapped[str] = mapped_column(String(8))
    """pending, applied or refused."""
    reason: Mapped[str] = mapped_column(String(1000))
    """Why the agent refused it."""
    requested_by: Mapped[str] = mapped_column(Id)
    requested_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]
