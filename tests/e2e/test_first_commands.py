"""The first hour of a newcomer: one command for a pool, one for a job, and what can be asked about it afterwards.

On a real PostgreSQL and a real S3; every other test of a pool is on SQLite and local disk, as `up` makes it, and in
`./dev prove` so are these.
"""

import json
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest
from support.pool import Pool, running_pool
from support.proofs import proving
from support.services import make_bucket

from computepool.client.listing import RESULTS_MARK
from computepool.protocol.messages import UPLOAD_PART_BYTES

pytestmark = [pytest.mark.slow, pytest.mark.engine("bwrap")]


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Pool]:
    """What `computepool up` makes: a hub, and an agent on this machine."""
    with running_pool(tmp_path / "pool", hub=False) as pool:
        pool.up()
        yield pool


@contextmanager
def service_settings(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """A fresh database on a real PostgreSQL, and a fresh bucket on a real S3."""
    s3 = make_bucket(request.getfixturevalue("s3_endpoint_url"), "first-commands")
    with request.getfixturevalue("postgres_server").database() as database_url:
        yield {
            "COMPUTEPOOL_DATABASE_URL": database_url,
            "COMPUTEPOOL_STORAGE_URL": f"s3://{s3.bucket}",
            **s3.environment(),
        }


STORES = ["@services", *([pytest.param("@embedded", marks=pytest.mark.proof)] if proving() else [])]


@pytest.fixture(scope="module", params=STORES)
def anywhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A hub and one agent, for several tests: on SQLite and local disk, and on PostgreSQL and S3."""
    found: AbstractContextManager[dict[str, str]] = nullcontext({})
    if request.param == "@services":
        found = service_settings(request)
    with found as settings, running_pool(tmp_path_factory.mktemp("pool"), settings) as pool:
        pool.join("alpha")
        yield pool


def test_up_then_run_prints_42_and_nothing_else(shared):
    done = shared.cli("run", "--", "python3", "-c", "print(6*7)").expect(0)
    assert done.out == b"42\n"
    assert "succeeded" in done.err
    assert "bubblewrap" in done.err
    assert shared.hub.stop() == 0, shared.hub.said()
    shared.until(lambda: not shared.leftovers(), "Ctrl-C ends the hub, the agent and everything below it")


def test_exit_code_of_run_tells_what_became_of_the_job(pool):
    pool.join("alpha")
    assert pool.cli("run", "--", "sh", "-c", "exit 3").expect(3).out == b""
    assert "137" in pool.cli("run", "--", "sh", "-c", "kill -KILL $$").expect(137).err
    # Another try would not find it either.
    absent = pool.cli("run", "--retries", "2", "--", "no-such-program").expect(127)
    assert "no-such-program: command not found" in absent.text
    assert "The command could not be started. Command not found: no-such-program" in absent.err
    assert "attempt 2" not in absent.err

    # What no node can run waits, says why, and can be canceled from elsewhere.
    following = pool.begin("run", "--gpu", "24GB..", "--name", "wanting", "--", "true")
    following.wait_for("queued: The only node can never run it")
    told = pool.cli("why", "wanting").expect(0).text
    assert "The only node can never run it" in told
    assert "gpu" in told
    pool.cli("cancel", "wanting", "-y").expect(0)
    assert following.wait() == 130, following.said()


def test_script_and_spec_with_a_workdir_give_their_outputs_back(anywhere):
    pool = anywhere
    work = pool.folder / "project"
    work.mkdir()
    (work / "greet.py").write_text("import sys\nprint('hello', *sys.argv[1:])\n")
    assert pool.cli("run", "greet.py", "a", "b c", cwd=work).expect(0).out == b"hello a b c\n"

    (work / ".gitignore").write_text("secret.txt\n*.tmp\n")
    (work / "secret.txt").write_text("not for others")
    (work / "scratch.tmp").write_text("x")
    (work / "data.bin").write_bytes(bytes(range(256)) * 1000)
    (work / "train.py").write_text(
        "import os, pathlib\n"
        "print(*sorted(p.name for p in pathlib.Path('.').iterdir()))\n"
        "pathlib.Path('out/deep').mkdir(parents=True)\n"
        "pathlib.Path('out/deep/model.bin').write_bytes(pathlib.Path('data.bin').read_bytes()[::-1])\n"
        "pathlib.Path(os.environ['COMPUTEPOOL_OUTPUT'], 'epochs.txt').write_text(os.environ['EPOCHS'])\n"
        "pathlib.Path('not-an-output.txt').write_text('x')\n"
    )
    (work / "pool.yaml").write_text(
        "name: train\nworkdir: .\nrun: python3 train.py\nenv: {EPOCHS: '3'}\noutputs: ['out/**']\n"
    )
    done = pool.cli("run", "pool.yaml", "-o", "fetched", cwd=work).expect(0)
    assert done.out == b".gitignore data.bin greet.py pool.yaml train.py\n"
    fetched = work / "fetched"
    assert (fetched / "out/deep/model.bin").read_bytes() == (bytes(range(256)) * 1000)[::-1]
    assert (fetched / "epochs.txt").read_text() == "3"
    files = sorted(path.name for path in fetched.rglob("*") if path.is_file())
    assert files == [RESULTS_MARK, "epochs.txt", "model.bin"]

    again = pool.cli("get", "train", "-o", "again", "--json", cwd=work).expect(0).json
    assert {Path(item["path"]).name for item in again["items"]} == {"epochs.txt", "model.bin"}
    assert (work / "again/out/deep/model.bin").read_bytes() == (fetched / "out/deep/model.bin").read_bytes()

    _check_proof(pool, fetched)


def _check_proof(pool: Pool, fetched: Path) -> None:
    """`verify` holds for what is true, offline too, and for nothing else."""
    proof = pool.folder / "proof.json"
    pool.cli("verify", "last", "-o", str(fetched), "--save", str(proof)).expect(0)
    nowhere = {"COMPUTEPOOL_URL": "http://127.0.0.1:9"}
    assert pool.cli("verify", str(proof), "--json", environment=nowhere).expect(0).json["verified"] is True

    (fetched / "epochs.txt").write_text("4")
    altered = pool.cli("verify", str(proof), "-o", str(fetched), environment=nowhere).expect(1)
    assert "Verification failed" in altered.err

    document = json.loads(proof.read_text())
    receipt = document["items"][0]["receipt"]
    receipt["signature"] = receipt["signature"][:-8] + (
        "AAAAAA==" if "AAAAAA==" not in receipt["signature"] else "BBBBBB=="
    )
    proof.write_text(json.dumps(document))
    assert pool.cli("verify", str(proof), "--json", environment=nowhere).expect(1).json["verified"] is False


def test_files_of_more_than_one_part_go_there_and_come_back(anywhere):
    pool = anywhere
    work = pool.folder / "large"
    work.mkdir()
    content = random.Random(1).randbytes(UPLOAD_PART_BYTES + 1_000_000)
    (work / "data.bin").write_bytes(content)
    pool.cli(
        "run", "--workdir", ".", "--output", "*.bin", "-o", "back", "--", "mv", "data.bin", "moved.bin", cwd=work
    ).expect()
    assert (work / "back/moved.bin").read_bytes() == content
    pool.cli("verify", "last", "-o", str(work / "back")).expect(0)


def test_everything_can_be_asked_about_a_job(anywhere):
    pool = anywhere
    begun = pool.cli("run", "-d", "--json", "--name", "count", "--", "sh", "-c", "seq 1 100; exit 4").expect(0).json
    job_id = begun["id"]
    assert begun["state"] in {"queued", "running", "failed"}

    pool.cli("logs", "-f", job_id).expect(0)
    whole = b"".join(b"%d\n" % number for number in range(1, 101))
    assert pool.cli("logs", "count").expect(0).out == whole
    assert pool.cli("logs", "-f", "--tail", "2", job_id).expect(0).out == b"99\n100\n"

    shown = pool.cli("show", job_id, "--json").expect(0).json
    assert (shown["state"], shown["verdict"], shown["exit_code"]) == ("failed", "renter", 4)
    assert shown["slices"][0]["attempts"][0]["node_name"] == "alpha"
    assert "count" in pool.cli("show", job_id).expect(0).text
    listed = pool.cli("ps", "-a", "--json").expect(0).json
    assert listed["items"][0]["id"] == job_id
    assert pool.cli("ps", "--json").expect(0).json == {"items": [], "next": None}
    assert "waits for nothing" in pool.cli("why", job_id).expect(0).text

    again = pool.cli("retry", "count", "-d", "--json").expect(0).json
    assert again["retry_of"] == job_id
    assert pool.until_state(again["id"], "failed").exit_code == 4
