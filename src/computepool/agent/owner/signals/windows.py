"""Keyboard, mouse and full-screen programs on Windows: from Windows itself, and from WSL through one helper process."""

import ctypes
import select
import subprocess
from typing import Any

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.machine import Machine, end_group

FULL_SCREEN_STATES = frozenset({2, 3, 4})
"""Busy (a full-screen program), a full-screen game, a presentation."""
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 60.0
POWERSHELL = "powershell.exe"

# One PowerShell that answers a line with a line: starting one takes a second of a core.
SCRIPT = """
Add-Type @'
using System; using System.Runtime.InteropServices;
public static class Owner {
  struct Info { public uint size; public uint time; }
  [DllImport("user32.dll")] static extern bool GetLastInputInfo(ref Info info);
  [DllImport("shell32.dll")] static extern int SHQueryUserNotificationState(out int state);
  public static string Look() {
    Info info = new Info(); info.size = 8; int state = 0;
    if (!GetLastInputInfo(ref info)) return "unknown";
    SHQueryUserNotificationState(out state);
    return ((uint)Environment.TickCount - info.time) + " " + state;
  }
}
'@
Add-Type -AssemblyName System.Windows.Forms
while ($null -ne [Console]::In.ReadLine()) {
  $power = [System.Windows.Forms.SystemInformation]::PowerStatus.PowerLineStatus
  [Console]::Out.WriteLine([Owner]::Look() + " " + $power)
}
"""


class _LastInput(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("time", ctypes.c_uint))


class WindowsInput:
    def __init__(self) -> None:
        self._system: Any = getattr(ctypes, "windll", None)

    def read(self) -> Idle | Unknown:
        info = _LastInput(ctypes.sizeof(_LastInput), 0)
        if self._system is None or not self._system.user32.GetLastInputInfo(ctypes.byref(info)):
            return Unknown("Windows does not tell the last input")
        # Both count milliseconds in 32 bits, and begin again after 49 days.
        now = self._system.kernel32.GetTickCount() & 0xFFFFFFFF
        return Idle(((now - info.time) & 0xFFFFFFFF) / 1000)

    def full_screen(self) -> str | Unknown | None:
        state = ctypes.c_int(0)
        if self._system is None or self._system.shell32.SHQueryUserNotificationState(ctypes.byref(state)):
            return Unknown("Windows does not tell")
        return "" if state.value in FULL_SCREEN_STATES else None


class WslInput:
    """The Windows that this Linux is a guest of. Not for two threads at once but for `last_…`, which only remember."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._process: subprocess.Popen[bytes] | None = None
        self._failed_at: float | None = None
        self._why = ""
        self._words: list[str] | None = None

    def read(self) -> Idle | Unknown:
        now = self._machine.monotonic()
        if self._failed_at is not None and now < self._failed_at + RETRY_SECONDS:
            return Unknown(self._why)
        answer = self._ask()
        if isinstance(answer, Unknown):
            self.close()
            self._failed_at, self._why, self._words = now, answer.why, None
            return answer
        self._failed_at, self._words = None, answer.split()
        try:
            return Idle(int(self._words[0]) / 1000)
        except (ValueError, IndexError):
            return Unknown("Windows does not tell the last input")

    def last_full_screen(self) -> str | Unknown | None:
        """As of the last `read`."""
        words = self._words
        if words is None or len(words) < 2 or not words[1].isdigit():
            return Unknown("Windows was not asked yet")
        return "" if int(words[1]) in FULL_SCREEN_STATES else None

    def last_on_battery(self) -> bool | Unknown:
        words = self._words
        if words is None or len(words) < 3 or words[2] not in ("Online", "Offline"):
            return Unknown("Windows was not asked yet")
        return words[2] == "Offline"

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            end_group(process)

    def _ask(self) -> str | Unknown:
        try:
            if self._process is None:
                program = self._machine.tool(POWERSHELL)
                if program is None:
                    return Unknown(f"{POWERSHELL} is not reachable from this WSL")
                self._process = subprocess.Popen(
                    [program, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", SCRIPT],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    start_new_session=True,
                )
            assert self._process.stdin is not None
            self._process.stdin.write(b"\n")
            return self._line(self._process)
        except OSError as error:
            return Unknown(f"{POWERSHELL}: {error.strerror}")

    def _line(self, process: subprocess.Popen[bytes]) -> str | Unknown:
        assert process.stdout is not None
        deadline = self._machine.monotonic() + ANSWER_SECONDS
        data = b""
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - self._machine.monotonic()))
            piece = process.stdout.read(200) if ready else b""
            if not piece or len(data) > 1000:
                return Unknown(f"{POWERSHELL} does not answer")
            data += piece
        return data.decode(errors="replace").splitlines()[-1]
