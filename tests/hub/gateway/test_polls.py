"""The same link by long poll: counted both ways, so that lost requests and replies lose and repeat no message."""

import asyncio
import base64
import hashlib
import random
import secrets

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.engine import play
from support.proofs import figure
from support.scripted_agent import add_agent
from support.waiting import patience

from computepool.hub.core.errors import Forbidden, Invalid, Unavailable
from computepool.hub.gateway.pipe import PipeClosed
from computepool.hub.gateway.polls import IDLE_SECONDS, INBOX_LIMIT, SESSIONS_PER_NODE, PollPipe
from computepool.protocol.messages import (
    LINK_PROOF,
    POLL,
    POLL_HEAD,
    POLL_HEAD_HEADER,
    POLL_HEAD_SIGNATURE_HEADER,
    POLL_SIGNATURE_HEADER,
    Challenge,
    Goodbye,
    Heartbeat,
    HeartbeatAck,
    Hello,
    Holding,
    Offer,
    PollHead,
    PollReply,
    PollRequest,
    Proof,
    Welcome,
    link_challenge,
    parse_from_hub,
)
from computepool.protocol.signing import sign
from computepool.protocol.states import AttemptState


class Poller:
    """An agent that polls, over a way that loses what it likes."""

    def __init__(self, exchange, node_id="node_1"):
        self.exchange, self.node_id = exchange, node_id
        self.session = secrets.token_hex(16)
        self.outbox, self.accepted = [], 0
        self.inbox, self.received = [], 0
        self.closed = False

    def request(self, wait_seconds=0.0):
        unsent = tuple(self.outbox[self.accepted :][:5])
        return PollRequest(
            node_id=self.node_id, session=self.session, start=self.accepted, messages=unsent,
            received=self.received, wait_seconds=wait_seconds,
        )  # fmt: skip

    def take(self, reply):
        self.accepted = max(self.accepted, reply.accepted)
        for message in reply.messages[max(0, self.received - reply.start) :]:
            self.inbox.append(message)
        self.received = max(self.received, reply.start + len(reply.messages))
        self.closed = self.closed or reply.closed

    async def poll(self, wait_seconds=0.0):
        self.take(await self.exchange(self.request(wait_seconds)))


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(figure(20, 500)))
def test_messages_come_once_and_in_order_whatever_is_lost_or_doubled(seed):
    rng = random.Random(seed)

    async def story():
        pipe = PollPipe("node_1", b"")
        poller = Poller(pipe.exchange)
        sent_by_hub: list[str] = []
        heard_by_hub: list[str] = []
        old: list[PollRequest] = []

        async def hub():
            while True:
                heard_by_hub.append(await pipe.receive())

        listening = asyncio.create_task(hub())
        for step in range(300):
            if rng.random() < 0.5:
                sent_by_hub.append(f"h{len(sent_by_hub)}")
                await pipe.send(sent_by_hub[-1].encode())
            if rng.random() < 0.5:
                poller.outbox.append(f"a{len(poller.outbox)}")
            request = poller.request()
            old.append(request)
            match rng.randrange(5):
                case 0:
                    pass  # the request is lost
                case 1:
                    await pipe.exchange(request)  # its reply is lost
                case 2:
                    await pipe.exchange(rng.choice(old))  # an old one comes late, once more
                case 3:
                    replies = await asyncio.gather(pipe.exchange(request), pipe.exchange(request))
                    for reply in rng.sample(replies, 2):
                        poller.take(reply)
                case 4:
                    poller.take(await pipe.exchange(request))
            assert step >= 0
        while poller.accepted < len(poller.outbox) or poller.received < len(sent_by_hub):
            await poller.poll()
        await asyncio.sleep(0)
        assert poller.inbox == sent_by_hub
        assert heard_by_hub == poller.outbox
        assert not poller.closed
        listening.cancel()

    asyncio.run(story())


def test_poll_waits_for_news_and_no_longer_than_asked(sqlite_hub):
    async def story(pool):
        pipe = PollPipe("node_1", b"")
        poller = Poller(pipe.exchange)
        began = pool.loop.time()
        await poller.poll(wait_seconds=30)
        assert 30 <= pool.loop.time() - began < 31
        waiting = asyncio.create_task(poller.poll(wait_seconds=30))
        await asyncio.sleep(5)
        await pipe.send(b"news")
        await waiting
        assert 35 <= pool.loop.time() - began < 36
        assert poller.inbox == ["news"]

    play(sqlite_hub, story)


def test_last_words_are_fetched_before_the_link_is_over():
    async def story():
        pipe = PollPipe("node_1", b"")
        poller = Poller(pipe.exchange)
        await pipe.send(b"goodbye")
        await pipe.close()
        await poller.poll()
        assert (poller.inbox, poller.closed) == (["goodbye"], False)
        await poller.poll(wait_seconds=30)  # does not wait: there is nothing to come
        assert poller.closed
        with pytest.raises(PipeClosed):
            await pipe.send(b"more")
        with pytest.raises(PipeClosed):
            await pipe.receive()

    asyncio.run(story())


@pytest.mark.parametrize("lie", [{"start": 5}, {"received": 5}])
def test_agent_that_counts_otherwise_begins_anew(lie):
    async def story():
        pipe = PollPipe("node_1", b"")
        poller = Poller(pipe.exchange)
        reply = await pipe.exchange(poller.request().model_copy(update=lie))
        assert reply.closed

    asyncio.run(story())


def test_link_that_ends_in_the_middle_of_a_large_batch_answers_all_the_same():
    """Nobody takes messages from its inbox any more, and there are more of them than it has room for."""

    async def story():
        pipe = PollPipe("node_1", b"")
        poller = Poller(pipe.exchange)
        request = poller.request().model_copy(update={"messages": ("words",) * 3 * INBOX_LIMIT})
        sending = asyncio.create_task(pipe.exchange(request))
        await asyncio.sleep(0)
        await pipe.close()
        async with asyncio.timeout(patience()):
            assert (await sending).closed
            assert (await pipe.exchange(poller.request())).closed  # and the next one finds no lock in its way
            for _ in range(INBOX_LIMIT):
                assert await pipe.receive() == "words"  # what was taken is not dropped
            with pytest.raises(PipeClosed):
                await pipe.receive()

    asyncio.run(story())


def test_large_replies_come_in_several(sqlite_hub):
    async def story():
        pipe = PollPipe("node_1", b"")
        poller = Poller(pipe.exchange)
        for _ in range(5):
            await pipe.send(b"x" * 1024 * 1024)
        rounds = 0
        while poller.received < 5:
            await poller.poll()
            rounds += 1
        assert rounds >= 3

    asyncio.run(story())


# ── a whole hub ──────────────────────────────────────────────────────────────────────────────────────────────────────


class PollingAgent(Poller):
    """A real handshake and real signatures over the polled link."""

    def __init__(self, pool, agent):
        super().__init__(self._signed, agent.node_id)
        self.pool, self.agent, self.read = pool, agent, 0

    async def _signed(self, request):
        body = request.to_bytes()
        return await self.pool.engine.polls.exchange(body, sign(self.agent.key, "k", POLL, body).signature)

    async def say(self, message):
        self.outbox.append(message.to_bytes().decode())
        await self.poll()

    async def hear(self, kind):
        for _ in range(20):
            while self.read < len(self.inbox):
                message = parse_from_hub(self.inbox[self.read])
                self.read += 1
                if isinstance(message, kind):
                    return message
            await self.poll(wait_seconds=10)
        raise AssertionError(f"no {kind.__name__} came")

    async def connect(self):
        agent = self.agent
        await self.say(Hello(node_id=agent.node_id, instance_id=agent.instance_id, agent_version="1"))
        challenge = await self.hear(Challenge)
        body = link_challenge("hub_test", agent.node_id, agent.instance_id, challenge.nonce)
        await self.say(
            Proof(
                signature=sign(agent.key, "k", LINK_PROOF, body).signature,
                capacity=agent.capacity,
                holding=agent.holding,
                stream_id=agent.stream_id,
                cursor=agent.cursor,
            )
        )
        return await self.hear(Welcome)


def test_polled_link_does_all_that_a_socket_does(hub_url):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        polling = PollingAgent(pool, agent)
        await polling.connect()
        await pool.submit()
        offer = await polling.hear(Offer)
        assert agent.open(offer.manifest).node_id == agent.node_id
        await polling.say(Heartbeat(cursor=offer.number))
        await polling.hear(HeartbeatAck)

    play(hub_url, story)


class HeadedAgent(PollingAgent):
    """As agents do it since there are heads: over HTTP, and known before its body is read."""

    def headers(self, body, key=None, **wrong):
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        told = {"node_id": self.node_id, "session": self.session, "body_digest": digest} | wrong
        head = PollHead(**told).to_bytes()
        signature = sign(key or self.agent.key, "k", POLL_HEAD, head).signature
        return {POLL_HEAD_HEADER: head.decode(), POLL_HEAD_SIGNATURE_HEADER: signature}

    async def _signed(self, request):
        body = request.to_bytes()
        answer = await self.pool.client.post("agent/poll", content=body, headers=self.headers(body))
        assert answer.status_code == 200, answer.text
        return PollReply.model_validate_json(answer.content)


def test_agent_that_proves_itself_in_the_head_needs_no_other_signature(hub_url):
    async def story(pool):
        polling = HeadedAgent(pool, await add_agent(pool, connect=False))
        await polling.connect()
        await polling.say(Heartbeat())
        await polling.hear(HeartbeatAck)

    play(hub_url, story)


@pytest.mark.parametrize("wrong", ["key", "node", "head", "none"])
def test_body_of_an_unknown_sender_is_not_read(sqlite_hub, wrong):
    async def story(pool):
        polling = HeadedAgent(pool, await add_agent(pool, connect=False))
        request = polling.request()
        body = request.to_bytes()
        read: list[int] = []

        async def pieces():
            for start in range(0, 4_000_000, 1000):
                read.append(start)
                yield body if not start else b" " * 1000

        match wrong:
            case "key":
                headers = polling.headers(body, key=Ed25519PrivateKey.generate())
            case "node":
                headers = polling.headers(body, node_id="node_unknown")
            case "head":
                headers = polling.headers(body) | {POLL_HEAD_HEADER: "{}"}
            case _:
                headers = {POLL_SIGNATURE_HEADER: "x"}
                body = request.model_copy(update={"node_id": "node_unknown"}).to_bytes() + b" " * 300
        answer = await pool.client.post("agent/poll", content=pieces(), headers=headers)
        assert answer.status_code in (403, 422)
        assert len(read) <= (1 if wrong == "none" else 0)

    play(sqlite_hub, story)


@pytest.mark.parametrize("is_open", [False, True])
def test_body_without_a_head_is_small_until_its_session_is_open(sqlite_hub, is_open):
    async def story(pool):
        polling = PollingAgent(pool, await add_agent(pool, connect=False))
        if is_open:
            await polling.connect()
        body = polling.request().to_bytes()
        read: list[int] = []

        async def pieces():
            for start in range(0, 4_000_000, 10_000):
                read.append(start)
                yield body if not start else b" " * 10_000

        answer = await pool.client.post("agent/poll", content=pieces(), headers={POLL_SIGNATURE_HEADER: "x"})
        assert answer.status_code == (403 if is_open else 413)
        assert len(read) == (400 if is_open else 8)

    play(sqlite_hub, story)


def test_body_that_was_not_signed_for_is_refused(sqlite_hub):
    async def story(pool):
        polling = HeadedAgent(pool, await add_agent(pool, connect=False))
        body = polling.request().to_bytes()
        headers = polling.headers(body)
        other = polling.request(wait_seconds=1).to_bytes()
        answer = await pool.client.post("agent/poll", content=other, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "bad_signature")
        twice = body.replace(b'"start"', b'"node_id":"node_other","start"')
        answer = await pool.client.post("agent/poll", content=twice, headers=polling.headers(twice))
        assert answer.status_code == 422

    play(sqlite_hub, story)


def test_two_first_requests_at_once_are_one_session(sqlite_hub):
    """As agents begin: one request says hello, another waits for the answer."""

    async def story(pool):
        agent = await add_agent(pool, connect=False)
        polling = PollingAgent(pool, agent)
        waiting = polling.request(wait_seconds=10)
        polling.outbox.append(
            Hello(node_id=agent.node_id, instance_id=agent.instance_id, agent_version="1").to_bytes().decode()
        )
        began = pool.loop.time()
        replies = await asyncio.gather(polling.exchange(polling.request()), polling.exchange(waiting))
        assert pool.loop.time() - began < 5, "the one that waits hears what the other one asked for"
        for reply in replies:
            polling.take(reply)
        assert isinstance(parse_from_hub(polling.inbox[0]), Challenge)
        await polling.poll()
        assert not polling.closed

    play(sqlite_hub, story)


def test_hub_that_stops_keeps_no_poll_waiting(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        polling = PollingAgent(pool, agent)
        await polling.connect()
        waiting = asyncio.create_task(polling.poll(wait_seconds=60))
        await asyncio.sleep(1)
        began = pool.loop.time()
        await pool.engine.say_goodbye()
        await waiting
        assert (await polling.hear(Goodbye)).code == "hub_stopping"
        await polling.poll(wait_seconds=60)
        assert polling.closed
        with pytest.raises(Unavailable):
            await PollingAgent(pool, agent).poll(wait_seconds=60)
        assert pool.loop.time() - began < 5

    play(sqlite_hub, story)


def test_switch_between_socket_and_polls_keeps_the_cursor(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(slices=2, resources={"cpus": 2})
        work = await agent.take_offer()
        polling = PollingAgent(pool, agent)
        welcome = await polling.connect()
        assert welcome.stream_id == agent.stream_id
        await pool.settle()
        await polling.poll()
        assert [m for m in polling.inbox if '"offer"' in m] == []  # seen already
        await polling.say(agent.finished(work))
        agent.works.clear()
        second = await polling.hear(Offer)
        assert second.number == work.offer.number + 1
        agent.cursor = second.number
        held = agent.open(second.manifest)
        await agent.connect(holding=(Holding(attempt_id=held.attempt_id, fence=held.fence, state=AttemptState.LEASED),))
        await pool.settle()
        assert agent.unread(Offer) == []

    play(sqlite_hub, story)


def test_heartbeat_by_poll_touches_no_database_either(sqlite_hub):
    async def story(pool):
        polling = PollingAgent(pool, await add_agent(pool, connect=False))
        await polling.connect()
        before = pool.db.statements
        for _ in range(20):
            await polling.say(Heartbeat())
            await polling.hear(HeartbeatAck)
        assert pool.db.statements == before

    play(sqlite_hub, story)


def test_poll_that_the_node_did_not_sign_is_refused(sqlite_hub):
    async def story(pool):
        agent, other = await add_agent(pool, connect=False), await add_agent(pool, name="other", connect=False)
        polling = PollingAgent(pool, agent)
        await polling.connect()
        body = polling.request().to_bytes()
        polls = pool.engine.polls
        good = sign(agent.key, "k", POLL, body).signature
        assert isinstance(await polls.exchange(body, good), PollReply)
        flipped = base64.b64encode(bytes([base64.b64decode(good)[0] ^ 1]) + base64.b64decode(good)[1:]).decode()
        wrong = ["", "x", flipped, sign(other.key, "k", POLL, body).signature, good * 10, "é"]
        wrong += [sign(Ed25519PrivateKey.generate(), "k", POLL, body).signature]
        wrong += [sign(agent.key, "k", "receipt", body).signature]  # its own signature, of something else
        for signature in wrong:
            with pytest.raises(Forbidden):
                await polls.exchange(body, signature)
        unknown = polling.request().model_copy(update={"node_id": "node_of_nobody"}).to_bytes()
        with pytest.raises(Forbidden):
            await polls.exchange(unknown, sign(agent.key, "k", POLL, unknown).signature)

    play(sqlite_hub, story)


def test_session_of_another_node_is_worth_nothing(sqlite_hub):
    async def story(pool):
        agent, thief = await add_agent(pool, connect=False), await add_agent(pool, name="thief", connect=False)
        polling, stealing = PollingAgent(pool, agent), PollingAgent(pool, thief)
        await polling.connect()
        stealing.session = polling.session
        with pytest.raises(Forbidden):
            await stealing.poll()

    play(sqlite_hub, story)


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"\xff", b'{"node_id": "n"}'])
def test_what_is_no_poll_is_told_so(sqlite_hub, body):
    async def story(pool):
        with pytest.raises(Invalid):
            await pool.engine.polls.exchange(body, "x")
        answer = await pool.client.post("agent/poll", content=body, headers={POLL_SIGNATURE_HEADER: "x"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")

    play(sqlite_hub, story)


def test_poller_learns_that_the_hub_was_restarted(sqlite_hub):
    async def story(pool):
        polling = PollingAgent(pool, await add_agent(pool, connect=False))
        await polling.connect()
        await pool.restart()
        await polling.poll()
        assert polling.closed

    play(sqlite_hub, story)


def test_link_that_nobody_polls_any_more_is_ended(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        polling = PollingAgent(pool, agent)
        await polling.connect()
        assert pool.engine.scheduler.fleet.get(agent.node_id).line is not None
        await pool.settle(IDLE_SECONDS + 60)
        assert pool.engine.scheduler.fleet.get(agent.node_id).line is None
        await polling.poll()
        assert polling.closed

    play(sqlite_hub, story)


def test_agent_whose_links_break_often_is_not_locked_out(sqlite_hub):
    """Each new link replaces the last: the oldest make room."""

    async def story(pool):
        agent = await add_agent(pool, connect=False)
        for _ in range(SESSIONS_PER_NODE * 3):
            last = PollingAgent(pool, agent)
            await last.connect()
            await pool.settle(5)
        await pool.submit()
        assert await last.hear(Offer)

    play(sqlite_hub, story)


def test_banned_node_hears_it_by_poll_and_then_nothing(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        polling = PollingAgent(pool, agent)
        await polling.connect()
        await pool.call("POST", f"nodes/{agent.node_id}/ban")
        assert (await polling.hear(Goodbye)).code == "banned"
        await polling.poll()
        assert polling.closed
        again = PollingAgent(pool, agent)
        await again.say(Hello(node_id=agent.node_id, instance_id=agent.instance_id, agent_version="1"))
        goodbye = await again.hear(Goodbye)
        assert (goodbye.code, goodbye.retry) == ("unknown_node", False)

    play(sqlite_hub, story)


def test_messages_that_nobody_fetches_wait_outside():
    async def story():
        pipe = PollPipe("node_1", b"")
        poller = Poller(pipe.exchange)
        sent: list[int] = []

        async def send():
            for number in range(12):
                await pipe.send(b"x" * 1024 * 1024)
                sent.append(number)

        sending = asyncio.create_task(send())
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(sent) == 8
        while poller.received < 12:
            await poller.poll()
            await asyncio.sleep(0)
        await sending
        assert len(poller.inbox) == 12

    asyncio.run(story())


def test_link_that_ends_lets_nobody_wait_to_send():
    async def story():
        pipe = PollPipe("node_1", b"")
        for _ in range(8):
            await pipe.send(b"x" * 1024 * 1024)
        sending = asyncio.create_task(pipe.send(b"more"))
        await asyncio.sleep(0)
        await pipe.close()
        with pytest.raises(PipeClosed):
            await sending

    asyncio.run(story())
