"""Tests of detection: what answers at all, answers in time."""

import pytest
from support.waiting import patience

from computepool.agent.detect import monitor, software


@pytest.fixture(autouse=True)
def patient_detection(monkeypatch):
    """The agent gives a driver and a version five seconds, in which a busy machine may not answer."""
    monkeypatch.setattr(monitor, "ANSWER_SECONDS", patience())
    monkeypatch.setattr(software, "_SECONDS", patience())
