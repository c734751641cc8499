"""The one way out of a container: a listening socket inside its own network, which only the agent answers."""

import asyncio
import socket

import pytest

from computepool.agent.sandbox import SandboxError
from computepool.agent.sandbox.interface import EGRESS_PORT

PYTHON = "/usr/bin/python3"
ASK = f"""
import socket, sys
print(socket.create_connection(('127.0.0.1', {EGRESS_PORT}), 5).recv(99).decode())
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
            await asyncio.sleep(20)

    listener.setblocking(False)
    serving.append(asyncio.get_running_loop().create_task(serve()))


serving: list[asyncio.Task[None]] = []


def test_job_with_egress_reaches_the_agent_and_nobody_else(shared_kernel):
    async def story() -> None:
        assert shared_kernel.sandbox.has_egress
        folder = shared_kernel.folder()
        with socket.create_server(("127.0.0.1", 0)) as host:
            port = str(host.getsockname()[1])
            ended, output = await shared_kernel.finish(PYTHON, "-c", ASK, port, egress=answer, folder=folder)
        serving.pop().cancel()
        assert (ended.code, output) == (0, "from the agent\nTrue\n['lo']\nTrue\n")
        engine = shared_kernel.engine()
        for _ in range(100):
            if not await engine.list_containers({"computepool.attempt": folder.name}):
                return
            await asyncio.sleep(0.1)
        pytest.fail("what held the job's network is still there")

    asyncio.run(story())


def test_gvisor_says_that_it_has_no_way_out(bench):
    gvisor = bench("gvisor")
    assert not gvisor.sandbox.has_egress
    with pytest.raises(SandboxError, match="cannot have the network"):
        gvisor.run("true", egress=answer)
