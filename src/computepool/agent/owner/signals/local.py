"""All signals of the machine that the agent runs on."""

from collections.abc import Callable, Iterable

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.battery import read_battery
from computepool.agent.owner.signals.gpus import SeenGpu, read_gpus
from computepool.agent.owner.signals.linux_input import LinuxInput
from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.signals.macos import MacInput
from computepool.agent.owner.signals.metered import read_metered
from computepool.agent.owner.signals.seat import read_seat
from computepool.agent.owner.signals.temperature import read_cpu_celsius
from computepool.agent.owner.signals.terminals import read_terminals
from computepool.agent.owner.signals.windows import WindowsInput, WslInput
from computepool.agent.owner.watch import Signals


def local_signals(
    *,
    gpus: Callable[[], Iterable[SeenGpu]] = tuple,
    is_ours: Callable[[int], bool] = lambda pid: False,
    holds_work: Callable[[str], bool] = lambda gpu_id: False,
    data_used_bytes: Callable[[], int | Unknown] = lambda: 0,
    machine: Machine | None = None,
) -> Signals:
    here = machine or Machine()
    idle, full_screen, on_battery, close = _input(here)
    return Signals(
        seat=lambda: read_seat(here),
        idle=idle,
        terminal=lambda: read_terminals(here),
        full_screen=full_screen,
        on_battery=on_battery,
        cpu_celsius=lambda: read_cpu_celsius(here),
        metered=lambda: read_metered(here),
        data_used_bytes=data_used_bytes,
        gpus=lambda: read_gpus(gpus, is_ours, holds_work),
        close=close,
    )


_Input = tuple[
    Callable[[], Idle | Unknown],
    Callable[[], str | Unknown | None],
    Callable[[], bool | Unknown],
    Callable[[], None],
]


def _input(machine: Machine) -> _Input:
    def battery() -> bool | Unknown:
        return read_battery(machine)

    if machine.platform == "darwin":
        mac = MacInput(machine)
        return mac.read, lambda: Unknown("macOS tells no program without a permission"), battery, lambda: None
    if machine.platform == "win32":
        windows = WindowsInput()
        return windows.read, windows.full_screen, battery, lambda: None
    if machine.is_wsl:
        wsl = WslInput(machine)
        return wsl.read, wsl.last_full_screen, wsl.last_on_battery, wsl.close
    # Two threads may look at once, and a line is for one: each has its own.
    quick, slow = LinuxInput(machine), LinuxInput(machine)

    def close() -> None:
        quick.close()
        slow.close()

    return quick.read, slow.full_screen, battery, close
