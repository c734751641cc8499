"""Tests of the owner's signals: what answers at all, answers in time."""

import pytest
from support.waiting import patience

from computepool.agent.owner.signals import dbus, machine, x11


@pytest.fixture(autouse=True)
def patient_signals(monkeypatch):
    """The agent gives a display, a bus or a tool a second or three, in which a busy machine may not answer."""
    monkeypatch.setattr(x11, "ANSWER_SECONDS", patience())
    monkeypatch.setattr(dbus, "ANSWER_SECONDS", patience())
    monkeypatch.setattr(machine, "TOOL_SECONDS", patience())
