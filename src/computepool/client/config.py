"""Where a client finds its hub and its token.

A flag comes first, then the environment (`COMPUTEPOOL_URL`, `COMPUTEPOOL_TOKEN`), then the credentials file in the home
folder (`COMPUTEPOOL_HOME`, by default `~/.computepool`), which `login` and `up` write. A token is only ever sent to the
hub that it belongs to: the file's token is not used with another address, nor with another pinned key.

An address may end in `#sha256:…`, the fingerprint of the hub's public key: no other certificate is accepted then. The
file keeps it beside the address.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from computepool.client.errors import ClientError
from computepool.protocol.addresses import split_fingerprint, with_fingerprint, with_scheme

DEFAULT_URL = "http://127.0.0.1:8000"
CREDENTIALS = "credentials.json"
PREFERENCES = "client.json"


class ConfigError(ClientError):
    code = "config"


@dataclass(frozen=True, slots=True)
class Credentials:
    url: str
    token: str
    fingerprint: str | None = None
    """Of the hub's public key. None: its certificate is checked as usual, by the authorities of this machine."""
    insecure: bool = False
    """Plain HTTP beyond loopback was asked for."""


@dataclass(frozen=True, slots=True)
class Target:
    """The hub to talk to, and as whom."""

    url: str
    token: str | None
    home: Path
    fingerprint: str | None = None
    insecure: bool = False

    @property
    def address(self) -> str:
        """The URL with the pinned fingerprint, as `join` and `login` take it."""
        return with_fingerprint(self.url, self.fingerprint)


def home_folder(home: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    chosen = home or environ.get("COMPUTEPOOL_HOME") or Path.home() / ".computepool"
    return Path(chosen).expanduser().absolute()


def find_target(
    url: str | None = None,
    token: str | None = None,
    home: str | Path | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    insecure: bool = False,
) -> Target:
    folder = home_folder(home, environ)
    saved = load_credentials(folder)
    found = url or environ.get("COMPUTEPOOL_URL") or (saved.url if saved else DEFAULT_URL)
    chosen, fingerprint = read_address(found)
    found_token = token or environ.get("COMPUTEPOOL_TOKEN")
    if saved is not None and normal_url(saved.url) == chosen and fingerprint in (None, saved.fingerprint):
        found_token = found_token or saved.token
        fingerprint, insecure = saved.fingerprint, insecure or saved.insecure
    return Target(chosen, found_token or None, folder, fingerprint, insecure)


def read_address(address: str) -> tuple[str, str | None]:
    """The hub's URL, and the fingerprint of its key where the address carries one."""
    try:
        _, fingerprint = split_fingerprint(address)
    except ValueError as error:
        hint = "Copy the whole address that `computepool up --host` prints, or leave out what follows the #."
        raise ConfigError(f"{error}.", hint=hint) from None
    url = normal_url(address)
    if fingerprint is not None and not url.startswith("https://"):
        raise ConfigError(f"{url} has no certificate to compare a fingerprint with.", hint="Write https://…#sha256:…")
    return url, fingerprint


def normal_url(url: str) -> str:
    """The hub's address without a trailing slash, `/api/v1` or a fragment; `pool.example.org` means https."""
    from urllib.parse import urlsplit

    text = with_scheme(url)
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or any(character <= " " for character in text):
        raise ConfigError(f"{url!r} is not the address of a hub.", hint="Write it like https://pool.example.org")
    path = parts.path.rstrip("/").removesuffix("/api/v1")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{path}"


def load_credentials(home: Path) -> Credentials | None:
    data = _read_json(home / CREDENTIALS)
    url, token = data.get("url"), data.get("token")
    if not data:
        return None
    if not isinstance(url, str) or not isinstance(token, str):
        raise ConfigError(f"{home / CREDENTIALS} lacks its url or token.", hint="Sign in again: computepool login URL")
    fingerprint = data.get("fingerprint")
    pinned = fingerprint if isinstance(fingerprint, str) else None
    return Credentials(url, token, pinned, data.get("insecure") is True)


def save_credentials(home: Path, credentials: Credentials) -> Path:
    trust: dict[str, object] = {"fingerprint": credentials.fingerprint} if credentials.fingerprint else {}
    if credentials.insecure:
        trust["insecure"] = True
    return _write_private(home / CREDENTIALS, {"url": credentials.url, "token": credentials.token, **trust})


def forget_credentials(home: Path) -> bool:
    path = home / CREDENTIALS
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def load_preferences(home: Path) -> dict[str, object]:
    """What the person was told or chose before, such as the warning about strangers' nodes."""
    return _read_json(home / PREFERENCES)


def save_preference(home: Path, name: str, value: object) -> None:
    _write_private(home / PREFERENCES, {**load_preferences(home), name: value})


def _read_json(path: Path) -> dict[str, object]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="Mend it, or delete it and sign in again.") from None
    return data if isinstance(data, dict) else {}


def _write_private(path: Path, data: Mapping[str, object]) -> Path:
    """Whole or not at all, and readable by its owner alone from the first byte on."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(data, file, indent=2)
                file.write("\n")
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}", hint="Choose another folder with --home.") from None
    return path
