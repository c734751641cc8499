"""An agent that has to switch between WebSocket and long poll, again and again: in virtual time, with its real links
over a network that loses requests, replies and lines."""

import asyncio
import itertools
import random
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from simulation.virtual_time import VirtualLoop
from support.agents import CAPACITY, enrolled_home, offload_inline
from support.fake_hub import FakeHub, Line
from support.fake_sandbox import FakeOutput, FakeSandbox

from computepool.agent.agent import Agent, Parts
from computepool.agent.link.base import LinkClosed, LinkUnavailable
from computepool.agent.link.longpoll import PollLink
from computepool.agent.ports import LinkKind
from computepool.agent.transfer import HttpTransfer
from computepool.protocol.messages import POLL_SIGNATURE_HEADER
from computepool.protocol.states import IsolationLevel

POST_LOSS = 0.02
MESSAGE_LOSS = 0.08
REFUSALS = 0.1


class VirtualClock:
    def now(self):
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=asyncio.get_running_loop().time())

    def monotonic(self):
        return asyncio.get_running_loop().time()


class VirtualHub(FakeHub):
    def now(self):
        return VirtualClock().now()


class Network:
    """Between one agent and its hub. Every fault that fires is counted."""

    def __init__(self, hub, home, rng):
        self.hub, self.home, self.rng = hub, home, rng
        self.blocked = False
        self.fired: Counter[str] = Counter()

    def loses(self, what, probability):
        if self.rng.random() < probability:
            self.fired[what] += 1
            return True
        return False

    async def connect(self, kind):
        await asyncio.sleep(self.rng.uniform(0.001, 0.02))
        if kind is LinkKind.LONG_POLL:
            return PollLink(self.post, self.home.node().node_id, self.home.identity(), self.rng)
        if self.blocked or self.loses("websocket_refused", REFUSALS):
            raise LinkUnavailable("blocked by a proxy", blocked=self.blocked)
        return FragileWebSocket(self)

    async def post(self, body, headers, wait_seconds):
        await asyncio.sleep(self.rng.uniform(0.001, 0.02))
        if self.loses("request_lost", POST_LOSS):
            raise ConnectionError("the request was lost")
        reply = await self.hub.poll(body, headers[POLL_SIGNATURE_HEADER])
        await asyncio.sleep(self.rng.uniform(0.001, 0.02))
        if self.loses("reply_lost", POST_LOSS):
            raise ConnectionError("the reply was lost, after the hub acted on the request")
        return 200, reply.to_bytes()


class FragileWebSocket:
    """Delivers a prefix of what is sent each way, and breaks at a random message."""

    def __init__(self, network):
        self.network = network
        self.line = Line(network.hub, "websocket")

    async def send(self, raw):
        await asyncio.sleep(self.network.rng.uniform(0, 0.005))
        if self.network.loses("sent_message_lost", MESSAGE_LOSS):
            self.line.close()
        if self.line.closed:
            raise LinkClosed("broken")
        self.line.hear(raw)

    async def receive(self):
        raw = await self.line.queue.get()
        await asyncio.sleep(self.network.rng.uniform(0, 0.005))
        if raw is not None and self.network.loses("received_message_lost", MESSAGE_LOSS):
            self.line.close()
            raw = None
        if raw is None:
            raise LinkClosed("broken")
        return raw

    async def close(self):
        self.line.close()


def play_switching(seed, switches):
    """The faults that fired, and how many commands were given. Raises AssertionError if one was lost or repeated."""
    loop = VirtualLoop()
    with tempfile.TemporaryDirectory() as folder:
        try:
            return loop.run_until_complete(switch_often(Path(folder), seed, switches))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        finally:
            loop.close()


async def switch_often(folder, seed, switches):
    rng = random.Random(seed)
    hub = VirtualHub(heartbeat_seconds=40)
    home, node = enrolled_home(hub, folder)
    network = Network(hub, home, rng)
    sandbox = FakeSandbox(home.attempts)
    agent = Agent(
        Parts(
            home=home,
            node=home.node(),
            identity=home.identity(),
            capacity=CAPACITY.model_copy(update={"cpus": 10_000.0, "memory_bytes": 1 << 50}),
            instance_id="one",
            agent_version="test",
            clock=VirtualClock(),
            rng=rng,
            offload=offload_inline,
            connect=network.connect,
            sandboxes=[sandbox],
            transfer=HttpTransfer("http://127.0.0.1:9"),
            open_output=FakeOutput,
        )
    )
    running = asyncio.ensure_future(agent.run())
    story = asyncio.ensure_future(_story(hub, node, network, sandbox, switches))
    # An agent that ends is a failure of its own, not something to wait for.
    done, _ = await asyncio.wait([running, story], return_when=asyncio.FIRST_COMPLETED)
    for task in (running, story):
        task.cancel()
    results = await asyncio.gather(running, story, return_exceptions=True)
    assert done == {story}, results[0]
    return await story


async def _story(hub, node, network, sandbox, switches):
    offered = await _work_and_switch(hub, node, network, switches)
    network.loses = lambda what, probability: False
    network.blocked = False
    await _check_everything_happened_once(hub, sandbox, *offered)
    return network.fired, len(offered[0])


async def _work_and_switch(hub, node, network, switches):
    rng = network.rng
    offered: list[tuple[str, str]] = []
    stopped: list[str] = []
    to_stop: list[str] = []

    def give_work():
        for victim in to_stop:
            hub.stop(node, victim)
        to_stop.clear()
        text = f"line {len(offered)}"
        offered.append((hub.offer(node, "say", text, isolation=IsolationLevel.BUBBLEWRAP, own=False), text))
        if rng.random() < 0.3:
            changes = {"isolation": IsolationLevel.BUBBLEWRAP, "own": False, "max_runtime_seconds": 1e6}
            to_stop.append(hub.offer(node, "sleep", "1000000", **changes))
            stopped.append(to_stop[-1])

    switched = 0
    while switched < switches:
        network.blocked = not network.blocked
        if network.blocked:
            hub.drop_lines()
        wanted = LinkKind.LONG_POLL if network.blocked else LinkKind.WEBSOCKET
        give_work()
        while node.lines[-1:] != [wanted.value]:
            await asyncio.sleep(rng.uniform(0.01, 20))
            if rng.random() < 0.2:
                give_work()
        switched = sum(a != b for a, b in itertools.pairwise(node.lines))
    give_work()
    return offered, [attempt_id for attempt_id in stopped if attempt_id not in to_stop]


async def _check_everything_happened_once(hub, sandbox, offered, stopped):
    deadline = asyncio.get_running_loop().time() + 3600
    expected = {attempt_id for attempt_id, _ in offered} | set(stopped)
    while not expected <= hub.receipts.keys():
        assert asyncio.get_running_loop().time() < deadline, "some command was dropped"
        await asyncio.sleep(1)
    starts = Counter(command.folder.name for command in sandbox.started)
    assert starts.most_common(1)[0][1] == 1, "some command was repeated"
    for attempt_id, text in offered:
        assert starts[attempt_id] == 1
        assert bytes(hub.logs[attempt_id]) == f"{text}\n".encode()
        assert hub.receipts[attempt_id].exit_code == 0
    assert {hub.receipts[attempt_id].reason for attempt_id in stopped} == {"canceled"}
