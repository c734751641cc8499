"""The same refusals as bubblewrap's filter, in the words that container engines take.

So a job meets the same walls at every level. It is stricter than the engines' own profiles where those vary with the
version and with the kernel (io_uring, ptrace, reading another process's memory), and it knows no foreign architecture.
"""

import errno
import platform
from typing import Any

from computepool.agent.sandbox.seccomp import (
    ARCHITECTURES,
    FORBIDDEN,
    NAMESPACE_FLAGS,
    PERSONALITIES,
    SOCKET_FAMILIES,
    TIOCLINUX,
    TIOCSTI,
)

Rule = dict[str, Any]

_ARCHITECTURE_NAMES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_LOW_HALF = 0xFFFFFFFF
_TOP_BIT = 1 << 31


def _refuse(names: list[str], *conditions: tuple[int, int, int], number: int = errno.EPERM) -> Rule:
    """Conditions are (argument, mask, value), and all must hold. A mask keeps the half that the kernel looks at."""
    arguments = [
        {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
        for index, mask, value in conditions
    ]
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": number, "args": arguments}


def _strange_families() -> list[Rule]:
    """All that are not welcome: each small number, and everything that has a higher bit."""
    bits = max(SOCKET_FAMILIES).bit_length()
    few = [number for number in range(1 << bits) if number not in SOCKET_FAMILIES]
    calls, number = ["socket", "socketpair"], errno.EAFNOSUPPORT
    exactly = [_refuse(calls, (0, _LOW_HALF, family), number=number) for family in few]
    higher = [_refuse(calls, (0, 1 << bit, 1 << bit), number=number) for bit in range(bits, 32)]
    return [*exactly, *higher]


def _strange_personalities() -> list[Rule]:
    """Two bits may be set; all of them together is a question, which may be asked."""
    welcome = 0
    for value in PERSONALITIES:
        welcome |= value if value != _LOW_HALF else 0
    strange = [1 << bit for bit in range(31) if not welcome & 1 << bit]
    without_top = [_refuse(["personality"], (0, bit | _TOP_BIT, bit)) for bit in strange]
    with_top = [_refuse(["personality"], (0, 1 << bit | _TOP_BIT, _TOP_BIT)) for bit in range(31)]
    return [*without_top, *with_top]


def seccomp_profile(machine: str | None = None) -> Rule:
    """For this machine. KeyError for an architecture we do not know."""
    machine = machine or platform.machine()
    column = ARCHITECTURES[machine].column
    namespaces = [1 << bit for bit in range(32) if NAMESPACE_FLAGS & 1 << bit]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [_ARCHITECTURE_NAMES[machine]],
        "syscalls": [
            _refuse([name for name, numbers in FORBIDDEN.items() if numbers[column] is not None]),
            _refuse(["clone3"], number=errno.ENOSYS),
            *(_refuse(["clone"], (0, flag, flag)) for flag in namespaces),
            *(_refuse(["ioctl"], (1, _LOW_HALF, request)) for request in (TIOCSTI, TIOCLINUX)),
            *_strange_families(),
            *_strange_personalities(),
        ],
    }
