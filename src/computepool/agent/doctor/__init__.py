"""Looks at everything an agent needs, and says what to do where something is missing. Changes nothing."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from computepool.agent.clock import Clock
from computepool.agent.control import AgentNotRunning, ask_agent
from computepool.agent.detect import detect
from computepool.agent.home import AgentHome
from computepool.agent.ports import offload_to_threads
from computepool.agent.sandbox import Sandbox, available_sandboxes
from computepool.agent.sandbox.containers import find_engines

from .engines import EngineSocket, check_engines, check_view, places
from .folder import check_agent, check_enrolment, check_permissions, check_policy, check_unremoved
from .indexes import check_own_indexes
from .isolation import check_bubblewrap, check_limits, check_sandboxes
from .machine import check_gpus_inside, check_machine, check_system, existing
from .model import Check, Level, warn
from .network import check_network

__all__ = ["Check", "Level", "engines_of_agent", "examine", "sandboxes_to_examine", "warn"]


def engines_of_agent(home: AgentHome) -> list[dict[str, Any]] | None:
    """As a running agent sees them, which has an environment of its own; None if none says so. Blocking."""
    try:
        return ask_agent(home.socket_path, "status").get("engines")
    except AgentNotRunning:
        return None


async def sandboxes_to_examine(home: AgentHome) -> list[Sandbox]:
    """Every sandbox that an agent of this home could have, proven or not. Close them. A running agent is left alone,
    and its engines are those that are looked at."""
    seen = await offload_to_threads(engines_of_agent, home)
    sockets = None if seen is None else [Path(str(one["socket"])) for one in seen]
    engines = await find_engines(sockets=sockets)
    return available_sandboxes(home.root, offload=offload_to_threads, hidden=(home.root.parent,), engines=engines)


async def examine(home: AgentHome, sandboxes: Sequence[Sandbox], clock: Clock) -> list[Check]:
    """Every check, in the order in which a person would mend things."""
    found: list[Check] = []

    def add(group: str, checks: Iterable[Check]) -> None:
        found.extend(check.within(group) for check in checks)

    hardware = await offload_to_threads(detect, existing(home.root))
    add("this node", [check_enrolment(home), await offload_to_threads(check_agent, home)])
    add("this node", [*check_permissions(home), *check_policy(home), *check_unremoved(home)])
    add("the machine", [*check_machine(home, hardware), *check_system()])
    proven, checks = await check_sandboxes(sandboxes)
    add("isolation", [*checks, check_bubblewrap(proven), check_limits(sandboxes)])
    seen = await offload_to_threads(engines_of_agent, home)
    if seen is not None:
        add("isolation", check_view(seen, [one.engine.path for one in await find_engines()]))
    theirs = [EngineSocket(str(one["kind"]), Path(str(one["socket"]))) for one in seen or ()]
    add("isolation", await check_engines(hardware, [*theirs, *places()]))
    add("isolation", await check_gpus_inside(proven, hardware))
    add("package indexes", await check_own_indexes(home, clock))
    if home.is_enrolled():
        add("the hub", await check_network(home, clock))
    return found
