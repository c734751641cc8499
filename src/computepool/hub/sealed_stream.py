"""A file that opens only with its passphrase, and only whole.

The key comes from the passphrase by scrypt. The content is cut into chunks, each encrypted with AES-256-GCM; the nonce
is the chunk's number and whether it is the last, so that a chunk that was changed, moved, dropped, or cut off after
does not open. Both directions hold one chunk in memory.
"""

import io
import secrets
import struct
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

MAGIC = b"ComputePool backup 1\n"
"""Legible on purpose: `head -1` tells what such a file is."""
CHUNK_BYTES = 64 * 1024
TAG_BYTES = 16
SALT_BYTES = 16
KEY_BYTES = 32
PASSPHRASE_LEAST_CHARACTERS = 8

LOG2_N, R, P = 17, 8, 1
"""128 MB and about half a second for each guess."""
LOG2_N_LIMIT, R_LIMIT, P_LIMIT = 20, 16, 4
"""More than this a file may not ask of the machine that opens it."""

_COST = struct.Struct(">BBB")
_NONCE = struct.Struct(">xxxQ?")


class CannotOpen(Exception):
    """Not such a file, damaged, or another passphrase."""


class SealedWriter(io.RawIOBase):
    def __init__(self, file: IO[bytes], passphrase: str, *, log2_n: int = LOG2_N) -> None:
        if len(passphrase) < PASSPHRASE_LEAST_CHARACTERS:
            raise CannotOpen(f"The passphrase is too short: at least {PASSPHRASE_LEAST_CHARACTERS} characters.")
        salt = secrets.token_bytes(SALT_BYTES)
        self._file = file
        self._header = MAGIC + _COST.pack(log2_n, R, P) + salt
        self._cipher = _cipher(passphrase, salt, log2_n, R, P)
        self._buffer = bytearray()
        self._number = 0
        file.write(self._header)

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        added = memoryview(data)  # type: ignore[arg-type]  # any buffer, as RawIOBase has it
        self._buffer += added
        while len(self._buffer) > CHUNK_BYTES:  # a full one may turn out to be the last
            self._put(bytes(self._buffer[:CHUNK_BYTES]), is_last=False)
            del self._buffer[:CHUNK_BYTES]
        return added.nbytes

    def finish(self) -> None:
        """Without this the file does not open: an interrupted one is not taken for a whole one."""
        self._put(bytes(self._buffer), is_last=True)
        self._buffer.clear()

    def _put(self, chunk: bytes, *, is_last: bool) -> None:
        self._file.write(self._cipher.encrypt(_NONCE.pack(self._number, is_last), chunk, self._header))
        self._number += 1


class SealedReader(io.RawIOBase):
    def __init__(self, file: io.BufferedReader, passphrase: str) -> None:
        if file.read(len(MAGIC)) != MAGIC:
            raise CannotOpen("This is not a backup of a ComputePool hub, or of a version that is not known here.")
        cost, salt = file.read(_COST.size), file.read(SALT_BYTES)
        if len(salt) != SALT_BYTES:
            raise CannotOpen("The backup is cut off.")
        log2_n, r, p = _COST.unpack(cost)
        if not (1 <= log2_n <= LOG2_N_LIMIT and 1 <= r <= R_LIMIT and 1 <= p <= P_LIMIT):
            raise CannotOpen("The backup is damaged: its first bytes make no sense.")
        self._file = file
        self._header = MAGIC + cost + salt
        self._cipher = _cipher(passphrase, salt, log2_n, r, p)
        self._chunk = memoryview(b"")
        self._number = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        wanted = memoryview(buffer)  # type: ignore[arg-type]  # any buffer, as RawIOBase has it
        while not self._chunk and not self._ended:
            self._chunk = memoryview(self._next_chunk())
        count = min(len(wanted), len(self._chunk))
        wanted[:count] = self._chunk[:count]
        self._chunk = self._chunk[count:]
        return count

    def _next_chunk(self) -> bytes:
        sealed = self._file.read(CHUNK_BYTES + TAG_BYTES)
        self._ended = not self._file.peek(1)
        try:
            chunk = self._cipher.decrypt(_NONCE.pack(self._number, self._ended), sealed, self._header)
        except (InvalidTag, ValueError):
            if self._number == 0:
                raise CannotOpen("The passphrase is wrong, or the backup is damaged at its beginning.") from None
            raise CannotOpen(f"The backup is damaged or cut off (part {self._number + 1} does not open).") from None
        self._number += 1
        return chunk


def _cipher(passphrase: str, salt: bytes, log2_n: int, r: int, p: int) -> AESGCM:
    return AESGCM(Scrypt(salt, KEY_BYTES, 2**log2_n, r, p).derive(passphrase.encode()))
