"""The filter, run by a small interpreter of classic BPF, for both architectures."""

import errno
import struct

import pytest

from computepool.agent.sandbox.seccomp import ARCHITECTURES, CLONE3, FORBIDDEN, instructions, seccomp_program

ALLOW, KILL = 0x7FFF0000, 0x80000000
MACHINES = sorted(ARCHITECTURES)


def verdict(machine: str, nr: int, *args: int, audit: int | None = None, soft_limits: bool = False) -> int:
    """What the kernel would answer to a system call."""
    padded = [*args, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<iIQ6Q", nr, ARCHITECTURES[machine].audit if audit is None else audit, 0, *padded)
    program = instructions(machine, soft_limits=soft_limits)
    accumulator, position = 0, 0
    while True:
        code, when_true, when_false, value = program[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return value
        else:
            matched = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            position += when_true if matched else when_false


def refused(code: int) -> int:
    return 0x50000 | code


@pytest.mark.parametrize("machine", MACHINES)
def test_every_forbidden_call_is_refused_and_its_neighbours_are_not(machine):
    column = ARCHITECTURES[machine].column
    forbidden = {numbers[column] for numbers in FORBIDDEN.values() if numbers[column] is not None}
    special = {CLONE3, ARCHITECTURES[machine].personality}
    families = {ARCHITECTURES[machine].socket, ARCHITECTURES[machine].socketpair}
    for nr in range(480):
        answer = verdict(machine, nr)
        if nr in forbidden:
            assert answer == refused(errno.EPERM), nr
        elif nr not in special | families:
            assert answer == ALLOW, nr


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_that_nobody_could_count_is_refused_where_nobody_else_counts(machine):
    arch = ARCHITECTURES[machine]
    for size, answer in [(56, ALLOW), (4096, ALLOW), (4097, refused(errno.ENOSYS)), (1 << 32, refused(errno.ENOSYS))]:
        assert verdict(machine, arch.shmget, 0, size, soft_limits=True) == answer, size
        assert verdict(machine, arch.shmget, 0, size) == ALLOW
    assert verdict(machine, arch.msgget, soft_limits=True) == refused(errno.ENOSYS)
    assert verdict(machine, arch.msgget) == ALLOW
    assert verdict(machine, FORBIDDEN["mount"][arch.column] or 0, soft_limits=True) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_clone_makes_threads_but_no_namespaces(machine):
    clone = ARCHITECTURES[machine].clone
    assert verdict(machine, clone, 0x3D0F00) == ALLOW  # what a thread asks for
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, clone, flag | 17) == refused(errno.EPERM), hex(flag)


@pytest.mark.parametrize("machine", MACHINES)
def test_clone3_is_unknown_so_that_libc_falls_back(machine):
    assert verdict(machine, CLONE3, 0) == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
def test_other_architectures_are_killed(machine):
    assert verdict(machine, 0, audit=0x40000003) == KILL  # 32-bit x86
    for other in MACHINES:
        if other != machine:
            assert verdict(machine, 0, audit=ARCHITECTURES[other].audit) == KILL


def test_x32_calls_are_refused():
    assert verdict("x86_64", 0x40000000) == refused(errno.EPERM)
    assert verdict("x86_64", 0x40000000 | 165) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
def test_terminals_take_no_forged_input(machine):
    ioctl = ARCHITECTURES[machine].ioctl
    assert verdict(machine, ioctl, 0, 0x5412) == refused(errno.EPERM)
    assert verdict(machine, ioctl, 0, 0xFFFFFFFF_00005412) == refused(errno.EPERM)  # the kernel ignores the upper half
    assert verdict(machine, ioctl, 0, 0x541C) == refused(errno.EPERM)
    assert verdict(machine, ioctl, 0, 0x5401) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_only_plain_sockets_exist(machine):
    socket = ARCHITECTURES[machine].socket
    allowed = {family for family in range(64) if verdict(machine, socket, family) == ALLOW}
    assert allowed == {1, 2, 10, 16}
    assert verdict(machine, socket, 40) == refused(errno.EAFNOSUPPORT)  # vsock: the way to the hypervisor


@pytest.mark.parametrize("machine", MACHINES)
def test_personality_may_be_asked_but_not_bent(machine):
    personality = ARCHITECTURES[machine].personality
    assert verdict(machine, personality, 0xFFFFFFFF) == ALLOW
    assert verdict(machine, personality, 0) == ALLOW
    assert verdict(machine, personality, 0x0400000) == refused(errno.EPERM)  # READ_IMPLIES_EXEC


@pytest.mark.parametrize("machine", MACHINES)
def test_program_is_what_the_kernel_takes(machine):
    program = seccomp_program(machine)
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096
    assert all(0 <= jump < 256 for _, *jumps, _ in instructions(machine) for jump in jumps)


def test_unknown_machine_has_no_filter():
    with pytest.raises(KeyError):
        seccomp_program("vax")
