"""Looks at everything an agent needs, and says what to do where something is missing."""

import email.utils
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx

from computepool.agent.clock import Clock
from computepool.agent.control import AgentNotRunning, ask_agent
from computepool.agent.detect import DISK_FLOOR_BYTES, detect
from computepool.agent.home import AgentHome, HomeError
from computepool.agent.sandbox import Sandbox, how_to_get_bubblewrap, self_test
from computepool.protocol.units import about_bytes

SKEW_LIMIT_SECONDS = 120.0
HUB_SECONDS = 10.0


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    message: str
    hint: str = ""


async def examine(home: AgentHome, sandboxes: Sequence[Sandbox], clock: Clock) -> list[Check]:
    """Every check, in the order in which a person would mend things. Changes nothing."""
    checks = [_check_home(home), _check_running(home)]
    checks += [await _check_sandbox(sandbox) for sandbox in sandboxes]
    checks += [_check_bubblewrap(), _check_limits(sandboxes), *_check_machine(home)]
    if home.is_enrolled():
        checks += await _check_hub(home, clock)
    return checks


def _check_home(home: AgentHome) -> Check:
    try:
        node = home.node()
        home.identity()
    except HomeError as error:
        return Check("enrolment", False, str(error).split(". ")[0], "computepool join URL --token TOKEN")
    return Check("enrolment", True, f"node {node.node_id} ({node.name}) of {node.hub_url}")


def _check_running(home: AgentHome) -> Check:
    try:
        status = ask_agent(home.socket_path, "status")
    except AgentNotRunning:
        return Check("agent", False, "no agent is running here", "computepool agent start")
    link = status["link"] or f"no line to the hub: {status['trouble'] or 'connecting'}"
    return Check("agent", status["link"] is not None, f"running, {status['state']}, {link}")


async def _check_sandbox(sandbox: Sandbox) -> Check:
    result = await self_test(sandbox)
    facts = ", ".join(f"{name} {value}" for name, value in result.facts.items())
    if result.ok:
        return Check(f"isolation {sandbox.level}", True, f"proven{': ' + facts if facts else ''}")
    hint = "the node will not offer this level until the self-test holds"
    return Check(f"isolation {sandbox.level}", False, "; ".join(result.problems) or "the self-test failed", hint)


def _check_bubblewrap() -> Check:
    missing = how_to_get_bubblewrap()
    if missing is None:
        return Check("bubblewrap", True, "installed")
    return Check("bubblewrap", False, "without it this machine runs only its owner's own jobs", missing)


def _check_limits(sandboxes: Sequence[Sandbox]) -> Check:
    if any(sandbox.soft_limits for sandbox in sandboxes):
        return Check(
            "limits",
            False,
            "memory is kept by a watchdog, because no control group can be had: the node says `soft limits`",
            "start the agent where it may make some: `systemd-run --user --scope -p Delegate=yes computepool agent "
            "start`, or `computepool agent start` as root",
        )
    return Check("limits", True, "kept by the kernel")


def _check_machine(home: AgentHome) -> list[Check]:
    folder = home.root if home.root.exists() else home.root.parent
    while not folder.exists():
        folder = folder.parent
    hardware = detect(folder)
    gpus = ", ".join(f"{gpu.name} {about_bytes(gpu.memory_bytes)}" for gpu in hardware.gpus) or "no GPU found"
    offer = f"{hardware.cpus:g} cores, {about_bytes(hardware.memory_bytes)} memory, {gpus}"
    free = shutil.disk_usage(folder).free
    enough = hardware.disk_bytes > 0
    hint = "" if enough else f"free some space: {about_bytes(DISK_FLOOR_BYTES)} always stay with the owner"
    return [
        Check("hardware", True, offer),
        Check("disk", enough, f"{about_bytes(free)} free, {about_bytes(hardware.disk_bytes)} offered", hint),
    ]


async def _check_hub(home: AgentHome, clock: Clock) -> list[Check]:
    url = home.node().hub_url
    try:
        async with httpx.AsyncClient(timeout=HUB_SECONDS) as client:
            response = await client.get(f"{url}/api/v1/version")
            response.raise_for_status()
    except httpx.HTTPError as error:
        hint = "check the address, the network and any proxy (HTTPS_PROXY); jobs that run go on meanwhile"
        return [Check("hub", False, f"{url} cannot be reached: {error}", hint)]
    checks = [Check("hub", True, f"{url} answers")]
    skew = _skew(response.headers.get("Date"), clock.now())
    if skew is not None:
        ok = abs(skew) <= SKEW_LIMIT_SECONDS
        hint = "" if ok else "turn on time synchronisation (`timedatectl set-ntp true`); the agent uses the hub's time"
        checks.append(Check("clock", ok, f"{skew:+.0f} s against the hub", hint))
    return checks


def _skew(date: str | None, now: datetime) -> float | None:
    if not date:
        return None
    try:
        hub = email.utils.parsedate_to_datetime(date)
    except ValueError:
        return None
    # The header counts whole seconds.
    return (now - hub.astimezone(UTC) - timedelta(seconds=0.5)).total_seconds()
