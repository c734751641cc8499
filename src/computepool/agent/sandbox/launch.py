"""One bubblewrap process, started and held at the door until its limits are in place."""

import contextlib
import fcntl
import os
import re
import termios
from collections.abc import Sequence

from .cgroup import Cgroup
from .interface import Offload, SandboxError
from .marked import VARIABLE
from .running import readable, reap
from .spawn import spawn

CHILD_PID = re.compile(rb'"child-pid":\s*(\d+)\s*[,}]')
MESSAGE_BYTES = 4096


class Launch:
    """bubblewrap tells the pid of its first process on one pipe, and waits on another before it runs the command."""

    def __init__(
        self,
        bwrap: str,
        arguments: Sequence[str],
        argv: Sequence[str],
        *,
        mark: str,
        seccomp: bytes,
        uid: int | None,
        cgroup: Cgroup | None,
    ) -> None:
        self.uid = uid
        self.problem = ""
        """Why the job's command cannot be run; another one then says so in its place."""
        with contextlib.ExitStack() as passed, contextlib.ExitStack() as kept:
            failed = kept.enter_context(contextlib.ExitStack())
            self.output_fd, output_w = _pipe(failed, passed)
            self._info_r, info_w = _pipe(kept, passed)
            self._block = _door(kept)
            seccomp_fd = _memory_file(seccomp, passed)
            ends = ["--seccomp", str(seccomp_fd), "--info-fd", str(info_w), "--block-fd", str(self._block)]
            # In a file, not on the command line, where every user of the host could read the job's secrets.
            words = "\0".join([*arguments, *ends, ""]).encode(errors="surrogateescape")
            arguments_fd = _memory_file(words, passed)
            self.popen = spawn(
                [bwrap, "--args", str(arguments_fd), "--", *argv],
                env={VARIABLE: mark},
                output=output_w,
                pass_fds=(arguments_fd, seccomp_fd, info_w, self._block),
                uid=uid,
                cgroup=cgroup,
            )
            failed.pop_all()
            self._kept = kept.pop_all()
        os.set_blocking(self.output_fd, False)

    async def first_process(self, offload: Offload) -> int:
        """The host's pid of the first process inside; SandboxError if there is none."""
        told = b""
        while not (found := CHILD_PID.search(told)):
            await readable(self._info_r)
            piece = os.read(self._info_r, MESSAGE_BYTES)
            if not piece:
                raise await self.failure(offload)
            told += piece
        return int(found[1])

    async def failure(self, offload: Offload) -> SandboxError:
        """What it said before it died."""
        await reap(self.popen, offload)
        words = b""
        with contextlib.suppress(BlockingIOError):
            words = os.read(self.output_fd, MESSAGE_BYTES)
        return SandboxError(f"bubblewrap did not start: {words.decode(errors='replace').strip() or 'it said nothing'}")

    def release(self) -> None:
        os.write(self._block, b"x")

    def was_released(self) -> bool:
        """Whether bubblewrap came as far as running the command: it has then taken the byte."""
        waiting = bytearray(4)
        fcntl.ioctl(self._block, termios.FIONREAD, waiting)
        return int.from_bytes(waiting, "little") == 0

    def abandon(self) -> None:
        """End what is known of it before it ran anything. Its first process may need to be looked for by its mark."""
        if self.popen.returncode is None:
            self.popen.kill()
            self.popen.wait()
        os.close(self.output_fd)
        self.close()

    def close(self) -> None:
        """Everything but the output, which belongs to whoever reads it."""
        self._kept.close()


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed by the given stacks."""
    read, write = os.pipe()
    reader.callback(os.close, read)
    writer.callback(os.close, write)
    return read, write


def _door(owner: contextlib.ExitStack) -> int:
    """A pipe in one descriptor, for both ends. bubblewrap would take the end of a pipe for leave to go on; whoever
    holds this one is a writer too, so that it never ends."""
    read, write = os.pipe()
    try:
        door = os.open(f"/proc/self/fd/{read}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(read)
        os.close(write)
    owner.callback(os.close, door)
    return door


def _memory_file(content: bytes, owner: contextlib.ExitStack) -> int:
    fd = os.memfd_create("computepool")
    owner.callback(os.close, fd)
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
