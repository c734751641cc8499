"""Which jobs this node takes for its owner's own. The hub's word is not enough: the owner's signature decides.

Everything that the owner's own jobs may do beyond a stranger's depends on it: to run without a sandbox or in a weaker
one, while the owner uses the machine, against the house rules, and beside the month's data.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from computepool.agent.detect import isolation_of
from computepool.agent.home import write_atomically
from computepool.agent.owner.policy import Own
from computepool.agent.sandbox.interface import Offload, Sandbox
from computepool.protocol.manifest import Manifest, SavedFile
from computepool.protocol.own_job import open_own_job, read_key
from computepool.protocol.signing import SignatureRefused, key_id_of
from computepool.protocol.states import IsolationLevel

SLICES_KEPT = 1_000
CHECKPOINTS_KEPT = 3
"""Of one slice: one that the hub has not acknowledged, and those before it that it may hand out."""


@dataclass(frozen=True)
class OwnerCheck:
    """What an attempt is to this node."""

    own: bool = False
    why_not: str = ""
    """Of one that the hub calls the owner's own."""
    trusted: bool = False
    """It is the owner's own, and nothing goes into it that the hub could have made up."""
    process: bool = False
    """It may run without a sandbox."""
    least: IsolationLevel = IsolationLevel.PROCESS
    """What its signature asks for."""


STRANGERS = OwnerCheck()


def believed(manifest: Manifest) -> OwnerCheck:
    """Where the hub is believed: on machines that are not real."""
    return OwnerCheck(own=manifest.own, trusted=manifest.own, process=manifest.own)


@dataclass(frozen=True)
class OwnJobs:
    home_key: str | None = None
    """The public key of the CLI in the same home."""
    from_up: bool = False
    """`computepool up` started this agent: its owner's jobs may run without a sandbox."""
    policy: Own = field(default_factory=Own)
    checkpoints: "OwnCheckpoints | None" = None

    def following(self, policy: Own) -> "OwnJobs":
        return self if policy == self.policy else replace(self, policy=policy)

    @property
    def process(self) -> bool:
        """Whether its owner's jobs may run without a sandbox."""
        return self.from_up or self.policy.process

    @cached_property
    def keys(self) -> Mapping[str, Ed25519PublicKey]:
        texts = (*self.policy.keys, *((self.home_key,) if self.home_key else ()))
        keys = [read_key(text) for text in texts]
        return {key_id_of(key.public_bytes_raw()): key for key in keys}

    def offered(self, sandboxes: Sequence[Sandbox]) -> dict[str, Any]:
        """What a node's capacity says of its sandboxes, and of whose jobs are its owner's own."""
        allowed = [sandbox for sandbox in sandboxes if self.process or sandbox.level is not IsolationLevel.PROCESS]
        return {**isolation_of(allowed), "owner_keys": tuple(sorted(self.keys))}

    def check(self, manifest: Manifest, now: datetime) -> OwnerCheck:
        """`now` is this machine's own clock."""
        if not manifest.own:
            return STRANGERS
        try:
            statement = open_own_job(manifest, self.keys, now=now)
        except SignatureRefused as error:
            return OwnerCheck(why_not=str(error))
        trusted = manifest.saved is None or (self.checkpoints is not None and self.checkpoints.has(manifest))
        return OwnerCheck(
            own=True,
            why_not="" if trusted else "the checkpoint that it goes on from was not saved by this machine",
            trusted=trusted,
            process=trusted and self.process,
            least=statement.isolation,
        )


class OwnCheckpoints:
    """Which checkpoints this node itself saved for its owner's jobs. What the hub hands out may be anything, and is
    restored where the job's code may be: with another checkpoint a job runs in a sandbox."""

    def __init__(self, folder: Path, offload: Offload) -> None:
        """`folder` is the agent's own."""
        self._file = file = folder / "own-checkpoints.json"
        self._offload = offload
        self._saved = _load(file)

    def has(self, manifest: Manifest) -> bool:
        saved = manifest.saved
        return saved is not None and _digest_of(saved.files) in self._saved.get(_slice_of(manifest), ())

    async def note(self, manifest: Manifest, files: Iterable[SavedFile]) -> None:
        """Before the hub hears of it: whenever it comes back, it is known. Raises OSError."""
        place = _slice_of(manifest)
        kept = [*self._saved.pop(place, ()), _digest_of(files)][-CHECKPOINTS_KEPT:]
        self._saved = dict([*self._saved.items(), (place, kept)][-SLICES_KEPT:])
        await self._offload(write_atomically, self._file, json.dumps(self._saved).encode())


def _slice_of(manifest: Manifest) -> str:
    return f"{manifest.job_id} {manifest.slice_index}"


def _digest_of(files: Iterable[SavedFile]) -> str:
    parts = sorted((file.path, file.digest, file.size_bytes) for file in files)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _load(file: Path) -> dict[str, list[str]]:
    """Without it, jobs that go on from a checkpoint run in a sandbox."""
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        return {str(place): [str(digest) for digest in kept] for place, kept in json.loads(file.read_bytes()).items()}
    return {}
