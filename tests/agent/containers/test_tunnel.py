"""The door that is kept open from inside: its program, and the agent's end, which believes nothing that it hears."""

import asyncio
import contextlib
import os
import platform
import shutil
import signal
import socket
import struct
import sys
from pathlib import Path

import pytest
from support.doors import EMULATED, EMULATOR, close, framed, served, through_door
from support.sandboxes import come_to_rest
from support.waiting import A_MOMENT_SECONDS, async_eventually, patience

from computepool.agent.sandbox.containers.door import find_door
from computepool.agent.sandbox.containers.tunnel import CONNECTIONS, WINDOW, Tunnel
from tools import door as building

pytestmark = pytest.mark.skipif(find_door() is None, reason=f"door: there is none for {platform.machine()}")

MUCH = bytes(range(256)) * 8192
OPEN, DATA, END, RESET, CREDIT = range(1, 6)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def asked(joined, question: bytes) -> bytes:
    """What comes back until the end, after everything was said."""
    reader, writer = await joined.connect()
    try:
        async with asyncio.timeout(patience()):
            writer.write(question)
            writer.write_eof()
            return await reader.read()
    finally:
        writer.close()


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def frame(kind: int, number: int, length: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack("<BBxxI", kind, number, length) + payload


def test_everything_arrives_on_both_sides_in_order(tmp_path):
    async def story() -> None:
        async with through_door(tmp_path, echo) as joined:
            assert await asked(joined, b"") == b""
            assert await asked(joined, MUCH) == MUCH
            questions = [f"question {number}".encode() * 2000 for number in range(40)]
            assert await asyncio.gather(*(asked(joined, one) for one in questions)) == questions

    asyncio.run(story())


def test_those_who_come_when_all_connections_are_taken_wait_their_turn(tmp_path):
    async def story() -> None:
        async with through_door(tmp_path, echo) as joined:
            waiting = [await joined.connect() for _ in range(CONNECTIONS)]
            for _, writer in waiting:
                writer.write(b"here")
            for reader, _ in waiting:
                assert await reader.readexactly(4) == b"here"
            late = asyncio.create_task(asked(joined, b"late"))
            assert not (await asyncio.wait([late], timeout=A_MOMENT_SECONDS))[0]
            waiting.pop()[1].close()
            assert await late == b"late"
            for _, writer in waiting:
                writer.close()
            # Their numbers are used again, more often than there are any.
            for round_ in range(CONNECTIONS + 20):
                assert await asked(joined, b"%d" % round_) == b"%d" % round_

    asyncio.run(story())


def test_one_who_does_not_read_holds_up_nobody_else(tmp_path):
    written = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        if await reader.read(5) != b"flood":
            writer.write(b"me too")
            writer.close()
            return
        with contextlib.suppress(ConnectionError):
            while written < 256 << 20:
                writer.write(b"x" * 65536)
                await writer.drain()
                written += 65536

    async def story() -> None:
        async with through_door(tmp_path, flood) as joined:
            _, writer = await joined.connect()
            writer.write(b"flood")
            await async_eventually(lambda: written, "the flood begins")
            await come_to_rest(lambda: written, 0.1)
            assert written < 32 << 20
            assert await asked(joined, b"other") == b"me too"
            writer.close()

    asyncio.run(story())


def test_one_who_is_not_read_stands_still_alone(tmp_path):
    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(5) == b"other":
            writer.write(b"me too")
        else:
            await let_go.wait()
        writer.close()

    let_go = asyncio.Event()

    async def story() -> None:
        async with through_door(tmp_path, ignore) as joined:
            _, writer = await joined.connect()
            writer.write(MUCH * 16)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(writer.drain(), A_MOMENT_SECONDS)
            assert await asked(joined, b"other") == b"me too"
            let_go.set()
            writer.transport.abort()

    asyncio.run(story())


def test_way_out_that_is_closed_is_a_broken_connection_not_an_empty_answer(tmp_path):
    async def story() -> None:
        async with through_door(tmp_path, echo, serving=False) as joined:
            reader, writer = await joined.connect()
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()

    asyncio.run(story())


def test_job_has_no_input_its_errors_are_output_and_its_code_is_its_own(tmp_path):
    script = "import sys; print(repr(sys.stdin.read()), flush=True); sys.stderr.write('wrong'); sys.exit(7)"

    async def story() -> None:
        async with through_door(tmp_path, echo, command=[sys.executable, "-c", script]) as joined:
            assert joined.process.stdout is not None
            assert await joined.process.stdout.read() == b"''\nwrong"
            # Its wait() would wait for the door too.
            await async_eventually(lambda: joined.process.returncode is not None, "the job ends")
            assert joined.process.returncode == 7

    asyncio.run(story())


def test_door_stays_open_for_a_job_that_was_asked_to_end(tmp_path):
    async def story() -> None:
        async with through_door(tmp_path, echo) as joined:
            assert await asked(joined, b"before") == b"before"
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                os.kill(child_of(joined.process.pid), number)
            assert await asked(joined, b"after") == b"after"

    asyncio.run(story())


def test_port_that_is_taken_is_told_in_words(tmp_path):
    async def story() -> None:
        program = tmp_path / "door"
        shutil.copy(find_door() or "", program)
        program.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(program, port, "/bin/true", stdout=pipe)
            output, _ = await process.communicate()
        assert (process.returncode, output) == (125, b"computepool: nothing can listen in this container\n")

    asyncio.run(story())


HOSTILE = {
    "a kind that there is not": frame(9, 0),
    "something for nobody": frame(DATA, 3, 1, b"x"),
    "an end of nothing": frame(END, 0),
    "too high a number": frame(OPEN, CONNECTIONS),
    "the same twice": frame(OPEN, 0) * 2,
    "more than there is room for": frame(OPEN, 0) + frame(DATA, 0, WINDOW, b"x" * WINDOW) + frame(DATA, 0, 1, b"x"),
    "a length beyond all": frame(OPEN, 0) + frame(DATA, 0, 0xFFFFFFFF),
    "more room than there is": frame(OPEN, 0) + frame(CREDIT, 0, 1),
    "a second end": frame(OPEN, 0) + frame(END, 0) * 2,
    "words after the end": frame(OPEN, 0) + frame(END, 0) + frame(DATA, 0, 1, b"x"),
    "nonsense": b"GET / HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE.keys())
def test_whoever_breaks_the_rules_has_lost_the_way_out(said):
    async def story() -> None:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs)
        async with served(echo) as serve:
            tunnel = Tunnel(ours, framed(said), serve)
            async with asyncio.timeout(patience()):
                with contextlib.suppress(ConnectionError):
                    await reader.read()
            await close(tunnel)
        writer.close()

    asyncio.run(story())


async def is_cut_off(*, unread_bytes: int) -> bool:
    """Somebody inside who sends on and on, and never reads an answer."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    theirs.setblocking(False)
    async with served(echo) as serve:
        tunnel = Tunnel(ours, b"", serve, unread_bytes=unread_bytes)
        again = framed((frame(OPEN, 0) + frame(RESET, 0)) * 2048)
        sending = asyncio.create_task(asyncio.get_running_loop().sock_sendall(theirs, again))
        waits = 0
        while waits <= 8192 and not tunnel._running.done():
            await asyncio.sleep(0.01)
            waits = tunnel._writer.transport.get_write_buffer_size() if tunnel._writer else 0
        was_cut_off = tunnel._running.done()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        await close(tunnel)
    theirs.close()
    return was_cut_off


def test_job_that_never_reads_costs_the_agent_a_bounded_amount():
    async def story() -> None:
        async with asyncio.timeout(patience()):
            assert await is_cut_off(unread_bytes=4096)
            assert not await is_cut_off(unread_bytes=1 << 30)  # the planted bug: no bound

    asyncio.run(story())


async def most_at_once(kind: type[Tunnel]) -> int:
    """How many connections are open on our side when those inside come and go as fast as they can."""
    living = most = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal living, most
        living += 1
        most = max(most, living)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        living -= 1
        writer.close()

    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    async with served(count) as serve:
        tunnel = kind(ours, b"", serve)
        writer.write(framed((frame(OPEN, 0) + frame(RESET, 0)) * 800))
        async with asyncio.timeout(patience()):
            assert await reader.readexactly(800 * 8) == frame(RESET, 0) * 800
        most = max(most, len(tunnel._attending))
        await close(tunnel)
    writer.close()
    return most


def test_connections_that_come_and_go_faster_than_they_are_served_take_turns():
    class Hasty(Tunnel):
        """The planted bug."""

        async def _until_few(self) -> None:
            pass

    assert asyncio.run(most_at_once(Tunnel)) <= 2 * CONNECTIONS
    assert asyncio.run(most_at_once(Hasty)) > 2 * CONNECTIONS


def test_what_others_say_on_the_same_stream_is_not_for_the_door():
    async def story() -> None:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs)
        async with served(echo) as serve:
            tunnel = Tunnel(ours, framed(b"the job's output", 1), serve)
            writer.write(framed(frame(OPEN, 5) + frame(DATA, 5, 2, b"hi") + frame(END, 5)))
            async with asyncio.timeout(patience()):
                assert frame(DATA, 5, 2, b"hi") in await reader.readuntil(frame(END, 5))
            await close(tunnel)
        writer.close()

    asyncio.run(story())


@pytest.mark.parametrize("architecture", building.COMPILERS)
def test_program_is_what_its_source_says(architecture, tmp_path):
    compiler = building.COMPILERS[architecture]
    if building.version_of(compiler) != building.BUILT_BY:
        pytest.skip(f"{compiler} {building.BUILT_BY}: another version builds something else")
    building.build(architecture, tmp_path / "door")
    kept = find_door(architecture)
    assert kept is not None
    assert (tmp_path / "door").read_bytes() == kept.read_bytes()


@pytest.mark.engine("qemu")
def test_program_for_the_other_architecture_does_the_same(tmp_path):
    async def story() -> None:
        # What it starts has to be of its own kind too: itself, which wants a port, and then ends.
        async with through_door(tmp_path, echo, machine=EMULATED, under=[EMULATOR], command=["/nothing"]) as joined:
            assert await asked(joined, MUCH) == MUCH

    asyncio.run(story())
