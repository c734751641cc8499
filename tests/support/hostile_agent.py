"""A real agent whose host changed it: it tries to leave more with the hub than its slice was granted.

A program of its own, with the arguments of the CLI. It says for each attempt what the hub answered, as a line of JSON
in the file that $HOSTILE_TOLD names.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Literal

from computepool.agent import finishing
from computepool.agent.attempt import Attempt
from computepool.agent.outputs import Collected, Collection
from computepool.agent.placement import OUTPUT
from computepool.agent.uploads import Uploads
from computepool.agent.workshop import Workshop, ask_for_places
from computepool.cli import main
from computepool.protocol.messages import UploadFile, UploadGrant

NEVER_ANNOUNCED = "never-announced"


async def lie(shop: Workshop, attempt: Attempt, folder: Path) -> Collection:
    """In place of collecting what the job left."""
    granted_bytes = attempt.manifest.grant.disk_bytes
    told: dict[str, Any] = {"granted_bytes": granted_bytes}

    async def ask(purpose: Literal["output", "checkpoint"], name: str, data: bytes) -> None:
        file = UploadFile(path=name, size_bytes=len(data), digest=digest_of(data))
        told[name] = (await ask_for_places(shop, attempt, (file,), purpose)).refused

    async def ask_for_outputs(files: tuple[UploadFile, ...]) -> UploadGrant:
        return await ask_for_places(shop, attempt, files, "output")

    part = b"p" * (granted_bytes * 3 // 4)
    (folder / OUTPUT / "part").write_bytes(part)
    kept = Collected("part", f"{OUTPUT}/part", len(part), digest_of(part))
    await ask("output", "whole", b"w" * granted_bytes * 2)
    await Uploads(folder, shop.transfer, ask_for_outputs).put_all([kept])
    await ask("output", "another part", b"a" * len(part))
    await ask("checkpoint", "large checkpoint", b"c" * granted_bytes * 2)
    for number in range(4):
        await ask("checkpoint", f"checkpoint {number}", b"%d" % number * granted_bytes)
    note(told)
    return Collection(files=(kept, Collected(NEVER_ANNOUNCED, "", 5, digest_of(b"bytes"))))


def note(told: dict[str, Any]) -> None:
    with Path(os.environ["HOSTILE_TOLD"]).open("a") as file:
        file.write(json.dumps(told) + "\n")


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    finishing._collect_and_upload = lie
    setattr(finishing, "has_nothing_to_keep", lambda folder, globs: False)  # noqa: B010 (it is not exported)
    main()
