"""One thing that was looked at."""

from dataclasses import dataclass, replace
from typing import Literal

Level = Literal["ok", "warn", "failed"]


@dataclass(frozen=True)
class Check:
    """`hint` says how to mend it, and is shown where there is something to mend. A warning is no failure: the agent
    works, but the owner should know."""

    name: str
    ok: bool
    message: str
    hint: str = ""
    warning: bool = False
    group: str = ""

    @property
    def level(self) -> Level:
        if not self.ok:
            return "failed"
        return "warn" if self.warning else "ok"

    def within(self, group: str) -> "Check":
        return replace(self, group=group)


def warn(name: str, message: str, hint: str = "") -> Check:
    return Check(name, True, message, hint, warning=True)
