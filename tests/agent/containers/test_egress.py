"""The one way out of a container: a listening socket inside its own network, which only the agent answers."""

import asyncio
import contextlib
import io
import json
import os
import socket
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from support import engines
from support.containers import until_no_container
from support.doors import served
from support.ordinary_user import NOBODY, run_as_ordinary_user
from support.proofs import proving
from support.sandboxes import come_to_rest, read_all
from support.waiting import async_eventually, patience

from computepool.agent.sandbox import SandboxError, self_test
from computepool.agent.sandbox.interface import EGRESS_PORT

CLOSED_KINDS = ["gvisor@docker-engine"]
if proving():
    CLOSED_KINDS += ["docker@docker-engine", "podman@podman-engine"]
PYTHON = "/usr/bin/python3"
BUSYBOX = Path("/bin/busybox")
ASK = f"""
import socket, sys
print(socket.create_connection(('127.0.0.1', {EGRESS_PORT}), 300).recv(99).decode())
print(socket.socket().connect_ex(('127.0.0.1', int(sys.argv[1]))) != 0)
print(sorted(line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line))
print(len([name for name in __import__('os').listdir('/proc') if name.isdigit()]) < 5)
"""


def answer(listener: socket.socket) -> None:
    async def serve() -> None:
        async def say(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"from the agent")
            writer.close()

        async with await asyncio.start_server(say, sock=listener):
            await asyncio.sleep(3600)

    listener.setblocking(False)
    serving.append(asyncio.get_running_loop().create_task(serve()))


serving: list[asyncio.Task[None]] = []


@pytest.mark.engine("system-python")
def test_job_with_egress_reaches_the_agent_and_nobody_else(shared_kernel):
    async def story() -> None:
        assert shared_kernel.sandbox.has_egress
        folder = shared_kernel.folder()
        with socket.create_server(("127.0.0.1", 0)) as host:
            port = str(host.getsockname()[1])
            ended, output = await shared_kernel.finish(PYTHON, "-c", ASK, port, egress=answer, folder=folder)
        serving.pop().cancel()
        assert (ended.code, output) == (0, "from the agent\nTrue\n['lo']\nTrue\n")
        # What held the job's network goes too.
        await until_no_container(shared_kernel.engine(), {"computepool.attempt": folder.name})

    asyncio.run(story())


def closed(bench, kind: str):
    """One whose network the agent cannot enter: gVisor's, or any engine's for an agent that is not root."""
    one = bench(kind)
    one.container_sandbox._enters_networks = False
    return one


@pytest.fixture(params=CLOSED_KINDS)
def from_inside(request, bench):
    return closed(bench, request.param.partition("@")[0])


@pytest.mark.engine("system-python")
def test_network_that_cannot_be_entered_has_a_door_that_is_opened_from_inside(from_inside):
    async def story() -> None:
        assert from_inside.sandbox.has_egress
        with socket.create_server(("127.0.0.1", 0)) as host:
            port = str(host.getsockname()[1])
            ended, output = await from_inside.finish(PYTHON, "-c", ASK, port, egress=answer)
        serving.pop().cancel()
        assert (ended.code, output) == (0, "from the agent\nTrue\n['lo']\nTrue\n")

    asyncio.run(story())


@pytest.mark.engine("system-python")
def test_much_goes_through_such_a_door_while_the_job_talks(from_inside):
    much = bytes(range(256)) * 4096
    script = (
        "import socket, sys, threading\n"
        f"def ask(found):\n"
        f"    one = socket.create_connection(('127.0.0.1', {EGRESS_PORT}), 300)\n"
        "    threading.Thread(target=lambda: (one.sendall(bytes(range(256)) * 4096), one.shutdown(1))).start()\n"
        "    whole = b''.join(iter(lambda: one.recv(65536), b''))\n"
        "    found.append(whole == bytes(range(256)) * 4096)\n"
        "found = []\n"
        "all = [threading.Thread(target=ask, args=[found]) for _ in range(3)]\n"
        "[one.start() for one in all]\n"
        "print('o' * 100000, flush=True); sys.stderr.write('e' * 100000 + '\\n')\n"
        "[one.join() for one in all]\n"
        "print(found, repr(sys.stdin.read()))\n"
    )

    async def story() -> None:
        took: list[int] = []

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            took.append(0)
            mine = len(took) - 1
            while piece := await reader.read(65536):
                took[mine] += len(piece)
                writer.write(piece)
                await writer.drain()
            writer.close()

        async with served(echo) as serve:
            ended, output = await from_inside.finish(PYTHON, "-c", script, egress=serve)
        assert (ended.code, took) == (0, [len(much)] * 3)
        assert output == f"{'o' * 100000}\n{'e' * 100000}\n[True, True, True] ''\n"

    asyncio.run(story())


def busybox_image() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        program = tarfile.TarInfo("bin/busybox")
        program.mode = 0o755
        program.size = BUSYBOX.stat().st_size
        tar.addfile(program, io.BytesIO(BUSYBOX.read_bytes()))
    return content.getvalue()


@pytest.mark.engine("busybox")
def test_image_that_has_one_program_and_no_library_has_such_a_door_too(from_inside):
    async def story() -> None:
        image = await from_inside.engine().import_image(busybox_image(), labels={"computepool.test": "door"})
        words = ["/bin/busybox", "nc", "127.0.0.1", str(EGRESS_PORT)]
        ended, output = await from_inside.finish(*words, image=image, egress=answer)
        serving.pop().cancel()
        assert (ended.code, output) == (0, "from the agent")

    asyncio.run(story())


@pytest.mark.engine("system-python")
def test_freezing_shuts_such_a_door_and_the_end_of_the_job_closes_it(from_inside):
    script = (
        f"import socket, time\none = socket.create_connection(('127.0.0.1', {EGRESS_PORT}), 300)\n"
        "while True:\n    one.sendall(b'x'); time.sleep(0.01)\n"
    )

    async def story() -> None:
        heard = 0
        gone = asyncio.Event()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal heard
            with contextlib.suppress(ConnectionError):
                while piece := await reader.read(65536):
                    heard += len(piece)
            gone.set()
            writer.close()

        async with served(listen) as serve:
            process = await from_inside.start(PYTHON, "-c", script, egress=serve)
            try:
                await async_eventually(lambda: heard, "the job is heard")
                await process.freeze()
                await come_to_rest(lambda: heard)
                before = heard
                await process.thaw()
                await async_eventually(lambda: heard > before, "the job is heard again")
            finally:
                async with asyncio.TaskGroup() as group:
                    group.create_task(read_all(process))
                    group.create_task(process.stop(0))
            async with asyncio.timeout(patience()):
                await gone.wait()

    asyncio.run(story())


def test_door_that_does_not_open_costs_a_sandbox_its_way_out_and_nothing_else(bench):
    one = closed(bench, "docker")
    broken = one.container_sandbox._users / "broken-door"
    broken.write_text("#!/nothing\n")
    broken.chmod(0o755)
    one.container_sandbox._host = replace(one.container_sandbox._host, door=broken)
    result = asyncio.run(self_test(one.sandbox))
    assert (result.ok, result.facts["egress"]) == (True, "none")
    assert not one.sandbox.has_egress
    with pytest.raises(SandboxError, match="cannot have the network here: a command with a way out did not run"):
        one.run("true", egress=answer)


AS_A_USER = """
import asyncio, json, sys
from pathlib import Path
from computepool.agent.sandbox import available_sandboxes, find_engines, self_test, selftest

async def main():
    selftest.ENGINE_SECONDS = 600
    found = await find_engines({}, sockets=[Path(sys.argv[2])])
    for sandbox in available_sandboxes(Path(sys.argv[1]), engines=found):
        if sandbox.level in sys.argv[3:]:
            result = await self_test(sandbox)
            print(json.dumps([sandbox.level, result.ok, sandbox.has_egress, list(result.problems)]))
        await sandbox.close()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.proof
def test_ordinary_user_of_docker_has_a_way_out_of_containers_and_of_gvisor(request):
    levels = ["gvisor", "container"] if proving() else ["container"]
    if "gvisor" in levels:
        engines.require("gvisor")
    private = request.getfixturevalue("docker")
    before = private.socket.stat()
    os.chown(private.socket, NOBODY, NOBODY)
    try:
        said = run_as_ordinary_user(AS_A_USER, str(private.socket), *levels)
    finally:
        os.chown(private.socket, before.st_uid, before.st_gid)
    assert [json.loads(line) for line in said.splitlines()] == [[level, True, True, []] for level in levels]
