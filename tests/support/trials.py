"""`python -m support.trials NAME` uses an engine as the tests do. Where that fails, it tells why.

A program on PATH, or one that tells its version, is not yet an engine: a trial asks for a result and looks at it.
Imports are inside the functions, because each trial is a new process and most of them need little.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def said(*command: str, **more: object) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout  # type: ignore[call-overload]


def try_bwrap(folder: Path) -> None:
    inside = ["/bin/sh", "-c", "test $$ -le 2 && echo works"]
    assert said("bwrap", "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", *inside) == "works\n"


def try_busybox(folder: Path) -> None:
    program = Path("/bin/busybox")
    assert said(str(program), "echo", "works") == "works\n"
    assert b"/ld-" not in program.read_bytes(), "it needs libraries; busybox-static does not"


def try_chromium(folder: Path) -> None:
    from support.browsers import page_in_browser

    assert "42" in page_in_browser("data:text/html,<script>document.write(6*7)</script>", folder)


def try_dbus(folder: Path) -> None:
    from support.buses import Service, bus

    with bus() as path:
        Service(path, "org.example.Trial", {}).close()


def try_docker(folder: Path, runtime: str = "runc") -> None:
    from support.private_engines import docker_engine

    check_programs("dockerd", "containerd", runtime, "setpriv")
    with docker_engine() as engine:
        engine.run_container(runtime)


def try_docker_client(folder: Path) -> None:
    from support.private_engines import docker_engine

    check_programs("docker", "dockerd", "containerd", "runc", "setpriv")
    with docker_engine() as engine:
        assert "Server" in said("docker", "-H", f"unix://{engine.socket}", "version")


def try_gvisor(folder: Path) -> None:
    try_docker(folder, "runsc")


def try_network_namespace(folder: Path) -> None:
    assert said("unshare", "--net", "cat", "/proc/net/dev").count(":") == 1, "it is not empty"


def try_podman(folder: Path) -> None:
    from support.private_engines import podman_engine

    check_programs("podman", "conmon", "runc", "setpriv")
    with podman_engine() as engine:
        engine.run_container()


def try_podman_rootless(folder: Path) -> None:
    from support.private_engines import rootless_podman_engine

    check_programs("podman", "conmon", "runc", "setpriv", "unshare", "newuidmap")
    with rootless_podman_engine():
        pass


def try_gcc(folder: Path) -> None:
    from support.fake_gpus import LIBRARY, build_nvml

    assert (build_nvml(folder) / LIBRARY).stat().st_size


def try_git(folder: Path) -> None:
    said("git", "init", "--quiet", str(folder))
    assert said("git", "-C", str(folder), "rev-parse", "--git-dir")


def try_node(folder: Path) -> None:
    """Only the system's: the build could fetch another."""
    assert said("node", "-p", "6*7") == "42\n"
    major, minor = (int(part) for part in said("node", "-p", "process.versions.node").split(".")[:2])
    assert (major, minor) >= (20, 19), "too old for the web app"
    assert said("npm", "--version")


def try_qemu(folder: Path) -> None:
    from support.doors import EMULATED, EMULATOR

    from computepool.agent.sandbox.containers.door import find_door

    program = find_door(EMULATED)
    assert program
    shutil.copy(program, folder / "door")
    (folder / "door").chmod(0o755)
    # Without arguments it ends with its own code for a wrong use.
    assert subprocess.run([EMULATOR, str(folder / "door")], check=False, capture_output=True).returncode == 125


def try_registry(folder: Path) -> None:
    from support.real_registry import real_registry

    if absent := [name for name in ("docker-registry", "setpriv") if not shutil.which(name)]:
        raise FileNotFoundError(2, "", ", ".join(absent))
    with real_registry() as registry:
        assert registry.push_blob("trial", b"works", "text/plain")["size"] == len(b"works")


def try_small_disk(folder: Path) -> None:
    from support.small_disks import small_disk

    with small_disk(folder, "1m") as disk:
        disk.resize("2m")
        assert os.statvfs(disk.path).f_blocks * os.statvfs(disk.path).f_frsize == 2 << 20


def try_system_python(folder: Path) -> None:
    assert said("/usr/bin/python3", "-c", "import sys; print(sys.version_info >= (3, 11))") == "True\n", "too old"


def try_systemd_analyze(folder: Path) -> None:
    unit = folder / "trial.service"
    unit.write_text("[Service]\nExecStart=not-absolute\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], check=False, capture_output=True, text=True
    )
    assert "trial.service" in done.stderr, done.stderr


def try_xvfb(folder: Path) -> None:
    from support.screens import screen

    with screen() as shown:
        shown.press_key()
        assert shown.run("xprop", "-root", "-len", "1")


def check_programs(*names: str) -> None:
    """For a reason that is easy to read: what starts them would only say that it came to nothing."""
    assert os.geteuid() == 0, "needs root"
    if absent := [name for name in names if not shutil.which(name)]:
        raise FileNotFoundError(2, "", ", ".join(absent))


TRIALS: dict[str, Callable[[Path], None]] = {
    "bwrap": try_bwrap,
    "busybox": try_busybox,
    "chromium": try_chromium,
    "dbus": try_dbus,
    "docker": try_docker,
    "docker-client": try_docker_client,
    "gcc": try_gcc,
    "git": try_git,
    "gvisor": try_gvisor,
    "node": try_node,
    "network-namespace": try_network_namespace,
    "podman": try_podman,
    "podman-rootless": try_podman_rootless,
    "qemu": try_qemu,
    "registry": try_registry,
    "small-disk": try_small_disk,
    "system-python": try_system_python,
    "systemd-analyze": try_systemd_analyze,
    "xvfb": try_xvfb,
}


def main(name: str) -> str | None:
    """The reason why the engine does not work, or None."""
    from support import engines

    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    # Here the engines are used to find out whether they work, so nothing asks whether they do.
    engines.found.update(dict.fromkeys(TRIALS))
    with tempfile.TemporaryDirectory(prefix="cp-trial-", ignore_cleanup_errors=True) as folder:
        try:
            TRIALS[name](Path(folder))
        except FileNotFoundError as error:
            return f"{error.filename} not installed"
        except subprocess.CalledProcessError as error:
            return f"`{Path(error.cmd[0]).name}` failed with {error.returncode}: {error.stderr}"
        except Exception as error:
            return str(error) or f"{type(error).__name__}: it answers, but does not work"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
