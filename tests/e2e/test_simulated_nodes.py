"""Simulated nodes against a real hub: their jobs, their labels, their owners, and what is left of them."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from support.children import Child, ForkedChild, environment_with
from support.pool import Person, Pool, running_pool
from support.proofs import figure, proving
from support.waiting import patience

from computepool.agent.simulated import Crowd, Roster, make_machines
from computepool.agent.simulated.habits import Habit, Habits
from computepool.client.models import Job, Node

pytestmark = pytest.mark.slow

QUICK = {"SIMULATED_SECONDS": "0.2", "SIMULATED_EXIT_CODE": "0"}
SIMULATED = {"where": {"tags": ["simulated"]}}
LABEL = "[simulated] "


def simulate(pool: Pool, nodes: int, *words: str, profile: str = "servers", up: int | None = None) -> Child:
    """Until all of them are up, or so many. Servers stay where they are."""
    output = pool.folder / f"simulate-{time.monotonic_ns()}.jsonl"
    arguments = ["simulate", "--nodes", str(nodes), "--profile", profile, "--json", *words]
    variables = environment_with(COMPUTEPOOL_HOME=pool.home)
    log = pool.new_log("simulate")
    child = ForkedChild("simulate", arguments, log=log, environment=variables, cwd=pool.folder, output=output)
    pool.keep(child)
    pool.until(lambda: seen(output, "up") >= (up or nodes), f"{nodes} simulated nodes are up")
    return child


def seen(output: Path, what: str) -> int:
    lines = output.read_text().splitlines() if output.exists() else []
    return json.loads(lines[-1])[what] if lines and lines[-1].endswith("}") else 0


def simulated(pool: Pool) -> list[Node]:
    return [node for node in pool.client.nodes() if node.capacity.simulated]


def submit(pool: Pool, count: int, **spec: object) -> list[Job]:
    return [pool.submit("python", "train.py", str(n), env=QUICK, **SIMULATED, **spec) for n in range(count)]


def test_jobs_run_on_simulated_nodes_and_everything_says_so(pool):
    simulate(pool, 30, "--job-seconds", "0.5")
    jobs = submit(pool, 57)
    sliced = pool.submit("render", env=QUICK, slices=3, **SIMULATED)
    fails = pool.submit("break", env={**QUICK, "SIMULATED_EXIT_CODE": "3"}, **SIMULATED)
    image = pool.submit(
        "with", "an", "image", env=QUICK, image="python:3.12", network=True, setup="pip list", **SIMULATED
    )
    for job in (*jobs, sliced, image):
        done = pool.until_state(job.id, "succeeded")
        assert done.simulated
        assert all(part.newest.node_name.startswith("sim-") for part in done.slices)
    assert pool.until_state(fails.id, "failed").exit_code == 3
    assert all(line.startswith((LABEL, "[computepool] ")) for line in pool.log_of(image.id).decode().splitlines())

    lines = pool.log_of(jobs[0].id).decode().splitlines()
    assert lines
    assert all(line.startswith(LABEL) for line in lines)
    (output,) = pool.client.outputs(jobs[0].id)
    assert output.path == "simulated.txt"
    pool.client.download_outputs(jobs[0].id, pool.folder / "out")
    assert "no command was run" in (pool.folder / "out" / "simulated.txt").read_text()

    assert "(simulated)" in pool.cli("nodes").expect(0).text
    assert "succeeded (simulated)" in pool.cli("ps", "-a").expect(0).text
    shown = pool.cli("show", jobs[0].id).expect(0).text
    assert shown.count("(simulated)") == 2
    run = pool.cli("run", "--tag", "simulated", "--", "train").expect(0)
    assert "simulated: nothing was really run" in run.err
    assert all(node.name.startswith("sim-") and "simulated" in node.tags for node in simulated(pool))
    assert pool.client.call("GET", "/stats")["nodes_simulated"] == 30
    assert pool.cli("verify", jobs[0].id, "--json").expect(0).json["verified"] is True


def test_real_job_never_runs_on_a_simulated_node_nor_a_simulated_one_on_a_real_machine(pool):
    simulate(pool, 3)
    real = pool.submit("echo", "real")
    answer = pool.cli("why", real.id).expect(0).text
    assert "simulated nodes: only for jobs" in answer
    assert "→" not in answer, "nobody is advised to let it be pretended"
    named = pool.submit("echo", "real", where={"node": simulated(pool)[0].id})
    # A real machine that somebody gave the tag is no simulated one.
    pool.join("alpha", words=("--tag", "simulated"))
    pretended = submit(pool, 10)
    for job in pretended:
        pool.until_state(job.id, "succeeded")
        assert pool.client.job(job.id).slices[0].newest.node_name.startswith("sim-")
    done = pool.until_state(real.id, "succeeded")
    assert (done.slices[0].newest.node_name, done.simulated) == ("alpha", False)
    assert pool.log_of(real.id) == b"real\n"
    assert pool.client.job(named.id).state == "queued"


@pytest.mark.proof
def test_nodes_come_back_after_a_restart_of_the_hub_and_their_jobs_end_once(pool):
    child = simulate(pool, figure(3, 200))
    env = {"SIMULATED_SECONDS": str(figure(1, 4)), "SIMULATED_EXIT_CODE": "0"}
    jobs = [pool.submit("train", str(n), env=env, **SIMULATED) for n in range(figure(4, 60))]
    pool.until_running(jobs[-1].id)
    pool.kill_hub()
    pool.start_hub()
    for job in jobs:
        done = pool.until_state(job.id, "succeeded")
        assert [attempt.state for attempt in done.slices[0].attempts] == ["succeeded"]
    pool.until(lambda: all(node.state == "online" for node in simulated(pool)), "all are back")
    wide = pool.submit("sweep", env=QUICK, slices=figure(6, 400), **SIMULATED)
    pool.until_state(wide.id, "succeeded")
    assert child.stop() == 0


def test_end_gives_jobs_back_and_the_next_start_is_the_same_nodes(pool):
    first = simulate(pool, 6)
    long = pool.submit("train", env={"SIMULATED_SECONDS": "600"}, **SIMULATED)
    pool.until_running(long.id)
    assert first.stop() == 0
    # Told before they went: a line that is only gone could come back, and is waited for.
    assert {node.state for node in simulated(pool)} <= {"draining", "offline"}
    pool.until(lambda: pool.client.job(long.id).counts.get("queued"), "the job waits again")
    folder = next((pool.home / "simulated").iterdir())
    assert {path.name for path in folder.iterdir()} == {"roster.json", "simulate.lock"}

    before = {node.id: node.name for node in simulated(pool)}
    second = simulate(pool, 8, "--seed", "5", profile="lab")
    after = {node.id: node for node in simulated(pool)}
    assert set(before) < set(after)
    assert len(after) == 8
    assert all("lab" in node.tags or "rack" in node.tags for node in after.values())
    pool.until(lambda: pool.client.job(long.id).counts.get("running"), "it runs again")
    again = pool.cli("simulate", "--nodes", "2")
    assert again.code == 1
    assert "running already" in again.err
    assert second.stop() == 0


def test_nodes_that_are_banned_while_they_run_or_removed_are_dropped_and_replaced_the_next_time(pool):
    child = simulate(pool, 3)
    banned = simulated(pool)[0]
    pool.client.call("POST", f"/nodes/{banned.id}/ban")
    pool.until(lambda: pool.client.node_document(banned.id)["state"] == "banned", "banned")
    assert child.stop() == 0
    simulate(pool, 3).stop()
    assert len(simulated(pool)) == 4
    removed = pool.cli("simulate", "--remove", "--json").expect(0).json["removed"]
    assert len(removed) == 3
    assert {node.state for node in simulated(pool)} == {"banned"}
    simulate(pool, 3).stop()
    assert {node.id for node in simulated(pool) if node.state == "banned"} == {banned.id, *removed}


@pytest.mark.proof
def test_owners_pause_lose_their_line_and_switch_off_and_no_job_is_lost(pool):
    """In this process, with owners who are in more of a hurry than any real one. Not with their lines: an agent whose
    line breaks again and again waits longer each time."""
    habits = Habits(pauses=Habit(4, 0.1, 0.5), cuts=Habit(20, 0.1, 0.5), leaves=Habit(20, 1, 2))
    machines = [replace(machine, habits=habits) for machine in make_machines("flaky", 1, 8)]
    roster = Roster(pool.home, pool.client.hub_id())
    with httpx.Client(timeout=patience()) as client:
        token = pool.client.join_token(uses=8).token
        roster.enrol(machines, pool.url, token, agent_version="0.1.0", client=client)
    crowd = Crowd(roster.members(machines), agent_version="0.1.0", seed=1, average_seconds=1)
    paused: set[int] = set()
    count = figure(8, 40)

    def renter() -> list[Job]:
        env = {**QUICK, "SIMULATED_SECONDS": "2"}
        jobs = [pool.submit("train", str(n), env=env, **SIMULATED) for n in range(count)]
        done = []
        for job in jobs:
            paused.add(crowd.counts().paused)
            done.append(pool.until_state(job.id, "succeeded"))
        return done

    async def story() -> list[Job]:
        over = asyncio.Event()
        running = asyncio.create_task(crowd.run(over))
        try:
            return await asyncio.to_thread(renter)
        finally:
            over.set()
            await running

    attempts = [attempt for job in asyncio.run(story()) for attempt in job.slices[0].attempts]
    ends = Counter(attempt.reason for attempt in attempts if attempt.state == "lost")
    if proving():  # a few jobs may be over before any owner comes
        assert ends["taken_back_by_owner"], ends
        assert max(paused) > 0
    assert len([one for one in attempts if one.state == "succeeded"]) == count
    assert crowd.counts().up == crowd.counts().running == 0


def test_nobody_signed_in_no_permission_and_a_hub_that_is_away_are_told_plainly(pool):
    stranger = Person(pool, pool.folder / "nobody").cli("--url", pool.url, "simulate", "--nodes", "2")
    assert stranger.code == 77
    token = pool.client.create_token("reader", scopes=["nodes:read"])["token"]
    refused = pool.cli("simulate", "--nodes", "2", environment={"COMPUTEPOOL_TOKEN": token})
    assert refused.code != 0
    assert "nodes:write" in refused.err
    pool.kill_hub()
    away = pool.cli("simulate", "--nodes", "2")
    assert away.code != 0
    assert pool.url in away.err
    for done in (stranger, refused, away):
        assert done.err.startswith("error: ")
        assert "Traceback" not in done.err


def test_demo_shows_a_pool_that_is_alive_and_labels_all_of_it(tmp_path):
    with running_pool(tmp_path / "pool", hub=False) as pool:
        up = pool.up("--demo")
        assert "12 simulated nodes and sample jobs: nothing of them is real" in up.shown
        pool.until(lambda: len([node for node in simulated(pool) if node.state == "online"]) >= 10, "nodes")
        pool.until(lambda: len(list(pool.client.jobs())) >= 5, "sample jobs")
        jobs = list(pool.client.jobs())
        assert all(job.simulated and job.name.startswith("demo-") for job in jobs)
        assert any(job.slice_count > 1 for job in jobs)
        waits = next(job for job in jobs if job.name == "demo-waits-for-a-big-gpu")
        assert "can ever run it" in pool.client.why(waits.id).summary
        failed = next(job for job in jobs if job.name == "demo-fails")
        assert pool.until_state(failed.id, "failed").exit_code == 3
        # The real machine beside them does real work, and only that.
        real = pool.submit("echo", "42")
        done = pool.until_state(real.id, "succeeded")
        assert not done.simulated
        assert pool.log_of(real.id) == b"42\n"
        assert up.stop() == 0
        assert not pool.leftovers()
        pool.start_hub()
        assert pool.client.job(waits.id).state == "canceled"
        assert not any(node.running_attempts for node in simulated(pool))
