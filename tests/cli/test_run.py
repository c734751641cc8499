"""`run`: what is sent, what is printed, and which code is left."""

import json
import os
import random
import subprocess
import tarfile
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.children import environment_with
from support.fake_api import TOKEN, FakeHub, FakeJob, node, prints
from support.terminals import COMPUTEPOOL
from support.waiting import eventually, patience

from computepool.cli import attach
from computepool.cli.attach import StatusLine
from computepool.cli.files import progress_lines
from computepool.cli.logs import NOTICE, NoticeSplitter
from computepool.cli.terminal import TerminalFilter

NOISE = random.Random(5).randbytes(100_000)


def spec_of(hub: FakeHub) -> dict[str, Any]:
    (job,) = hub.jobs.values()
    found: dict[str, Any] = job.document["spec"]
    return found


def bundle_of(hub: FakeHub) -> dict[str, bytes]:
    (job,) = hub.jobs.values()
    blob = next(data for key, data in hub.blobs.items() if "artifact_" + key[7:33] == job.document["bundle"])
    with tarfile.open(fileobj=BytesIO(blob)) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]


# ── output and exit codes ────────────────────────────────────────────────────────────────────────────────────────────


def test_output_is_the_jobs_and_nothing_else(hub, cli):
    result = cli("run", "--", "python3", "-c", "print(6*7)")
    assert (result.code, result.out) == (0, b"42\n")
    assert spec_of(hub)["run"] == ["python3", "-c", "print(6*7)"]
    assert "succeeded" in result.err


def test_output_is_exact_to_the_byte(hub, cli):
    hub.play = prints(NOISE)
    assert cli("run", "--", "noise").out == NOISE


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ({"exit_code": 0}, 0),
        ({"exit_code": 3}, 3),
        ({"exit_code": 255}, 255),
        ({"exit_code": -9}, 137),
        ({"exit_code": 137}, 137),
        ({"exit_code": 256, "verdict": "renter"}, 255),
        ({"exit_code": -128, "verdict": "renter"}, 255),
        ({"exit_code": -(2**31), "verdict": "renter"}, 255),
        ({"exit_code": None, "verdict": "renter", "reason": "start_failed"}, 1),
        ({"exit_code": 0, "verdict": "renter", "reason": "outputs"}, 1),
        ({"exit_code": None, "verdict": "host"}, 75),
        ({"exit_code": 1, "verdict": "host"}, 75),
        ({"exit_code": None, "verdict": "owner"}, 75),
        ({"exit_code": None, "verdict": "preempted"}, 75),
        ({"exit_code": None, "verdict": "hub"}, 75),
        ({"exit_code": None, "verdict": "budget"}, 75),
        ({"exit_code": None, "verdict": "renter", "state": "canceled"}, 130),
    ],
)
def test_exit_code_is_the_jobs_own_or_says_whose_doing_it_was(hub, cli, end, code):
    def play(job: FakeJob) -> None:
        job.begin()
        job.finish(**end)

    hub.play = play
    assert cli("run", "--", "x").code == code


@pytest.mark.parametrize(
    ("verdict", "said", "unsaid"),
    [
        ("host", "Run it again: computepool retry", "change `budget`"),
        (
            "budget",
            "change `budget`, `max_price` or `max_runtime` in its spec, or get credits",
            "computepool retry",
        ),
    ],
)
def test_what_to_do_after_a_failure_is_what_could_help(hub, cli, verdict, said, unsaid):
    hub.play = lambda job: job.finish(exit_code=None, verdict=verdict)
    result = cli("run", "--", "x")
    assert said in result.err
    assert unsaid not in result.err


def test_log_is_whole_over_a_restart_of_the_hub(hub, cli):
    def play(job: FakeJob) -> None:
        job.begin()
        job.write(NOISE[:40_000])
        threading.Thread(target=rest, args=(job,), daemon=True).start()

    def rest(job: FakeJob) -> None:
        eventually(lambda: job.streamed, "the log is followed")
        hub.restart(0.3)
        job.write(NOISE[40_000:])
        eventually(lambda: job.streamed[0, 1] > 40_000, "the rest is followed")
        hub.restart()
        job.finish(4)

    hub.play = play
    result = cli("run", "--", "noise")
    assert (result.code, result.out) == (4, NOISE)


def test_new_attempt_is_announced_beside_the_log(hub, cli):
    def play(job: FakeJob) -> None:
        job.begin()
        job.write(b"half a li")
        eventually(lambda: job.streamed.get((0, 1)) == len(b"half a li"), "the log is followed")
        job.lose()
        job.begin(node="beta")
        job.write(b"whole line\n")
        job.finish()

    hub.play = play
    result = cli("run", "--", "x")
    assert result.out == b"half a liwhole line\n"
    assert "attempt 2" in result.err


def asked_why(hub: FakeHub, job: FakeJob) -> bool:
    return ("GET", f"/api/v1/jobs/{job.id}/why") in hub.requests


def test_wait_says_what_for(hub, cli):
    def play(job: FakeJob) -> None:
        eventually(lambda: asked_why(hub, job), "the command asks what the job waits for")
        prints(b"done\n")(job)

    hub.play, hub.why = play, {"summary": "1 node could run it and is busy."}
    result = cli("run", "--", "x")
    assert "queued: 1 node could run it and is busy.\n" in result.err
    assert result.out == b"done\n"


def test_wait_for_what_no_node_can_run_says_what_is_in_the_way(hub, cli):
    def play(job: FakeJob) -> None:
        eventually(lambda: asked_why(hub, job), "the command asks what the job waits for")
        prints(b"done\n")(job)

    gates = [
        {"gate": "country", "removed": 1, "detail": "not in DE"},
        {"gate": "gpu", "removed": 2, "detail": "without such a GPU"},
        {"gate": "busy", "removed": 0},
    ]
    group = {"slices": [0], "nodes_total": 3, "gates": gates, "feasible": 0, "free": 0}
    hub.play, hub.why = play, {"summary": "None of the 3 nodes can ever run it as it is specified.", "waiting": [group]}
    result = cli("run", "--", "x")
    assert (
        "queued: None of the 3 nodes can ever run it as it is specified. "
        "In the way: gpu (without such a GPU), country (not in DE). More: computepool why job_"
    ) in result.err


def test_wait_between_attempts_says_what_for(hub, cli):
    def play(job: FakeJob) -> None:
        job.begin()
        job.write(b"half\n")
        threading.Thread(target=rest, args=(job,), daemon=True).start()

    def rest(job: FakeJob) -> None:
        eventually(lambda: job.streamed, "the first attempt is followed")
        job.lose()
        eventually(lambda: asked_why(hub, job), "the command asks what the job waits for")
        job.begin(node="beta")
        job.write(b"whole\n")
        eventually(lambda: (0, 2) in job.streamed, "the second attempt is followed")
        job.finish()

    hub.play, hub.why = play, {"summary": "It failed before, and is tried again at 03:04:05 UTC."}
    result = cli("run", "--", "x")
    assert result.out == b"half\nwhole\n"
    told = "waiting to retry (host): It failed before, and is tried again at 03:04:05 UTC."
    assert result.err.count(told) == 1
    assert result.err.count("waiting to retry") == 1
    assert "succeeded on beta" not in result.err.replace("✓ succeeded", "")  # the last line tells it, and no other


def test_news_of_a_wait_are_not_told_all_the_time_where_there_is_no_terminal(capfd, monkeypatch):
    monkeypatch.setattr(attach, "NEWS_EVERY_SECONDS", 3600)
    status = StatusLine(quiet=False)
    for number in range(50):
        status.say(f"queued: {number} before it")
    status.say("the hub is away", urgent=True)
    status.say("queued: 51 before it")
    assert capfd.readouterr().err.splitlines() == ["queued: 0 before it", "the hub is away"]


@pytest.mark.parametrize(
    ("begin", "label"),
    [
        ({"isolation": "bubblewrap"}, "on alpha (bubblewrap)"),
        ({"isolation": "process", "own": True}, "not isolated: your own machine"),
        ({"isolation": "process", "own": False}, "NOT ISOLATED"),
    ],
)
def test_last_line_tells_node_and_isolation(hub, cli, begin, label):
    hub.play = prints(b"", **begin)
    assert label in cli("run", "--", "x").err


def test_outputs_are_fetched_and_their_place_is_said(hub, cli):
    hub.play = prints(b"", 0, {"out/model.bin": NOISE})
    result = cli("run", "--name", "train", "--", "x")
    (found,) = Path("outputs").rglob("model.bin")
    assert found.read_bytes() == NOISE
    assert found.parts[1].startswith("train-")
    assert "1 output" in result.err


def test_outputs_go_where_they_are_told_to(hub, cli):
    hub.play = prints(b"", 3, {"a": b"1"})
    assert cli("run", "-o", "here", "--", "x").code == 3
    assert Path("here/a").read_bytes() == b"1"


def test_job_without_outputs_leaves_no_folder(hub, cli):
    cli("run", "--", "x")
    assert list(Path().iterdir()) == []


def test_slices_are_told_apart(hub, cli):
    hub.play = prints(b"one\ntwo")
    result = cli("run", "--slices", "2", "--", "x")
    lines = result.out.splitlines()
    assert sorted(lines) == [b"[0] one", b"[0] two", b"[1] one", b"[1] two"]


def test_detached_run_prints_the_id_alone(hub, cli):
    result = cli("run", "-d", "--", "x")
    assert result.out == b"job_00000000000000000000000001\n"
    assert result.code == 0


def test_detached_run_gives_one_json_document(hub, cli):
    document = json.loads(cli("run", "-d", "--json", "--", "x").out)
    assert document["id"] == "job_00000000000000000000000001"
    assert "state" in document


def test_attached_run_gives_json_lines(hub, cli):
    hub.play = prints(b"\xff42\n", 7)
    result = cli("run", "--json", "--", "x")
    events = [json.loads(line) for line in result.out.splitlines()]
    assert events[-1]["type"] == "end"
    assert events[-1]["job"]["exit_code"] == 7
    assert "".join(event["text"] for event in events if event["type"] == "log") == "�42\n"
    assert result.code == 7


# ── the three forms ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_script_goes_alone_with_its_arguments(hub, cli):
    Path("train.py").write_text("print(1)")
    Path("secret.txt").write_text("not to be sent")
    cli("run", "train.py", "--epochs", "3", "-d", "--", "-x")
    assert spec_of(hub)["run"] == ["python3", "train.py", "--epochs", "3", "-d", "--", "-x"]
    assert spec_of(hub)["name"] == "train"
    assert bundle_of(hub) == {"train.py": b"print(1)"}


def test_script_in_a_workdir_goes_with_the_folder(hub, cli):
    Path("src").mkdir()
    Path("src/main.py").write_text("import helper")
    Path("src/helper.py").write_text("")
    Path("src/junk.log").write_text("")
    Path("src/.gitignore").write_text("*.log\n")
    cli("run", "--workdir", "src", "src/main.py")
    assert spec_of(hub)["run"] == ["python3", "main.py"]
    assert set(bundle_of(hub)) >= {"main.py", "helper.py"}
    assert "junk.log" not in bundle_of(hub)


def test_executable_file_is_run_as_it_is(hub, cli):
    Path("tool").write_text("#!/bin/sh\n")
    Path("tool").chmod(0o755)
    cli("run", "tool", "a")
    assert spec_of(hub)["run"] == ["./tool", "a"]


def test_command_may_be_sent_with_a_folder(hub, cli):
    Path("data.txt").write_text("x")
    cli("run", "--workdir", ".", "--", "cat", "data.txt")
    assert bundle_of(hub) == {"data.txt": b"x"}


def write_spec(**fields: Any) -> None:
    Path("job").mkdir(exist_ok=True)
    Path("job/pool.yaml").write_text(json.dumps({"run": "make", **fields}))


@pytest.mark.parametrize("words", [["-d", "job/pool.yaml"], ["job/pool.yaml", "-d"], ["job/pool.yaml", "-d", "-y"]])
def test_options_may_follow_a_spec_file(hub, cli, words):
    write_spec()
    assert cli("run", *words).out.startswith(b"job_")


def test_workdir_of_a_spec_is_beside_it(hub, cli):
    write_spec(workdir=".")
    Path("job/Makefile").write_text("all:\n")
    Path("outside").write_text("")
    cli("run", "job/pool.yaml")
    assert set(bundle_of(hub)) == {"Makefile", "pool.yaml"}


def test_spec_in_the_folder_is_found_by_its_name(hub, cli):
    Path("pool.yaml").write_text("run: echo found\n")
    cli("run")
    assert spec_of(hub)["run"] == "echo found"


def test_flags_go_over_the_file(hub, cli, monkeypatch):
    monkeypatch.setenv("MINE", "from here")
    write_spec(
        envs={"A": "1", "B": "2"}, resources={"cpus": 2, "memory": "2GB"}, outputs=["a"], where={"tags": ["lab"]}
    )
    flags = "--cpus 4 --gpu 24GB.. --env B=3 --env MINE --output b --retries 2 --max-runtime 2h --priority 5 --mine"
    cli("run", *flags.split(), "job/pool.yaml")
    spec = spec_of(hub)
    assert spec["env"] == {"A": "1", "B": "3", "MINE": "from here"}
    assert spec["resources"] == {
        "cpus": "4",
        "memory": "2GB",
        "disk": "1GB..",
        "gpu": {"count": 1, "memory": "24GB.."},
    }
    assert spec["outputs"] == ["a", "b"]
    assert (spec["retries"], spec["max_runtime"], spec["priority"]) == (2, "2h", 5)
    assert spec["where"] == {"trust": "mine", "tags": ["lab"]}


# ── what is refused, and how ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run"], 2, "Nothing to run was given."),
        (["run", "--"], 2, "Nothing to run was given."),
        (["run", "python3", "x.py"], 2, "computepool run -- python3 x.py"),
        (["run", "missing.py"], 2, "no file missing.py"),
        (["run", "missing.yaml"], 2, "no file missing.yaml"),
        (["run", "--env", "NOT_SET_HERE", "--", "x"], 2, "--env NOT_SET_HERE=VALUE"),
        (["run", "--memory", "many", "--", "x"], 2, "resources.memory"),
        (["run", "--gpu", "a:b:c:d", "--slices", "0", "--", "x"], 2, "2 problems"),
        (["run", "--workdir", "nowhere", "--", "x"], 2, "not a folder"),
        (["run", "--nonsense", "--", "x"], 2, "--nonsense"),
        (["run", "bad.yaml"], 2, "line 2"),
        (["run", "unknown.yaml"], 2, "retries"),
        (["run", "text.yaml"], 2, "spec"),
        (["run", "good.yaml", "extra"], 2, "takes no arguments"),
        (["run", "plain"], 2, "chmod +x"),
    ],
)
def test_wrong_calls_say_what_to_do(hub, cli, words, code, said):
    Path("bad.yaml").write_text("run: x\n  name: [\n")
    Path("unknown.yaml").write_text("run: x\nretrys: 2\n")
    Path("text.yaml").write_text("just text\n")
    Path("good.yaml").write_text("run: x\n")
    Path("plain").write_text("x")
    result = cli(*words)
    assert result.code == code
    assert said in result.err
    assert result.out == b""
    assert not hub.jobs


def test_refused_spec_lists_each_field(hub, cli):
    result = cli("run", "--memory", "many", "--cpus", "-1", "--max-runtime", "soon", "--", "x")
    for field in ("resources.memory", "resources.cpus", "max_runtime"):
        assert field in result.err
    assert result.code == 2


def test_dead_hub_is_told_in_two_lines_and_is_the_pools_doing(hub, cli):
    hub.stop()
    result = cli("run", "--", "x")
    assert result.code == 75
    assert "does not answer" in result.err
    assert "Traceback" not in result.err


def test_without_a_sign_in_the_code_is_77(hub, cli, monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_TOKEN", "wrong")
    result = cli("run", "--", "x")
    assert result.code == 77
    assert "computepool login" in result.err


# ── strangers ────────────────────────────────────────────────────────────────────────────────────────────────────────

WARNING = "Their owners can read the code and the data"


def test_own_pool_asks_and_warns_of_nothing(hub, cli):
    result = cli("run", "--", "x")
    assert WARNING not in result.err
    assert "free" in result.err


@pytest.mark.parametrize("how", ["listed", "counted", "away", "beside a banned one"])
def test_strangers_nodes_are_warned_of_until_somebody_agrees(hub, cli, how):
    if how == "listed":
        hub.nodes.append(node(2, owner_id="user_other"))
    elif how == "counted":
        hub.nodes_online = 2
    elif how == "away":
        hub.nodes_away = 1  # it may be back before the job runs
    else:
        hub.nodes.append(node(2, state="banned"))  # takes no work, so the hub does not count it
        hub.nodes_online = 2
    assert WARNING in cli("run", "--", "x").err
    assert WARNING in cli("run", "--", "x").err
    assert WARNING in cli("run", "-y", "--", "x").err
    assert WARNING not in cli("run", "--", "x").err


@pytest.mark.parametrize("words", [["--mine"], ["--node", node()["id"]]])
def test_job_for_own_nodes_warns_of_nothing(hub, cli, words):
    hub.nodes_online = 5
    assert WARNING not in cli("run", *words, "--", "x").err


@pytest.mark.parametrize("named", [node()["id"], node()["id"][5:-3], node()["name"]])
def test_node_is_told_by_id_or_name(hub, cli, named):
    hub.nodes = [node()]
    hub.play = prints(b"")
    cli("run", "--node", named, "--", "true")
    assert spec_of(hub)["where"]["node"] == node()["id"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], " · your 1 node · "),
        (["--node", node()["name"]], f" · node {node()['name']} · "),
        (["--tag", "simulated"], " · your simulated nodes (none online) · "),
        (["--image", "python:3.12-slim"], " · image python:3.12-slim · your 1 node · "),
    ],
)
def test_plan_says_where_it_may_go(hub, cli, words, said):
    hub.nodes = [node()]
    assert said in cli("run", *words, "--", "x").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "1 CPU, 1 GB RAM, 1 GB disk, or its share of the node ·"),
        ("--cpus 2 --memory 512MB --disk 3GB", "2 CPUs, 512 MB RAM, 3 GB disk ·"),
        (
            "--gpu rtx-4090 --memory 512MB --disk 3GB",
            "1 CPU, 512 MB RAM, 3 GB disk, or its share of the node · GPU rtx",
        ),
    ],
)
def test_plan_says_what_a_slice_is_given(hub, cli, words, said):
    assert said in cli("run", *words.split(), "--", "true").err


def test_plan_says_that_a_slice_gets_the_lower_end_of_a_range(hub, cli):
    told = cli("run", "--cpus", "1..2", "--memory", "..8GB", "--", "x").err
    assert "note: for a range, a slice gets only the lower end (cpus, memory)" in told
    assert "lower end" not in cli("run", "--cpus", "2..2", "--memory", "8GB+", "--", "x").err


def test_plan_of_somebody_without_machines_speaks_of_other_peoples_alone(hub, cli):
    hub.nodes, hub.nodes_online = [], 2
    assert " · other people's nodes · " in cli("run", "--", "x").err
    hub.nodes_online, hub.nodes_away = 0, 1
    told = cli("run", "--", "x").err
    assert " · other people's nodes · " in told
    assert "free: your own nodes" not in told


def test_what_a_node_says_of_a_job_that_went_well_is_told(hub, cli):
    def play(job: FakeJob) -> None:
        prints(b"")(job)
        job.document["slices"][0]["attempts"][-1]["detail"] = "no file matched nope/**"

    hub.play = play
    done = cli("run", "--output", "nope/**", "--", "true")
    assert done.code == 0
    assert "note: no file matched nope/**" in done.err


# ── what goes along ──────────────────────────────────────────────────────────────────────────────────────────────────


def run_with_stdin(hub: FakeHub, tmp_path: Path, stdin: Any, *words: str) -> subprocess.CompletedProcess[bytes]:
    env = {"COMPUTEPOOL_URL": hub.url, "COMPUTEPOOL_TOKEN": TOKEN, "COMPUTEPOOL_HOME": str(tmp_path / "home")}
    return subprocess.run(
        [*COMPUTEPOOL, "run", *words],
        stdin=stdin,
        env=environment_with(**env),
        capture_output=True,
        timeout=patience(),
        check=False,
    )


def test_what_is_piped_in_is_the_commands_standard_input(hub, tmp_path):
    read, write = os.pipe()
    os.write(write, b"hello")
    os.close(write)
    done = run_with_stdin(hub, tmp_path, read, "--", "cat", "-n")
    os.close(read)
    assert done.returncode == 0, done.stderr
    assert spec_of(hub)["run"] == ["sh", "-c", 'exec "$0" "$@" < .computepool-stdin', "cat", "-n"]
    assert (spec_of(hub)["name"], list(spec_of(hub)["inputs"])) == ("cat", [".computepool-stdin"])
    assert b"hello" in hub.blobs.values()
    assert "cat -n < stdin" in done.stderr.decode()


def test_silent_pipe_is_not_waited_for(hub, tmp_path):
    """Many CI systems leave one open for ever."""
    read, write = os.pipe()
    done = run_with_stdin(hub, tmp_path, read, "--", "true")
    os.close(read)
    os.close(write)
    assert (done.returncode, spec_of(hub)["run"]) == (0, ["true"])
    assert b"nothing came on standard input" in done.stderr


def test_file_that_somebody_has_begun_to_read_is_left_to_them(hub, tmp_path):
    lines = tmp_path / "lines"
    lines.write_text("first\nsecond\n")
    with lines.open("rb") as file:
        os.lseek(file.fileno(), 6, os.SEEK_SET)
        assert run_with_stdin(hub, tmp_path, file, "--", "true").returncode == 0
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 6
    assert spec_of(hub)["run"] == ["true"]


def test_results_of_earlier_runs_are_not_sent(hub, cli):
    hub.play = prints(b"", outputs={"out/result": b"1"})
    Path("main.py").write_text("")
    Path("out/deep").mkdir(parents=True)
    Path("out/deep/old").write_text("of a run on this machine")
    assert cli("run", "--output", "out/**", "--", "first").code == 0
    assert cli("get", "last", "-o", "mine/new").code == 0
    hub.jobs.clear()
    result = cli("run", "--workdir", ".", "--output", "out/**", "--", "second")
    assert set(bundle_of(hub)) == {"main.py"}
    assert "results of earlier runs are left out: mine/, out/, outputs/" in result.err
    # A folder of results can be the folder of another job.
    hub.jobs.clear()
    assert cli("run", "--workdir", "mine", "--", "third").code == 0
    assert set(bundle_of(hub)) == {"new/out/result"}


def test_lines_of_the_agent_go_to_standard_error(hub, cli):
    hub.play = prints(b"[computepool] setup: ready\nown [computepool] line\n[comp")
    result = cli("run", "--", "x")
    assert result.out == b"own [computepool] line\n[comp"
    assert "[computepool] setup: ready" in result.err


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([b"[computepool] a", b"\n", b"[", b"x", b"[comput", NOTICE])),
    st.integers(1, 9),
)
def test_agents_lines_are_told_apart_wherever_a_log_is_cut(data, cut):
    whole = b"".join(data)
    splitter, printed, notices = NoticeSplitter(), b"", list[bytes]()
    for at in range(0, len(whole), cut):
        some, told = splitter.feed(whole[at : at + cut])
        printed, notices = printed + some, notices + told
    printed += splitter.finish()
    lines = whole.splitlines(keepends=True)
    assert printed == b"".join(line for line in lines if not (line.startswith(NOTICE) and line.endswith(b"\n")))
    assert notices == [line for line in lines if line.startswith(NOTICE) and line.endswith(b"\n")]


# ── errors as JSON ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "code", "found"),
    [
        ("show nope --json", 1, {"code": "not_found", "message": "There is no job 'nope'."}),
        ("ps --nonsense --json", 2, {"code": "usage"}),
        ("ps --since never --json", 2, {"code": "refused"}),
        ("run --json --gpu 0GB -- x", 2, {"code": "bad_spec"}),
        ("run --json nowhere.py", 2, {"code": "refused"}),
    ],
)
def test_errors_are_json_where_json_was_asked_for(hub, cli, words, code, found):
    result = cli(*words.split())
    assert (result.code, result.out) == (code, b"")
    error = json.loads(result.err)["error"]
    assert error["message"]
    assert found.items() <= error.items()


def test_options_of_the_script_ask_for_nothing(hub, cli):
    hub.stop()
    assert cli("run", "--", "x", "--json").err.startswith("error: ")
    assert "error" in json.loads(cli("ps", "--json").err)


@pytest.mark.parametrize("words", ["ps", "run -- x", "nodes"])
def test_hub_that_does_not_answer_is_the_pools_doing_everywhere(hub, cli, words):
    hub.stop()
    assert cli(*words.split()).code == 75


@pytest.mark.parametrize(("word", "said"), [("status", "`ps`"), ("stop", "`cancel JOB`"), ("shwo", "'show'")])
def test_words_of_other_tools_lead_to_ours(cli, word, said):
    result = cli(word)
    assert result.code == 2
    assert said in result.err
    assert cli("help", "show").out == cli("show", "--help").out


def test_dumb_terminal_gets_text_alone():
    one = TerminalFilter(plain=True)
    assert one.feed(b"\x1b[31mred\x1b[0m 10 %\r20 %\n") + one.finish() == "red 10 %\n20 %\n"


def test_transfer_is_told_now_and_then_where_there_is_no_terminal(capfd):
    now = [0.0]
    report = progress_lines("sending files", clock=lambda: now[0])
    for done in range(11):
        report(done * 10**6, 10**7)
        now[0] += 1
    shown = capfd.readouterr().err.splitlines()
    assert shown == ["sending files: 4.8 MB of 9.5 MB (50 %)", "sending files: 9.5 MB of 9.5 MB (100 %)"]
