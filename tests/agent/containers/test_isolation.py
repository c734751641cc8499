"""What a container job is given and what not: environment, devices, folders, privileges, users."""

import asyncio
import os
from pathlib import Path

import pytest
from support.private_engines import private_folder
from support.sandboxes import ROOMY

from computepool.agent.sandbox import Command, self_test
from computepool.agent.sandbox.containers.profile import seccomp_profile
from computepool.agent.sandbox.containers.spec import Host, Image, User, container_spec
from computepool.agent.sandbox.interface import SandboxError
from computepool.agent.sandbox.seccomp import FORBIDDEN


def test_every_engine_proves_itself(every):
    result = asyncio.run(self_test(every.sandbox))
    assert result.problems == ()
    assert result.facts["limits"] == "cgroups"
    assert list(every.sandbox.attempts_folder.glob("self-test-*")) == []


def test_absolute_path_leads_into_the_jobs_folder(every):
    folder = every.folder()
    (folder / "work" / "data").mkdir(parents=True, exist_ok=True)
    (folder / "work" / "data" / "a.txt").write_text("input\n")
    every.sandbox.adopt(folder)
    links = {"/data": "work/data", "/opt/deep/a.txt": "work/data/a.txt"}
    _, output = every.shell("cat /data/a.txt /opt/deep/a.txt; echo result > /data/b.txt", folder=folder, links=links)
    assert output == "input\ninput\n"
    assert (folder / "work" / "data" / "b.txt").read_text() == "result\n"
    every.shell("mv data kept; ln -s /etc data", folder=folder)
    with pytest.raises(SandboxError, match="neither a folder nor a file"):
        every.shell("true", folder=folder, links=links)


def test_variables_that_choose_gpus_or_load_code_are_stripped(every):
    given = {
        "LD_PRELOAD": "/job/evil.so",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "all",
        "A": "b",
    }
    _, output = every.shell("env", env=given)
    variables = dict(line.split("=", 1) for line in output.splitlines())
    assert variables["A"] == "b"
    assert variables["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert not {"LD_PRELOAD", "NVIDIA_DRIVER_CAPABILITIES"} & variables.keys()


def test_only_given_devices_are_there(shared_kernel):
    if not Path("/dev/fuse").exists():
        pytest.skip("/dev/fuse: a device to give")
    assert "fuse" not in shared_kernel.shell("ls /dev")[1].split()
    assert "fuse" in shared_kernel.shell("ls /dev", devices=["/dev/fuse"])[1].split()


def test_shown_folders_are_read_only_below_the_jobs_own(every):
    with private_folder() as outside:
        (outside / "file").write_text("shown")
        outside.chmod(0o777)
        script = "cat /job/env/file; touch /job/env/new 2>/dev/null && echo written"
        ended, output = every.shell(script + "; exit 0", shown={"env": outside})
        assert (ended.code, output) == (0, "shown")
        assert not (outside / "new").exists()


def test_command_in_a_shown_folder_is_found(every):
    with private_folder() as outside:
        tool = outside / "bin" / "tool"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho it works\n")
        tool.chmod(0o755)
        env = {"PATH": "/job/env/bin:/usr/bin:/bin"}
        ended, output = every.run("tool", shown={"env": outside}, env=env)
        assert (ended.code, output) == (0, "it works\n")


def test_agents_folder_the_hosts_homes_and_the_engine_are_not_seen(every, state):
    script = f"""
    for place in {state} {every.private.socket} /var/lib/computepool /root /home /run/* /var/run /var/lib; do
        test -e $place && echo $place
    done
    find /run /var /tmp /dev /job -type s 2>/dev/null
    echo /*"""
    _, output = every.shell(script)
    assert set(output.split()) <= {
        "/bin", "/computepool-door", "/computepool-init", "/dev", "/etc", "/job", "/lib", "/lib32", "/lib64", "/libx32",
        "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var",
    }  # fmt: skip


# Each call that bubblewrap's filter refuses is refused here with the same error.
REFUSED = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for name, number, first in %r:
    ctypes.set_errno(0)
    assert libc.syscall(number, first, 0, 0, 0, 0) == -1, name
    print(name, errno.errorcode[ctypes.get_errno()])
"""


@pytest.mark.engine("system-python")
def test_filter_is_the_one_of_bubblewrap(shared_kernel):
    if os.uname().machine != "x86_64":
        pytest.skip("x86_64: numbers of system calls")
    harmless = ["io_uring_setup", "ptrace", "unshare", "mount", "keyctl", "bpf", "userfaultfd", "process_vm_readv"]
    calls = [(name, FORBIDDEN[name][0], 0) for name in harmless]
    calls += [("clone3", 435, 0), ("socket-vsock", 41, 40), ("socket-none", 41, 0), ("personality", 135, 0x0040000)]
    ended, output = shared_kernel.run("/usr/bin/python3", "-c", REFUSED % calls)
    assert ended.code == 0, output
    said = dict(line.split() for line in output.splitlines())
    assert {said[name] for name in harmless} == {"EPERM"}
    assert said["clone3"] == "ENOSYS"
    assert said["socket-vsock"] == said["socket-none"] == "EAFNOSUPPORT"
    assert said["personality"] == "EPERM"


@pytest.mark.engine("system-python")
def test_ordinary_programs_pass_the_filter(shared_kernel):
    script = (
        "import socket, threading, subprocess, multiprocessing as m; socket.socketpair(); socket.socket();"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join();"
        "p = m.get_context('fork').Process(target=print, args=('fork',)); p.start(); p.join();"
        "print(subprocess.run(['uname'], capture_output=True, text=True).stdout)"
    )
    ended, output = shared_kernel.run("/usr/bin/python3", "-c", script)
    assert (ended.code, output.split()) == (0, ["thread", "fork", "Linux"])


def test_profile_knows_every_call_and_both_machines():
    for machine in ("x86_64", "aarch64"):
        profile = seccomp_profile(machine)
        names = {name for rule in profile["syscalls"] for name in rule["names"]}
        column = 0 if machine == "x86_64" else 1
        assert {name for name, numbers in FORBIDDEN.items() if numbers[column] is not None} <= names
        assert profile["architectures"] == [f"SCMP_ARCH_{machine.upper()}"]


def spec_of(bench, **more) -> dict:
    host: Host = bench.container_sandbox._host
    user = User(1234, 1234, Path("/p"), Path("/g"))
    command = Command(argv=["true"], env={}, folder=bench.folder(), limits=ROOMY, **more)
    return container_spec(command, ["true"], host=host, image=Image("sha256:1"), user=user, labels={})


def test_gpus_are_asked_for_by_their_ids_and_no_others(bench):
    """No GPU is here to try it; this is what the engine would be asked for."""
    docker = bench("docker")
    without = spec_of(docker, image="sha256:1")
    assert "DeviceRequests" not in without["HostConfig"]
    assert "NVIDIA_VISIBLE_DEVICES=void" in without["Env"]
    spec = spec_of(docker, image="sha256:1", gpus=["GPU-1"], devices=["/dev/nvidia0", "/dev/nvidiactl"])
    assert [request["DeviceIDs"] for request in spec["HostConfig"]["DeviceRequests"]] == [["GPU-1"]]
    assert spec["HostConfig"]["Devices"] == []
    assert "NVIDIA_VISIBLE_DEVICES=GPU-1" in spec["Env"]


def test_amd_gpus_are_their_device_files_and_groups(bench):
    docker = bench("docker")
    spec = spec_of(
        docker, image="sha256:1", gpus=["amd-1"], devices=["/dev/fuse"] if Path("/dev/fuse").exists() else []
    )
    if not Path("/dev/fuse").exists():
        pytest.skip("/dev/fuse: a device to give")
    assert [device["PathOnHost"] for device in spec["HostConfig"]["Devices"]] == ["/dev/fuse"]
    assert "DeviceRequests" not in spec["HostConfig"]


def test_without_an_image_gpus_are_device_files_because_the_driver_is_the_hosts(bench):
    docker = bench("docker")
    spec = spec_of(docker, gpus=["GPU-1"], devices=["/dev/null"])
    assert [device["PathOnHost"] for device in spec["HostConfig"]["Devices"]] == ["/dev/null"]
    assert "DeviceRequests" not in spec["HostConfig"]
