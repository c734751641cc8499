"""What every service manager has in common: a text in a place, and commands around it."""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NAME = "computepool-agent"
DESCRIPTION = "ComputePool agent: shares this machine with a pool"
UNWANTED = 78
"""The agent's exit code when the hub sent the node away: starting again makes no sense."""


class ServiceError(Exception):
    """The agent cannot be made a service, or not as asked. The message says what to do."""


@dataclass(frozen=True)
class Service:
    """One agent: the program that runs it, and the home folder that it runs from."""

    program: tuple[str, ...]
    """Absolute, without the words after `computepool`."""
    home: Path
    """The pool's folder, as `--home`; the agent's own is below it."""
    name: str = NAME
    environment: Mapping[str, str] = field(default_factory=dict)
    """The way to the network that its user's shell knows and a service would not: see `network_settings`."""

    @property
    def root(self) -> Path:
        return self.home / "agent"

    def __post_init__(self) -> None:
        for text in (*self.program, str(self.home), *self.environment.values()):
            if not text.isprintable():
                raise ServiceError(f"{text!r} has characters that no service file can hold. Choose another --home")

    def command(self, *words: str) -> tuple[str, ...]:
        return (*self.program, "agent", "start", "--as-service", *words, "--home", str(self.home))


NETWORK_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
ENGINE_VARIABLES = ("DOCKER_HOST", "CONTAINER_HOST")
"""Where this machine's container engine is, if it is not where they usually are."""


def network_settings(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The proxies, certificates and engines of a shell, for a service that will not have it; and the names of those
    that hold a password, which belongs into no service file."""
    found, secret = {}, []
    for name in (*NETWORK_VARIABLES, *(name.lower() for name in NETWORK_VARIABLES if "PROXY" in name)):
        value = environment.get(name, "")
        if value and "@" in value and not name.upper().startswith("NO_"):
            secret.append(name)
        elif value:
            found[name] = value
    engines = {name: environment.get(name, "") for name in ENGINE_VARIABLES}
    return found | {name: value for name, value in engines.items() if value.startswith("unix://")}, secret


def name_for(home: Path, default_home: Path) -> str:
    """One name for the usual home; a second node of the same machine has a name of its own, the same every time."""
    if home.resolve() == default_home.resolve():
        return NAME
    readable = re.sub(r"[^a-z0-9]+", "-", home.name.lower()).strip("-")[:20]
    digest = hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:6]
    return "-".join(part for part in (NAME, readable, digest) if part)


@dataclass(frozen=True)
class Step:
    """A command to run. One that only tidies up may fail."""

    command: tuple[str, ...]
    may_fail: bool = False

    def __str__(self) -> str:
        import shlex

        return shlex.join(self.command)


class ServiceManager(ABC):
    """Pure: says what would be written and run. `installing` does it."""

    name: str
    kind: str
    """How it is asked for: systemd, launchd, windows."""

    def __init__(self, service: Service, *, system: bool = False) -> None:
        """`system`: a service of the whole machine, and not of one user."""
        self.service = service
        self.system = system

    @property
    @abstractmethod
    def path(self) -> Path:
        """Where the text is written."""

    @abstractmethod
    def text(self) -> str: ...

    def data(self) -> bytes:
        return self.text().encode()

    @abstractmethod
    def steps_to_install(self) -> Sequence[Step]: ...

    @abstractmethod
    def steps_to_stop(self) -> Sequence[Step]:
        """Before the text is removed."""

    def steps_after_removal(self) -> Sequence[Step]:
        return ()

    def links(self) -> Sequence[Path]:
        """What the manager's program makes beside the text, and takes away again if it is asked properly."""
        return ()

    def keeps_text(self) -> bool:
        """Whether the manager reads the text later too, or has taken it over when the steps are done."""
        return True

    def hints(self) -> Sequence[str]:
        """What the owner may want to do besides."""
        return ()
