"""Looks at everything an agent needs, and says what to do where something is missing. Changes nothing."""

from collections.abc import Iterable, Sequence

from computepool.agent.clock import Clock
from computepool.agent.detect import detect
from computepool.agent.home import AgentHome
from computepool.agent.ports import offload_to_threads
from computepool.agent.sandbox import Sandbox, available_sandboxes
from computepool.agent.sandbox.containers import find_engines

from .engines import check_engines
from .folder import check_agent, check_enrolment, check_permissions, check_policy
from .isolation import check_bubblewrap, check_limits, check_sandboxes
from .machine import check_gpus_inside, check_machine, check_system, existing
from .model import Check, Level, warn
from .network import check_network

__all__ = ["Check", "Level", "examine", "sandboxes_to_examine", "warn"]


async def sandboxes_to_examine(home: AgentHome) -> list[Sandbox]:
    """Every sandbox that an agent of this home could have, proven or not. Close them. A running agent is left alone."""
    engines = await find_engines()
    return available_sandboxes(home.root, offload=offload_to_threads, hidden=(home.root.parent,), engines=engines)


async def examine(home: AgentHome, sandboxes: Sequence[Sandbox], clock: Clock) -> list[Check]:
    """Every check, in the order in which a person would mend things."""
    found: list[Check] = []

    def add(group: str, checks: Iterable[Check]) -> None:
        found.extend(check.within(group) for check in checks)

    hardware = await offload_to_threads(detect, existing(home.root))
    add("this node", [check_enrolment(home), await offload_to_threads(check_agent, home)])
    add("this node", [*check_permissions(home), *check_policy(home)])
    add("the machine", [*check_machine(home, hardware), *check_system()])
    proven, checks = await check_sandboxes(sandboxes)
    add("isolation", [*checks, check_bubblewrap(proven), check_limits(sandboxes)])
    add("isolation", await check_engines(hardware))
    add("isolation", await check_gpus_inside(proven, hardware))
    if home.is_enrolled():
        add("the hub", await check_network(home, clock))
    return found
