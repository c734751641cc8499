"""A switch of links neither drops nor repeats a command (promise 15)."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.engine import play
from support.proofs import figure
from support.scripted_agent import add_agent

from computepool.hub.gateway.line import NodeLine
from computepool.protocol.messages import MESSAGE_LIMIT_BYTES, Offer, Stop, parse_from_hub
from computepool.protocol.receipt import EndReason
from computepool.protocol.signing import Signed

MANIFEST = Signed(type="manifest", key_id="k", body="{}", signature="s")


class Everything:
    """Whatever is asked about is held."""

    def __contains__(self, attempt_id: object) -> bool:
        return True


ALL = Everything()


class Peer:
    """An agent's end: keeps what came, in order, and how far it got."""

    def __init__(self):
        self.taken, self.cursor, self.lossy = [], 0, False

    def post(self, raw):
        if self.lossy:
            return
        command = parse_from_hub(raw)
        assert isinstance(command, Offer | Stop)
        if command.number > self.cursor:
            self.cursor = command.number
            self.taken.append(command.number)


@given(st.lists(st.sampled_from(["offer", "stop", "cut", "attach", "confirm", "lose"]), max_size=80))
def test_commands_come_once_and_in_order_whatever_the_links_do(story):
    line, peer, sent = NodeLine("stream_1"), Peer(), 0
    for step in story:
        match step:
            case "offer":
                sent += 1
                line.offer(f"attempt_{sent}", MANIFEST, {})
            case "stop":
                sent += 1
                line.stop(f"attempt_{sent}", 1, "canceled")
            case "cut":
                line.detach()
            case "lose":  # the link looks alive, and carries nothing
                peer.lossy = True
            case "attach":
                peer.lossy = False
                line.attach(peer.post, peer.cursor, ALL)
            case "confirm":
                line.seen(peer.cursor)
    peer.lossy = False
    line.attach(peer.post, peer.cursor, ALL)
    assert peer.taken == list(range(1, sent + 1))
    line.seen(peer.cursor)
    assert line.unseen_offers() == set()


def test_offer_of_an_attempt_that_has_ended_is_void():
    line, peer = NodeLine("stream_1"), Peer()
    for name in ("one", "two", "three"):
        line.offer(name, MANIFEST, {})
    line.stop("two", 1, "canceled")
    line.attach(peer.post, 0, {"one", "three"})
    assert peer.taken == [1, 3, 4]


def test_command_that_no_agent_would_take_is_not_sent():
    """It would end the link, and the next one, and the next."""
    line, peer = NodeLine("stream"), Peer()
    line.attach(peer.post, 0, ALL)
    line.offer("large", MANIFEST.model_copy(update={"body": "x" * MESSAGE_LIMIT_BYTES}), {})
    line.offer("small", MANIFEST, {})
    line.attach(peer.post, 0, ALL)
    assert peer.taken == [2]
    assert line.unseen_offers() == {"small"}


def test_same_attempt_is_told_to_stop_once():
    line = NodeLine("stream_1")
    for _ in range(3):
        line.stop("one", 1, "canceled")
    line.stop("two", 1, "superseded")
    peer = Peer()
    line.attach(peer.post, 0, ALL)
    assert peer.taken == [1, 2]
    line.seen(2)
    line.stop("one", 1, "canceled")  # it was told, and may be told again
    assert peer.taken == [1, 2, 3]


def test_thousands_of_stops_cost_no_more_than_each_alone():
    """An agent that names thousands of strange attempts must not keep the hub from everybody else."""
    line, many = NodeLine("stream_1"), 30_000
    began = time.process_time()
    for number in range(many):
        line.stop(f"attempt_{number}", 1, "superseded")
        line.stop(f"attempt_{number}", 1, "superseded")
    assert time.process_time() - began < 5  # were each compared with all before it: a minute
    peer = Peer()
    line.attach(peer.post, many - 1, ALL)
    assert peer.taken == [many]


@pytest.mark.proof
def test_switches_under_traffic_lose_and_repeat_nothing(sqlite_hub):
    """A whole hub: links break in the middle of offers and stops, and messages are lost with them."""
    rng = random.Random(15)

    async def story(pool):
        agent = await add_agent(pool, cpus=8)
        jobs, switches = [], 0
        while switches < figure(100, 5_000):
            match rng.randrange(6):
                case 0 | 1:
                    jobs.append(await pool.submit())
                case 2 if jobs:
                    await pool.cancel(jobs.pop(rng.randrange(len(jobs))))
                case 3:
                    agent.pipe.deaf = True  # whatever is said from here on is lost with the link
                case 4:
                    switches += 1
                    await agent.connect()
                case 5:
                    await agent.heartbeat() if not agent.pipe.deaf else None
            for offer in agent.unread(Offer):
                work = await agent.take_offer()
                assert work.offer is offer
            for stop in agent.unread(Stop):
                await agent.expect(Stop)
                stopped = agent.works.get(stop.attempt_id)
                if stopped is not None and not agent.pipe.deaf:
                    await agent.finish(stopped, exit_code=None, reason=EndReason.CANCELED)
            for work in list(agent.works.values()):
                if rng.random() < 0.3 and not agent.pipe.deaf:
                    await agent.finish(work)
            await pool.settle(0.01)
        await agent.connect()
        numbers = [command.number for command in agent.commands]
        assert numbers == sorted(set(numbers))
        offered = [agent.open(c.manifest).attempt_id for c in agent.commands if isinstance(c, Offer)]
        assert len(set(offered)) == len(offered), "an attempt was offered twice"
        for job_id in jobs:
            await _finish_all(pool, agent, job_id)

    play(sqlite_hub, story)


async def _finish_all(pool, agent, job_id):
    for _ in range(20):
        view = await pool.job(job_id)
        if view.finished_at is not None:
            return
        for _ in agent.unread(Offer):
            await agent.take_offer()
        for work in list(agent.works.values()):
            await agent.finish(work)
        await pool.settle(2)
    raise AssertionError(f"{job_id} is stuck: {view}")
