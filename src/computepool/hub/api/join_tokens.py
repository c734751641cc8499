"""Join tokens: made, listed and revoked by whoever lets machines join; and what to type on the machine."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request
from pydantic import Field
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import names_of
from computepool.hub.accounts.visibility import owned_by, sees
from computepool.hub.core.actions import ActionView, refused, unless
from computepool.hub.core.context import Context
from computepool.hub.core.http import ActingFor, Caller, IdempotencyKey, Principal, Routes, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields, repeatable_bits
from computepool.hub.core.paging import ByCreation, Cursor
from computepool.hub.engine import Engine
from computepool.hub.nodes import listing, repository, service
from computepool.hub.nodes.actions import is_revoked
from computepool.hub.nodes.errors import NoSuchJoinToken
from computepool.hub.nodes.tables import JoinToken, Node
from computepool.protocol.addresses import is_loopback, join_line, with_fingerprint
from computepool.protocol.model import Documented
from computepool.protocol.states import NodeState

JOIN_TOKEN_ROUTE = "POST nodes/join-tokens"
PAGE_LIMIT = 500
Platform = Literal["linux", "macos", "windows"]
JoinTokenState = Literal["open", "used_up", "expired", "revoked"]
INSTALL: Mapping[Platform, tuple[str, ...]] = {
    "linux": ("sudo apt install bubblewrap pipx", "pipx install ."),
    "macos": ("brew install pipx", "pipx install ."),
    "windows": ("wsl --install", "wsl", "sudo apt install bubblewrap pipx", "pipx install ."),
}
NOTES: Mapping[Platform, str] = {
    "linux": "Install in a clone of the ComputePool repository. Other systems than Debian and Ubuntu have packages of "
    "the same names. If the shell does not find `computepool`: `pipx ensurepath`, and open a new one.",
    "macos": "Install in a clone of the ComputePool repository. Strangers' work needs Docker here. If the shell does "
    "not find `computepool`: `pipx ensurepath`, and open a new one.",
    "windows": "The machine joins from inside WSL 2: run everything after the first line there, in a clone of the "
    "ComputePool repository.",
}


class NewJoinToken(Documented):
    uses: int = Field(default=1, ge=1, le=service.JOIN_TOKEN_MOST_USES)
    expires_in_seconds: int = Field(
        default=int(service.JOIN_TOKEN_DEFAULT.total_seconds()),
        ge=1,
        le=int(service.JOIN_TOKEN_LONGEST.total_seconds()),
    )


class JoinCommand(Documented):
    """What to type on a machine that joins."""

    platform: Platform
    install: list[str]
    """Lines that install the program, where it is not there yet."""
    join: str
    """The line that joins, with the token and, where the hub signed its certificate itself, the pin of its key."""
    note: str
    """What else to know."""


class JoinTokenView(Documented):
    id: str
    token: str
    """Shown once."""
    uses: int
    expires_at: datetime
    commands: list[JoinCommand]
    """One for each kind of system."""
    warning: str | None
    """Why other machines cannot join with these lines; null where they can."""


class JoinedNode(Documented):
    id: str
    name: str
    state: NodeState
    created_at: datetime
    """When it joined."""


class JoinTokenActions(Documented):
    revoke: ActionView
    """Let no more machines join with it: `DELETE /nodes/join-tokens/{token_id}`."""


class JoinTokenItem(Documented):
    """A join token, without its text: that was shown once."""

    id: str
    owner_id: str
    owner_name: str | None
    """null for an owner that is not a user."""
    state: JoinTokenState
    """open: machines can join with it."""
    uses: int
    """How many machines it was made for."""
    uses_left: int
    """How many more may join with it."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    """When it was revoked; null for one that was not."""
    nodes: list[JoinedNode]
    """Those that joined with it."""
    actions: JoinTokenActions
    """What the reader may do with it."""


class JoinTokenPage(Documented):
    items: list[JoinTokenItem]
    next: str | None
    total: int | None


def router(engine: Engine, fingerprint: str | None = None) -> APIRouter:
    """`fingerprint`: of the certificate that the hub is served with, where clients have to pin that."""
    context = engine.context
    routes = Routes(engine.directory.authenticate, tags=["nodes"])

    @routes.post("/nodes/join-tokens", visible="own", scope=Scope.NODES_WRITE, status_code=201)
    async def create_join_token(
        request: Request, body: NewJoinToken, caller: Caller, owner: ActingFor, key: IdempotencyKey = None
    ) -> JoinTokenView:
        """A token that lets machines enrol as nodes of the caller, and the lines to run there.

        Its text is in this answer alone, and in that to the same request repeated with the same key.
        """
        address = context.settings.public_url or f"{request.url.scheme}://{request.url.netloc}"
        row, token = await context.db.run(_create, context, caller.user_id, owner, body, key)
        return JoinTokenView(
            id=row.id,
            token=token,
            uses=body.uses,
            expires_at=row.expires_at,
            commands=commands_for(with_fingerprint(address.rstrip("/"), fingerprint), token),
            warning=_warning(address),
        )

    @routes.get("/nodes/join-tokens", visible="own", scope=Scope.NODES_READ)
    async def list_join_tokens(
        caller: Caller,
        usable: Annotated[bool, Query(description="Only those that machines can still join with.")] = False,
        order: ByCreation = "-created_at",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: Cursor = None,
    ) -> JoinTokenPage:
        """The caller's join tokens, and which nodes joined with them; an admin sees everybody's."""
        return await context.db.read(_list, caller, usable, order, cursor, limit, context.now())

    @routes.delete("/nodes/join-tokens/{token_id}", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchJoinToken])
    async def revoke_join_token(token_id: str, caller: Caller) -> JoinTokenItem:
        """Let no more machines join with it. Those that did stay."""
        return await context.db.run(_revoke, caller, token_id, context.now())

    return routes.router


def commands_for(address: str, token: str) -> list[JoinCommand]:
    line = join_line(address, token)
    return [
        JoinCommand(platform=platform, install=list(lines), join=line, note=NOTES[platform])
        for platform, lines in INSTALL.items()
    ]


def _warning(address: str) -> str | None:
    if not is_loopback(urlsplit(address).hostname or ""):
        return None
    return (
        "Only the hub's own machine reaches this address. For others, start the hub with `--host 0.0.0.0` or set "
        "COMPUTEPOOL_PUBLIC_URL."
    )


def _create(
    session: Session, context: Context, user_id: str, owner_id: str, body: NewJoinToken, key: str | None
) -> tuple[JoinToken, str]:
    token_id, now, chance = context.new_id("join"), context.now(), context.randbits
    if key is not None:
        asked = digest_of_fields(**body.model_dump(), **({"owner": owner_id} if owner_id != user_id else {}))
        earlier = claim(session, user_id, key, JOIN_TOKEN_ROUTE, asked, token_id, now)
        chance = repeatable_bits(context.secret_key, JOIN_TOKEN_ROUTE, key, earlier or token_id)
        if earlier is not None:
            return session.get_one(JoinToken, earlier), service.new_join_token(chance)
    token, lifetime = service.new_join_token(chance), timedelta(seconds=body.expires_in_seconds)
    row = service.create_join_token(session, token_id, owner_id, token, body.uses, lifetime, now, actor=user_id)
    return row, token


def _list(
    session: Session, caller: Principal, usable: bool, order: str, cursor: str | None, limit: int, now: datetime
) -> JoinTokenPage:
    visible = owned_by(caller, JoinToken.owner_id)
    rows, following, total = listing.list_join_tokens(session, visible, usable, order, now, cursor, limit)
    return JoinTokenPage(items=_items(session, rows, caller, now), next=following, total=total)


def _revoke(session: Session, caller: Principal, token_id: str, now: datetime) -> JoinTokenItem:
    row = session.get(JoinToken, token_id)
    if row is None or not sees(caller, row.owner_id):
        raise NoSuchJoinToken(token_id)
    service.revoke_join_token(session, row, now, actor=caller.user_id)
    return _items(session, [row], caller, now)[0]


def _items(session: Session, rows: Sequence[JoinToken], caller: Principal, now: datetime) -> list[JoinTokenItem]:
    joined = repository.list_joined(session, [row.id for row in rows])
    owners = names_of(session, {row.owner_id for row in rows})
    return [
        JoinTokenItem(
            id=row.id,
            owner_id=row.owner_id,
            owner_name=owners.get(row.owner_id),
            state=_state(row, now),
            uses=row.uses,
            uses_left=row.uses_left,
            created_at=row.created_at,
            expires_at=row.expires_at,
            revoked_at=row.revoked_at,
            nodes=[_joined(node) for node in joined.get(row.id, ())],
            actions=JoinTokenActions(
                revoke=unless(is_revoked(row))
                if Scope.NODES_WRITE in caller.scopes
                else refused("This token may only look: it lacks the scope nodes:write.")
            ),
        )
        for row in rows
    ]


def _joined(node: Node) -> JoinedNode:
    return JoinedNode(id=node.id, name=node.name, state=NodeState(node.state), created_at=node.created_at)


def _state(row: JoinToken, now: datetime) -> JoinTokenState:
    if row.revoked_at is not None:
        return "revoked"
    if row.uses_left <= 0:
        return "used_up"
    return "open" if now < row.expires_at else "expired"
