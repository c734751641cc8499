"""Runs probes, one after the other, each in a process of its own. It runs inside a sandbox, and outside as a control.

python driver.py FILE, a JSON of facts and probes by name. A probe is the body of a function: it reached what it wanted
if it returns something true, and was held if it returns nothing or raises. Prints what each found, as JSON.
It needs nothing but Python.
"""

import ctypes
import errno
import json
import os
import platform
import select
import signal
import socket
import sys
import textwrap

SECONDS = 120.0
# x86_64, aarch64
CALLS = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsopen": (430, 430), "init_module": (175, 105),
    "io_uring_setup": (425, 425), "kcmp": (312, 272), "kexec_load": (246, 104), "keyctl": (250, 219),
    "mount": (165, 40), "move_mount": (429, 429), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438), "pivot_root": (155, 41), "process_vm_readv": (310, 270), "ptrace": (101, 117),
    "quotactl": (179, 60), "reboot": (169, 142), "request_key": (249, 218), "setdomainname": (171, 162),
    "sethostname": (170, 161), "setns": (308, 268), "swapon": (167, 224), "syslog": (103, 116),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
}  # fmt: skip
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS}
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """A system call; raises OSError."""
    ctypes.set_errno(0)
    number = CALLS[name][0 if platform.machine() == "x86_64" else 1]
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def passes(name, *arguments):
    """Whether a call that is bound to fail gets past the question whether it is allowed at all."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in REFUSALS:
            raise
    return True


def writable(path):
    """Whether a file may be opened to write; nothing is written."""
    os.close(os.open(path, os.O_WRONLY))
    return True


def creatable(folder):
    path = f"{folder}/.computepool-probe-{os.getpid()}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)  # noqa: PTH108 - as everything here, the plainest call
    return True


def routed(address, family=socket.AF_INET):
    """Whether packets to an address would go anywhere. None is sent."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))
    return True


def status(name):
    with open("/proc/self/status") as lines:  # noqa: PTH123
        return next(line.split(":")[1].strip() for line in lines if line.startswith(f"{name}:"))


def through_proxy(place, port):
    """The status that a proxy answers to CONNECT."""
    with socket.create_connection(("127.0.0.1", port), 60) as line:
        line.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        return int(line.recv(4096).split()[1])


def run(body, facts):
    names = {**globals(), "s": facts}
    exec(f"def probe():\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n", names)
    found = names["probe"]()
    return [bool(found), repr(found)[:200]]


def attempt(body, facts):
    """In a child: a probe may kill itself, or hang."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            answer = run(body, facts)
        except BaseException as error:
            answer = [False, f"{type(error).__name__}: {error}"[:200]]
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], SECONDS)
    said = os.read(reader, 65536) if ready else b""
    os.close(reader)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(said) if said else [False, "no answer" if ready else "it hung"]


def main():
    with open(sys.argv[1]) as file:  # noqa: PTH123
        facts, probes = json.load(file)
    sys.stdout.write(json.dumps({name: attempt(body, facts) for name, body in probes.items()}))


if __name__ == "__main__":
    main()
