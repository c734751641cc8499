import base64
import binascii
import hashlib
import secrets
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.core.ids import RandomBits
from computepool.hub.core.notices import mail_topic
from computepool.hub.core.records import HUB_ACTOR, record
from computepool.hub.nodes import repository
from computepool.hub.nodes.actions import is_revoked
from computepool.hub.nodes.errors import BadJoinToken, BadProof, KeyEnded, KeyTaken, NoSuchNode, ReplacedAlready
from computepool.hub.nodes.tables import JoinToken, Node, NodeKey
from computepool.protocol.enrol import (
    ENROL_PROOF,
    NODE_KEY_CHANGE,
    EnrolRequest,
    NodeKeyChange,
    NodeKeyRequest,
    enrol_proof_body,
)
from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, load_public_key, verify
from computepool.protocol.states import NodeState

JOIN_TOKEN_PREFIX = "cpj_"
JOIN_TOKEN_BYTES = 24
JOIN_TOKEN_DEFAULT = timedelta(minutes=15)
JOIN_TOKEN_LONGEST = timedelta(days=7)
JOIN_TOKEN_MOST_USES = 1000
KEY_BYTES = 32
CLONE_SEEN_EVERY = timedelta(hours=1)
"""How exactly it is known when a copy that stays was last refused."""
CLONE_TOLD_EVERY = timedelta(days=1)
CLONE_SHOWN_FOR = timedelta(days=7)
"""After it was last refused, where the key was not replaced."""


def new_join_token(randbits: RandomBits = secrets.randbits) -> str:
    raw = randbits(8 * JOIN_TOKEN_BYTES).to_bytes(JOIN_TOKEN_BYTES)
    return JOIN_TOKEN_PREFIX + base64.urlsafe_b64encode(raw).decode()


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def create_join_token(
    session: Session,
    token_id: str,
    owner_id: str,
    token: str,
    uses: int,
    lifetime: timedelta,
    now: datetime,
    *,
    actor: str,
) -> JoinToken:
    row = JoinToken(
        id=token_id,
        owner_id=owner_id,
        hash=hash_token(token),
        uses=uses,
        uses_left=uses,
        created_at=now,
        expires_at=now + lifetime,
        made_by=actor if actor != owner_id else None,
    )
    session.add(row)
    record(session, "join_token.created", row.id, now, actor=actor, uses=uses)
    return row


def revoke_join_token(session: Session, token: JoinToken, now: datetime, *, actor: str) -> None:
    """No machine joins with it any more. Those that did stay."""
    if is_revoked(token) is None:
        token.revoked_at = now
        record(session, "join_token.revoked", token.id, now, actor=actor)


def revoke_join_tokens_of(session: Session, owner_id: str, now: datetime, *, actor: str) -> int:
    """All that machines can join with. How many there were."""
    usable = repository.list_usable_join_tokens(session, owner_id, now)
    for token in usable:
        revoke_join_token(session, token, now, actor=actor)
    return len(usable)


def enrol(session: Session, node_id: str, request: EnrolRequest, now: datetime) -> Node:
    """A machine with a good token and a key of its own becomes a node of the token's owner.

    Asked again with the same token and key, because the answer was lost: the node that it is already.
    """
    _check_proof(request)
    token_hash = hash_token(request.token)
    token = repository.take_join_token(session, token_hash, now)
    known = repository.find_node_by_key(session, request.sign_key)
    if known is not None and _is_repeated(known, request, repository.find_join_token(session, token_hash), now):
        if token is not None:
            repository.give_back_join_token(session, token.id)
        return known
    if token is None:
        raise BadJoinToken
    if known is not None or _was_used(session, request.sign_key):
        raise KeyTaken
    record_id, earlier = None, None
    if request.replace is not None:
        earlier = session.get(Node, request.replace)
        if earlier is None or earlier.owner_id != token.owner_id:
            raise NoSuchNode(request.replace)
        if repository.find_replacement(session, earlier.id) is not None:
            raise ReplacedAlready(earlier.id)  # one good record would otherwise be many machines'
        record_id = earlier.record_id or earlier.id
        change_state(session, earlier, NodeState.BANNED, now, actor=token.owner_id)
    node = Node(
        id=node_id,
        owner_id=token.owner_id,
        enrolled_by=token.made_by,
        name=request.name,
        state=NodeState.OFFLINE,
        drain_requested=False,
        sign_key=request.sign_key,
        seal_key=request.seal_key,
        country=request.country,
        tags=sorted(set(request.tags)),
        capacity=request.capacity.model_dump(mode="json"),
        agent_version=request.agent_version,
        replaces=request.replace,
        record_id=record_id,
        join_token_id=token.id,
        created_at=now,
        last_seen_at=None,
    )
    if earlier is not None:
        node.price_per = earlier.price_per
        node.price_floor_micros, node.price_fixed_micros = earlier.price_floor_micros, earlier.price_fixed_micros
    session.add(node)
    record(session, "node.enrolled", node.id, now, actor=token.owner_id, topics=(f"owner/{token.owner_id}",))
    return node


def _is_repeated(node: Node, request: EnrolRequest, token: JoinToken | None, now: datetime) -> bool:
    """Whether this machine enrolled with this token before, which may be used up by that very enrolment.

    That it is the machine, its signature shows. Any token of its owner that was good at the time and still is will do,
    since nothing is given away but what the machine was told already.
    """
    return (
        token is not None
        and token.owner_id == node.owner_id
        and token.created_at < node.created_at
        and now < token.expires_at
        and token.revoked_at is None
        and node.seal_key == request.seal_key
        and node.state != NodeState.BANNED
    )


def replace_key(session: Session, node_id: str, request: NodeKeyRequest, hub_id: str, now: datetime) -> bool:
    """From now on the node has the keys that it asks for, and no others. False when it has them already.

    Asked again after the answer was lost: the earlier key signed the same change, so nothing is given away.
    """
    node = session.get(Node, node_id, with_for_update=True)
    if node is None or node.state == NodeState.BANNED:
        raise NoSuchNode(node_id)
    current = base64.b64decode(node.sign_key)
    earlier = None
    if request.change.key_id != key_id_of(current):
        earlier = repository.find_earlier_key(session, node_id, request.change.key_id)
        if earlier is None:
            raise BadProof
    change = _check_change(request, current if earlier is None else base64.b64decode(earlier.sign_key))
    if (change.hub_id, change.node_id) != (hub_id, node_id):
        raise BadProof
    if earlier is not None:
        if (change.sign_key, change.seal_key) != (node.sign_key, node.seal_key):
            raise KeyEnded(earlier.ended_at)
        return False
    if repository.find_node_by_key(session, change.sign_key) is not None or _was_used(session, change.sign_key):
        raise KeyTaken
    session.add(NodeKey(id=key_id_of(current), node_id=node_id, sign_key=node.sign_key, ended_at=now))
    node.sign_key, node.seal_key = change.sign_key, change.seal_key
    node.clone_seen_at = node.clone_instance_id = node.clone_told_at = None
    session.flush()
    topics = (*topics_of(node), mail_topic(node.owner_id))
    key_id = key_id_of(base64.b64decode(change.sign_key))
    record(session, "node.key_replaced", node_id, now, actor=node_id, topics=topics, key=key_id)
    return True


def flag_clone(session: Session, node_id: str, instance_id: str, now: datetime) -> None:
    """A second agent with the node's key was refused. It comes back every few minutes, and with a new instance id after
    each of its starts: each start is recorded once, and a mail goes out once a day at most."""
    node = session.get(Node, node_id, with_for_update=True)
    if node is None:
        return
    is_new = node.clone_instance_id != instance_id
    if not is_new and node.clone_seen_at is not None and now - node.clone_seen_at < CLONE_SEEN_EVERY:
        return
    node.clone_seen_at, node.clone_instance_id = now, instance_id
    if is_new:
        is_told = node.clone_told_at is not None and now - node.clone_told_at < CLONE_TOLD_EVERY
        topics = topics_of(node) if is_told else (*topics_of(node), mail_topic(node.owner_id))
        node.clone_told_at = node.clone_told_at if is_told else now
        record(session, "node.cloned", node_id, now, actor=node_id, topics=topics, instance_id=instance_id)


def recent_clone(node: Node, now: datetime) -> datetime | None:
    """When a copy of it was last refused, if that is worth telling."""
    seen = node.clone_seen_at
    return seen if seen is not None and now - seen < CLONE_SHOWN_FOR else None


def change_state(session: Session, node: Node, target: NodeState, now: datetime, *, actor: str = HUB_ACTOR) -> None:
    """Raises NodeMoved for a node that was banned meanwhile."""
    if repository.move_node(session, node.id, target, now):
        topics = topics_of(node)
        if target is NodeState.BANNED and actor != node.owner_id:
            topics += (mail_topic(node.owner_id),)
        more = {"simulated": True} if node.capacity.get("simulated") else {}
        record(session, f"node.{target}", node.id, now, actor=actor, topics=topics, **more)


def topics_of(node: Node) -> tuple[str, ...]:
    return (f"owner/{node.owner_id}",)


def _check_proof(request: EnrolRequest) -> None:
    try:
        raw, seal = (base64.b64decode(key, validate=True) for key in (request.sign_key, request.seal_key))
        if len(raw) != KEY_BYTES or len(seal) != KEY_BYTES:
            raise BadProof
        body = enrol_proof_body(request.token, request.sign_key, request.seal_key).decode()
        signed = Signed(type=ENROL_PROOF, key_id=key_id_of(raw), body=body, signature=request.signature)
        verify(signed, ENROL_PROOF, {key_id_of(raw): load_public_key(raw)})
    except (SignatureRefused, binascii.Error, ValueError):
        raise BadProof from None


def _check_change(request: NodeKeyRequest, key: bytes) -> NodeKeyChange:
    """What was signed, with both keys."""
    try:
        body = verify(request.change, NODE_KEY_CHANGE, {key_id_of(key): load_public_key(key)})
        change = NodeKeyChange.model_validate_json(body)
        new, seal = (base64.b64decode(text, validate=True) for text in (change.sign_key, change.seal_key))
        if len(new) != KEY_BYTES or len(seal) != KEY_BYTES or _spelled(new, seal) != (change.sign_key, change.seal_key):
            raise BadProof
        proof = request.change.model_copy(update={"key_id": key_id_of(new), "signature": request.signature})
        verify(proof, NODE_KEY_CHANGE, {key_id_of(new): load_public_key(new)})
    except (SignatureRefused, binascii.Error, ValueError):
        raise BadProof from None
    return change


def _spelled(*keys: bytes) -> tuple[str, ...]:
    """Base64 in its only proper spelling: a key is found by it."""
    return tuple(base64.b64encode(key).decode() for key in keys)


def _was_used(session: Session, sign_key: str) -> bool:
    """By any node, before it got another."""
    return session.get(NodeKey, key_id_of(base64.b64decode(sign_key))) is not None


def effective_state(reported: NodeState, *, drain_requested: bool) -> NodeState:
    """What an agent says of itself, under what its owner asked of the hub."""
    return NodeState.DRAINING if drain_requested and reported is NodeState.ONLINE else reported
