"""Windows: a task that starts when its user signs in.

An agent needs Linux, so on Windows it lives in WSL, and the task holds it there: WSL ends a distribution in which
nobody has a session, whatever services it has. It is a task and not a service, because WSL belongs to a signed-in user.
"""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from .model import DESCRIPTION, Service, ServiceManager, Step

RESTART_MINUTES = 1
MOST_RESTARTS = 255


class WindowsTask(ServiceManager):
    name = "Windows logon task"
    kind = "windows"

    def __init__(
        self, service: Service, *, distribution: str, linux_user: str, windows_user: str, as_seen: str
    ) -> None:
        """`windows_user` as DOMAIN\\name; `as_seen` is the text's place as a Windows program finds it."""
        super().__init__(service)
        self._distribution = distribution
        self._linux_user = linux_user
        self._windows_user = windows_user
        self._as_seen = as_seen

    @property
    def path(self) -> Path:
        return task_path(self.service)

    @property
    def task(self) -> str:
        return f"ComputePool\\{self.service.name}-{self._distribution}"

    def text(self) -> str:
        return task_text(self.service, self._windows_user, self._distribution, self._linux_user)

    def data(self) -> bytes:
        # The only encoding that schtasks reads everywhere.
        return self.text().encode("utf-16")

    def keeps_text(self) -> bool:
        return False

    def steps_to_install(self) -> Sequence[Step]:
        return (
            Step(("schtasks.exe", "/Create", "/F", "/TN", self.task, "/XML", self._as_seen)),
            Step(("schtasks.exe", "/Run", "/TN", self.task)),
        )

    def steps_to_stop(self) -> Sequence[Step]:
        return (
            Step(("schtasks.exe", "/End", "/TN", self.task), may_fail=True),
            Step(("schtasks.exe", "/Delete", "/F", "/TN", self.task), may_fail=True),
        )

    def hints(self) -> Sequence[str]:
        return (
            "It runs while you are signed in to Windows. A PC that sleeps shares nothing: see Settings, System, Power.",
        )


def task_path(service: Service) -> Path:
    return service.root / f"{service.name}.task.xml"


def task_text(service: Service, windows_user: str, distribution: str, linux_user: str) -> str:
    # Again after it failed; 0 is what the agent says when it was stopped, or when the hub sent it away.
    variables = [f"{name}={value}" for name, value in service.environment.items()]
    setting = ("/usr/bin/env", *variables) if variables else ()
    words = ("-d", distribution, "-u", linux_user, "--exec", *setting, *service.command("--stay-away"))
    arguments = " ".join(windows_quoted(word) for word in words)
    user = escape(windows_user)
    return f"""\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>{escape(DESCRIPTION)}</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>{user}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>
    <Enabled>true</Enabled>
    <Hidden>true</Hidden>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>7</Priority>
    <RestartOnFailure>
      <Interval>PT{RESTART_MINUTES}M</Interval>
      <Count>{MOST_RESTARTS}</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>%SystemRoot%\\System32\\wsl.exe</Command>
      <Arguments>{escape(arguments)}</Arguments>
    </Exec>
  </Actions>
</Task>
"""


def windows_quoted(word: str) -> str:
    """As a Windows program splits its command line: a quote is escaped, and so are the backslashes before one."""
    if word and not any(char in ' \t"' for char in word):
        return word
    quoted, backslashes = '"', 0
    for char in word:
        if char == '"':
            quoted += "\\" * (backslashes + 1)
        backslashes = backslashes + 1 if char == "\\" else 0
        quoted += char
    return quoted + "\\" * backslashes + '"'
