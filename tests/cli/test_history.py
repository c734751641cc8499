"""`node history` and `show --timeline`: what people see of the past."""

import json

from computepool.cli.history import bars


def column(name, unit, values):
    return {"name": name, "unit": unit, "minimum": values, "average": values, "maximum": values}


def event(number, action="attempt.running", **changes):
    return {
        "id": number,
        "at": f"2026-01-02T03:04:{number:02}Z",
        "action": action,
        "message": f"Event {number}.",
        "by": "node",
        "slice": 0,
        "attempt": 1,
        "attempt_id": "attempt_1",
        "node_id": "node_1",
        "node_name": "alpha",
        "verdict": None,
        "reason": None,
    } | changes


def test_history_of_a_node_is_a_table_of_bars(cli, hub):
    columns = [
        column("cpu", "share", [0.0, 0.5, None, 1.0]),
        column("memory_used", "bytes", [2**30] * 4),
        column("gpu0.temperature", "celsius", [40, 80, None, 60]),
        column("sent", "bytes per second", [None] * 4),
    ]
    hub.telemetry = {"columns": columns, "gpus": ["GPU-1"], "step_seconds": 1800, "points": 4}
    result = cli("node", "history", hub.nodes[0]["id"], "--since", "2h")
    assert result.code == 0
    assert "▁▅ █" in result.text
    assert "gpu0 temperature" in result.text
    assert "80 °C" in result.text
    assert "100%" in result.text
    assert "gpu0 is GPU-1" in result.err
    assert "One bar is 30 minutes" in result.err
    assert hub.asked_history[0]["step"] == "150"
    assert json.loads(cli("node", "history", hub.nodes[0]["id"], "--json").out) == hub.telemetry


def test_history_of_a_node_without_any_is_told(cli, hub):
    assert "Nothing was recorded" in cli("node", "history", hub.nodes[0]["id"]).err
    wrong = cli("node", "history", hub.nodes[0]["id"], "--since", "soon")
    assert wrong.code == 2
    assert "--since 24h" in wrong.err


def test_bars_are_shares_of_the_top():
    assert bars([0, 1, 2, None, 4], 4) == "▁▃▅ █"
    assert bars([0, None], 0) == "▁ "
    assert bars([5], None) == "▁"


def test_timeline_of_a_job_is_told_whole(cli, hub):
    hub.timeline = [event(1, slice=None, attempt=None, node_name=None, by="renter"), event(2), event(3), event(4)]
    hub.timeline.append(event(5, verdict="host", reason="node_lost"))
    made = hub.add_job({"run": "true"})
    result = cli("show", made.id, "--timeline")
    assert result.code == 0
    assert [f"Event {number}." in result.text for number in range(1, 6)] == [True] * 5
    assert "verdict host, node_lost" in result.text
    found = json.loads(cli("show", made.id, "--timeline", "--json").out)
    assert (found["items"], found["next"]) == (hub.timeline, None)
