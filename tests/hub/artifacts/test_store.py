"""What every store promises, on local disk and on a real S3."""

import pytest

from computepool.hub.artifacts.settings import load_s3_settings
from computepool.hub.artifacts.store import Entry, ObjectMissing, Store
from computepool.hub.core.settings import SettingsError


def test_what_was_put_can_be_read_in_any_piece(store: Store):
    store.put("a/b", b"0123456789")
    assert store.size("a/b") == 10
    assert store.read("a/b", 0, 10) == b"0123456789"
    assert store.read("a/b", 3, 4) == b"3456"
    assert store.read("a/b", 10, 0) == b""


def test_put_takes_the_place_of_what_was_there(store: Store):
    store.put("a/b", b"a long first version")
    store.put("a/b", b"second")
    assert store.read("a/b", 0, store.size("a/b") or 0) == b"second"


def test_put_takes_pieces_without_holding_them_all(store: Store):
    pieces = (bytes([number]) * 1024**2 for number in range(12))
    store.put("large", pieces)
    assert store.size("large") == 12 * 1024**2
    assert store.read("large", 11 * 1024**2 - 1, 2) == bytes([10, 11])


def test_pieces_may_come_from_the_store_itself(store: Store):
    store.put("a", b"first")
    store.put("b", b"second")
    store.put("both", (store.read(key, 0, store.size(key) or 0) for key in ("a", "b")))
    assert store.read("both", 0, 11) == b"firstsecond"


def test_an_empty_object_is_an_object(store: Store):
    store.put("empty", b"")
    assert store.size("empty") == 0
    assert store.read("empty", 0, 0) == b""


@pytest.mark.parametrize("before", [1, 20])
def test_pieces_that_fail_leave_nothing(store: Store, before: int):
    def broken():
        for _ in range(before):
            yield b"x" * 1024**2
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        store.put("a/broken", broken())
    assert store.size("a/broken") is None
    assert store.list("a/") == []


@pytest.mark.parametrize(("start", "length"), [(0, 11), (5, 6), (10, 1), (50, 1)])
def test_reading_past_the_end_is_missing_not_short(store: Store, start: int, length: int):
    store.put("ten", b"0123456789")
    with pytest.raises(ObjectMissing):
        store.read("ten", start, length)


def test_what_is_not_there_is_said_to_be_missing(store: Store):
    assert store.size("never/put") is None
    with pytest.raises(ObjectMissing):
        store.read("never/put", 0, 1)
    store.delete("never/put", "nor/this")
    assert store.list("never/") == []


def test_list_shows_one_folder_sorted_with_sizes(store: Store):
    for key, size in {"logs/b/2": 2, "logs/b/1": 1, "logs/b/sub/3": 3, "logs/bb/4": 4, "logs/c": 5}.items():
        store.put(key, b"x" * size)
    assert store.list("logs/b/") == [Entry("logs/b/1", 1), Entry("logs/b/2", 2), Entry("logs/b/sub/3", 3)]


def test_deleted_objects_are_gone_and_may_come_back(store: Store):
    keys = [f"d/{number}" for number in range(5)]
    for key in keys:
        store.put(key, b"x")
    store.delete(*keys[:4])
    assert store.list("d/") == [Entry("d/4", 1)]
    store.delete(keys[4])
    store.put("d/0", b"again")
    assert store.list("d/") == [Entry("d/0", 5)]


@pytest.mark.parametrize(
    "key",
    ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/.hidden", ".incoming/0", "a/", "A", "a\n", "a b", "x" * 301],
)
def test_a_key_cannot_leave_the_store(store: Store, key: str):
    for action in (store.size, store.delete, lambda key: store.put(key, b""), lambda key: store.read(key, 0, 1)):
        with pytest.raises(ValueError, match="not a key"):
            action(key)
    with pytest.raises(ValueError, match="not a key"):
        store.sign_get(key, 60)


def test_s3_settings_name_what_is_missing():
    with pytest.raises(SettingsError, match="AWS_ACCESS_KEY_ID"):
        load_s3_settings()
    with pytest.raises(SettingsError, match="AWS_ENDPOINT_URL"):
        load_s3_settings(access_key_id="a", secret_access_key="b", endpoint_url="s3.example.org")


def test_cleared_folder_is_empty_and_its_neighbours_are_not(store: Store):
    for key in ("a/one/000000", "a/one/000001", "a/other/000000"):
        store.put(key, b"x")
    store.clear("a/one/")
    assert [entry.key for entry in store.list("a/")] == ["a/other/000000"]
    store.clear("a/one/")
    store.clear("a/never/")
