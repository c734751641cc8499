"""The first four messages of a line: who is there, a question, the proof, the welcome."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from computepool.agent.clock import HubTime
from computepool.agent.home import Identity, NodeRecord
from computepool.agent.link.base import Link, LinkClosed
from computepool.protocol.capacity import Capacity
from computepool.protocol.messages import (
    LINK_PROOF,
    Availability,
    Challenge,
    Goodbye,
    Hello,
    Holding,
    MalformedMessage,
    Proof,
    Welcome,
    link_challenge,
    parse_from_hub,
)
from computepool.protocol.states import NodeState

HANDSHAKE_SECONDS = 15.0
ProofState = Literal["online", "paused", "draining"]
Answer = TypeVar("Answer", Challenge, Welcome)


class HandshakeFailed(Exception):
    """The line opened and then made no sense, or took too long. Another try may do better."""


class Dismissed(Exception):
    """The hub ended the line and said whether coming back makes sense."""

    def __init__(self, goodbye: Goodbye) -> None:
        super().__init__(goodbye.message)
        self.code = goodbye.code
        self.retry = goodbye.retry


@dataclass(frozen=True)
class Standing:
    """What the agent says of itself at the moment of the proof."""

    capacity: Capacity
    holding: tuple[Holding, ...]
    stream_id: str | None
    cursor: int
    state: NodeState
    availability: Availability
    cached: tuple[str, ...]


async def handshake(
    link: Link,
    *,
    node: NodeRecord,
    identity: Identity,
    instance_id: str,
    agent_version: str,
    standing: Callable[[], Standing],
    hub_time: HubTime,
) -> Welcome:
    """`standing` is asked at the last moment: what ended while the challenge travelled is not claimed any more."""
    try:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            hello = Hello(node_id=node.node_id, instance_id=instance_id, agent_version=agent_version)
            await link.send(hello.to_bytes())
            challenge = await _expect(link, Challenge)
            hub_time.set(challenge.hub_time)
            body = link_challenge(node.hub_id, node.node_id, instance_id, challenge.nonce)
            await link.send(_proof(identity.sign(LINK_PROOF, body).signature, standing()).to_bytes())
            welcome = await _expect(link, Welcome)
    except TimeoutError:
        raise HandshakeFailed(f"the hub did not answer within {HANDSHAKE_SECONDS:.0f} s") from None
    except LinkClosed as closed:
        raise HandshakeFailed(f"the line closed during the handshake: {closed}") from None
    if welcome.hub_id != node.hub_id:
        raise HandshakeFailed(f"this is hub {welcome.hub_id}; the node belongs to {node.hub_id}")
    hub_time.set(welcome.hub_time)
    return welcome


def _proof(signature: str, standing: Standing) -> Proof:
    return Proof(
        signature=signature,
        capacity=standing.capacity,
        holding=standing.holding,
        stream_id=standing.stream_id,
        cursor=standing.cursor,
        state=proof_state(standing.state),
        availability=standing.availability,
        cached=standing.cached,
    )


def proof_state(state: NodeState) -> ProofState:
    """The three states that an agent may claim for itself."""
    if state is NodeState.PAUSED:
        return "paused"
    return "draining" if state is NodeState.DRAINING else "online"


async def _expect(link: Link, wanted: type[Answer]) -> Answer:
    while True:
        try:
            message = parse_from_hub(await link.receive())
        except MalformedMessage as error:
            raise HandshakeFailed(f"the hub said something malformed: {error}") from None
        if isinstance(message, Goodbye):
            raise Dismissed(message)
        if isinstance(message, wanted):
            return message
        if message is not None:
            raise HandshakeFailed(f"expected a {wanted.__name__.lower()}, got a {message.type}")
