"""The words of the archive package: what an entry is, what is allowed, and why an archive is refused."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

DISK_BLOCK_BYTES = 4 * KIB
"""What everything with a name takes at least."""
COPY_BYTES = 256 * KIB
"""How much of a file is in memory at a time."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What one archive may cost this machine. Everything is counted while writing, never taken from a header."""

    max_bytes: int = 8 * GIB
    max_entries: int = 200_000
    """Files, links and folders, those that a path only implies included."""
    max_links: int = 10_000
    """Symbolic links are made last, so they wait in memory."""
    max_depth: int = 64
    max_path_bytes: int = 1024
    max_name_bytes: int = 255
    max_ratio: int = 200
    """Unpacked bytes for one packed byte; ordinary text is below 20, a bomb near 1,000."""
    ratio_free_bytes: int = 64 * MIB
    """Below this size the ratio does not matter: the whole thing is small."""
    max_meta_bytes: int = 1 * MIB
    """One extended header of a tar."""
    disk_bytes: int = sys.maxsize
    """Space on disk that it may take, in whole blocks: the job that it is for was given no more."""

    def bytes_allowed(self, archive_bytes: int) -> int:
        return min(self.max_bytes, max(self.ratio_free_bytes, self.max_ratio * archive_bytes))


@dataclass(frozen=True, slots=True)
class Extracted:
    files: int
    bytes: int


class Kind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"
    HARDLINK = "hardlink"


@dataclass(slots=True)
class Entry:
    """One member as its archive tells it; nothing in it is trusted yet."""

    name: bytes
    kind: Kind
    executable: bool = False
    link: bytes = b""
    data: Iterator[bytes] = field(default_factory=lambda: iter(()))


class Reason(StrEnum):
    """Why an archive is refused. The values are stable: programs match on them."""

    NOT_AN_ARCHIVE = "not_an_archive"
    UNSUPPORTED = "unsupported"
    TRUNCATED = "truncated"
    CORRUPT = "corrupt"
    ENCRYPTED = "encrypted"
    OVERLAPPING = "overlapping"
    TOO_BIG = "too_big"
    OVER_DISK = "over_disk"
    BOMB = "bomb"
    TOO_MANY_ENTRIES = "too_many_entries"
    TOO_DEEP = "too_deep"
    NAME_TOO_LONG = "name_too_long"
    BAD_NAME = "bad_name"
    OUTSIDE = "outside"
    LINK_OUTSIDE = "link_outside"
    BAD_LINK = "bad_link"
    SPECIAL_FILE = "special_file"
    SPARSE_FILE = "sparse_file"
    DUPLICATE = "duplicate"


_REPACK = "Pack it again with `tar -czf bundle.tar.gz FOLDER`."
_SPLIT = "Pack fewer or smaller files, and give large data as `inputs`."

TEXTS: dict[Reason, tuple[str, str]] = {
    Reason.NOT_AN_ARCHIVE: ("this is not a tar, tar.gz or zip archive", _REPACK),
    Reason.UNSUPPORTED: ("the archive uses a format that is not accepted", _REPACK),
    Reason.TRUNCATED: ("the archive ends too early", "Upload it again; if that does not help, pack it again."),
    Reason.CORRUPT: ("the archive is damaged", "Upload it again; if that does not help, pack it again."),
    Reason.ENCRYPTED: ("the archive is encrypted", "Pack it without a password."),
    Reason.OVERLAPPING: ("entries of the archive overlap", _REPACK),
    Reason.TOO_BIG: ("the unpacked files are larger than allowed", _SPLIT),
    Reason.OVER_DISK: (
        "the unpacked files need more disk than the job asked for",
        "Ask for more with `resources.disk`, or pack less.",
    ),
    Reason.BOMB: ("the archive unpacks to far more than its own size", "Pack such files uncompressed, as a plain tar."),
    Reason.TOO_MANY_ENTRIES: ("the archive holds too many entries", _SPLIT),
    Reason.TOO_DEEP: ("a path has too many folders in it", "Make the folders less deep."),
    Reason.NAME_TOO_LONG: ("a name or path is too long", "Use shorter names."),
    Reason.BAD_NAME: ("a name cannot be used for a file", "Rename it and pack again."),
    Reason.OUTSIDE: (
        "a path leads out of the archive's folder",
        "Pack with paths relative to the folder, without `..`.",
    ),
    Reason.LINK_OUTSIDE: (
        "a link leads out of the archive's folder",
        "Use a relative link to a file of the archive, or pack a copy of the file.",
    ),
    Reason.BAD_LINK: ("a link cannot be made", "Use a relative link to a file of the archive."),
    Reason.SPECIAL_FILE: ("a device, pipe or socket cannot be unpacked", "Leave it out."),
    Reason.SPARSE_FILE: ("sparse files are not accepted", "Pack without `--sparse`."),
    Reason.DUPLICATE: ("two entries want the same path", _REPACK),
}

SHOWN_NAME_CHARS = 200


class ArchiveRefused(Exception):
    """The archive is at fault, not this machine: trying it again elsewhere does not help.

    Trouble of the machine itself (a full disk, say) is left as the OSError that it is.
    """

    def __init__(self, reason: Reason, entry: bytes | None = None, detail: str = "") -> None:
        self.reason = reason
        self.code = reason.value
        self.entry = None if entry is None else printable(entry)
        what, self.hint = TEXTS[reason]
        if detail:
            what = f"{what} ({detail})"
        if self.entry is not None:
            what = f"{what}: {self.entry}"
        super().__init__(f"{what}. {self.hint}")


def printable(name: bytes) -> str:
    """A name that cannot move the cursor of whoever reads it."""
    text = name.decode("utf-8", "backslashreplace")
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(shown) <= SHOWN_NAME_CHARS else shown[:SHOWN_NAME_CHARS] + "…"
