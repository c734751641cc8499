"""A listening socket inside the network of a sandbox, made from outside: the only way out that a job may have.

A socket belongs for ever to the network it was made in, wherever its descriptor goes. So somebody goes in, makes it,
and hands it out; nothing of the host's network appears inside. Root sends a thread, which is gone afterwards. An
ordinary user has rights over that network only inside the user namespace that owns it, which no process with threads
may enter: this file then runs by itself as a small process, with the standard library alone.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
from typing import BinaryIO

ANSWER_SECONDS = 10.0
BACKLOG = 128
LOOPBACK = "127.0.0.1"
PROBE_PORT = 3128

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_NS_GET_USERNS = 0xB701
_IP_FREEBIND = 15
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_FLAGS_OF_LO = struct.Struct("16sh14x")


class NoWayIn(OSError):
    """The network of a sandbox cannot be entered from here."""


def listen_in(pid: int, port: int, *, raise_loopback: bool = False) -> socket.socket:
    """A socket that listens on 127.0.0.1:`port` in the network of process `pid`. Blocks for some milliseconds.

    `raise_loopback` is for sandboxes that leave the loopback interface down. Raises OSError.
    """
    if os.geteuid() == 0:
        # Root of a container may lack the right to enter; as the owner of the sandbox it may still have it.
        with contextlib.suppress(PermissionError):
            return _listen_by_thread(pid, port, raise_loopback)
    return _listen_by_process(pid, port, raise_loopback)


def _listen_by_thread(pid: int, port: int, raise_loopback: bool) -> socket.socket:
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def go_in() -> None:
        try:
            with open(f"/proc/{pid}/ns/net", "rb") as network:  # noqa: PTH123 - Path.open is the same, slower
                _enter(network.fileno(), _CLONE_NEWNET)
            made.append(_listen(port, raise_loopback))
        except OSError as error:
            failed.append(error)

    # Never one of a pool: it does not come back from there.
    thread = threading.Thread(target=go_in, name=f"listen-in-{pid}")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def _listen_by_process(pid: int, port: int, raise_loopback: bool) -> socket.socket:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(ANSWER_SECONDS)
        words = [str(theirs.fileno()), str(pid), str(port), "up" if raise_loopback else "as-it-is"]
        helper = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, *words], stdin=subprocess.DEVNULL, env={}, pass_fds=[theirs.fileno()]
        )
        try:
            theirs.close()
            message, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
        finally:
            helper.kill()
            helper.wait()
    if not descriptors:
        raise NoWayIn(f"the network of process {pid} cannot be entered: {message.decode() or 'no answer'}")
    return socket.socket(fileno=descriptors[0])


def _go_in_and_hand_out(channel: int, pid: int, port: int, raise_loopback: bool) -> None:
    """The helper process. It has one thread, so it may join the user namespace that owns the network."""
    with socket.socket(fileno=channel) as out:
        try:
            network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            # Not the one that the job itself is in: bubblewrap puts it another level down, without any rights.
            _enter(fcntl.ioctl(network, _NS_GET_USERNS), _CLONE_NEWUSER)
            _enter(network, _CLONE_NEWNET)
            listener = _listen(port, raise_loopback)
            socket.send_fds(out, [b"here"], [listener.fileno()])
        except OSError as error:
            out.sendall(str(error).encode())


def _enter(namespace: int, kind: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _listen(port: int, raise_loopback: bool) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if raise_loopback:
            _raise_loopback(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # bubblewrap gives the interface its address a moment later, and fails if somebody else did.
        listener.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _raise_loopback(any_socket: socket.socket) -> None:
    _, flags = _FLAGS_OF_LO.unpack(fcntl.ioctl(any_socket, _SIOCGIFFLAGS, _FLAGS_OF_LO.pack(b"lo", 0)))
    if not flags & _IFF_UP:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, _FLAGS_OF_LO.pack(b"lo", flags | _IFF_UP))


EMPTY_SANDBOX_SECONDS = 5.0


def can_listen_in(bwrap: str) -> bool:
    """Whether it works on this machine, tried on an empty sandbox. Takes some ten milliseconds."""
    told, tell = os.pipe()
    # As files: a number that is closed twice may be somebody else's by then, for others open files meanwhile.
    failures = contextlib.suppress(OSError, subprocess.SubprocessError)
    with os.fdopen(told, "rb") as answer, os.fdopen(tell, "wb") as theirs, failures:
        return _try_on_empty_sandbox(bwrap, answer.fileno(), theirs)
    return False


def _try_on_empty_sandbox(bwrap: str, told: int, theirs: BinaryIO) -> bool:
    words = ["--unshare-user", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--die-with-parent"]
    sandbox = subprocess.Popen(
        [bwrap, *words, "--info-fd", str(theirs.fileno()), "--", "cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    )
    try:
        theirs.close()
        said = os.read(told, 4096)
        while b"}" not in said and (more := os.read(told, 4096)):
            said += more
        digits = said.partition(b'"child-pid":')[2].split(b",")[0].strip(b" \n}")
        listen_in(int(digits or b"0"), PROBE_PORT).close()
    finally:
        _end(sandbox)
    return True


def _end(sandbox: "subprocess.Popen[bytes]") -> None:
    """It ends by itself when its input does. Killed in its first moments, it would leave its inner half behind."""
    try:
        sandbox.communicate(timeout=EMPTY_SANDBOX_SECONDS)
    except subprocess.TimeoutExpired:
        sandbox.kill()
        sandbox.communicate()


if __name__ == "__main__":
    _go_in_and_hand_out(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "up")
