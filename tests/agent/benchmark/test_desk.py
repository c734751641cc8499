"""The agent's side of an examination: a relay that ends when the machine is wanted."""

import asyncio
import sys
from typing import Any

import psutil
import pytest
from support.lone_supervisor import LoneSupervisor
from support.waiting import async_eventually, patience

from computepool.agent.benchmark import desk as desks
from computepool.agent.benchmark.desk import BenchmarkDesk, environment_for
from computepool.hub.nodes.challenge import check_reveal, draw_places
from computepool.protocol.benchmark import (
    BenchmarkDeclined,
    BenchmarkDigests,
    BenchmarkFilled,
    BenchmarkNonce,
    BenchmarkOpen,
    BenchmarkOver,
    BenchmarkReady,
    BenchmarkRequest,
    BenchmarkReveal,
    BenchmarkTask,
    LineEcho,
    LineProbe,
)
from computepool.protocol.capacity import Gpu
from computepool.protocol.messages import parse_from_agent

HANGING = (sys.executable, "-c", "import sys, time; sys.stdin.readline(); time.sleep(3600)")
CARD = Gpu(id="GPU-1", name="card", slug="card", memory_bytes=1, vendor="nvidia")


class Line:
    """What the desk says, and a reason to stop."""

    def __init__(self, folder, command=desks.COMMAND, gpus=()):
        self.said: asyncio.Queue[Any] = asyncio.Queue()
        self.wanted_for = None
        self.tasks: set[asyncio.Future[None]] = set()
        self.desk = BenchmarkDesk(
            say=self.said.put_nowait,
            why_not=lambda: self.wanted_for,
            gpus=gpus,
            folder=folder,
            start=lambda work: self.tasks.add(asyncio.ensure_future(work)),
            command=command,
        )

    async def hear(self, kind):
        async with asyncio.timeout(patience()):
            message = await self.said.get()
        assert isinstance(message, kind), message
        # As it arrives at the hub.
        return parse_from_agent(message.to_bytes())

    async def idle(self):
        async with asyncio.timeout(patience()):
            while self.tasks:
                await asyncio.gather(*(tasks := set(self.tasks)))
                self.tasks -= tasks


def children():
    return [one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE]


def play(story):
    async def whole():
        before = len(children())
        await story()
        assert len(children()) == before

    asyncio.run(whole())


def test_whole_examination_convinces_the_hub(tmp_path):
    async def story():
        line = Line(tmp_path)
        line.desk.handle(BenchmarkRequest(challenge_id="bench_1", device="cpu"))
        ready = await line.hear(BenchmarkReady)
        assert ready.figures.disk_write_bytes_per_second > 0
        task = BenchmarkTask(challenge_id="bench_1", seed=b"s" * 32, size=24, rounds=3, segments=2)
        line.desk.handle(task)
        await line.hear(BenchmarkFilled)
        line.desk.handle(BenchmarkNonce(challenge_id="bench_1", nonce=b"n" * 32))
        digests = await line.hear(BenchmarkDigests)
        places = draw_places(task, 8, lambda bits: 12345)
        line.desk.handle(BenchmarkOpen(challenge_id="bench_1", places=places))
        reveal = await line.hear(BenchmarkReveal)
        check_reveal(task, b"n" * 32, digests.root, places, reveal.openings, lambda bits: (1 << bits) // 3)
        line.desk.handle(BenchmarkOver(challenge_id="bench_1", words="fine"))
        await line.idle()
        assert not line.desk.is_busy

    play(story)


def test_next_device_may_be_asked_for_while_the_process_of_the_last_ends(tmp_path):
    async def story():
        line = Line(tmp_path)
        for number in range(2):
            line.desk.handle(BenchmarkRequest(challenge_id=f"bench_{number}", device="cpu"))
            assert (await line.hear(BenchmarkReady)).challenge_id == f"bench_{number}"
            line.desk.handle(BenchmarkOver(challenge_id=f"bench_{number}"))
        await line.idle()

    play(story)


def test_process_is_ended_when_a_job_comes_or_the_owner_returns(tmp_path):
    async def story():
        line = Line(tmp_path, HANGING)
        line.desk.handle(BenchmarkRequest(challenge_id="bench_1", device="cpu"))
        await async_eventually(children, "the process starts")
        line.wanted_for = "the node has work"
        declined = await line.hear(BenchmarkDeclined)
        await line.idle()
        assert (declined.reason, declined.retry) == ("the node has work", True)

    play(story)


def test_nothing_starts_while_the_machine_is_wanted(tmp_path):
    async def story():
        line = Line(tmp_path, HANGING)
        line.wanted_for = "the owner is using the machine"
        line.desk.handle(BenchmarkRequest(challenge_id="bench_1", device="cpu"))
        assert (await line.hear(BenchmarkDeclined)).reason == "the owner is using the machine"
        assert not line.tasks

    play(story)


def test_process_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(desks, "LONGEST_SECONDS", 0.3)

    async def story():
        line = Line(tmp_path, HANGING)
        line.desk.handle(BenchmarkRequest(challenge_id="bench_1", device="cpu"))
        assert (await line.hear(BenchmarkDeclined)).reason == "it took too long"
        await line.idle()

    play(story)


@pytest.mark.parametrize("program", ["print('no answer')", "raise SystemExit(1)", "print('[]')"])
def test_process_that_fails_is_a_decline(tmp_path, program):
    async def story():
        line = Line(tmp_path, (sys.executable, "-c", program))
        line.desk.handle(BenchmarkRequest(challenge_id="bench_1", device="cpu"))
        await line.hear(BenchmarkDeclined)
        await line.idle()

    play(story)


def test_gpu_that_is_not_there_or_cannot_be_computed_with_is_told(tmp_path):
    async def story():
        line = Line(tmp_path, gpus=(CARD,))
        line.desk.handle(BenchmarkRequest(challenge_id="bench_1", device="GPU-7"))
        assert (await line.hear(BenchmarkDeclined)).reason == "this node has no such GPU"
        line.desk.handle(BenchmarkRequest(challenge_id="bench_2", device="GPU-1"))
        declined = await line.hear(BenchmarkDeclined)
        assert not declined.retry
        assert "PyTorch" in declined.reason
        await line.idle()

    play(story)


def test_questions_of_another_challenge_are_passed_over(tmp_path):
    async def story():
        line = Line(tmp_path)
        line.desk.handle(BenchmarkTask(challenge_id="bench_9", seed=b"s" * 32, size=8, rounds=1, segments=1))
        line.desk.handle(BenchmarkRequest(challenge_id="bench_1", device="cpu"))
        await line.hear(BenchmarkReady)
        line.desk.handle(BenchmarkNonce(challenge_id="bench_9", nonce=b"n" * 32))
        line.desk.handle(BenchmarkOver(challenge_id="bench_1"))
        await line.idle()
        assert line.said.empty()

    play(story)


def test_line_is_answered_with_as_much_as_was_asked_for(tmp_path):
    async def story():
        line = Line(tmp_path)
        line.desk.handle(LineProbe(number=4, ballast=b"x" * 100, answer_bytes=1000))
        echo = await line.hear(LineEcho)
        assert (echo.number, len(echo.ballast)) == (4, 1000)

    play(story)


def test_process_sees_the_card_that_is_measured_and_no_other():
    amd = [CARD.model_copy(update={"id": f"amd-{number}", "vendor": "amd"}) for number in range(2)]
    assert environment_for(None)["CUDA_VISIBLE_DEVICES"] == "-1"
    assert environment_for(CARD, [CARD])["CUDA_VISIBLE_DEVICES"] == "GPU-1"
    assert environment_for(amd[1], [CARD, *amd])["ROCR_VISIBLE_DEVICES"] == "1"


def test_supervisor_passes_the_hubs_questions_on(tmp_path):
    async def story():
        bench = LoneSupervisor(tmp_path)
        bench.listen()
        heard: list[Any] = []
        bench.supervisor.on_benchmark = heard.append
        request = BenchmarkRequest(challenge_id="bench_1", device="cpu")
        bench.supervisor.handle(request)
        bench.supervisor.say(BenchmarkDeclined(challenge_id="bench_1", reason="no"))
        await async_eventually(lambda: bench.of(BenchmarkDeclined), "the answer goes out")
        assert heard == [request]
        assert bench.of(BenchmarkDeclined)[0].reason == "no"
        await bench.close()

    asyncio.run(story())
