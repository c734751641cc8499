"""The owner's wishes over the agent's socket: with arguments, and refused where they are not understood."""

import asyncio
import json
import socket

import pytest
from support.agents import running_agent
from support.fake_hub import FakeHub
from support.waiting import patience

from computepool.agent.control import AgentNotRunning, ask_agent, serve_control


def with_agent(tmp_path, tell):
    """Run `tell(ask, running, hub)` beside a connected agent that listens."""

    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            path = running.home.socket_path

            async def ask(action, **arguments):
                return await asyncio.to_thread(ask_agent, path, action, **arguments)

            async with serve_control(running.agent, path):
                await hub.until(lambda: running.agent.connected is not None)
                await tell(ask, running, hub)

    asyncio.run(story())


def test_a_pause_with_a_length_ends_by_itself(tmp_path):
    async def tell(ask, running, hub):
        paused = await ask("pause", for_seconds=0.2)
        assert paused["state"] == "paused"
        assert paused["paused_until"] is not None
        await hub.until(lambda: running.agent.state == "online")
        assert (await ask("status"))["paused_until"] is None

    with_agent(tmp_path, tell)


def test_the_last_wish_holds(tmp_path):
    async def tell(ask, running, hub):
        await ask("pause", for_seconds=0.1)
        assert (await ask("pause"))["paused_until"] is None
        await asyncio.sleep(0.2)
        assert running.agent.state == "paused"
        await ask("pause", for_seconds=0.1)
        await ask("drain")
        await asyncio.wait_for(running.task, patience())
        await asyncio.sleep(0.2)
        assert running.agent.state == "draining"

    with_agent(tmp_path, tell)


def test_answer_to_stop_does_not_read_as_if_nothing_happened(tmp_path):
    async def tell(ask, running, hub):
        assert (await ask("stop"))["state"] == "draining"
        await asyncio.wait_for(running.task, patience())

    with_agent(tmp_path, tell)


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"for_seconds": "2h"}, "is a number"),
        ({"for_seconds": True}, "is a number"),
        ({"for_seconds": 0}, "more than nothing"),
        ({"for_seconds": -1}, "more than nothing"),
        ({"for_seconds": 1e12}, "at most a year"),
        ({"for_seconds": float("nan")}, "is a number"),
        ({"until": "tomorrow"}, "does not take until"),
    ],
)
def test_a_pause_that_is_not_understood_is_refused_and_changes_nothing(tmp_path, wish, why):
    async def tell(ask, running, hub):
        with pytest.raises(AgentNotRunning, match=why):
            await ask("pause", **wish)
        assert running.agent.state == "online"

    with_agent(tmp_path, tell)


@pytest.mark.parametrize("line", [b"[]", b"3", b"nonsense", b'{"do": ["pause"]}', b'{"do": {}}', b"{}"])
def test_lines_that_are_no_requests_are_answered(tmp_path, line):
    async def tell(ask, running, hub):
        reader, writer = await asyncio.open_unix_connection(running.home.socket_path)
        writer.write(line + b"\n")
        assert not json.loads(await reader.readline())["ok"]
        writer.write(b'{"do": "status"}\n')
        assert json.loads(await reader.readline())["ok"]
        writer.close()

    with_agent(tmp_path, tell)


def test_agent_that_stands_still_is_not_taken_for_none(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "agent.sock"))
        listener.listen()
        with pytest.raises(AgentNotRunning, match="runs, but has not answered"):
            ask_agent(tmp_path / "agent.sock", "status", 0.2)
