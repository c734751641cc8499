"""What the engine is asked for: a container with every limit, nothing of the host but what a job may see, and no more.

A job without an image sees what a bubblewrap job sees: the host's /usr read-only, an /etc of our own, /job. A job with
one sees the image and /job. Nothing else can be written to but two places in memory, which count as memory.
"""

import json
import os
import resource
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from computepool.agent.sandbox.environment import job_environment, welcome
from computepool.agent.sandbox.interface import EGRESS_PORT, Command
from computepool.agent.sandbox.layout import JOB_FOLDER, SYSTEM_FOLDERS, linked_places, shown_arguments
from computepool.agent.sandbox.spawn import MAX_OPEN_FILES, OOM_SCORE_ADJ

from .empty_image import DOOR, INIT
from .engine import EngineFacts, Json

INSTANCE, RUN, ATTEMPT, MARK = "computepool.instance", "computepool.run", "computepool.attempt", "computepool.mark"
"""Labels: whose container it is, of which run of that agent, for which attempt, and which command of it."""

PERIOD_MICROSECONDS = 100_000
OVERHEAD_PIDS = 2
GVISOR_PIDS = 1024
"""gVisor's own threads are counted with the job's processes, and it does not start without them."""
MIN_PROCESSES, MAX_PROCESSES = 4096, 65_536
TINY = "rw,nosuid,nodev,noexec,size=65536,mode=755"
SELINUX = Path("/sys/fs/selinux/enforce")


@dataclass(frozen=True)
class Image:
    """What matters here of an image: its id, its own environment, and places in it that want to be written to."""

    id: str
    env: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()

    @classmethod
    def read(cls, found: Json) -> "Image":
        config = found.get("Config") or {}
        pairs = (str(line).partition("=") for line in config.get("Env") or [])
        return cls(
            id=str(found["Id"]),
            env={name: value for name, _, value in pairs},
            volumes=tuple(config.get("Volumes") or ()),
        )


@dataclass(frozen=True)
class Host:
    """What is the same for every container of a sandbox."""

    facts: EngineFacts
    runtime: str | None
    init: Path | None
    etc: Path
    seccomp: str
    read_only: tuple[Path, ...]
    hidden: tuple[Path, ...]
    door: Path | None = None
    """The program that listens inside where nobody can from outside."""

    @property
    def is_gvisor(self) -> bool:
        return self.runtime is not None


@dataclass(frozen=True)
class User:
    uid: int
    gid: int
    passwd: Path
    group: Path


def container_spec(
    command: Command,
    argv: Sequence[str],
    *,
    host: Host,
    image: Image,
    user: User,
    labels: Mapping[str, str],
    network: str = "none",
    with_door: bool = False,
) -> Json:
    """`with_door` starts the program of the door first: it speaks by the container's input and errors (tunnel.py)."""
    brings_image = command.image is not None
    environment = _environment(command, image if brings_image else None)
    # -g: a signal for it is for all of the command's group.
    words = [INIT, "-g", "--", *argv] if host.init else list(argv)
    if with_door:
        words = [DOOR, str(EGRESS_PORT), *words]
    spec: Json = {
        "Image": image.id,
        # As the entry point, so that the image's own, and its command, are out of the way.
        "Entrypoint": words,
        "Cmd": [],
        "User": f"{user.uid}:{user.gid}",
        "WorkingDir": f"{JOB_FOLDER}/{command.cwd}".rstrip("/"),
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "Labels": dict(labels),
        "Healthcheck": {"Test": ["NONE"]},
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": _host_config(command, host=host, image=image, user=user, network=network),
    }
    if network == "none":
        spec |= {"NetworkDisabled": True, "Hostname": "job"}
    if with_door:
        assert host.door is not None
        spec |= {"OpenStdin": True, "StdinOnce": True, "AttachStdin": True}
        spec["HostConfig"]["Mounts"].append(_bind(host.door, DOOR))
        spec["HostConfig"]["PidsLimit"] += 1
    return spec


def _environment(command: Command, image: Image | None) -> dict[str, str]:
    wanted = job_environment(command.env, home=JOB_FOLDER, tmp="/tmp")  # noqa: S108 - the container's own
    # A user without a name is more than some programs can bear.
    wanted = {"USER": "job", "LOGNAME": "job"} | wanted
    if image is not None:
        given = welcome(command.env)
        # Where the image knows better than our defaults, it does.
        wanted = {name: value for name, value in wanted.items() if name in given or name not in _left_to(image)}
    # An image may ask for every GPU of the host, and an engine may be set up to give them.
    wanted["NVIDIA_VISIBLE_DEVICES"] = ",".join(command.gpus) if _asks_toolkit(command) else "void"
    if _asks_toolkit(command):
        wanted["NVIDIA_DRIVER_CAPABILITIES"] = "compute,utility"
    return wanted


def _left_to(image: Image) -> set[str]:
    return {"PATH", "LANG"} & image.env.keys()


def _host_config(command: Command, *, host: Host, image: Image, user: User, network: str) -> Json:
    limits = command.limits
    half = max(limits.memory_bytes // 2, 1 << 20)
    brings_image = command.image is not None
    config: Json = {
        "NetworkMode": network,
        "IpcMode": "private",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": _security(host),
        "Memory": limits.memory_bytes,
        "MemorySwap": limits.memory_bytes,
        "PidsLimit": limits.pids + OVERHEAD_PIDS + (GVISOR_PIDS if host.is_gvisor else 0),
        "CpuPeriod": PERIOD_MICROSECONDS,
        "CpuQuota": max(1000, int(limits.cpus * PERIOD_MICROSECONDS)),
        "Ulimits": _ulimits(limits.disk_bytes, gvisor=host.is_gvisor),
        "OomScoreAdj": OOM_SCORE_ADJ,
        "ShmSize": half,
        "Tmpfs": _in_memory(host, image if brings_image else None, half),
        "Mounts": _mounts(command, host=host, user=user),
        "Devices": _devices(command),
        "GroupAdd": _groups(command),
        # The output is taken from the engine as it comes; nothing of it may pile up on the owner's disk.
        "LogConfig": {"Type": "none"},
    }
    if host.runtime:
        config["Runtime"] = host.runtime
    if host.facts.rootless:
        config["UsernsMode"] = "keep-id"
    if _asks_toolkit(command):
        config |= _toolkit(command, host)
    if host.init is None and brings_image and host.facts.kind == "docker":
        config["Init"] = True
    return config


def _security(host: Host) -> list[str]:
    options = ["no-new-privileges", f"seccomp={host.seccomp}"]
    if SELINUX.exists():
        # The host's own folders are shown, and must not be labelled anew.
        options.append("label=disable")
    return options


def _ulimits(file_bytes: int, *, gvisor: bool) -> list[Json]:
    limits = {
        "core": 0,
        "nofile": _own_limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        # Counted for all of a user's processes; the engine's own limit is what bounds the job.
        "nproc": max(MIN_PROCESSES, _own_limit(resource.RLIMIT_NPROC, MAX_PROCESSES)) if not _is_root() else 4096,
    }
    if not gvisor:
        # It would bound the file in which gVisor keeps the job's memory.
        limits["fsize"] = file_bytes
    return [{"Name": name, "Soft": value, "Hard": value} for name, value in limits.items()]


def _is_root() -> bool:
    return os.geteuid() == 0


def _own_limit(which: int, most: int) -> int:
    hard = resource.getrlimit(which)[1]
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def _in_memory(host: Host, image: Image | None, half: int) -> dict[str, str]:
    writable = f"rw,exec,nosuid,nodev,size={half},mode=1777"
    places = {"/tmp": writable, "/var/tmp": writable}  # noqa: S108 - the container's own
    if host.facts.kind == "podman":
        # It would put an unbounded one there.
        places |= {"/run": TINY}
    if image is not None:
        # Else the engine would make a folder on the owner's disk, of any size.
        places |= dict.fromkeys(image.volumes, writable)
    else:
        places |= dict.fromkeys(map(str, _covered(host)), TINY)
    return places


def _covered(host: Host) -> Iterable[Path]:
    shown = [Path("/usr"), *(Path("/", name) for name in SYSTEM_FOLDERS), *host.read_only]
    return (path for path in host.hidden if path.is_dir() and any(path.is_relative_to(root) for root in shown))


def _bind(source: Path | str, target: Path | str, *, read_only: bool = True) -> Json:
    return {"Type": "bind", "Source": str(source), "Target": str(target), "ReadOnly": read_only}


def _mounts(command: Command, *, host: Host, user: User) -> list[Json]:
    mounts = [_bind(command.folder, JOB_FOLDER, read_only=False)]
    if host.init:
        mounts.append(_bind(host.init, INIT))
    if command.image is None:
        mounts.append(_bind("/usr", "/usr"))
        real = [Path("/", name) for name in SYSTEM_FOLDERS if not Path("/", name).is_symlink()]
        mounts += [_bind(path, path) for path in real if path.is_dir()]
        mounts += [_bind(host.etc, "/etc"), _bind(user.passwd, "/etc/passwd"), _bind(user.group, "/etc/group")]
        mounts += [_bind(path, path) for path in host.read_only]
    words = iter(shown_arguments(command.shown, command.folder, user.uid if _is_root() else None))
    mounts += [_bind(source, target) for _, source, target in zip(words, words, words, strict=True)]
    # No process of the job runs now, that could put a link there after the look.
    mounts += [_bind(source, path, read_only=False) for source, path in linked_places(command.links, command.folder)]
    return mounts


def _asks_toolkit(command: Command) -> bool:
    """NVIDIA's driver comes into an image by their toolkit. Without an image it is in the host's /usr already, and for
    other makers the device files are all there is."""
    only_others = command.devices and not any(device.startswith("/dev/nvidia") for device in command.devices)
    return bool(command.gpus) and command.image is not None and not only_others


def _toolkit(command: Command, host: Host) -> Json:
    if host.facts.kind == "podman":
        return {"Devices": [*_devices(command), *(_device(f"nvidia.com/gpu={gpu}", "") for gpu in command.gpus)]}
    request = {"Driver": "nvidia", "DeviceIDs": list(command.gpus), "Capabilities": [["gpu", "compute", "utility"]]}
    return {"DeviceRequests": [request]}


def _device(path: str, inside: str) -> Json:
    return {"PathOnHost": path, "PathInContainer": inside, "CgroupPermissions": "rw"}


def _device_files(command: Command) -> list[str]:
    by_toolkit = _asks_toolkit(command)
    return [path for path in command.devices if not (by_toolkit and path.startswith("/dev/nvidia"))]


def _devices(command: Command) -> list[Json]:
    return [_device(path, path) for path in _device_files(command)]


def _groups(command: Command) -> list[str]:
    """Those that may use the device files, where not everybody may."""
    groups: dict[str, Any] = {}
    for path in _device_files(command):
        info = os.stat(path)  # noqa: PTH116 - a device file, not ours
        if info.st_mode & 0o006 != 0o006 and info.st_gid != 0:
            groups[str(info.st_gid)] = None
    return list(groups)


def profile_text(profile: Json) -> str:
    return json.dumps(profile, separators=(",", ":"))
