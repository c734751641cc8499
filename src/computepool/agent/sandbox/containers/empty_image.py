"""The image of a job that brings none: an empty root, in which the host's programs are shown read-only.

It is made here and given to the engine, so that nothing has to be downloaded. Its label tells what is in it: another
layout of the host makes another image, and the old one is never mistaken for it.
"""

import hashlib
import io
import tarfile
from pathlib import Path

from computepool.agent.sandbox.layout import SYSTEM_FOLDERS

from .engine import Engine, EngineRefused

REPOSITORY = "localhost/computepool-empty"
LABEL = "computepool.empty"
FOLDERS = ("usr", "etc", "proc", "dev", "sys", "var", "run", "job")
# What is mounted over them in memory takes over their mode.
OPEN_FOLDERS = ("tmp", "var/tmp")
INIT, DOOR = "/computepool-init", "/computepool-door"
"""Programs of ours, which every container may be given."""


def empty_root() -> bytes:
    """A tar of mount points, and of the links that the host's root has."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name in FOLDERS:
            _add(tar, name, tarfile.DIRTYPE, mode=0o755)
        for name in OPEN_FOLDERS:
            _add(tar, name, tarfile.DIRTYPE, mode=0o1777)
        for program in (INIT, DOOR):
            _add(tar, program.lstrip("/"), tarfile.REGTYPE, mode=0o755)
        for name in SYSTEM_FOLDERS:
            path = Path("/", name)
            if path.is_symlink():
                _add(tar, name, tarfile.SYMTYPE, link=str(path.readlink()))
            elif path.is_dir():
                _add(tar, name, tarfile.DIRTYPE, mode=0o755)
    return content.getvalue()


def _add(tar: tarfile.TarFile, name: str, kind: bytes, *, mode: int = 0o777, link: str = "") -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.linkname = kind, mode, link
    tar.addfile(entry)


async def ensure_empty_image(engine: Engine) -> str:
    """The id of this host's, made if it is not there."""
    root = empty_root()
    version = hashlib.sha256(root).hexdigest()[:16]
    found = await engine.list_images(labels=[f"{LABEL}={version}"])
    if found:
        return str(found[0]["Id"])
    image = await engine.import_image(root, labels={LABEL: version})
    await engine.tag_image(image, REPOSITORY, version)
    return image


async def remove_empty_images(engine: Engine) -> None:
    """For an uninstall: all of them that no container uses."""
    for image in await engine.list_images(labels=[LABEL]):
        for name in image.get("RepoTags") or [image["Id"]]:
            try:
                await engine.remove_image(str(name))
            except EngineRefused:
                continue
