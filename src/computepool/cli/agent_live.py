"""The agent's state as a live screen, and its owner's wishes as single keystrokes."""

import contextlib
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from computepool.agent.control import AgentNotRunning
from computepool.cli.agent_screen import Fitted, Status, help_lines, keys_line, screen
from computepool.cli.display import console
from computepool.cli.errors import clean

REFRESH_SECONDS = 1.0
ACTIONS = {"p": "pause", "r": "resume", "d": "drain"}
QUIT = frozenset({"q", "Q", "\x03", "\x04"})
SEQUENCE = re.compile(rb"\x1b(\[[0-9;?]*[ -/]*[@-~]|O.|.)?")
"""What an arrow key sends, which is no wish, though it ends with a letter."""

Ask = Callable[[str], dict[str, Any]]
"""What `ask_agent` does, for one agent."""


def is_possible() -> bool:
    """A person sits there: they see the screen, and can type."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def show(ask: Ask) -> None:
    """Until the person leaves. The agent goes on."""
    # Where there is no agent at all, that is an error and not a screen.
    view = _View(ask, ask("status"))
    with _keys() as next_keys, Live(console=console(), screen=True, auto_refresh=False, transient=True) as live:
        asked_at = time.monotonic()
        while True:
            live.update(view.picture(live.console), refresh=True)
            for key in next_keys(max(0.0, asked_at + REFRESH_SECONDS - time.monotonic())):
                if key in QUIT:
                    return
                view.take(key)
            if time.monotonic() - asked_at >= REFRESH_SECONDS:
                view.refresh()
                asked_at = time.monotonic()


class _View:
    def __init__(self, ask: Ask, status: Status) -> None:
        self._ask = ask
        self._status = status
        self._trouble = ""
        self._helping = False

    def refresh(self, action: str = "status") -> None:
        """What the agent said last stays on the screen while it does not answer."""
        try:
            self._status = self._ask(action)
            self._trouble = ""
        except AgentNotRunning as error:
            self._trouble = str(error)

    def take(self, key: str) -> None:
        if key == "?":
            self._helping = not self._helping
        elif key.lower() in ACTIONS:
            self.refresh(ACTIONS[key.lower()])

    def picture(self, out: Console) -> Fitted:
        body: list[Any] = []
        if self._trouble:
            body += [Text(f"error: {clean(self._trouble)}", style="red"), Text("")]
        if self._helping:
            body += [help_lines(), Text("")]
        body.append(screen(self._status, out.width))
        return Fitted(Group(*body), keys_line())


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Single keystrokes, unseen; the terminal is as before afterwards, whatever happens."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def next_keys(seconds: float) -> str:
        """Those that were typed within so many seconds; none if none were."""
        ready, _, _ = select.select([terminal], [], [], seconds)
        if not ready:
            return ""
        try:
            data = os.read(terminal, 64)
        except OSError:
            data = b""
        if not data:
            # The terminal is gone, and nobody looks any more.
            return "q"
        return SEQUENCE.sub(b"", data).decode(errors="replace")

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    handlers = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        tty.setcbreak(terminal)
        # Ctrl-C is a key like q: it ends the screen and is no failure.
        mode = termios.tcgetattr(terminal)
        mode[3] &= ~termios.ISIG
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
        yield next_keys
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
