"""A put is whole and durable, or it never was: wherever the hub is killed, and wherever the power is cut."""

import asyncio
import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from computepool.hub.artifacts import local
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.local import LocalStore, NotAsAnnounced, UploadClosed
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.artifacts.store import Entry, StorageFull, StoreError
from computepool.hub.opening import offload_to_threads

CALLS = ("open", "write", "fdatasync", "fsync", "close", "rename", "mkdir", "unlink")


class Killed(BaseException):
    """Not an Exception: nothing may catch it and tidy up, as nothing could after a kill -9."""


class Observed:
    """The module's `os`, which notes what changes the disk, and dies at the given call and at all after it."""

    def __init__(self, dies_at: int | None = None, breaks_at: str | None = None) -> None:
        self.calls: list[tuple[str, str]] = []
        self._dies_at = dies_at
        self._breaks_at = breaks_at
        self._names: dict[int, str] = {}

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        return self._watched(name, real) if name in CALLS else real

    def _watched(self, name: str, real: Callable) -> Callable:
        def call(*args, **kwargs):
            if self._dies_at is not None and len(self.calls) >= self._dies_at:
                raise Killed
            if name == self._breaks_at:
                raise OSError(28, "No space left on device")
            target = self._names.get(args[0], str(args[0])) if isinstance(args[0], int) else str(args[0])
            self.calls.append((name, Path(target).name))
            result = real(*args, **kwargs)
            if name == "open":
                self._names[result] = target
            return result

        return call


@pytest.fixture
def observe(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Observed]:
    def start(**options) -> Observed:
        observed = Observed(**options)
        monkeypatch.setattr(local, "os", observed)
        monkeypatch.setattr(local, "_sync", observed.fdatasync)
        return observed

    return start


def new_store(folder: Path, signer: BlobSigner) -> LocalStore:
    return LocalStore(folder / "artifacts", signer)


def test_a_put_syncs_the_data_before_the_name_and_the_name_before_it_returns(local_store: LocalStore, observe):
    observed = observe()
    local_store.put("logs/attempt/0", b"bytes")
    names = observed.calls
    assert names.index(("fdatasync", "0")) < names.index(("rename", "0"))
    made = names.index(("mkdir", "logs")), names.index(("mkdir", "attempt"))
    renamed = len(names) - 1 - names[::-1].index(("rename", "0"))
    assert max(made) < renamed
    after = names[renamed:]
    assert {("fsync", "attempt"), ("fsync", "logs"), ("fsync", "artifacts")} <= set(after)


def test_a_put_into_a_known_folder_syncs_only_twice(local_store: LocalStore, observe):
    local_store.put("logs/attempt/0", b"bytes")
    observed = observe()
    local_store.put("logs/attempt/1", b"bytes")
    assert [name for name, _ in observed.calls if "sync" in name] == ["fdatasync", "fsync"]


def test_what_a_killed_hub_left_is_synced_before_anything_is_said_about_it(local_store: LocalStore, observe):
    """Its last rename was perhaps not on the disk when it was killed; and then the power goes."""
    local_store.put("logs/attempt_a/0000000000000000-0000000000000004", b"0123")
    observed = observe()
    logs = LogStore(local_store, offload_to_threads, 100)
    assert asyncio.run(logs.append("attempt_a", 0, b"0123")) == 4
    synced = {path for name, path in observed.calls if name == "fsync"}
    assert synced == {"0000000000000000-0000000000000004", "attempt_a", "logs", "artifacts"}


@pytest.mark.parametrize("before", [None, b"the old version"])
def test_killed_at_any_call_a_put_leaves_the_old_or_the_new_and_nothing_else(
    tmp_path: Path, signer: BlobSigner, observe, monkeypatch, before
):
    new = b"the new version, and longer"
    kills, outcomes = 0, set()
    for dies_at in range(100):
        store = new_store(tmp_path / str(dies_at), signer)
        if before is not None:
            store.put("a/b", before)
        observe(dies_at=dies_at)
        try:
            store.put("a/b", new)
            finished = True
        except Killed:
            finished, kills = False, kills + 1
        monkeypatch.undo()
        again = new_store(tmp_path / str(dies_at), signer)
        size = again.size("a/b")
        found = None if size is None else again.read("a/b", 0, size)
        assert found in ((new,) if finished else (before, new)), f"killed at call {dies_at}"
        assert again.list("a/") == ([] if found is None else [Entry("a/b", len(found))])
        assert list((tmp_path / str(dies_at) / "artifacts" / ".incoming").iterdir()) == []
        outcomes.add(found)
        if finished:
            break
    assert kills >= 6
    assert outcomes == {before, new}


def test_a_full_disk_is_told_and_leaves_nothing(local_store: LocalStore, observe, monkeypatch):
    observe(breaks_at="write")
    with pytest.raises(StoreError, match="No space left"):
        local_store.put("a/b", b"bytes")
    monkeypatch.undo()
    assert local_store.size("a/b") is None
    assert list((local_store.root / ".incoming").iterdir()) == []


def test_leftovers_of_a_dead_hub_are_swept_at_the_start(tmp_path: Path, signer: BlobSigner):
    store = new_store(tmp_path, signer)
    (store.root / ".incoming" / "7").write_bytes(b"half of somethi")
    again = new_store(tmp_path, signer)
    assert list((again.root / ".incoming").iterdir()) == []
    again.put("a", b"x")


DIGEST = "sha256:" + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of b"test"


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [([b"tes"], "1 bytes fewer"), ([b"test", b"s"], "more bytes"), ([b"best"], "SHA-256"), ([], "4 bytes fewer")],
)
def test_bytes_that_were_not_announced_are_not_kept(local_store: LocalStore, pieces, reason):
    incoming = local_store.receive("a/b", 4, DIGEST)

    def receive():
        with incoming:
            for piece in pieces:
                incoming.write(piece)
            incoming.keep()

    with pytest.raises(NotAsAnnounced, match=reason):
        receive()
    assert local_store.size("a/b") is None
    assert list((local_store.root / ".incoming").iterdir()) == []


def test_announced_bytes_are_kept_where_they_are_expected(local_store: LocalStore):
    with local_store.receive("a/b", 4, DIGEST) as unexpected:
        unexpected.write(b"test")
        with pytest.raises(UploadClosed):
            unexpected.keep()
    local_store.prepare("a/")
    with local_store.receive("a/b", 4, DIGEST) as incoming:
        incoming.write(b"te")
        incoming.write(b"st")
        incoming.keep()
    assert local_store.read("a/b", 0, 4) == b"test"


def receive(store: LocalStore, key: str, data: bytes) -> bool:
    """Whether it was taken."""
    with store.receive(key, len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") as incoming:
        incoming.write(data)
        try:
            incoming.keep()
        except UploadClosed:
            return False
        finally:
            incoming.drop()
    return True


def test_cleared_folder_takes_nothing_until_it_is_prepared_again(local_store: LocalStore):
    local_store.prepare("a/b/")
    assert receive(local_store, "a/b/0", b"first")
    local_store.clear("a/b/")
    assert not receive(local_store, "a/b/0", b"first")
    assert local_store.list("a/") == []
    local_store.prepare("a/b/")
    assert receive(local_store, "a/b/0", b"first")


def test_nothing_stays_in_a_folder_that_is_cleared_while_uploads_arrive(local_store: LocalStore):
    """Whichever comes first: an upload that was taken is deleted with the others, a later one is refused."""
    for number in range(40):
        folder = f"a/{number}"
        local_store.prepare(f"{folder}/")
        begin = threading.Barrier(4)

        def upload(part: int, folder: str = folder, begin: threading.Barrier = begin) -> None:
            begin.wait()
            receive(local_store, f"{folder}/{part}", b"%d" % part)

        uploads = [threading.Thread(target=upload, args=(part,)) for part in range(3)]
        for thread in uploads:
            thread.start()
        begin.wait()
        local_store.clear(f"{folder}/")
        for thread in uploads:
            thread.join()
        assert local_store.list(f"{folder}/") == []


def test_disk_keeps_its_reserve_and_what_is_stored_can_be_read_and_deleted(signer, tmp_path: Path):
    free = shutil.disk_usage(tmp_path).free
    store = LocalStore(tmp_path / "artifacts", signer)
    store.put("a/kept", b"kept")
    store.reserve_bytes = free // 2
    store.prepare("a/")
    store.put("a/more", b"more")
    with pytest.raises(StorageFull, match="are kept for its database"):
        store.receive("a/b", free, DIGEST)
    first = store.receive("a/b", free // 3, DIGEST)  # its room is set aside, though nothing of it has come
    with pytest.raises(StorageFull):
        store.receive("a/c", free // 3, DIGEST)
    first.drop()
    store.receive("a/c", free // 3, DIGEST).drop()
    store.reserve_bytes = 2 * free
    with pytest.raises(StorageFull):
        store.put("a/log", b"x")
    assert store.read("a/kept", 0, 4) == b"kept"
    store.delete("a/kept")
    assert store.size("a/kept") is None
