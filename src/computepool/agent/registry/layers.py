"""Layers, unpacked as a stream: to check that they are what the image's configuration says, and for the engine.

An engine takes a layer that it has already instead of the one that it is given, by the digest of the unpacked content.
So that digest is checked here: who only knows the digest of somebody's layer must not get that layer by naming it.
"""

import ctypes
import ctypes.util
import functools
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from computepool.agent.images import ImageMissing

PIECE_BYTES = 1024 * 1024
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ": "xz"}


@dataclass(frozen=True)
class CheckedLayer:
    """A layer's file, and what is in it."""

    path: Path
    size_bytes: int
    diff_id: str
    unpacked_bytes: int
    unpack: bool
    """Whether the engine has to be given it unpacked: not all of them know zstd."""

    @property
    def given_bytes(self) -> int:
        return self.unpacked_bytes if self.unpack else self.size_bytes

    def pieces(self) -> Iterator[bytes]:
        """As the engine is given it. Blocking."""
        with self.path.open("rb") as file:
            yield from _unpacked(file) if self.unpack else _read(file)


def check_layer(path: Path, diff_id: str, limit_bytes: int) -> CheckedLayer:
    """Raises ImageMissing if the content is another than `diff_id`, or takes more than `limit_bytes`. Blocking."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        magic = file.read(8)
        file.seek(0)
        for known, name in OTHERS.items():
            if magic.startswith(known):
                raise ImageMissing(f"a layer is compressed with {name}; build the image with gzip")
        for piece in _unpacked(file):
            size += len(piece)
            if size > limit_bytes:
                raise ImageMissing(f"its layers unpack to more than {limit_bytes} bytes")
            digest.update(piece)
    found = f"sha256:{digest.hexdigest()}"
    if found != diff_id:
        raise ImageMissing(f"a layer unpacks to {found}, and its configuration says {diff_id}")
    return CheckedLayer(path, path.stat().st_size, diff_id, size, magic.startswith(ZSTD))


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return _gunzip(file)
    return _unzstd(file) if magic == ZSTD else _read(file)


def _read(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    """All members of it, as engines do; zeros behind the last are padding."""
    member = zlib.decompressobj(wbits=31)
    rest = file.read(PIECE_BYTES)
    try:
        while rest:
            yield member.decompress(rest, PIECE_BYTES)
            rest = member.unused_data if member.eof else member.unconsumed_tail
            rest = rest or file.read(PIECE_BYTES)
            if member.eof and rest:
                if not rest.strip(b"\0"):
                    return
                member = zlib.decompressobj(wbits=31)
    except zlib.error as error:
        raise ImageMissing(f"a layer is not a whole gzip file: {error}") from None
    if not member.eof:
        raise ImageMissing("a layer is not a whole gzip file: it ends too early")


class _Buffer(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer."""

    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("position", ctypes.c_size_t)]


@functools.cache
def _zstd() -> ctypes.CDLL | None:
    """The system's library: Python has none before 3.14, and nearly every Linux has it."""
    name = ctypes.util.find_library("zstd")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    library.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    library.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Buffer), ctypes.POINTER(_Buffer)]
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return library


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    library = _zstd()
    if library is None:
        raise ImageMissing("a layer is compressed with zstd, which this node cannot unpack; build the image with gzip")
    stream = library.ZSTD_createDStream()
    if not stream:
        raise MemoryError("no memory to unpack a layer")
    space = ctypes.create_string_buffer(PIECE_BYTES)
    left = 0
    try:
        for piece in _read(file):
            given = _Buffer(ctypes.cast(ctypes.c_char_p(piece), ctypes.c_void_p), len(piece), 0)
            is_full = False
            while given.position < given.size or is_full:
                made = _Buffer(ctypes.cast(space, ctypes.c_void_p), PIECE_BYTES, 0)
                left = library.ZSTD_decompressStream(stream, ctypes.byref(made), ctypes.byref(given))
                if library.ZSTD_isError(left):
                    raise ImageMissing("a layer is not a whole zstd file")
                is_full = made.position == made.size
                yield space.raw[: made.position]
    finally:
        library.ZSTD_freeDStream(stream)
    if left:
        raise ImageMissing("a layer is not a whole zstd file: it ends too early")
