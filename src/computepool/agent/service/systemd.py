"""systemd: a unit of the user who installs it, or of the system where that is root."""

from collections.abc import Sequence
from pathlib import Path

from .model import DESCRIPTION, UNWANTED, Service, ServiceManager, Step

SYSTEM_FOLDER = Path("/etc/systemd/system")
LINGER_FOLDER = Path("/var/lib/systemd/linger")
STOP_SECONDS = 30


class Systemd(ServiceManager):
    kind = "systemd"

    def __init__(self, service: Service, *, system: bool, config_folder: Path, user: str = "") -> None:
        """`config_folder` is the user's, as XDG has it."""
        super().__init__(service, system=system)
        self.name = "systemd" if system else "systemd --user"
        self._user = user
        self._folder = SYSTEM_FOLDER if system else config_folder / "systemd" / "user"
        self._wanted_by = "multi-user.target" if system else "default.target"

    @property
    def path(self) -> Path:
        return self._folder / f"{self.service.name}.service"

    def links(self) -> Sequence[Path]:
        return (self._folder / f"{self._wanted_by}.wants" / self.path.name,)

    def text(self) -> str:
        return unit_text(self.service, system=self.system, wanted_by=self._wanted_by)

    def steps_to_install(self) -> Sequence[Step]:
        return (Step(self._systemctl("daemon-reload")), Step(self._systemctl("enable", "--now", self.path.name)))

    def steps_to_stop(self) -> Sequence[Step]:
        return (Step(self._systemctl("disable", "--now", self.path.name), may_fail=True),)

    def steps_after_removal(self) -> Sequence[Step]:
        return (
            Step(self._systemctl("daemon-reload"), may_fail=True),
            # Otherwise the manager remembers a unit that failed once, though it is gone.
            Step(self._systemctl("reset-failed", self.path.name), may_fail=True),
        )

    def _systemctl(self, *words: str) -> tuple[str, ...]:
        return ("systemctl", *(() if self.system else ("--user",)), *words)

    def hints(self) -> Sequence[str]:
        if self.system or (LINGER_FOLDER / self._user).exists():
            return ()
        return (
            f"It runs while {self._user or 'you'} is signed in. To share the machine before and after that too: "
            f"loginctl enable-linger {self._user}".rstrip(),
        )


def unit_text(service: Service, *, system: bool, wanted_by: str) -> str:
    """No secret: the agent finds everything in its home, but for the way to the network."""
    # A user's manager does not know of network targets; the agent waits for its hub by itself anyway.
    network = "Wants=network-online.target\nAfter=network-online.target\n" if system else ""
    command = " ".join(quoted(word) for word in service.command())
    # Here $ means nothing, unlike in the command.
    variables = [f"{name}={value}" for name, value in service.environment.items()]
    environment = "".join(f"Environment={quoted(variable).replace('$$', '$')}\n" for variable in variables)
    return f"""\
[Unit]
Description={DESCRIPTION}
{network}# However often it had to be started again: the machine may be without a network for days.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command}
{environment}\
# Again after a crash, later and later; not when the owner stopped it (0) or the hub sent the node away ({UNWANTED}).
Restart=always
RestartSec=5
RestartSteps=6
RestartMaxDelaySec=300
RestartPreventExitStatus=0 {UNWANTED}
# The agent alone is told to stop: it ends its jobs, and tells the hub. What is left after that is killed.
KillMode=mixed
TimeoutStopSec={STOP_SECONDS}
# Jobs get control groups of their own below this unit, and one that uses up its memory is not the unit's end.
Delegate=yes
OOMPolicy=continue
# The owner's programs come first; when memory runs out, jobs go before them.
Nice=10
OOMScoreAdjust=500
UMask=0077

[Install]
WantedBy={wanted_by}
"""


def quoted(word: str) -> str:
    """A word of ExecStart as systemd reads it: it knows quotes and backslashes, and expands % and $."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    plain = word and all(char.isalnum() or char in "/._-+:=@,%$" for char in word)
    return escaped if plain else f'"{escaped}"'
