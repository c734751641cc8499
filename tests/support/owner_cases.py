"""Readings, policies and a run of decisions, for tests of the owner's policy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from computepool.agent.owner.decide import State, decide
from computepool.agent.owner.policy_file import parse_policy
from computepool.agent.owner.readings import GpuReading, Idle, Readings

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)  # a Wednesday
AWAY = Readings(seat=True, idle=Idle(3600), cpu_celsius=50.0)
"""A desktop whose owner has gone for an hour."""
FREE = GpuReading("GPU-a", utilisation=0.0, temperature_celsius=40.0, foreign_bytes=0)


def gpu(**changed):
    return replace(FREE, **changed)


class Machine:
    """Decisions one after the other, each knowing the one before."""

    def __init__(self, policy="", readings=AWAY):
        self.policy, self.readings = parse_policy(policy), readings
        self.state, self.seconds = State(), 1000.0
        self.decision = self.look()

    def look(self, after=0.0, **changed):
        self.seconds += after
        self.readings = replace(self.readings, **changed)
        now = NOON + timedelta(seconds=self.seconds - 1000)
        self.decision = decide(self.policy, self.readings, self.state, now, self.seconds, zone=UTC)
        self.state = self.decision.state
        return self.decision
