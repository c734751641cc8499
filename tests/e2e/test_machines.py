"""More machines than one: joining, slices over several of them, and a bare one without any sandbox."""

import json

import httpx
import pytest
from support.pool import TINY
from support.waiting import patience

from computepool.protocol.receipt import Receipt

pytestmark = pytest.mark.slow


@pytest.mark.engine("bwrap")
def test_second_machine_joins_with_the_printed_line_and_takes_work(pool):
    url, token = pool.hub.wait_for(r"computepool join (\S+ --token \S+)").split(" --token ")
    beta = pool.cli("join", url, "--token", token, "--name", "beta", "--tag", "lab", "--enrol-only", "--home", "beta")
    beta.expect(0)
    waiting = pool.submit("sh", "-c", "echo from $COMPUTEPOOL_ATTEMPT", where={"tags": ["lab"]})
    assert waiting.state == "queued"

    agent = pool.begin("agent", "start", "--home", str(pool.folder / "beta"))
    agent.wait_for("link.up")
    done = pool.until_state(waiting.id, "succeeded")
    assert done.slices[0].newest.node_name == "beta"
    assert pool.log_of(waiting.id) == b"from 1\n"
    listed = pool.cli("nodes", "--json").expect(0).json["items"]
    assert [(node["name"], node["state"], node["tags"]) for node in listed] == [("beta", "online", ["lab"])]


@pytest.mark.engine("bwrap")
def test_job_from_a_browser_runs_sandboxed_where_the_owners_signed_jobs_need_no_sandbox(pool):
    """Nothing in a browser holds the CLI's key, so nothing signs the job."""
    pool.join("alpha")
    signed = pool.submit("true", isolation="process")
    headers = {"Authorization": f"Bearer {pool.client.create_token('browser')['token']}"}
    spec = {"run": ["true"], "isolation": "process"}
    answer = httpx.post(f"{pool.url}/api/v1/jobs", json=spec, headers=headers, timeout=patience())
    unsigned = answer.raise_for_status().json()["id"]
    levels = []
    for job_id in (signed.id, unsigned):
        pool.until_state(job_id, "succeeded")
        levels.append(Receipt.model_validate_json(pool.client.receipts(job_id)[0].receipt.body).isolation)
    assert levels[1] == "bubblewrap"
    assert pool.cli("verify", unsigned, "--json").expect(0).json["verified"]


def test_used_join_token_is_refused_in_words(pool):
    token = pool.cli("node", "join-token", "--json").expect(0).json["token"]
    pool.cli("join", pool.url, "--token", token, "--enrol-only", "--home", "first").expect(0)
    refused = pool.cli("join", pool.url, "--token", token, "--enrol-only", "--home", "second").expect(1)
    assert "unknown, used up or expired" in refused.err
    assert "computepool node join-token" in refused.err


@pytest.mark.engine("bwrap")
def test_slices_run_on_both_machines_and_their_outputs_lie_apart(pool):
    pool.join("alpha")
    pool.join("beta")
    cpus = min(node.capacity.cpus for node in pool.client.nodes())
    script = (
        'echo "slice $COMPUTEPOOL_SLICE of $COMPUTEPOOL_SLICES"; '
        'echo $COMPUTEPOOL_SLICE >"$COMPUTEPOOL_OUTPUT/part.txt"; sleep 0.3'
    )
    # Four fit on one machine at a time, so that eight at once need both.
    words = ["--slices", "8", "--cpus", str(cpus / 4), "--memory", "64MB", "--disk", "64MB", "--name", "parts"]
    done = pool.cli("run", *words, "-o", "fetched", "--", "sh", "-c", script).expect(0)
    lines = done.text.splitlines()
    assert sorted(lines) == [f"[{index}] slice {index} of 8" for index in range(8)]
    for index in range(8):
        assert (pool.folder / "fetched" / str(index) / "part.txt").read_text() == f"{index}\n"
    shown = pool.cli("show", "parts", "--json").expect(0).json
    used = {part["attempts"][0]["node_name"] for part in shown["slices"]}
    assert used == {"alpha", "beta"}
    assert shown["counts"]["succeeded"] == 8
    assert pool.cli("logs", "parts", "--slice", "5").expect(0).out == b"slice 5 of 8\n"


def test_bare_machine_runs_its_owners_jobs_and_says_that_they_are_not_isolated(pool):
    alpha = pool.join_without_bubblewrap("alpha")
    assert "Not isolated" in alpha.child.shown
    done = pool.cli("run", "--", "python3", "-c", "print(6*7)").expect(0)
    assert done.out == b"42\n"
    assert "not isolated" in done.err
    shown = pool.cli("show", "last", "--json").expect(0).json
    assert shown["slices"][0]["attempts"][0]["isolation"] == "process"
    assert "not isolated" in pool.cli("show", "last").expect(0).text
    assert "own jobs only" in pool.cli("nodes").expect(0).text
    doctor = pool.cli("agent", "doctor", "--json", "--home", str(alpha.home), environment=dict(alpha.environment))
    hints = {check["name"]: check["hint"] for check in doctor.json["checks"] if not check["ok"]}
    assert "bubblewrap" in hints["bubblewrap"]


def test_bare_machine_never_gets_a_strangers_job(pool):
    pool.join_without_bubblewrap("alpha")
    bob = pool.register("bob")
    spec = {**TINY, "run": ["true"]}
    (pool.folder / "job.yaml").write_text(json.dumps(spec))
    strange = bob.cli("run", "job.yaml", "-d", "-y", "--json").expect(0).json
    own = pool.submit("true")
    # The owner's own, submitted later, has long been done.
    pool.until_state(own.id, "succeeded")
    assert bob.cli("show", strange["id"], "--json").expect(0).json["state"] == "queued"
    assert "isolation" in bob.cli("why", strange["id"]).expect(0).text
    bob.cli("cancel", strange["id"], "-y").expect(0)
