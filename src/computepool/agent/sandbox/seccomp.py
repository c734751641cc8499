"""The system calls a job may not make, as a classic BPF program that bubblewrap loads.

A denylist in the spirit of Docker's profile, made without libseccomp so that the agent needs nothing but Python.
Refusals are EPERM, so that programs which merely try go on; clone3 is ENOSYS, because its flags lie in memory
where a filter cannot look: libc then falls back to clone, whose flags are checked.
"""

import errno
import platform
import struct
from dataclasses import dataclass

# name: (x86_64, aarch64); None where the architecture never had it
FORBIDDEN: dict[str, tuple[int | None, int | None]] = {
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}

NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # push input into a terminal
SOCKET_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink; vsock would reach past the network namespace
# What they hold belongs to no process, so that a watchdog cannot count it. Databases ask for some bytes as a lock.
UNCOUNTED_BYTES = 4096
PERSONALITIES = (0x0, 0x0008, 0x20000, 0x20008, 0xFFFFFFFF)

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH = 0, 4  # offsets in struct seccomp_data
_X32_BIT = 0x40000000

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True)
class Architecture:
    audit: int
    column: int
    clone: int
    ioctl: int
    socket: int
    socketpair: int
    personality: int
    shmget: int
    msgget: int
    has_x32: bool


CLONE3 = 435
ARCHITECTURES = {
    "x86_64": Architecture(
        0xC000003E, 0, clone=56, ioctl=16, socket=41, socketpair=53, personality=135, shmget=29, msgget=68, has_x32=True
    ),
    "aarch64": Architecture(
        0xC00000B7,
        1,
        clone=220,
        ioctl=29,
        socket=198,
        socketpair=199,
        personality=92,
        shmget=194,
        msgget=186,
        has_x32=False,
    ),
}


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _low_half_of_argument(index: int) -> Instruction:
    return _load(16 + 8 * index)


def _answer(value: int) -> Instruction:
    return (_RETURN, 0, 0, value)


def _refuse(number: int) -> Instruction:
    return _answer(_ERRNO | number)


def _when(nr: int, block: list[Instruction]) -> list[Instruction]:
    """Run the block, which always returns, if the call is `nr`; so the accumulator still holds the number after it."""
    return [(_JUMP_EQUAL, 0, len(block), nr), *block]


def _only(values: tuple[int, ...], otherwise: Instruction) -> list[Instruction]:
    """Allow if the accumulator is one of the values."""
    count = len(values)
    tests: list[Instruction] = [(_JUMP_EQUAL, count - i, 0, value) for i, value in enumerate(values)]
    return [*tests, otherwise, _answer(_ALLOW)]


def _uncounted_memory(arch: Architecture) -> list[Instruction]:
    """Shared memory and messages of System V, where no control group counts them."""
    enosys = _refuse(errno.ENOSYS)
    segments: list[Instruction] = [
        _load(28),  # the high half of the size
        (_JUMP_EQUAL, 0, 2, 0),
        _low_half_of_argument(1),
        (_JUMP_GREATER_EQUAL, 0, 1, UNCOUNTED_BYTES + 1),
        enosys,
        _answer(_ALLOW),
    ]
    return [*_when(arch.shmget, segments), *_when(arch.msgget, [enosys])]


def instructions(machine: str, *, soft_limits: bool = False) -> list[Instruction]:
    arch = ARCHITECTURES[machine]
    eperm = _refuse(errno.EPERM)
    program: list[Instruction] = [_load(_ARCH), (_JUMP_EQUAL, 1, 0, arch.audit), _answer(_KILL_PROCESS), _load(_NR)]
    if arch.has_x32:
        program += [(_JUMP_GREATER_EQUAL, 0, 1, _X32_BIT), eperm]
    namespaces: list[Instruction] = [
        _low_half_of_argument(0),
        (_JUMP_SET, 0, 1, NAMESPACE_FLAGS),
        eperm,
        _answer(_ALLOW),
    ]
    terminal: list[Instruction] = [
        _low_half_of_argument(1),
        (_JUMP_EQUAL, 1, 0, TIOCSTI),
        (_JUMP_EQUAL, 0, 1, TIOCLINUX),
        eperm,
        _answer(_ALLOW),
    ]
    families = [_low_half_of_argument(0), *_only(SOCKET_FAMILIES, _refuse(errno.EAFNOSUPPORT))]
    program += _when(arch.clone, namespaces)
    program += _when(CLONE3, [_refuse(errno.ENOSYS)])
    program += _when(arch.ioctl, terminal)
    program += _when(arch.socket, families)
    program += _when(arch.socketpair, families)
    program += _when(arch.personality, [_low_half_of_argument(0), *_only(PERSONALITIES, eperm)])
    if soft_limits:
        program += _uncounted_memory(arch)
    for numbers in FORBIDDEN.values():
        nr = numbers[arch.column]
        if nr is not None:
            program += _when(nr, [eperm])
    program.append(_answer(_ALLOW))
    return program


def seccomp_program(machine: str | None = None, *, soft_limits: bool = False) -> bytes:
    """The filter for this machine, as bubblewrap's --seccomp wants it. KeyError for an architecture we do not know."""
    code = instructions(machine or platform.machine(), soft_limits=soft_limits)
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)
