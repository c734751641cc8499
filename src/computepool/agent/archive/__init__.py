"""Unpacks archives of strangers: into one new folder or not at all, within limits that are counted, not believed.

Owns the reading of tar, tar.gz and zip, told apart by their content. bzip2, xz and zstd are refused: they need more
memory or time than they save, and the client packs tar.gz. Archives inside an archive stay closed.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from computepool.agent.archive.model import ArchiveLimits, ArchiveRefused, Entry, Extracted, Reason
from computepool.agent.archive.tar_reader import BLOCK, gunzip, is_tar_header, read_tar
from computepool.agent.archive.tree import FOLDER_FLAGS, FOLDER_MODE, Tree
from computepool.agent.archive.zip_reader import read_zip
from computepool.agent.removal import remove_tree

__all__ = ["ArchiveLimits", "ArchiveRefused", "Extracted", "Reason", "extract"]

DEFAULT_LIMITS = ArchiveLimits()
GZIP = b"\x1f\x8b"
ZIP = (b"PK\3\4", b"PK\5\6")
NOT_ACCEPTED = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf": "7z", b"Rar!": "rar"}


def extract(archive: Path, target: Path, *, limits: ArchiveLimits = DEFAULT_LIMITS) -> Extracted:
    """Unpack into `target`, which must be missing or empty, in an existing folder.

    All or nothing: the files appear under `target` by one rename, and after any error none is left. Raises
    ArchiveRefused when the archive is at fault, OSError when this machine is.
    """
    if os.path.lexists(target) and (target.is_symlink() or any(target.iterdir())):
        raise FileExistsError(f"{target} is not an empty folder")
    # Beside the target, so that the rename stays on one file system; closed to other users while it is filled.
    work = Path(tempfile.mkdtemp(prefix=f".{target.name[:100]}.", dir=target.parent))
    try:
        extracted = _extract_into(work, archive, limits)
        work.chmod(FOLDER_MODE)
        work.rename(target)
    except BaseException:
        remove_tree(work)
        raise
    return extracted


def _extract_into(folder: Path, archive: Path, limits: ArchiveLimits) -> Extracted:
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(archive.open("rb"))
        archive_bytes = os.fstat(file.fileno()).st_size
        root = os.open(folder, FOLDER_FLAGS)
        stack.callback(os.close, root)
        tree = stack.enter_context(Tree(root, limits, limits.bytes_allowed(archive_bytes)))
        tree.add_all(_entries(file, archive, archive_bytes, limits, stack))
        return Extracted(files=tree.files, bytes=tree.bytes)


def _entries(
    file: BinaryIO, archive: Path, archive_bytes: int, limits: ArchiveLimits, stack: contextlib.ExitStack
) -> Iterator[Entry]:
    head = file.read(BLOCK)
    file.seek(0)
    if head.startswith(GZIP):
        return read_tar(gunzip(file, archive_bytes, limits), limits)
    if head.startswith(ZIP):
        return read_zip(file, stack.enter_context(archive.open("rb")), limits)
    if is_tar_header(head):
        return read_tar(file, limits)
    for magic, name in NOT_ACCEPTED.items():
        if head.startswith(magic):
            raise ArchiveRefused(Reason.UNSUPPORTED, detail=name)
    raise ArchiveRefused(Reason.NOT_AN_ARCHIVE)
