"""What a running agent says of itself, for `agent status` and whoever asks its socket. Plain JSON."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from computepool.agent.attempt import Attempt
from computepool.agent.clock import Clock
from computepool.agent.owner.policy import Power
from computepool.agent.workbook import Day, WorkBook

if TYPE_CHECKING:
    from computepool.agent.agent import Agent

JOULES_PER_KWH = 3_600_000


def status_of(agent: "Agent") -> dict[str, Any]:
    parts, supervisor, telemetry = agent.parts, agent.supervisor, agent.telemetry
    welcome, allowance = agent.welcome, parts.outside.allowance if parts.outside is not None else None
    owner = agent.owner
    return {
        "node_id": parts.node.node_id,
        "name": parts.node.name,
        "hub_url": parts.node.hub_url,
        "state": supervisor.state.value,
        "paused_until": None if agent.paused_until is None else agent.paused_until.isoformat(),
        "agent_version": parts.agent_version,
        "hub_version": welcome.hub_version if welcome is not None else None,
        "agent_minimum": welcome.agent_minimum if welcome is not None else None,
        "notice": welcome.notice if welcome is not None else "",
        "link": None if agent.connected is None else agent.connected.value,
        "trouble": agent.trouble,
        "clock_skew_seconds": round(agent.clock_skew_seconds, 3),
        "capacity": agent.capacity.model_dump(mode="json"),
        "unremoved": [asdict(remains) for remains in supervisor.unremoved.remains],
        "engines": None if parts.engines is None else parts.engines.status(),
        "usage": _usage(supervisor.attempts),
        "gpus": [load.model_dump(mode="json") for load in telemetry.loads],
        "cache": None
        if parts.caches is None
        else {"used_bytes": parts.caches.used_bytes, "limit_bytes": parts.caches.limit_bytes},
        "network": None
        if allowance is None
        else {"used_bytes": allowance.used_bytes, "allowance_bytes": allowance.limit_bytes},
        "earnings": None,
        "power": _power(telemetry.book, owner.watch.policy.power, parts.clock) if owner is not None else None,
        "attempts": [_attempt(attempt, parts.clock) for attempt in supervisor.attempts],
        **(owner.status() if owner is not None else {}),
    }


def _usage(attempts: list[Attempt]) -> dict[str, Any]:
    grants = [attempt.manifest.grant for attempt in attempts if attempt.takes_room]
    return {
        "cpus": sum(grant.cpus for grant in grants),
        "memory_bytes": sum(grant.memory_bytes for grant in grants),
        "disk_bytes": sum(grant.disk_bytes for grant in grants),
    }


def _attempt(attempt: Attempt, clock: Clock) -> dict[str, Any]:
    manifest = attempt.manifest
    started = attempt.started_monotonic
    return {
        "attempt_id": attempt.id,
        "job_id": manifest.job_id,
        "name": manifest.name,
        "state": "gone" if attempt.gone else attempt.state.value,
        "own": attempt.own,
        "gpus": list(manifest.grant.gpus),
        "isolation": attempt.isolation.value if attempt.isolation is not None else None,
        "started_at": None
        if started is None
        else (clock.now() - timedelta(seconds=clock.monotonic() - started)).isoformat(),
        "suspended_for": sorted(attempt.rest.reasons),
        "progress": attempt.progress,
    }


def _power(book: WorkBook | None, price: Power, clock: Clock) -> dict[str, Any] | None:
    if book is None:
        return None
    now: datetime = clock.now().astimezone()
    figures: dict[str, Any] = {"currency": price.currency}
    for name, day in (("today", book.today(now)), ("month", book.month(now))):
        joules = _joules(day, price)
        figures[f"kwh_{name}"] = None if joules is None else joules / JOULES_PER_KWH
        known = price.price_per_kwh and joules is not None
        figures[f"cost_{name}"] = price.cost(joules, day.seconds) if known else None
    return figures


def _joules(day: Day, price: Power) -> float | None:
    if price.watts is not None:
        return price.watts * day.seconds
    return day.joules if day.measured else None
