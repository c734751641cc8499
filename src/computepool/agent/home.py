"""The agent's folder, `$COMPUTEPOOL_HOME/agent/`: who this node is, which hub it trusts, what it has at hand.

identity.json   the node's private keys, made here, never sent      agent.lock   one agent at a time
node.json       the hub and its pinned keys                         agent.sock   local control
journal/        what a restarted agent must know, see journal.py    cache/       bundles by digest
layers/         of images, by digest
"""

import base64
import contextlib
import fcntl
import os
import ssl
import tempfile
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from pydantic import BaseModel, ConfigDict, ValidationError

from computepool.protocol.hub_keys import HubKey, ends_of, retire
from computepool.protocol.pinning import PinnedContext
from computepool.protocol.problem_words import words_for
from computepool.protocol.signing import Signed, key_id_of, load_public_key, sign

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


class HomeError(Exception):
    """The agent's folder cannot be used. The message says what to do."""


class AlreadyRunning(HomeError):
    """Another agent works in this folder."""


class NotEnrolled(HomeError):
    """This machine has not joined a hub."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Keys(_Stored):
    sign_key: str
    seal_key: str


class _IdentityFile(_Keys):
    next: _Keys | None = None
    """What the hub was asked to take instead, and has not confirmed."""


class NodeRecord(_Stored):
    """Which hub this node belongs to, and the keys that may sign its work."""

    hub_url: str
    hub_id: str
    node_id: str
    name: str
    hub_keys: tuple[HubKey, ...]
    fingerprint: str | None = None
    """Of the public key in the hub's certificate. None: the authorities of this machine check that, as usual."""
    insecure: bool = False
    """Plain HTTP beyond loopback was asked for."""

    @cached_property
    def tls(self) -> ssl.SSLContext | None:
        """Which certificate the hub may show; None for the usual rules."""
        return PinnedContext(self.fingerprint) if self.fingerprint else None

    @cached_property
    def trusted_keys(self) -> dict[str, Ed25519PublicKey]:
        return {key.key_id: load_public_key(base64.b64decode(key.public_key)) for key in self.hub_keys}

    def keys_at(self, now: datetime) -> dict[str, Ed25519PublicKey]:
        """The hub's keys that may sign at this instant."""
        return {
            key_id: key
            for key_id, key in self.trusted_keys.items()
            if key_id not in self._key_ends or now <= self._key_ends[key_id]
        }

    @cached_property
    def _key_ends(self) -> dict[str, datetime]:
        return ends_of(self.hub_keys)

    def retiring(self, signed: Signed, now: datetime) -> "NodeRecord":
        """The same record with the end of a key. Raises SignatureRefused."""
        keys = tuple(retire(self.hub_keys, signed, self.hub_id, now))
        return self if keys == self.hub_keys else self.changed(hub_keys=keys)

    def trusting(self, key: HubKey) -> "NodeRecord":
        """The same record with one more pinned key, the hub's next."""
        if key.key_id in self.trusted_keys:
            return self
        return self.changed(hub_keys=(*self.hub_keys, key))

    def changed(self, **changes: object) -> "NodeRecord":
        """Not a copy of the object: that would bring cached keys along."""
        return NodeRecord.model_validate(self.model_dump() | changes)


@dataclass(frozen=True)
class Identity:
    """The node's own keys: one to sign, one to receive sealed secrets."""

    sign_key: Ed25519PrivateKey
    seal_key: X25519PrivateKey

    @classmethod
    def generate(cls) -> "Identity":
        return cls(Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @cached_property
    def key_id(self) -> str:
        return key_id_of(self.sign_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @property
    def public_sign_key(self) -> str:
        return base64.b64encode(self.sign_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    @property
    def public_seal_key(self) -> str:
        return base64.b64encode(self.seal_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    def sign(self, type: str, body: bytes) -> Signed:
        return sign(self.sign_key, self.key_id, type, body)


Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class AgentHome:
    root: Path

    @property
    def identity_path(self) -> Path:
        return self.root / "identity.json"

    @property
    def node_path(self) -> Path:
        return self.root / "node.json"

    @property
    def attempts(self) -> Path:
        """Where jobs work, unless their sandbox wants another place."""
        return self.root / "attempts"

    @property
    def journal(self) -> Path:
        return self.root / "journal"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def layers(self) -> Path:
        return self.root / "layers"

    @property
    def staging(self) -> Path:
        return self.root / "staging"

    @property
    def socket_path(self) -> Path:
        return self.root / "agent.sock"

    def prepare(self) -> None:
        """Make the folders, closed to other users of the machine."""
        for folder in (self.root, self.attempts, self.journal, self.cache, self.layers):
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        self.root.chmod(PRIVATE_FOLDER)

    def identity(self) -> Identity:
        """This node's keys; made on first use."""
        try:
            stored = _read(self.identity_path, _IdentityFile)
        except FileNotFoundError:
            return self._new_identity()
        return _identity_of(stored)

    def next_identity(self) -> Identity | None:
        """The keys that shall replace this node's, while the hub has not confirmed them."""
        try:
            coming = _read(self.identity_path, _IdentityFile).next
        except FileNotFoundError:
            return None
        return None if coming is None else _identity_of(coming)

    def save_identity(self, identity: Identity, coming: Identity | None = None) -> None:
        stored = _IdentityFile(**_keys_of(identity).model_dump(), next=None if coming is None else _keys_of(coming))
        write_atomically(self.identity_path, stored.model_dump_json(exclude_none=True).encode())

    def _new_identity(self) -> Identity:
        self.prepare()
        identity = Identity.generate()
        self.save_identity(identity)
        return identity

    def is_enrolled(self) -> bool:
        return self.node_path.exists()

    def node(self) -> NodeRecord:
        try:
            return _read(self.node_path, NodeRecord)
        except FileNotFoundError:
            raise NotEnrolled(
                "this machine has not joined a pool. Run `computepool join URL --token TOKEN`; the token comes from"
                " the pool's owner, or from `computepool up`"
            ) from None

    def save_node(self, node: NodeRecord) -> None:
        self.prepare()
        write_atomically(self.node_path, node.model_dump_json(indent=1).encode())

    def lock(self) -> "InstanceLock":
        return InstanceLock(self.root / "agent.lock")


def _identity_of(stored: _Keys) -> Identity:
    return Identity(
        Ed25519PrivateKey.from_private_bytes(base64.b64decode(stored.sign_key)),
        X25519PrivateKey.from_private_bytes(base64.b64decode(stored.seal_key)),
    )


def _keys_of(identity: Identity) -> _Keys:
    raw = (Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    return _Keys(
        sign_key=base64.b64encode(identity.sign_key.private_bytes(*raw)).decode(),
        seal_key=base64.b64encode(identity.seal_key.private_bytes(*raw)).decode(),
    )


class InstanceLock:
    """Held while an agent works in the folder; the kernel lets go of it when the agent dies, however it dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def __enter__(self) -> "InstanceLock":
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(fd, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(fd)
            raise AlreadyRunning(
                f"another agent (process {holder}) already runs from {self._path.parent}. Stop it with"
                " `computepool agent stop`, or use another --home for a second node"
            ) from None
        os.truncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def write_atomically(path: Path, data: bytes) -> None:
    """All of it or nothing, whatever happens: the old file stays until the new one is on the disk."""
    fd, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read(path: Path, model: type[Model]) -> Model:
    data = path.read_bytes()
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "it"
        raise HomeError(
            f"{path} is damaged ({place} {words_for(first)}). Restore it from a backup, or remove {path.parent} and "
            "join again with `computepool join … --replace NODE`"
        ) from None
