"""A layer is unpacked to see what it is, before an engine sees it."""

import bz2
import ctypes
import gzip
import hashlib
import io
import lzma
import os
import subprocess
import tarfile
import tracemalloc

import pytest

from computepool.agent.images import ImageMissing
from computepool.agent.registry import layers
from computepool.agent.registry.archive import ImageArchive
from computepool.agent.registry.layers import check_layer

CONTENT = os.urandom(3_000_000) + bytes(3_000_000)
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
PLENTY = 1 << 30


def zstd(content):
    library = layers._zstd()
    if library is None:
        pytest.skip("libzstd: not installed")
    made = bytes(2 * len(content) + 1000)
    library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compress.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
    ]  # fmt: skip
    size = library.ZSTD_compress(made, len(made), content, len(content), 1)
    return made[:size]


PACKED = {
    "plain": lambda: CONTENT,
    "gzip": lambda: gzip.compress(CONTENT, 1),
    "gzip in members": lambda: gzip.compress(CONTENT[:1000], 1) + gzip.compress(CONTENT[1000:], 1),
    "gzip with padding": lambda: gzip.compress(CONTENT, 1) + bytes(1000),
    "zstd": lambda: zstd(CONTENT),
    "zstd in frames": lambda: zstd(CONTENT[:1000]) + zstd(CONTENT[1000:]),
}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "layer"


@pytest.mark.parametrize("how", PACKED)
def test_layer_is_what_it_unpacks_to(file, how):
    file.write_bytes(PACKED[how]())
    found = check_layer(file, DIGEST, PLENTY)
    assert (found.unpacked_bytes, found.unpack) == (len(CONTENT), how.startswith("zstd"))
    given = b"".join(found.pieces())
    assert len(given) == found.given_bytes
    # Old engines do not know zstd; the rest they unpack themselves.
    assert given == (CONTENT if found.unpack else file.read_bytes())
    with pytest.raises(ImageMissing, match="its configuration says"):
        check_layer(file, f"sha256:{hashlib.sha256(b'other').hexdigest()}", PLENTY)
    with pytest.raises(ImageMissing, match="unpack to more than"):
        check_layer(file, DIGEST, len(CONTENT) - 1)


@pytest.mark.parametrize(
    "content",
    [
        lambda: gzip.compress(CONTENT, 1)[:-9],
        lambda: gzip.compress(CONTENT, 1)[:-8] + bytes(8),
        lambda: gzip.compress(CONTENT, 1) + b"something",
        lambda: b"\x1f\x8b" + os.urandom(100),
        lambda: zstd(CONTENT)[:-9],
        lambda: zstd(CONTENT)[:4] + os.urandom(100),
        lambda: bz2.compress(b"x"),
        lambda: lzma.compress(b"x"),
        lambda: b"",
    ],
)
def test_layer_that_is_broken_or_of_another_kind_is_refused(file, content):
    file.write_bytes(content())
    with pytest.raises(ImageMissing):
        check_layer(file, DIGEST, PLENTY)


def test_bomb_is_given_up_at_its_limit_in_little_memory(file):
    file.write_bytes(gzip.compress(bytes(60_000_000), 1))
    tracemalloc.start()
    with pytest.raises(ImageMissing, match="unpack to more than 30000000 bytes"):
        check_layer(file, DIGEST, 30_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * layers.PIECE_BYTES


def test_without_the_library_zstd_is_refused_with_a_hint(file, monkeypatch):
    file.write_bytes(zstd(CONTENT))
    monkeypatch.setattr(layers, "_zstd", lambda: None)
    with pytest.raises(ImageMissing, match="build the image with gzip"):
        check_layer(file, DIGEST, PLENTY)


def test_archive_is_a_tar_with_every_layer_once(file, tmp_path):
    file.write_bytes(gzip.compress(CONTENT, 1))
    layer = check_layer(file, DIGEST, PLENTY)
    archive = ImageArchive("localhost/name:tag", b"{}", "sha256:" + "c" * 64, [layer, layer])
    content = b"".join(archive.pieces())
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
        assert [member.name for member in tar] == ["manifest.json", "c" * 64 + ".json", DIGEST[7:] + ".tar"]
    assert abs(len(content) - archive.size_bytes) < 5000
    listed = subprocess.run(["tar", "-t"], input=content, capture_output=True, check=True).stdout
    assert len(listed.splitlines()) == 3
