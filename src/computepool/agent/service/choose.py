"""Which service manager this machine has, and why not where it has none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .launchd import Launchd
from .model import Service, ServiceError, ServiceManager
from .systemd import Systemd
from .windows import WindowsTask, task_path

MANAGERS = ("systemd", "launchd", "windows")
ANSWER_SECONDS = 20.0


class NoServiceManager(ServiceError):
    """Nothing on this machine starts services that we know."""


@dataclass(frozen=True)
class ServiceHost:
    """What the choice depends on."""

    platform: str = sys.platform
    uid: int = field(default_factory=lambda: os.geteuid() if hasattr(os, "geteuid") else 1)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    booted_with_systemd: bool = field(default_factory=lambda: Path("/run/systemd/system").is_dir())

    @property
    def is_wsl(self) -> bool:
        return "WSL_DISTRO_NAME" in self.environment

    @property
    def user_home(self) -> Path:
        return Path(self.environment.get("HOME") or "~").expanduser()

    @property
    def config_folder(self) -> Path:
        configured = Path(self.environment.get("XDG_CONFIG_HOME") or "")
        return configured if configured.is_absolute() else self.user_home / ".config"

    def has(self, program: str) -> bool:
        return shutil.which(program, path=self.environment.get("PATH")) is not None

    def user(self) -> str:
        """By its number: what the environment says may be somebody else's, as after `su`."""
        try:
            import pwd

            return pwd.getpwuid(self.uid).pw_name
        except (ImportError, KeyError):
            return self.environment.get("USER", "")


def choose(
    service: Service, machine: ServiceHost, wanted: str | None = None, *, system: bool | None = None
) -> ServiceManager:
    """The manager that was named, or the one that this machine has; the system's for root, unless it is said which.

    Raises NoServiceManager, ServiceError.
    """
    if system is None:
        system = machine.uid == 0
    if system and machine.uid != 0:
        raise ServiceError("only root installs a service of the system. Run this with sudo, and with --home")
    kind = wanted or _kind_of(machine)
    tool = {"systemd": "systemctl", "launchd": "launchctl", "windows": "schtasks.exe"}[kind]
    if not machine.has(tool):
        raise NoServiceManager(f"{tool} is not on the PATH, and {kind} is asked through it. {_instead(service)}")
    if kind == "systemd":
        return Systemd(service, system=system, config_folder=machine.config_folder, user=machine.user())
    if kind == "launchd":
        return Launchd(service, uid=None if system else machine.uid, user_home=machine.user_home)
    return _windows(service, machine)


def _kind_of(machine: ServiceHost) -> str:
    if machine.platform == "darwin":
        return "launchd"
    # Before systemd: WSL may have that too, and ends it with the distribution when nobody has a session there.
    if machine.is_wsl and machine.has("schtasks.exe"):
        return "windows"
    if machine.booted_with_systemd:
        return "systemd"
    if machine.platform == "win32":
        raise NoServiceManager("an agent does not run on Windows itself. Install it inside WSL, and run this there")
    where = (
        "in this WSL: its Windows programs are not reachable" if machine.is_wsl else "here: it was not started by it"
    )
    raise NoServiceManager(
        f"there is no service manager that ComputePool knows: no systemd {where}. Let whatever starts programs on this "
        "machine run `computepool agent start --home FOLDER`; SIGTERM drains it, a second one stops it at once"
    )


def _instead(service: Service) -> str:
    return f"Without it, run `computepool agent start --home {service.home}` yourself"


def _windows(service: Service, machine: ServiceHost) -> WindowsTask:
    distribution = machine.environment.get("WSL_DISTRO_NAME", "")
    if not distribution:
        raise ServiceError("a Windows task is made from inside WSL, where WSL_DISTRO_NAME names the distribution")
    return WindowsTask(
        service,
        distribution=distribution,
        linux_user=machine.user() or "root",
        windows_user=_answer("whoami.exe"),
        as_seen=_answer("wslpath", "-w", str(task_path(service).parent)) + "\\" + task_path(service).name,
    )


def _answer(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=ANSWER_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ServiceError(f"`{command[0]}` of WSL did not answer ({error}). Is interop with Windows on?") from None
    text = done.stdout.decode(errors="replace").strip()
    if not text or not text.isprintable():
        raise ServiceError(f"`{command[0]}` of WSL answered {text!r}, which makes no sense")
    return text
