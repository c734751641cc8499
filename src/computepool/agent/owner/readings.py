"""What the machine shows of its owner. Each is a value or `Unknown`, which says why; nothing is guessed here.

`UNKNOWN_RULES` is how each unknown is taken, in one place: the decision follows it, the guide prints it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unknown:
    why: str = "not looked at yet"


@dataclass(frozen=True)
class Idle:
    seconds: float
    """Since it was last used."""
    what: str = "keyboard or mouse"


@dataclass(frozen=True)
class GpuReading:
    """One GPU; None for what its driver does not tell."""

    id: str
    utilisation: float | None = None
    """From 0 to 1."""
    temperature_celsius: float | None = None
    foreign_bytes: int | None = None
    """Held by programs that are not ours."""
    foreign_program: str = ""
    """The largest of them."""
    ours: bool = False
    """Work of ours is on it."""


@dataclass(frozen=True)
class Paused:
    """The owner said so."""

    since_seconds: float = 0.0
    remaining_seconds: float | None = None
    """None until `resume`."""
    note: str = ""


@dataclass(frozen=True)
class Readings:
    seat: bool | Unknown = Unknown()
    idle: Idle | Unknown = Unknown()
    """Keyboard and mouse of whoever sits here."""
    terminal: Idle | Unknown | None = None
    """Typing in terminals, also over ssh; None if nobody has one open."""
    full_screen: str | Unknown | None = None
    """The program that fills the screen."""
    on_battery: bool | Unknown = False
    cpu_celsius: float | Unknown = Unknown()
    metered: bool | Unknown = False
    data_used_bytes: int | Unknown = 0
    """By strangers' work, in this calendar month."""
    gpus: tuple[GpuReading, ...] = ()
    paused: Paused | None = None


UNKNOWN_RULES: dict[str, tuple[str, str]] = {
    "seat": ("as yes", "a desktop must never be treated as a server"),
    "idle": ("as in use", 'the owner comes first; change it with `seat = "no"` or `after_idle = "0s"`'),
    "terminal": ("as unused", "keyboard and mouse are read separately"),
    "full_screen": ("as none", "most Wayland desktops do not report it; keyboard and mouse still count"),
    "on_battery": ("as on mains", "machines without a battery often report nothing"),
    "cpu_celsius": ("as cool", "the processor protects itself; GPUs are read separately"),
    "metered": ("as not metered", "few systems report it"),
    "data_used_bytes": ("as not used up", "the proxy that counts transfers also cuts them off"),
    "gpu processes": (
        "by how busy the GPU is while no job runs on it",
        "some drivers do not list the programs on a GPU",
    ),
}
"""How a reading that cannot be had is taken, and why."""
CALLED: dict[str, str] = {
    "seat": "whether somebody sits here",
    "idle": "keyboard and mouse",
    "full_screen": "full-screen programs",
    "on_battery": "the battery",
    "cpu_celsius": "the processor's temperature",
    "metered": "whether the network is metered",
    "data_used_bytes": "the data of this month",
}
"""What people call them."""
