"""The key with which this home signs the jobs that it submits: its owner's nodes know them by it as their owner's own.

Made on first use, and never sent anywhere. Whoever has the file can run commands on the machines that trust the key.
"""

import base64
import json
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from computepool.client.config import ConfigError
from computepool.client.errors import ClientError
from computepool.client.models import Artifact

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from computepool.protocol.spec import JobSpec

SIGNING_KEY = "signing-key.json"


def load_signing_key(home: Path) -> "Ed25519PrivateKey | None":
    """None where there is none yet. Raises ConfigError."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = home / SIGNING_KEY
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(stored["private_key"], validate=True))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}",
            hint="Restore it, or delete it: then a new key is made, and your machines have to be told of it"
            " (computepool agent trust).",
        ) from None


def ensure_signing_key(home: Path) -> "Ed25519PrivateKey":
    """The key of this home; made if there is none. Raises ConfigError, and OSError where it cannot be written."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    known = load_signing_key(home)
    if known is not None:
        return known
    key = Ed25519PrivateKey.generate()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=home, prefix=f".{SIGNING_KEY}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"private_key": base64.b64encode(key.private_bytes_raw()).decode()}, file)
            file.write("\n")
        _publish(Path(temporary), home / SIGNING_KEY)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return load_signing_key(home) or key


def _publish(temporary: Path, path: Path) -> None:
    """Of two commands that make the first key at once, both use the one that came first."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    except OSError:
        temporary.replace(path)  # a file system without hard links


class JobSigner:
    """Signs the jobs of one `Pool`. Loads what that takes when it is first asked to."""

    def __init__(self, home: Path, hub_id: Callable[[], str]) -> None:
        self._home = home
        self._ask_hub_id = hub_id
        self._digests: dict[str, str] = {}
        """Of what was uploaded here, by artifact id."""

    @cached_property
    def key(self) -> "Ed25519PrivateKey | None":
        """None where one can neither be found nor made."""
        try:
            return ensure_signing_key(self._home)
        except OSError:
            return None

    @property
    def key_id(self) -> str | None:
        from computepool.protocol.signing import key_id_of

        return None if self.key is None else key_id_of(self.key.public_key().public_bytes_raw())

    @cached_property
    def _hub_id(self) -> str:
        return self._ask_hub_id()

    def know(self, artifact: Artifact) -> Artifact:
        """That it was uploaded here, so that its digest is not only the hub's word."""
        if self._digests.setdefault(artifact.id, artifact.digest) != artifact.digest:
            raise ClientError(f"The hub gave two different files the id {artifact.id}.", hint="Ask its operator.")
        return artifact

    def headers_for(self, spec: "JobSpec", bundle_id: str | None) -> dict[str, str]:
        """None where only the hub knows the content of a file: it could then choose what is run."""
        from computepool.protocol.own_job import OWN_JOB_HEADER, Work, sign_own_job

        files = {source.artifact_id for source in spec.inputs.values()} | {bundle_id}
        if self.key is None or not (files - {None}) <= self._digests.keys():
            return {}
        bundle = self._digests[bundle_id] if bundle_id is not None else None
        work = Work.asked_for(spec, bundle, self._digests)
        signed = sign_own_job(self.key, spec, work, hub_id=self._hub_id, now=datetime.now(UTC))
        return {OWN_JOB_HEADER: signed.model_dump_json()}
