"""What the machine has to share, and what is special about it."""

import asyncio
import contextlib
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from computepool.agent.detect import DISK_FLOOR_BYTES, Hardware
from computepool.agent.home import AgentHome
from computepool.agent.removal import remove_tree
from computepool.agent.sandbox import Sandbox
from computepool.agent.sandbox.interface import Command, Limits, SandboxError
from computepool.agent.sandbox.running import readable
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import about_bytes

from .model import Check, warn

LOOK_SECONDS = 20.0
LOOK_LIMITS = Limits(cpus=1.0, memory_bytes=1 << 30, pids=64, disk_bytes=16 << 20)
OUTPUT_BYTES = 65_536


def existing(folder: Path) -> Path:
    """The folder, or the one above it that is there."""
    while not folder.exists():
        folder = folder.parent
    return folder


def check_machine(home: AgentHome, hardware: Hardware) -> Iterator[Check]:
    gpus = ", ".join(f"{gpu.name} {about_bytes(gpu.memory_bytes)}" for gpu in hardware.gpus) or "no GPU found"
    yield Check("hardware", True, f"{hardware.cpus:g} cores, {about_bytes(hardware.memory_bytes)} memory, {gpus}")
    for unusable in hardware.unusable_gpus:
        yield warn("GPU", f"{unusable.name} is not offered: {unusable.why}", unusable.hint)
    folder = existing(home.root)
    free = shutil.disk_usage(folder).free
    enough = hardware.disk_bytes > 0
    hint = "" if enough else f"Free some space: the agent always leaves {about_bytes(DISK_FLOOR_BYTES)} free"
    yield Check("disk", enough, f"{about_bytes(free)} free, {about_bytes(hardware.disk_bytes)} offered", hint)
    flags = os.statvfs(folder).f_flag
    if flags & os.ST_RDONLY:
        yield Check("disk mount", False, f"{folder} is on a disk that is mounted read-only", "Use another --home")
    elif flags & getattr(os, "ST_NOEXEC", 0):
        hint = "Remount it without noexec, or use a --home on another disk"
        yield Check("disk mount", False, f"{folder} is mounted noexec: jobs could not run their own programs", hint)


def check_system() -> Iterator[Check]:
    """What owners of such a machine should know."""
    if sys.platform == "darwin":
        yield warn(
            "macOS",
            "macOS has no sandbox for strangers' jobs: this Mac runs only its owner's jobs",
            "Run the agent in a Linux virtual machine, such as Docker Desktop, Colima or UTM",
        )
    elif "WSL_DISTRO_NAME" in os.environ or "microsoft" in platform.release().lower():
        yield from _check_wsl()


def _check_wsl() -> Iterator[Check]:
    if "wsl2" not in platform.release().lower() and not Path("/dev/dxg").exists():
        hint = "Run `wsl --set-version DISTRIBUTION 2` in PowerShell: WSL 1 has no Linux kernel to isolate jobs with"
        yield Check("WSL", False, "this may be WSL 1", hint)
        return
    if shutil.which("schtasks.exe") is None:
        hint = "Turn interop on in /etc/wsl.conf, so that `computepool agent install` can create a logon task"
        yield warn("WSL", "Windows programs are not reachable from here", hint)
        return
    hint = "computepool agent install"
    yield warn(
        "WSL", "Windows stops this distribution when no session is open in it; a logon task keeps it running", hint
    )


async def check_gpus_inside(proven: Sequence[Sandbox], hardware: Hardware) -> list[Check]:
    """Whether a job would really see the GPU that it is given: tried in every level for strangers."""
    checks = []
    for sandbox in proven:
        if sandbox.level is IsolationLevel.PROCESS:
            continue
        for gpu in hardware.gpus:
            name = f"GPU in {sandbox.level}"
            problem = await _look_inside(sandbox, gpu.id, hardware.gpu_devices.get(gpu.id, ()))
            hint = "Make the driver visible to containers: install nvidia-container-toolkit, or for AMD pass /dev/kfd"
            shown = f"{gpu.name} cannot be used inside: {problem}" if problem else f"{gpu.name} is visible"
            checks.append(Check(name, not problem, shown, hint if problem else ""))
    return checks


async def _look_inside(sandbox: Sandbox, gpu_id: str, devices: Sequence[str]) -> str:
    """Why the GPU cannot be used; empty if it can."""
    tests = [f"test -r {shlex.quote(device)} || echo 'no {device}'" for device in devices]
    # Only NVIDIA's own program knows whether the driver answers too.
    tests.append("if command -v nvidia-smi > /dev/null; then nvidia-smi -L > /dev/null || echo 'nvidia-smi fails'; fi")
    folder = Path(tempfile.mkdtemp(prefix="doctor-", dir=sandbox.attempts_folder))
    try:
        (folder / "work").mkdir()
        sandbox.adopt(folder)
        argv = ["/bin/sh", "-c", "\n".join([*tests, "echo looked"])]
        command = Command(argv, {}, folder, LOOK_LIMITS, devices=devices, gpus=(gpu_id,))
        async with asyncio.timeout(LOOK_SECONDS):
            said = (await _output_of(sandbox, command)).strip()
    except (SandboxError, TimeoutError, OSError) as error:
        return str(error) or "it took too long"
    finally:
        remove_tree(folder)
    *problems, last = said.splitlines() or [""]
    return "; ".join(problems) if last == "looked" else said[-200:] or "nothing could be run"


async def _output_of(sandbox: Sandbox, command: Command) -> str:
    process = await sandbox.start(command)
    output = b""
    try:
        while len(output) < OUTPUT_BYTES:
            await readable(process.output_fd)
            piece = os.read(process.output_fd, OUTPUT_BYTES)
            if not piece:
                break
            output += process.sift(piece)
        await process.wait()
    finally:
        await process.stop(0)
        with contextlib.suppress(OSError):
            os.close(process.output_fd)
    # Where the command never ran, the sandbox's own words say why.
    return output.decode(errors="replace") or process.complaint
