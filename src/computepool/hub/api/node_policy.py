"""The owner's policy of a node, and a pause: read, and asked for through the hub. The agent has the last word."""

from datetime import datetime
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field, StrictBool
from sqlalchemy.orm import Session

from computepool.hub.api.nodes import load_node
from computepool.hub.core.actions import ActionView, refused, unless
from computepool.hub.core.errors import Forbidden, Invalid, PoolError
from computepool.hub.core.http import Caller, Principal, Routes, Scope
from computepool.hub.engine import Engine
from computepool.hub.nodes import actions, owner_requests
from computepool.hub.nodes.errors import NodeMoved, NoSuchNode
from computepool.hub.nodes.tables import Node, NodePolicy, NodeRequest
from computepool.protocol.model import Documented
from computepool.protocol.owner_requests import OwnerRequest, PolicyReport, PolicyValue

HOURS_LIMIT = 500
DURATION_LIMIT = 40
LONGEST_PAUSE_SECONDS = 366 * 86_400
ON_THE_MACHINE = "Changed on the machine itself: computepool agent policy {key}"


class PolicySettingView(Documented):
    key: str
    """Such as `start.hours`."""
    meaning: str
    """What it decides, in a sentence or two."""
    value: PolicyValue
    """As the machine has it now."""
    default: PolicyValue | None
    """null where the default is another setting's value, as for one GPU."""
    edit: ActionView
    """Whether it can be changed here."""


class OwnerRequestView(Documented):
    """What was asked of the agent last."""

    state: Literal["pending", "applied", "refused"]
    """pending: the agent has not answered; it is told when it is connected."""
    reason: str | None
    """Why the agent refused it; null where it did not."""
    changes: dict[str, bool | str]
    """Settings and their new values."""
    pause: bool | None
    """Whether it asks for a pause or for its end; null where it is about settings."""
    for_seconds: float | None
    """How long the pause lasts; null until it is ended."""
    requested_at: datetime
    """When it was asked for."""
    requested_by: str
    """The user who asked for it."""
    answered_at: datetime | None
    """When the agent answered; null before."""


class NodePolicyView(Documented):
    """What the owner of a machine allows there."""

    node_id: str
    reported_at: datetime | None
    """When the agent last told its policy; null where it never did."""
    settings: list[PolicySettingView]
    """Every setting, in the order of the file."""
    problem: str | None
    """Why the machine does not follow its policy's file, and follows an earlier one; null where it does."""
    paused: Literal["hub", "machine"] | None
    """Where its owner paused it; null while it is not paused."""
    paused_until: datetime | None
    """When the pause ends by itself; null for never."""
    policy_request: OwnerRequestView | None
    """The newest change that was asked for; null for none."""
    pause_request: OwnerRequestView | None
    """The newest pause, or end of one, that was asked for; null for none."""


class PolicyEdit(Documented):
    """New values; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    hours: str | None = Field(default=None, min_length=1, max_length=HOURS_LIMIT)
    """When strangers' work is welcome, in the machine's local time, such as `mon-fri 22:00-07:00, sat-sun`."""
    after_idle: str | None = Field(default=None, min_length=1, max_length=DURATION_LIMIT)
    """How long keyboard and mouse have to be still before strangers' work starts, such as `15m`."""
    during_full_screen: StrictBool | None = None
    """Whether it may run while a program fills the screen."""
    typing_over_ssh: StrictBool | None = None
    """Whether typing in a terminal counts as using the keyboard."""


class PauseRequest(Documented):
    model_config = ConfigDict(extra="forbid")

    for_seconds: int | None = Field(default=None, ge=1, le=LONGEST_PAUSE_SECONDS)
    """How long; null until it is ended."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = Routes(engine.directory.authenticate, tags=["nodes"])

    async def ask(caller: Principal, node_id: str, kind: Literal["policy", "pause"], asked: Any) -> NodePolicyView:
        request = await context.db.run(_ask, caller, node_id, kind, asked, context.now())
        if request is not None:
            engine.gateway.tell(node_id, request)
        return await context.db.read(_show, caller, node_id)

    @routes.get("/nodes/{node_id}/policy", visible="own", scope=Scope.NODES_READ, errors=[NoSuchNode])
    async def show_policy(node_id: str, caller: Caller) -> NodePolicyView:
        """What the owner allows on a machine, as its agent last told it, and what it was asked to change."""
        return await context.db.read(_show, caller, node_id)

    @routes.patch(
        "/nodes/{node_id}/policy",
        visible="own",
        scope=Scope.NODES_WRITE,
        errors=[NoSuchNode, NodeMoved, Forbidden, Invalid],
    )
    async def change_policy(node_id: str, body: PolicyEdit, caller: Caller) -> NodePolicyView:
        """Ask the agent to change its hours and idle rules. It follows or refuses; `policy_request` tells which.

        Everything else of the policy is changed on the machine itself.
        """
        changes = {f"start.{name}": value for name, value in body.model_dump(exclude_none=True).items()}
        if not changes:
            raise Invalid("Nothing is to be changed.", hint="Give at least one of the settings.")
        return await ask(caller, node_id, "policy", {"changes": changes})

    @routes.post(
        "/nodes/{node_id}/pause", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchNode, NodeMoved, Forbidden]
    )
    async def pause_node(node_id: str, caller: Caller, body: PauseRequest | None = None) -> NodePolicyView:
        """Ask the agent to take the machine back at once, as `computepool agent pause` does there."""
        return await ask(caller, node_id, "pause", {"pause": True, "for_seconds": body.for_seconds if body else None})

    @routes.post(
        "/nodes/{node_id}/unpause", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchNode, NodeMoved, Forbidden]
    )
    async def unpause_node(node_id: str, caller: Caller) -> NodePolicyView:
        """Ask the agent to end a pause that was asked for here. One that was made on the machine is ended there."""
        return await ask(caller, node_id, "pause", {"pause": False})

    return routes.router


def _ask(
    session: Session, caller: Principal, node_id: str, kind: Literal["policy", "pause"], asked: Any, now: datetime
) -> OwnerRequest | None:
    """None where nothing would change."""
    node = load_node(session, caller, node_id)
    policy = session.get(NodePolicy, node_id)
    refuse = actions.refuse_request if kind == "policy" else actions.refuse_pause
    error: PoolError | None = refuse(node, policy, caller)
    if error is not None:
        raise error
    if kind == "pause":
        waiting = any(row.kind == kind and row.state == "pending" for row in _requests(session, node_id))
        is_same = actions.is_paused(policy, asked["pause"]) is not None and not asked.get("for_seconds")
        if is_same and not waiting:
            return None
    return owner_requests.ask(session, node, kind, asked, now, actor=caller.user_id)


def _requests(session: Session, node_id: str) -> list[NodeRequest]:
    return list(owner_requests.find_requests(session, node_id))


def _show(session: Session, caller: Principal, node_id: str) -> NodePolicyView:
    node = load_node(session, caller, node_id)
    row = session.get(NodePolicy, node_id)
    requests = {one.kind: _request_view(one) for one in _requests(session, node_id)}
    report = PolicyReport.model_validate(row.report) if row is not None else PolicyReport()
    return NodePolicyView(
        node_id=node_id,
        reported_at=row.reported_at if row is not None else None,
        settings=_settings(report, node, row, caller),
        problem=report.problem or None,
        paused=report.paused,
        paused_until=report.paused_until,
        policy_request=requests.get("policy"),
        pause_request=requests.get("pause"),
    )


def _settings(
    report: PolicyReport, node: Node, policy: NodePolicy | None, caller: Principal
) -> list[PolicySettingView]:
    edit = unless(actions.refuse_request(node, policy, caller))
    if Scope.NODES_WRITE not in caller.scopes:
        edit = refused("This token may only look: it lacks the scope nodes:write.")
    return [
        PolicySettingView(
            key=one.key,
            meaning=one.meaning,
            value=one.value,
            default=one.default,
            edit=edit if _is_editable(one.key) and one.editable else refused(ON_THE_MACHINE.format(key=one.key)),
        )
        for one in report.settings
    ]


def _is_editable(key: str) -> bool:
    """Whatever an agent says: this API has no way to ask for others."""
    return key.removeprefix("start.") in PolicyEdit.model_fields and key.startswith("start.")


def _request_view(row: NodeRequest) -> OwnerRequestView:
    return OwnerRequestView.model_validate(
        {
            "state": row.state,
            "reason": row.reason or None,
            "changes": row.body["changes"],
            "pause": row.body["pause"] if row.kind == "pause" else None,
            "for_seconds": row.body["for_seconds"],
            "requested_at": row.requested_at,
            "requested_by": row.requested_by,
            "answered_at": row.answered_at,
        }
    )
