"""Looking at jobs and changing them: tables for people, JSON for programs."""

import json
from pathlib import Path

import pytest
from support.fake_api import FakeHub, FakeJob, prints


def job(hub: FakeHub, name: str = "train", state: str = "queued", **spec: object) -> FakeJob:
    made = hub.add_job({"run": ["python3", "x.py"], "name": name, **spec})
    if state != "queued":
        made.begin()
    if state == "succeeded":
        made.finish()
    if state == "failed":
        made.finish(3)
    return made


def test_ps_lists_what_waits_and_runs(hub, cli):
    for state in ("queued", "running", "succeeded"):
        job(hub, f"a-{state}", state)
    result = cli("ps")
    assert "a-queued" in result.text
    assert "a-running" in result.text
    assert "a-succeeded" not in result.text
    assert "a-succeeded" in cli("ps", "-a").text


def test_ps_finds_jobs_by_state_and_name(hub, cli):
    for state in ("running", "failed"):
        job(hub, f"a-{state}", state).document["nodes"] = [{"id": "node_1", "name": "alpha"}]
    only = cli("ps", "--state", "failed").text
    assert "a-failed" in only
    assert "a-running" not in only
    assert "alpha" in only
    assert "a-failed" in cli("ps", "--name", "a-f", "--since", "7d").text
    assert cli("ps", "--since", "soon").code == 2


def test_ps_shows_an_admin_others_jobs_only_when_asked(hub, cli):
    hub.add_job({"run": "true", "name": "mine"})
    hub.add_job({"run": "true", "name": "theirs"}).document["owner_id"] = "user_other"
    assert "theirs" not in cli("ps").text
    everybodys = cli("ps", "--everybody").text
    assert "theirs" in everybodys
    assert "user_other" in everybodys


def test_ps_gives_the_shape_that_scripts_rely_on(hub, cli):
    job(hub)
    document = json.loads(cli("ps", "--json").out)
    assert document["next"] is None
    assert document["items"][0]["id"] == "job_00000000000000000000000001"


def test_ps_says_where_there_is_more(hub, cli):
    for _ in range(5):
        job(hub)
    result = cli("ps", "-n", "2", "--json")
    document = json.loads(result.out)
    assert len(document["items"]) == 2
    assert document["next"] is not None


def test_empty_pool_says_so_beside_the_output(hub, cli):
    result = cli("ps")
    assert result.out == b""
    assert "ps -a" in result.err


def test_show_tells_attempts_and_isolation(hub, cli):
    made = job(hub)
    made.begin(isolation="process")
    made.finish(3, message="It failed.")
    text = cli("show", "last").text
    for part in ("failed", "It failed.", "python3 x.py", "process (not isolated)", "alpha"):
        assert part in text


def test_show_names_what_ended_an_attempt_unless_its_exit_code_does(hub, cli):
    gpu = {"name": "a100", "memory": "40GB..", "count": 2}
    made = job(hub, state="running", resources={"cpus": "0.5..", "memory": "256MB..", "gpu": gpu})
    made.lose()
    made.slice()["attempts"][-1]["reason"] = "agent_restarted"
    made.begin()
    made.finish(0)
    made.slice()["attempts"][-1]["reason"] = made.document["reason"] = "exited"
    text = cli("show", "last").text
    assert "agent restarted" in text
    assert "exited" not in text
    assert "cpus 0.5+, memory 256MB+, gpu 2 × a100 40GB+" in text
    job(hub, resources={"gpu": {"count": 1}})
    assert "gpu any" in cli("show", "last").text


def test_ps_counts_the_slices_that_succeeded_once_a_job_is_over(hub, cli):
    made = job(hub, slices=3)
    made.begin(0)
    made.slice(0)["state"] = "succeeded"
    made.touch()
    assert "running 1/3" in cli("ps").text
    made.finish(3)
    made.slice(0)["state"] = "succeeded"
    made.touch()
    assert "failed (3) 1 of 3 succeeded" in cli("ps", "-a").text


def waiting_to_retry(hub: FakeHub, **last: object) -> FakeJob:
    made = job(hub, state="running")
    made.lose()
    made.slice()["attempts"][-1].update(last)
    hub.why = {"summary": "It failed before, and is tried again at 03:04:05 UTC."}
    return made


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ({"state": "failed", "reason": "exited", "exit_code": 3}, "running · waiting to retry (exit code 3)"),
        ({"reason": "lease_expired"}, "running · waiting to retry (lease expired)"),
        ({"reason": "input"}, "running · waiting to retry (input)"),
        (
            {"reason": "input", "detail": "box:1 could not be pulled: no such host " + "x" * 100},
            "running · waiting to retry (box:1 could not be pulled: no such host xxx",
        ),
        ({}, "running · waiting to retry (host)"),
    ],
)
def test_wait_between_attempts_is_told(hub, cli, last, said):
    waiting_to_retry(hub, **last)
    assert said in cli("ps").text
    shown = cli("show", "last").text
    assert said in shown
    assert "tried again at 03:04:05 UTC" in shown


def test_retry_of_one_slice_is_told_beside_those_that_run(hub, cli):
    made = job(hub, slices=2)
    made.begin(0)
    made.begin(1)
    made.lose(1)
    assert "running · 1 slice waiting to retry (host)" in cli("show", "last").text


def test_show_gives_the_job_as_the_hub_tells_it(hub, cli):
    job(hub, state="failed")
    document = json.loads(cli("show", "last", "--json").out)
    for key in ("id", "state", "verdict", "exit_code", "slices", "created_at"):
        assert key in document
    assert document["exit_code"] == 3


@pytest.mark.parametrize(
    "command",
    [
        *("ps -a", "show last", "why last", "logs last", "nodes", "get last", "node tags node_"),
        *("ps -a --json", "show last --json", "nodes --json"),
    ],
)
def test_names_and_messages_cannot_steer_the_terminal(hub, cli, command):
    evil = "\x1b]0;owned\x07\x1b[2J\r\n[bold]x[/bold]\u202e\x9b2K"
    made = job(hub, evil)
    made.document["message"] = evil
    made.begin(node=evil)
    made.finish(1)
    hub.nodes[0].update(name=evil, tags=[evil])
    hub.why = {"summary": evil, "waiting": [{"summary": evil, "suggestions": [evil]}]}
    result = cli(*command.split())
    assert result.code == 0
    for forbidden in ("\x1b", "\x07", "\r", "\u202e", "\x9b"):
        assert forbidden not in result.text
        assert forbidden not in result.err


def test_cancel_cancels(hub, cli):
    made = job(hub, state="running")
    result = cli("cancel", made.id, "-y")
    assert result.code == 0
    assert made.document["state"] == "canceled"


def test_cancel_of_what_is_over_changes_nothing(hub, cli):
    made = job(hub, state="succeeded")
    result = cli("cancel", made.id)
    assert "over already" in result.err
    assert made.document["state"] == "succeeded"


def test_retry_makes_a_linked_job(hub, cli):
    made = job(hub, state="failed")
    result = cli("retry", "last", "-d")
    assert result.text.strip() == "job_00000000000000000000000002"
    assert hub.jobs[result.text.strip()].document["retry_of"] == made.id


def test_retry_is_followed_as_run_is(hub, cli):
    job(hub, state="failed")
    hub.play = prints(b"again\n", exit_code=7)
    result = cli("retry", "last")
    assert (result.out, result.code) == (b"again\n", 7)
    assert "failed" in result.err


def test_why_counts_gates_and_suggests(hub, cli):
    job(hub)
    hub.why = {
        "summary": "None of the 2 nodes can ever run it as it is specified.",
        "waiting": [
            {
                "slices": [0],
                "nodes_total": 2,
                "gates": [{"gate": "gpu", "removed": 2, "detail": "without such a GPU"}],
                "feasible": 0,
                "free": 0,
                "position": 3,
                "summary": "x",
                "suggestions": ["gpu: rtx-3090 is what a node has"],
                "misses": [
                    {"node_id": hub.nodes[0]["id"], "gates": ["gpu"]},
                    {"node_id": "node_of_somebody_else", "gates": ["price"]},
                ],
            }
        ],
    }
    text = cli("why", "last").text
    for part in ("None of the 2", "gpu", "-2", "3 slices will start before", "→ gpu: rtx-3090"):
        assert part in text
    assert f"Nearest: {hub.nodes[0]['name']} (gpu); node_of_somebody_else (price)" in text
    assert json.loads(cli("why", "last", "--json").out)["summary"].startswith("None")


def test_get_downloads_below_a_folder_of_the_jobs_own(hub, cli):
    made = job(hub)
    prints(b"", 0, {"a/b.txt": b"hello"})(made)
    result = cli("get", "last")
    assert result.code == 0
    assert Path(f"outputs/train-{made.id[-6:]}/a/b.txt").read_bytes() == b"hello"


def test_get_tells_programs_what_it_fetched(hub, cli):
    prints(b"", 0, {"a": b"1"})(job(hub))
    (item,) = json.loads(cli("get", "last", "-o", "d", "--json").out)["items"]
    assert Path(item["path"]).read_bytes() == b"1"
    assert item["size_bytes"] == 1


def test_get_of_nothing_says_so(hub, cli):
    job(hub)
    assert "no outputs yet" in cli("get", "last").err


@pytest.mark.parametrize("command", ["show", "logs", "cancel", "retry", "get", "why", "verify"])
def test_unknown_job_is_an_error_that_helps(hub, cli, command):
    result = cli(command, "nothing")
    assert result.code == 1
    assert "There is no job" in result.err
    assert "ps -a" in result.err


def test_fault_of_our_own_is_no_traceback(hub, cli, monkeypatch):
    hub.nodes[0]["capacity"] = "nonsense"
    result = cli("nodes")
    assert result.code == 1
    assert "fault of computepool itself" in result.err
    assert "Traceback" not in result.err
    monkeypatch.setenv("COMPUTEPOOL_DEBUG", "1")
    assert "Traceback" in cli("nodes").err


@pytest.mark.parametrize(("words", "said"), [(["cancle"], "'cancel'"), (["ps", "--jsn"], "--json"), (["show"], "JOB")])
def test_slips_of_the_keyboard_are_usage_errors(hub, cli, words, said):
    result = cli(*words)
    assert result.code == 2
    assert said in result.err
