"""What a job inside bubblewrap can reach: nothing. Each probe is also run outside, where it must succeed."""

import asyncio
import contextlib
import json
import os
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sandboxes import Bench
from support.waiting import patience

from computepool.agent.sandbox import Command, FolderUnreachable, Limits, available_sandboxes
from computepool.agent.sandbox.bubblewrap import BubblewrapSandbox
from computepool.agent.sandbox.identity import JOB_UIDS, NobodyElse, everybody_reaches
from computepool.agent.sandbox.spawn import worn_by_this_thread

PYTHON = "/usr/bin/python3"
IS_ROOT = os.geteuid() == 0
pytestmark = [
    pytest.mark.engine("bwrap", "system-python"),
]

# Expressions that must fail inside and succeed outside. `s` is what the test knows: paths, ports.
REACHES = {
    "a file in the agent's folder": "open(s['agent_file']).read()",
    "a file in /tmp of the host": "open(s['tmp_file']).read()",
    "the home folder": "os.listdir(s['home'])",
    "the host's users": "open('/etc/passwd').read().index(s['user'])",
    "the host's process list": "len([p for p in os.listdir('/proc') if p.isdigit()]) > 12 or 1 / 0",
    "the agent's environment": "open(f\"/proc/{s['pid']}/environ\", 'rb').read().index(b'AGENT_SECRET')",
    "a listening port of the host": "socket.create_connection(('127.0.0.1', s['port']), 2)",
    "an abstract socket of the host": "socket.socket(socket.AF_UNIX).connect('\\0' + s['abstract'])",
    "a socket file of the host": "socket.socket(socket.AF_UNIX).connect(s['socket_file'])",
    "the host's name": "socket.gethostname() == s['hostname'] or 1 / 0",
    "devices of the host": "open('/dev/kmsg', 'rb') if s['root'] else os.stat('/dev/kmsg')",
    "the kernel's settings": "os.stat('/sys/kernel')",
    "the host's mounts": "open('/proc/self/mountinfo').read().index('cgroup')",
    "a signal to the agent": "os.kill(s['pid'], 0)",
    "the first process": "os.stat('/proc/1/status')",
    "an attempt's neighbour": "os.listdir(s['neighbour'])",
}
# Expressions that must fail inside; outside they would do harm, or need root.
MUST_FAIL = {
    "write to the root": "open('/x', 'w')",
    "write to /usr": "open('/usr/x', 'w')",
    "write to /etc": "open('/etc/x', 'w')",
    "write to /dev": "open('/dev/x', 'w')",
    "write to /job's parent": "os.mkdir('/other')",
    "remount the root": "call('mount', 'none', '/', 0, 32 | 4096, 0)",
    "write the core pattern": "open('/proc/sys/kernel/core_pattern', 'w')",
    "press sysrq": "open('/proc/sysrq-trigger', 'w')",
    "become root": "os.setuid(0)",
    "change groups": "os.setgroups([0])",
    "make a device": "os.mknod('/job/work/disk', 0o600 | stat.S_IFBLK, os.makedev(254, 0))",
    "give a file away": "[open('/job/work/f', 'w').close(), os.chown('/job/work/f', 0, 0)]",
    "use the network": "socket.create_connection(('1.1.1.1', 53), 2)",
    "resolve a name": "socket.getaddrinfo('example.com', 80)",
    "open a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "open a packet socket": "socket.socket(17, socket.SOCK_RAW, 0)",
    "open a vsock": "socket.socket(40, socket.SOCK_STREAM, 0)",
    "raise its own priority": "os.nice(-5)",
    "raise its own limits": "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)",
    "kill everything": "os.kill(1, 9) or os.stat('/proc/2') and 1 / 0",
}
MUST_WORK = {
    "write to its folder": "open('/job/x', 'w').write('x')",
    "write to /tmp": "open('/tmp/x', 'w').write('x')",
    "write to /dev/shm": "open('/dev/shm/x', 'w').write('x')",
    "talk to itself": "socket.create_server(('127.0.0.1', 0))",
    "start threads": "[t := threading.Thread(target=print), t.start(), t.join()]",
    "start processes": "subprocess.run(['/bin/true'], check=True)",
    "share memory": "shared_memory.SharedMemory(create=True, size=4096).unlink()",
    "find its user": "pwd.getpwuid(os.getuid()).pw_name == 'job' or 1 / 0",
    "make a pipe pair": "socket.socketpair()",
    "read random numbers": "os.urandom(4)",
    "read certificates": "os.stat('/etc/ssl/certs') if s['certificates'] else 1",
    "use a pseudo terminal": "pty.openpty()",
}
# System calls by number (x86_64, aarch64) with arguments that do nothing anywhere; outside root gets another error.
CALLS = {
    "mount": (165, 40, [0, 0, 0, 0, 0]),
    "umount2": (166, 39, [0, 0]),
    "pivot_root": (155, 41, [0, 0]),
    "chroot": (161, 51, [0]),
    "unshare": (272, 97, [0]),
    "setns": (308, 268, [-1, 0]),
    "ptrace": (101, 117, [-1, -1, 0, 0]),
    "process_vm_readv": (310, 270, [-1, 0, 0, 0, 0, 0]),
    "bpf": (321, 280, [-1, 0, 0]),
    "perf_event_open": (298, 241, [0, 0, -1, -1, 0]),
    "keyctl": (250, 219, [-1]),
    "add_key": (248, 217, [0, 0, 0, 0, 0]),
    "request_key": (249, 218, [0, 0, 0, 0]),
    "userfaultfd": (323, 282, [-1]),
    "init_module": (175, 105, [0, 0, 0]),
    "open_by_handle_at": (304, 265, [-1, 0, 0]),
    "swapon": (167, 224, [0, 0]),
    "settimeofday": (164, 170, [0, 0]),
    "io_uring_setup": (425, 425, [0, 0]),
    "fsopen": (430, 430, [0, 0]),
    "sethostname": (170, 161, [0, -1]),
    "reboot": (169, 142, [0, 0, 0, 0]),
    "kcmp": (312, 272, [-1, -1, 0, 0, 0]),
    "fanotify_init": (300, 262, [-1, 0]),
}

SCRIPT = r"""
import ctypes, json, os, platform, pty, pwd, resource, socket, stat, subprocess, sys, threading
from multiprocessing import shared_memory
s, expressions, calls = json.load(open(sys.argv[1]))
libc = ctypes.CDLL(None, use_errno=True)
column = 0 if platform.machine() == "x86_64" else 1
def call(name, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a.encode() for a in arguments]
    result = libc.syscall(ctypes.c_long(calls[name][column]), *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
answers = {}
for name, expression in expressions.items():
    try:
        eval(expression)
        answers[name] = "worked"
    except BaseException as error:
        answers[name] = f"{type(error).__name__}: {error}"
for name, (_, _, arguments) in calls.items():
    try:
        call(name, *arguments)
        answers["call " + name] = "0"
    except OSError as error:
        answers["call " + name] = str(error.errno)
answers["status"] = open("/proc/self/status").read()
print(json.dumps(answers))
"""


@contextlib.contextmanager
def host_things(state: Path, neighbour: Path) -> Iterator[dict[str, object]]:
    """Things of the host that everybody there can reach."""
    (state / "secret").write_text("secret")
    tmp_file = state.parent / f"{state.name}-secret"
    tmp_file.write_text("secret")
    abstract = f"computepool-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as hidden,
        socket.socket(socket.AF_UNIX) as visible,
    ):
        hidden.bind(f"\0{abstract}")
        hidden.listen()
        socket_file = state / "agent.sock"
        socket_file.unlink(missing_ok=True)
        visible.bind(str(socket_file))
        visible.listen()
        agent = subprocess.Popen(["/bin/sleep", "3600"], env={"AGENT_SECRET": "x"})
        try:
            yield {
                "agent_file": str(state / "secret"),
                "tmp_file": str(tmp_file),
                "home": str(Path.home()),
                "user": "daemon",
                "pid": agent.pid,
                "port": server.getsockname()[1],
                "abstract": abstract,
                "socket_file": str(socket_file),
                "hostname": socket.gethostname(),
                "root": IS_ROOT,
                "neighbour": str(neighbour),
                "certificates": Path("/etc/ssl/certs").is_dir(),
            }
        finally:
            agent.kill()
            agent.wait()
            tmp_file.unlink()


@pytest.fixture(scope="module", params=["cgroups", "soft"])
def answers(request, state) -> tuple[dict[str, str], dict[str, str]]:
    """What the probes say inside and outside."""
    sandboxes = available_sandboxes(state, use_cgroups=request.param == "cgroups")
    if sandboxes[0].soft_limits != (request.param == "soft"):
        pytest.skip("control groups: this user may not make any")
    bench = Bench(sandboxes[0])
    folder, neighbour = bench.folder(), bench.folder()
    with host_things(state, neighbour) as things:
        (folder / "probe.py").write_text(SCRIPT)
        (folder / "facts.json").write_text(json.dumps([things, {**REACHES, **MUST_FAIL, **MUST_WORK}, CALLS]))
        ended, inside = bench.run(PYTHON, "../probe.py", "../facts.json", folder=folder)
        assert ended.code == 0, inside
        (folder / "facts.json").write_text(json.dumps([things, REACHES, CALLS]))
        command = [PYTHON, str(folder / "probe.py"), str(folder / "facts.json")]
        outside = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    asyncio.run(sandboxes[0].close())
    return json.loads(inside), json.loads(outside)


@pytest.mark.parametrize("probe", REACHES)
def test_job_cannot_reach(answers, probe):
    inside, outside = answers
    assert outside[probe] == "worked"  # the control
    assert inside[probe] != "worked"


@pytest.mark.parametrize("probe", MUST_FAIL)
def test_job_cannot(answers, probe):
    assert answers[0][probe] != "worked"


@pytest.mark.parametrize("probe", MUST_WORK)
def test_job_can(answers, probe):
    assert answers[0][probe] == "worked"


@pytest.mark.parametrize("name", CALLS)
def test_system_call_is_forbidden(answers, name):
    inside, outside = answers
    assert inside[f"call {name}"] == "1"  # EPERM
    if IS_ROOT:
        assert outside[f"call {name}"] != "1"  # the control: root would have got further


def test_job_has_no_privileges_at_all(answers):
    status = dict(line.split(":\t", 1) for line in answers[0]["status"].splitlines() if ":\t" in line)
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[capabilities], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert set(status["Uid"].split()) == {"1000"}
    outside = dict(line.split(":\t", 1) for line in answers[1]["status"].splitlines() if ":\t" in line)
    assert outside["Seccomp"] == "0"


def test_devices_are_there_only_when_given(bench):
    isolated = bench("bubblewrap-soft")
    inside = set(isolated.shell("ls /dev")[1].split())
    others = [path for path in sorted(Path("/dev").iterdir()) if path.is_char_device() and path.name not in inside]
    if not others:
        pytest.skip("devices: this machine shows none but the usual ones")
    device = str(others[0])
    assert isolated.shell(f"test -c {device}")[0].code == 1
    assert isolated.shell(f"test -c {device}", devices=[device])[0].code == 0


def test_hidden_folders_below_usr_are_not_seen(state):
    """An agent that is installed below /usr must not show itself."""
    hidden = next(path for path in Path("/usr/share").iterdir() if path.is_dir() and any(path.iterdir()))
    shown = Bench(available_sandboxes(state, use_cgroups=False)[0])
    assert shown.shell(f"ls {hidden}")[1] != ""
    asyncio.run(shown.sandbox.close())
    covered = Bench(available_sandboxes(state, use_cgroups=False, hidden=[hidden])[0])
    assert covered.shell(f"ls {hidden}")[1] == ""
    assert covered.shell(f"touch {hidden}/x")[0].code != 0
    asyncio.run(covered.sandbox.close())


def test_more_folders_can_be_shown_read_only(state):
    extra = state / "opt"
    extra.mkdir(exist_ok=True)
    (extra / "tool").write_text("#!/bin/sh\necho tool\n")
    (extra / "tool").chmod(0o755)
    bench = Bench(available_sandboxes(state, use_cgroups=False, read_only=[extra])[0])
    assert bench.run(str(extra / "tool"))[1] == "tool\n"
    assert bench.shell(f"echo x > {extra}/tool")[0].code != 0
    asyncio.run(bench.sandbox.close())


root_only = pytest.mark.skipif(not IS_ROOT, reason="root: only a root agent gives jobs users of their own")


@root_only
def test_roots_jobs_are_nobody_on_the_host(bench):
    isolated = bench("bubblewrap")
    first, second = isolated.folder(), isolated.folder()
    (first / "work" / "input").write_text("x")
    (first / "work" / "link").symlink_to("/etc/passwd")
    for folder in (first, second):
        ended, output = isolated.shell("echo hello > made; chmod 600 input 2>/dev/null; id -u", folder=folder)
        assert (ended.code, output) == (0, "1000\n")
    owners = {(folder / "work" / "made").stat().st_uid for folder in (first, second)}
    assert len(owners) == 2
    assert owners <= set(JOB_UIDS)
    assert stat.S_IMODE((first / "work" / "input").stat().st_mode) == 0o600  # its own file
    assert Path("/etc/passwd").stat().st_uid == 0  # links are not followed


@root_only
def test_second_command_of_an_attempt_is_the_same_user(bench):
    isolated = bench("bubblewrap")
    folder = isolated.folder()
    assert isolated.shell("umask 077; echo 42 > private", folder=folder)[0].code == 0
    assert isolated.shell("cat private", folder=folder)[1] == "42\n"


@root_only
def test_folders_that_jobs_cannot_reach_are_refused(state, tmp_path):
    closed = tmp_path / "agent"
    closed.mkdir()
    assert not everybody_reaches(closed)  # pytest's folders are root's alone
    sandbox = available_sandboxes(closed, use_cgroups=False)[0]
    assert isinstance(sandbox, BubblewrapSandbox)
    assert everybody_reaches(sandbox.attempts_folder)
    folder = closed / "attempt"
    (folder / "work").mkdir(parents=True)

    async def story():
        with pytest.raises(FolderUnreachable, match=str(sandbox.attempts_folder)):
            await sandbox.start(Command(["/bin/true"], {}, folder, Limits(1, 1 << 28, 50, 1 << 20)))

    asyncio.run(story())
    bench = Bench(sandbox)
    used = bench.folder()
    assert bench.shell("echo fine", folder=used)[1] == "fine\n"
    for path in (used / "work", used):
        path.rmdir()
    asyncio.run(sandbox.close())
    assert not sandbox.attempts_folder.exists()


@root_only
def test_only_the_spawning_thread_changes_its_user():
    seen: list[str] = []
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(patience())
        seen.append(Path("/proc/thread-self/status").read_text())
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    before = os.getresuid(), os.getresgid(), os.getgroups()
    with worn_by_this_thread(JOB_UIDS[0]):
        inside.set()
        assert done.wait(patience())
        mine = subprocess.run(["/usr/bin/id", "-u"], capture_output=True, text=True, check=True).stdout
    thread.join()
    assert mine == f"{JOB_UIDS[0]}\n"
    assert "Uid:\t0\t0\t0\t0\n" in seen[0]
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before
    assert subprocess.run(["/usr/bin/id", "-u"], capture_output=True, text=True, check=True).stdout == "0\n"


@root_only
def test_what_was_spawned_cannot_become_root_again():
    script = "import os\ntry:\n os.setresuid(0, 0, 0)\nexcept PermissionError: print('refused', os.getresuid())"
    with worn_by_this_thread(JOB_UIDS[1]):
        out = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=True, cwd="/").stdout
    assert out == f"refused ({JOB_UIDS[1]}, {JOB_UIDS[1]}, {JOB_UIDS[1]})\n"


@root_only
def test_users_are_not_reused_while_they_last(tmp_path):
    identity = NobodyElse(tmp_path, "test")
    folders = [tmp_path / str(number) for number in range(20)]
    for folder in folders:
        folder.mkdir()
    assert len({identity.uid_for(folder) for folder in folders}) == 20
    assert identity.uid_for(folders[0]) == identity.uid_for(folders[0])
