"""Outputs: what is kept, what a hostile job cannot make the agent read, and how they get to the hub."""

import asyncio
import hashlib
import os
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.agents import running_agent
from support.fake_hub import FakeHub
from support.lone_supervisor import LoneSupervisor, LoopClock, run_in_virtual_time
from support.ordinary_user import ordinary_folder, ordinary_user

from computepool.agent import finishing, outputs
from computepool.agent.outputs import GlobMatcher, OutputsRefused, has_nothing_to_keep, open_collected
from computepool.agent.pieces import run_through
from computepool.agent.supervisor import REPEAT_SECONDS
from computepool.protocol.messages import (
    MESSAGE_LIMIT_BYTES,
    Finished,
    PollRequest,
    UploadGrant,
    UploadRequest,
    UploadTarget,
)
from computepool.protocol.receipt import RECEIPT, EndReason, Receipt, Usage
from computepool.protocol.signing import sign
from computepool.protocol.states import IsolationLevel

PASSWD_DIGEST = hashlib.sha256(Path("/etc/passwd").read_bytes()).hexdigest()


@pytest.fixture
def job(tmp_path):
    for name in ("work", "output", "checkpoint"):
        (tmp_path / "job" / name).mkdir(parents=True)
    return tmp_path / "job"


def write(path, text="content"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def collect(*arguments, **options):
    return run_through(outputs.collect(*arguments, **options))


def names(collection):
    return sorted(file.path for file in collection.files)


def test_everything_under_output_is_kept_with_size_and_digest(job):
    write(job / "output" / "model.bin", "weights")
    write(job / "output" / "deep" / "er" / "log.txt", "")
    write(job / "work" / "scratch", "not asked for")
    collection = collect(job, ())
    assert names(collection) == ["deep/er/log.txt", "model.bin"]
    model = next(file for file in collection.files if file.path == "model.bin")
    assert (model.size_bytes, model.digest) == (7, "sha256:" + hashlib.sha256(b"weights").hexdigest())
    with open_collected(job, model) as file:
        assert file.read() == b"weights"


@pytest.mark.parametrize(
    ("globs", "kept"),
    [
        (["out/**"], ["out/a.txt", "out/sub/b.pt"]),
        (["out"], ["out/a.txt", "out/sub/b.pt"]),
        (["./out/"], ["out/a.txt", "out/sub/b.pt"]),
        (["out/*"], ["out/a.txt", "out/sub/b.pt"]),
        (["*.txt"], ["top.txt"]),
        (["**/*.txt"], ["out/a.txt", "top.txt"]),
        (["**"], ["odd [x].csv", "out/a.txt", "out/sub/b.pt", "top.txt"]),
        (["out/**/b.*"], ["out/sub/b.pt"]),
        (["out/?.txt", "top.txt"], ["out/a.txt", "top.txt"]),
        (["out/[ab].txt"], ["out/a.txt"]),
        (["odd [[]x].csv"], ["odd [x].csv"]),
        (["/out/a.txt"], ["out/a.txt"]),
        (["../*"], []),
        (["nothing/**"], []),
    ],
)
def test_globs_are_relative_to_where_the_job_worked(job, globs, kept):
    for name in ("out/a.txt", "out/sub/b.pt", "top.txt", "odd [x].csv"):
        write(job / "work" / name)
    assert names(collect(job, globs)) == kept


def test_hostile_glob_costs_no_more_than_its_length():
    matcher = GlobMatcher(["/".join(["**"] * 50) + "/x", "*a" * 100 + "b"])
    assert not matcher.matches("a/" * 60 + "y")
    assert not matcher.matches("a" * 250)


def test_same_name_in_both_places_loses_neither(job):
    write(job / "output" / "out" / "x", "from output")
    write(job / "work" / "out" / "x", "from work")
    assert names(collect(job, ["out/**"])) == ["out/x", "work/out/x"]


def test_links_are_never_followed(job, tmp_path):
    secret = tmp_path / "secret"
    write(secret / "key", "the agent's private key")
    (job / "output" / "passwd").symlink_to("/etc/passwd")
    (job / "output" / "key").symlink_to(secret / "key")
    (job / "output" / "folder").symlink_to(secret)
    (job / "output" / "loop").symlink_to("loop")
    (job / "work" / "relative").symlink_to("../../secret/key")
    os.mkfifo(job / "output" / "pipe")
    write(job / "output" / "honest")
    collection = collect(job, ["**"])
    assert names(collection) == ["honest"]
    assert collection.left_out == 6


@pytest.mark.parametrize("name", ["output", "work"])
def test_folder_replaced_by_a_link_yields_nothing(job, tmp_path, name):
    write(tmp_path / "secret" / "key")
    (job / name).rmdir()
    (job / name).symlink_to(tmp_path / "secret")
    assert collect(job, ["**"]).files == ()


def test_link_put_in_place_of_a_folder_after_the_search_is_not_followed(job, tmp_path):
    write(job / "output" / "sub" / "key", "public")
    (file,) = collect(job, ()).files
    write(tmp_path / "secret" / "key", "private")
    (job / "output" / "sub").rename(job / "output" / "moved")
    (job / "output" / "sub").symlink_to(tmp_path / "secret")
    with pytest.raises(NotADirectoryError):
        open_collected(job, file)


def test_too_many_too_deep_and_unspeakable_names_are_the_renters_to_mend(job, monkeypatch):
    monkeypatch.setattr(outputs, "OUTPUT_FILES_LIMIT", 3)
    for number in range(4):
        write(job / "output" / str(number))
    with pytest.raises(OutputsRefused, match="pack them"):
        collect(job, ())
    for number in range(4):
        (job / "output" / str(number)).unlink()
    write(job / "output" / "/".join(["d"] * 70) / "x")
    with pytest.raises(OutputsRefused, match="deep"):
        collect(job, ())


def write_named(folder, count, filling):
    for number in range(count):
        (folder / f"{number:05d}{filling}").touch()


def test_names_that_no_message_can_hold_are_the_renters_to_mend(job):
    """They grow each time that JSON is put into JSON: in the receipt, in the report, in a polled line's request."""
    write_named(job / "output", 3000, '"' * 235)
    with pytest.raises(OutputsRefused, match="names"):
        collect(job, ())


@pytest.mark.parametrize(("count", "filling"), [(5000, "n" * 240), (1400, '"' * 235)])
def test_everything_that_is_collected_fits_into_one_report(job, count, filling):
    write_named(job / "output", count, filling)
    files = collect(job, ()).files
    assert len(files) == count
    receipt = Receipt(
        node_id="n" * 80,
        job_id="j" * 80,
        attempt_id="a" * 80,
        fence=2**60,
        spec_digest="sha256:" + "0" * 64,
        manifest_digest="sha256:" + "0" * 64,
        isolation=IsolationLevel.BUBBLEWRAP,
        exit_code=0,
        reason=EndReason.EXITED,
        detail='"' * 500,
        log_bytes=10**9,
        log_digest="sha256:" + "0" * 64,
        outputs=tuple(file.ref for file in files),
        usage=Usage(running_seconds=1.0),
        started_at=None,
        finished_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    signed = sign(Ed25519PrivateKey.generate(), "key", RECEIPT, receipt.to_bytes())
    finished = Finished(attempt_id="a", fence=1, sequence=1, receipt=signed)
    message = finished.to_bytes().decode()
    polled = PollRequest(node_id="n", session="s" * 32, start=0, messages=(message,), received=0, wait_seconds=0)
    assert len(polled.to_bytes()) < MESSAGE_LIMIT_BYTES


@pytest.mark.parametrize("top", ["output", "work"])
@pytest.mark.parametrize(
    ("name", "note"),
    [
        (b"back\\slash", r"back\slash (has a backslash)"),
        (b"bad\\folder/x", r"bad\folder/x (has a backslash)"),
        (b"two\nlines", r"two\nlines (has a control or invisible character)"),
        ("a\u202eb".encode(), r"a\u202eb (has a control or invisible character)"),
        (b"\xff\xfe", r"\udcff\udcfe (is not UTF-8)"),
        (b"/".join([b"n" * 250] * 5), "n" * 80 + "… (is longer than 1024 bytes)"),
    ],
)
def test_file_that_the_hub_would_refuse_for_its_name_is_left_out_and_the_rest_kept(job, top, name, note):
    write(job / top / "result", "keep")
    write(Path(os.fsdecode(os.fsencode(job / top) + b"/" + name)))
    collection = collect(job, ["**"] if top == "work" else [])
    assert names(collection) == ["result"]
    assert collection.notes == (f"outputs left out for their names, rename them: {note}",)


def test_name_that_grows_too_long_beside_its_namesake_is_left_out(job):
    path = Path(*["n" * 250] * 4, "n" * 20)
    for top in ("output", "work"):
        write(job / top / path)
    collection = collect(job, ["**"])
    assert (len(collection.files), collection.misnamed) == (1, 1)


def test_many_bad_names_make_a_short_note(job):
    write_named(job / "output", 50, "\\")
    (note,) = collect(job, ()).notes
    assert note.endswith(" and 47 more")
    assert len(note) < 200


def test_each_glob_that_nothing_matched_is_noted(job):
    write(job / "work" / "out" / "a.txt")
    write(job / "output" / "nope" / "x")
    (job / "work" / "empty").mkdir()
    (job / "work" / "link").symlink_to("out")
    collection = collect(job, ["out/**", "*.csv", "**/*.txt", "empty", "link", "*.csv"])
    assert names(collection) == ["nope/x", "out/a.txt"]
    assert collection.unmatched == ("*.csv", "empty")
    assert collection.notes[-1] == "no file matched *.csv, empty"
    assert collect(job, ["out", "out/a.txt"]).notes == ()
    assert collect(job, ()).notes == ()
    assert collect(job, [f"{n}.csv" for n in range(9)]).notes == ("no file matched 0.csv, 1.csv, 2.csv and 6 more",)


@pytest.mark.parametrize("closed", [".", "output", "output/sub", "work"])
@pytest.mark.parametrize("mode", [0o000, 0o400])
def test_folder_that_the_job_closed_is_the_renters_to_mend(closed, mode):
    """Where the job is the agent's own user; root reads everything."""
    with ordinary_folder() as home, ordinary_user():
        write(home / "output" / "sub" / "x")
        write(home / "work" / "y")
        assert len(collect(home, ["**"]).files) == 2
        (home / closed).chmod(mode)
        try:
            assert not has_nothing_to_keep(home, ())
            with pytest.raises(OutputsRefused, match=r"cannot be read|closed by the job"):
                collect(home, ["**"])
        finally:
            (home / closed).chmod(0o700)


def test_nothing_to_keep_is_seen_without_a_search(job):
    assert has_nothing_to_keep(job, ())
    assert not has_nothing_to_keep(job, ("out/**",))
    write(job / "output" / "x")
    assert not has_nothing_to_keep(job, ())


def test_large_file_announces_the_digest_of_each_part(job, monkeypatch):
    monkeypatch.setattr(outputs, "UPLOAD_PART_BYTES", 2 * 1024 * 1024)
    data = os.urandom(5 * 1024 * 1024)
    (job / "output" / "big").write_bytes(data)
    (file,) = collect(job, ()).files
    parts = [data[start : start + 2 * 1024 * 1024] for start in range(0, len(data), 2 * 1024 * 1024)]
    assert file.part_digests == tuple("sha256:" + hashlib.sha256(part).hexdigest() for part in parts)


# ── on their way ──


def story(tmp_path, tell):
    async def run():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            await tell(hub, running)

    asyncio.run(run())


def test_outputs_arrive_at_the_hub(tmp_path):
    async def tell(hub, running):
        hub.part_bytes = 1000
        script = "head -c 2500 /dev/zero | tr '\\0' z > $COMPUTEPOOL_OUTPUT/big; mkdir out; echo hi > out/x; exit 2"
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", script, outputs=("out/**",))
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert receipt.exit_code == 2
        assert {output.path: output.size_bytes for output in receipt.outputs} == {"big": 2500, "out/x": 3}
        for output in receipt.outputs:
            assert len(hub.stored[output.digest.partition(":")[2]]) == output.size_bytes
        assert [update.state for update in hub.updates[attempt_id]] == ["running", "finishing"]

    story(tmp_path, tell)


def test_upload_goes_on_after_failures_and_a_broken_line(tmp_path):
    async def tell(hub, running):
        hub.part_bytes, hub.fail_uploads = 1000, 2
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "seq 1 2000 > $COMPUTEPOOL_OUTPUT/numbers")
        await hub.until(lambda: hub.fail_uploads == 0)
        hub.drop_lines()
        await hub.until(lambda: attempt_id in hub.receipts)
        (output,) = hub.receipts[attempt_id].outputs
        stored = hub.stored[output.digest.partition(":")[2]]
        assert hashlib.sha256(stored).hexdigest() == output.digest.partition(":")[2]

    story(tmp_path, tell)


def test_outputs_that_the_hub_refuses_are_told_in_the_receipt(tmp_path):
    async def tell(hub, running):
        hub.upload_refusal = "larger than this hub takes"
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo x > $COMPUTEPOOL_OUTPUT/x")
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert (receipt.reason, receipt.exit_code) == (EndReason.OUTPUTS, 0)
        assert receipt.detail == "larger than this hub takes"
        failing = hub.offer(running.node, "/bin/sh", "-c", "echo x > $COMPUTEPOOL_OUTPUT/x; exit 1")
        await hub.until(lambda: failing in hub.receipts)
        assert (hub.receipts[failing].reason, hub.receipts[failing].exit_code) == (EndReason.EXITED, 1)

    story(tmp_path, tell)


def test_link_to_a_host_file_is_left_out_of_a_real_jobs_outputs(tmp_path):
    async def tell(hub, running):
        script = "ln -s /etc/passwd $COMPUTEPOOL_OUTPUT/passwd; ln -s /etc out; echo ok > $COMPUTEPOOL_OUTPUT/ok"
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", script, outputs=("out/**", "out"))
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert [output.path for output in receipt.outputs] == ["ok"]
        assert "left out" in receipt.detail
        assert PASSWD_DIGEST not in hub.stored

    story(tmp_path, tell)


def test_job_with_an_odd_name_among_its_outputs_still_succeeds_and_says_so(tmp_path):
    async def tell(hub, running):
        script = "echo a > 'back\\slash'; echo keep > result"
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", script, outputs=("**", "nope/**"))
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert (receipt.reason, receipt.exit_code) == (EndReason.EXITED, 0)
        assert [output.path for output in receipt.outputs] == ["result"]
        assert r"back\slash (has a backslash)" in receipt.detail
        assert receipt.detail.endswith("; no file matched nope/**")

    story(tmp_path, tell)


def test_glob_that_matched_nothing_is_told_in_the_receipt_of_a_job_that_succeeded(tmp_path):
    async def tell(hub, running):
        attempt_id = hub.offer(running.node, "/bin/true", outputs=("nope/**",))
        await hub.until(lambda: attempt_id in hub.receipts)
        receipt = hub.receipts[attempt_id]
        assert (receipt.reason, receipt.exit_code, receipt.outputs) == (EndReason.EXITED, 0, ())
        assert receipt.detail == "no file matched nope/**"

    story(tmp_path, tell)


def test_cancel_interrupts_an_upload(tmp_path):
    async def tell(hub, running):
        hub.fail_uploads = 1_000_000
        attempt_id = hub.offer(running.node, "/bin/sh", "-c", "echo x > $COMPUTEPOOL_OUTPUT/x")
        await hub.until(lambda: hub.fail_uploads < 1_000_000)
        hub.stop(running.node, attempt_id)
        await hub.until(lambda: attempt_id in hub.receipts)
        assert hub.receipts[attempt_id].reason is EndReason.CANCELED
        assert hub.receipts[attempt_id].outputs == ()

    story(tmp_path, tell)


def test_request_for_places_that_nobody_answered_is_repeated_on_the_same_line(tmp_path):
    async def tell():
        bench = LoneSupervisor(tmp_path, LoopClock())
        bench.listen()
        bench.give(bench.hub.sign_manifest(bench.manifest("touch", "output/x")))
        await asyncio.sleep(1)
        (request,) = bench.of(UploadRequest)
        bench.supervisor.tick()
        await asyncio.sleep(REPEAT_SECONDS)
        assert bench.of(UploadRequest) == [request]  # not earlier than this
        for _ in range(2):
            bench.supervisor.tick()
            bench.supervisor.tick()
            await asyncio.sleep(REPEAT_SECONDS)
        assert bench.of(UploadRequest) == [request] * 3
        places = (UploadTarget(path="x", urls=("/files/x/0",), part_bytes=1000),)
        grant = UploadGrant(attempt_id=request.attempt_id, fence=request.fence, request=request.request, targets=places)
        bench.supervisor.handle(grant)
        bench.supervisor.handle(grant)
        await asyncio.sleep(REPEAT_SECONDS)
        bench.supervisor.tick()
        await asyncio.sleep(1)
        assert len(bench.of(UploadRequest)) == 3
        assert bench.of(Finished)
        await bench.close()

    run_in_virtual_time(tell())


def test_report_that_no_line_can_carry_is_replaced_by_one_that_says_so(tmp_path, monkeypatch):
    """Else it would break the line, and every line after it, for a day."""
    monkeypatch.setattr(finishing, "FINISHED_LIMIT_BYTES", 3000)

    async def receipt_of(bench, *argv):
        bench.sent.clear()
        bench.give(bench.hub.sign_manifest(bench.manifest(*argv)))
        await asyncio.sleep(1)
        (request,) = bench.of(UploadRequest)
        places = tuple(UploadTarget(path=file.path, urls=(), part_bytes=1000) for file in request.files)
        bench.supervisor.handle(
            UploadGrant(attempt_id=request.attempt_id, fence=request.fence, request=request.request, targets=places)
        )
        await asyncio.sleep(1)
        (finished,) = bench.of(Finished)
        return Receipt.model_validate_json(finished.receipt.body)

    async def tell():
        bench = LoneSupervisor(tmp_path, LoopClock())
        bench.listen()
        fits = await receipt_of(bench, "touch", "output/x")
        assert (fits.reason, len(fits.outputs)) == (EndReason.EXITED, 1)
        lost = await receipt_of(bench, "touch", "output/" + '"' * 240)
        assert (lost.reason, lost.exit_code, lost.outputs) == (EndReason.OUTPUTS, 0, ())
        assert "pack them" in lost.detail
        failed = await receipt_of(bench, "touch", "output/" + '"' * 240, ";", "exit", "3")
        assert (failed.reason, failed.exit_code, failed.outputs) == (EndReason.EXITED, 3, ())
        assert "pack them" in failed.detail
        await bench.close()

    run_in_virtual_time(tell())


def test_names_that_are_not_kept_take_no_memory(job):
    """20,000 folders with long names, 64 deep: their paths alone were 240 MB."""
    deep = job / "work" / "/".join(["d" * 200] * 15)
    deep.mkdir(parents=True)
    for number in range(1_000):
        (deep / f"{number:0200}").mkdir()
    limit = 2 * 1024 * 1024
    tracemalloc.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(outputs, "PENDING_LIMIT_BYTES", limit // 2)
            with pytest.raises(OutputsRefused, match="too many folders with long names"):
                collect(job, ["**"])
        assert tracemalloc.get_traced_memory()[1] < limit
        # Those that no glob asks for are passed over, one by one.
        tracemalloc.reset_peak()
        assert collect(job, ["/".join(["d" * 200] * 15) + "/x"]).files == ()
        assert tracemalloc.get_traced_memory()[1] < limit // 4
    finally:
        tracemalloc.stop()
