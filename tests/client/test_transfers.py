"""Uploads and downloads: resumed, checked, and kept where they belong."""

import random
from pathlib import Path

import pytest
from support.fake_api import FakeHub, digest, prints

from computepool.client import Pool, TransferError
from computepool.client.downloads import UnsafePath, place_of
from computepool.client.models import Output

DATA = random.Random(3).randbytes(300_000)


@pytest.fixture(autouse=True)
def _small_parts(hub: FakeHub) -> None:
    hub.part_bytes = 65_536


def finished(hub: FakeHub, outputs: dict[str, bytes], slices: int = 1) -> str:
    job = hub.add_job({"run": "true", "slices": slices})
    prints(b"", 0, outputs)(job)
    return job.id


def puts(hub: FakeHub) -> int:
    return sum(method == "PUT" for method, _ in hub.requests)


# ── up ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_file_goes_up_in_parts(hub, pool, tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    done: list[tuple[int, int]] = []
    stored = pool.upload(tmp_path / "data", progress=lambda *step: done.append(step))
    assert hub.blobs[stored.digest] == DATA
    assert puts(hub) == 5
    assert done == sorted(done)
    assert done[-1] == (len(DATA), len(DATA))


def test_stored_content_is_not_sent_again(hub, pool, tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    pool.upload(tmp_path / "data")
    sent = puts(hub)
    pool.upload(tmp_path / "data")
    assert puts(hub) == sent


def test_broken_upload_sends_only_what_is_missing(hub, pool, tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    key = digest(DATA)
    hub.sizes[key] = len(DATA)
    hub.parts[key] = {part: DATA[part * 65_536 : (part + 1) * 65_536] for part in (0, 2, 4)}
    pool.upload(tmp_path / "data")
    assert puts(hub) == 2
    assert hub.blobs[key] == DATA


def test_url_that_ran_out_is_replaced(hub, pool, tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    hub.expire_urls = 2
    assert hub.blobs[pool.upload(tmp_path / "data").digest] == DATA


def test_empty_file_can_be_stored(hub, pool, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert hub.blobs[pool.upload(tmp_path / "empty").digest] == b""


def test_folder_is_packed_and_sent_along(hub, pool, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "main.py").write_text("print(1)")
    job = pool.submit({"run": "python3 main.py"}, bundle=tmp_path / "work")
    assert hub.jobs[job.id].document["bundle"].startswith("artifact_")


def test_file_is_uploaded_as_an_input_of_a_job(hub, pool, tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    stored = pool.upload(tmp_path / "data", kind="input")
    job = pool.submit({"run": "true", "inputs": {"kept": "artifact_1"}}, inputs={"a": tmp_path / "data", "b": stored})
    inputs = hub.jobs[job.id].document["spec"]["inputs"]
    assert inputs == {"kept": "artifact_1", "a": stored.id, "b": stored.id}


# ── down ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_outputs_come_down_in_parts_and_whole(hub, pool, tmp_path):
    job = finished(hub, {"a/b/model.bin": DATA, "empty": b"", "small.txt": b"hi"})
    fetched = pool.download_outputs(job, tmp_path / "out")
    assert (tmp_path / "out/a/b/model.bin").read_bytes() == DATA
    assert (tmp_path / "out/empty").read_bytes() == b""
    assert [item.fresh for item in fetched] == [True, True, True]
    assert not list((tmp_path / "out").rglob("*.part"))


def test_many_small_outputs_come_down_together_with_one_progress(hub, pool, tmp_path):
    outputs = {f"f{number}": f"{number}".encode() for number in range(40)} | {"large.bin": DATA * 5}
    job, told = finished(hub, outputs), []
    fetched = pool.download_outputs(job, tmp_path, progress=lambda done, total: told.append((done, total)))
    assert [item.output.path for item in fetched] == [output.path for output in pool.outputs(job)]
    assert {item.path.name: item.path.read_bytes() for item in fetched} == outputs
    total = sum(map(len, outputs.values()))
    assert told == sorted(told)
    assert told[-1] == (total, total)


def test_present_files_are_not_fetched_again(hub, pool, tmp_path):
    job = finished(hub, {"model.bin": DATA})
    pool.download_outputs(job, tmp_path)
    before = len(hub.requests)
    (again,) = pool.download_outputs(job, tmp_path)
    assert not again.fresh
    assert not [path for _, path in hub.requests[before:] if path.startswith("/store/")]


@pytest.mark.parametrize("have", [1, 65_535, 65_536, 65_537, 299_999])
def test_download_goes_on_from_its_part_file(hub, pool, tmp_path, have):
    job = finished(hub, {"model.bin": DATA})
    part = tmp_path / f".model.bin.{digest(DATA)[7:19]}.part"
    part.write_bytes(DATA[:have])
    pool.download_outputs(job, tmp_path)
    assert (tmp_path / "model.bin").read_bytes() == DATA
    gets = [path for method, path in hub.requests if method == "GET" and path.startswith("/store/")]
    assert len(gets) == 5 - have // 65_536
    assert not part.exists()


def test_body_that_breaks_off_is_taken_up_again(hub, pool, tmp_path):
    job = finished(hub, {"model.bin": DATA})
    hub.cut_bodies_after = 1000
    pool.download_outputs(job, tmp_path)
    assert (tmp_path / "model.bin").read_bytes() == DATA


def test_url_that_ran_out_during_a_download_is_replaced(hub, pool, tmp_path):
    job = finished(hub, {"model.bin": DATA})
    hub.expire_urls = 1
    pool.download_outputs(job, tmp_path)
    assert (tmp_path / "model.bin").read_bytes() == DATA


@pytest.mark.parametrize("begun", [b"", b"not the beginning", b"x" * 400_000])
def test_damaged_part_file_does_not_damage_the_result(hub, pool, tmp_path, begun):
    job = finished(hub, {"model.bin": DATA})
    (tmp_path / f".model.bin.{digest(DATA)[7:19]}.part").write_bytes(begun)
    pool.download_outputs(job, tmp_path)
    assert (tmp_path / "model.bin").read_bytes() == DATA


def test_wrong_content_never_gets_its_name(hub, pool, tmp_path):
    job = finished(hub, {"model.bin": DATA})
    hub.blobs[digest(DATA)] = DATA[:-1] + b"!"
    with pytest.raises(TransferError) as caught:
        pool.download_outputs(job, tmp_path)
    assert caught.value.code == "digest_mismatch"
    assert list(tmp_path.rglob("*.bin*")) == []


def test_several_slices_land_in_folders_of_their_own(hub, pool, tmp_path):
    job = finished(hub, {"part.txt": b"same"}, slices=2)
    pool.download_outputs(job, tmp_path)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.txt")) == [
        "0/part.txt",
        "1/part.txt",
    ]


HOSTILE = [
    "../x", "a/../../x", "/etc/x", "a//b", "./x", "a/.", "..", ".", "", "a\\..\\x", "a\nb", "a\x00b", "\x1b[2J",
    "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_hostile_path_is_refused(tmp_path, path):
    with pytest.raises(UnsafePath):
        place_of(tmp_path, Output(path=path, size_bytes=0, digest=""), by_slice=False)


def test_one_hostile_path_stops_everything_before_anything_is_written(hub, pool, tmp_path):
    job = finished(hub, {"good": b"1", "../bad": b"2"})
    with pytest.raises(UnsafePath):
        pool.download_outputs(job, tmp_path / "out")
    assert list(tmp_path.glob("**/good")) == []
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("link", ["out/folder", "out/folder/file"])
def test_links_are_not_followed(hub, pool, tmp_path, link):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    place = tmp_path / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside / "file" if link.endswith("file") else outside)
    job = finished(hub, {"folder/file": b"theirs"})
    with pytest.raises(UnsafePath):
        pool.download_outputs(job, tmp_path / "out")
    assert (outside / "file").read_text() == "mine"


def test_part_file_that_is_a_link_is_not_followed(hub, pool, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / f".file.{digest(b'theirs')[7:19]}.part").symlink_to(victim)
    job = finished(hub, {"file": b"theirs"})
    with pytest.raises(UnsafePath):
        pool.download_outputs(job, out)
    assert victim.read_text() == "mine"


def test_only_the_last_attempt_of_a_slice_is_fetched(hub: FakeHub, pool: Pool, tmp_path: Path):
    job = hub.jobs[finished(hub, {"result": b"second"})]
    job.outputs = [(0, 1, "result", b"first"), (0, 1, "stale", b"old"), (0, 2, "result", b"second")]
    pool.download_outputs(job.id, tmp_path)
    assert (tmp_path / "result").read_bytes() == b"second"
    assert not (tmp_path / "stale").exists()
