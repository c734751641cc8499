"""How a node replaces its keys. The old key signs the new one; the hub then takes no other.

Both keys are in the agent's folder until the hub confirms: an answer that was lost, or an agent that was killed, locks
no node out. The same change is sent again, by the next `rotate-key` or by the next start of the agent.
"""

import asyncio
import logging
import random

import httpx
from pydantic import ValidationError

from computepool.agent.enrol import TIMEOUT_SECONDS, error_of
from computepool.agent.home import AgentHome, Identity
from computepool.agent.link.backoff import reconnect_delay_seconds
from computepool.agent.ports import Offload
from computepool.protocol.enrol import NODE_KEY_CHANGE, NodeKeyChange, NodeKeyReply, NodeKeyRequest

log = logging.getLogger(__name__)

RETRY_LIMIT_SECONDS = 30.0


class KeyNotReplaced(Exception):
    """The hub did not confirm the new key. The message says why, and what to do."""

    def __init__(self, message: str, code: str, *, is_refused: bool) -> None:
        super().__init__(message)
        self.code = code
        self.is_refused = is_refused
        """The hub said no. Else it may or may not have heard of the new key."""


def rotate_key(home: AgentHome, *, client: httpx.Client | None = None) -> Identity:
    """Replace this node's keys; for whoever holds the agent's lock. Goes on with a change that was not confirmed.

    Raises KeyNotReplaced, HomeError.
    """
    node, current = home.node(), home.identity()
    coming = home.next_identity()
    if coming is None:
        coming = Identity.generate()
        home.save_identity(current, coming)
    change = NodeKeyChange(
        hub_id=node.hub_id,
        node_id=node.node_id,
        sign_key=coming.public_sign_key,
        seal_key=coming.public_seal_key,
    ).to_bytes()
    request = NodeKeyRequest(
        change=current.sign(NODE_KEY_CHANGE, change), signature=coming.sign(NODE_KEY_CHANGE, change).signature
    )
    own = client or httpx.Client(verify=node.tls or True)
    try:
        reply = _send(own, f"{node.hub_url}/api/v1/nodes/{node.node_id}/key", request)
    finally:
        if client is None:
            own.close()
    if (reply.node_id, reply.key_id) != (node.node_id, coming.key_id):
        raise KeyNotReplaced(f"the hub at {node.hub_url} confirmed another key", "wrong_reply", is_refused=False)
    home.save_identity(coming)
    return coming


async def settled_identity(home: AgentHome, offload: Offload, rng: random.Random) -> Identity:
    """This node's keys, for an agent that starts. Waits for the hub where it has to say which ones it knows."""
    failures = 0
    while home.next_identity() is not None:
        try:
            return await offload(rotate_key, home)
        except KeyNotReplaced as error:
            if error.is_refused:
                log.warning("key.not_replaced", extra={"reason": str(error)})
                break
            failures += 1
            delay = reconnect_delay_seconds(failures, RETRY_LIMIT_SECONDS, rng)
            log.info("key.unconfirmed", extra={"reason": str(error), "retry_seconds": round(delay, 2)})
            await asyncio.sleep(delay)
    return home.identity()


def _send(client: httpx.Client, url: str, request: NodeKeyRequest) -> NodeKeyReply:
    try:
        response = client.post(
            url,
            content=request.to_bytes(),
            headers={"Content-Type": "application/json"},
            timeout=TIMEOUT_SECONDS,
        )
    except httpx.HTTPError as error:
        raise KeyNotReplaced(
            f"the hub cannot be reached ({error}). Both keys are kept: try again, or start the agent, which asks the "
            "hub again",
            "unreachable",
            is_refused=False,
        ) from None
    if response.is_success:
        try:
            return NodeKeyReply.model_validate_json(response.content)
        except ValidationError:
            raise KeyNotReplaced("what answers is not a ComputePool hub", "not_a_hub", is_refused=False) from None
    problem = error_of(response) or {}
    code, message = str(problem.get("code", "")), str(problem.get("message", f"HTTP {response.status_code}"))
    # Only the hub's own word counts: what stands between may answer anything.
    is_refused = bool(code) and response.status_code in (403, 404, 405, 409, 422)
    if is_refused and code in ("not_found", "method_not_allowed"):
        message = "This hub is older than this agent, and cannot replace a node's key. Upgrade it"
    hint = problem.get("hint")
    raise KeyNotReplaced(
        f"{message.rstrip('.')}. {hint}" if hint else message, code or "refused", is_refused=is_refused
    )
