"""launchd on macOS: an agent of the user who installs it, or a daemon where that is root."""

import plistlib
from collections.abc import Sequence
from pathlib import Path

from computepool.agent.logsetup import SERVICE_OUTPUT_NAME, log_folder

from .model import Service, ServiceManager, Step

SYSTEM_FOLDER = Path("/Library/LaunchDaemons")
LABEL_PREFIX = "org.computepool."
STOP_SECONDS = 30
RESTART_SECONDS = 30


class Launchd(ServiceManager):
    name = kind = "launchd"

    def __init__(self, service: Service, *, uid: int | None, user_home: Path) -> None:
        """`uid` of whose session it belongs to; None for the system."""
        super().__init__(service, system=uid is None)
        self._domain = "system" if uid is None else f"gui/{uid}"
        self._folder = SYSTEM_FOLDER if uid is None else user_home / "Library" / "LaunchAgents"

    @property
    def label(self) -> str:
        return LABEL_PREFIX + self.service.name.removeprefix("computepool-")

    @property
    def path(self) -> Path:
        return self._folder / f"{self.label}.plist"

    def text(self) -> str:
        return plist_text(self.service, self.label)

    def steps_to_install(self) -> Sequence[Step]:
        return (
            # One that an earlier version left loaded would be refused.
            Step(("launchctl", "bootout", f"{self._domain}/{self.label}"), may_fail=True),
            Step(("launchctl", "bootstrap", self._domain, str(self.path))),
        )

    def steps_to_stop(self) -> Sequence[Step]:
        return (Step(("launchctl", "bootout", f"{self._domain}/{self.label}"), may_fail=True),)

    def hints(self) -> Sequence[str]:
        if self.system:
            return ()
        return ("It runs while you are signed in. A Mac that sleeps shares nothing: see System Settings, Energy.",)


def plist_text(service: Service, label: str) -> str:
    output = str(log_folder(service.root) / SERVICE_OUTPUT_NAME)
    document = {
        "Label": label,
        # launchd starts anything again that did not exit with 0: the agent says 0 when the hub sent it away.
        "ProgramArguments": list(service.command("--stay-away")),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_SECONDS,
        "ExitTimeOut": STOP_SECONDS,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "StandardOutPath": output,
        "StandardErrorPath": output,
        **({"EnvironmentVariables": dict(service.environment)} if service.environment else {}),
    }
    return plistlib.dumps(document, sort_keys=False).decode()
