"""Time that a job chooses is the job's: slow inputs, long logs, large outputs and checkpoints never blame the node."""

import asyncio
import shutil
import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from support.agents import running_agent
from support.fake_hub import MEGABYTE, FakeHub
from support.secure_site import HOSTS, secure_site

from computepool.agent import checkpoints, commands, finishing
from computepool.agent.inputs import InputTooSlow
from computepool.agent.outputs import Collected, OutputsRefused
from computepool.agent.ports import TransferFailed
from computepool.agent.sandbox import BubblewrapSandbox
from computepool.agent.uploads import PUTS_AT_ONCE, UPLOAD_SECONDS, UploadFailed, Uploads
from computepool.agent.web import SLOW_BYTES_PER_SECOND, SLOW_SECONDS, DownloadPace
from computepool.hub.jobs.policy import VERDICT_OF_REASON
from computepool.hub.scheduling.fleet_node import REST_SECONDS, START_SECONDS, TRIAL_START_SECONDS
from computepool.protocol.manifest import InputRef
from computepool.protocol.messages import LogAck, UploadGrant, UploadTarget
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel, Verdict
from computepool.protocol.timing import FETCH_SECONDS, LAST_CHECKPOINT_SECONDS

FILES = HOSTS[0]
STRANGERS: dict[str, Any] = {"own": False, "isolation": IsolationLevel.BUBBLEWRAP}
PYTHON = "/usr/bin/python3"


def story(tmp_path, tell, hub=None, **options):
    async def run():
        used = hub or FakeHub()
        async with used, running_agent(used, tmp_path, **options) as running:
            await tell(used, running)

    asyncio.run(run())


async def receipt_of(hub, attempt_id):
    await hub.until(lambda: attempt_id in hub.receipts or attempt_id in hub.gone)
    assert attempt_id not in hub.gone, hub.gone[attempt_id].reason
    return hub.receipts[attempt_id]


def told_states(hub, attempt_id):
    return [update.state for update in hub.updates[attempt_id]]


# ── inputs that the spec chose ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.engine("bwrap")
def test_input_that_never_comes_ends_as_the_renters_doing(tmp_path):
    """It held a slot for six hours, and then the hub blamed the node."""

    async def never(host, port):
        await asyncio.Event().wait()

    async def run():
        sandbox = BubblewrapSandbox(tmp_path / "state", bwrap=shutil.which("bwrap") or "bwrap")
        async with secure_site() as site, FakeHub() as hub:
            site.lookup = never  # type: ignore[method-assign]
            async with running_agent(hub, tmp_path, sandboxes=[sandbox], outside=site.outside()) as running:
                running.agent._shop.fetch_seconds = 0.3
                inputs = (InputRef(path="x", digest="sha256:" + "0" * 64, url=f"https://{FILES}/data"),)
                receipt = await receipt_of(hub, hub.offer(running.node, "/bin/true", inputs=inputs, **STRANGERS))
                assert receipt.reason is EndReason.SLOW_INPUT
                assert VERDICT_OF_REASON[receipt.reason] is Verdict.RENTER
                assert "name a faster place" in receipt.detail
                # A hub that does not know the reason would call the receipt a bad one, which is the host's fault.
                hub.end_reasons = ()
                hub.drop_lines()
                await hub.until(lambda: len(running.node.proofs) == 2)
                receipt = await receipt_of(hub, hub.offer(running.node, "/bin/true", inputs=inputs, **STRANGERS))
                assert receipt.reason is EndReason.BAD_INPUT
                assert "name a faster place" in receipt.detail
                # The owner's own job keeps nobody from anything: it waits.
                own = hub.offer(running.node, "/bin/true", inputs=inputs, isolation=IsolationLevel.BUBBLEWRAP)
                await hub.until(lambda: told_states(hub, own) == ["preparing"])
                hub.stop(running.node, own, grace_seconds=0)
                assert (await receipt_of(hub, own)).reason is EndReason.CANCELED
        await sandbox.close()

    asyncio.run(run())


def test_input_that_drips_is_the_renters_doing():
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)

    def come(bytes_per_second):
        pace = DownloadPace(clock)
        for _ in range(int(2 * SLOW_SECONDS)):
            clock.now += 1
            pace.note(bytes_per_second)

    come(SLOW_BYTES_PER_SECOND)
    with pytest.raises(InputTooSlow, match="name a faster place") as told:
        come(SLOW_BYTES_PER_SECOND - 1)
    assert told.value.reason is EndReason.SLOW_INPUT


def test_setup_that_takes_long_does_not_keep_the_next_slice_for_ever(tmp_path, monkeypatch):
    """Slices of one job wait for each other's `setup`: hours of it blamed the node that had them."""
    monkeypatch.setattr(commands, "TURN_SECONDS", 0.2)
    go = tmp_path / "go"

    async def tell(hub, running):
        setup = ("/bin/sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done")
        both = [hub.offer(running.node, "/bin/true", setup=setup, renter="user_1") for _ in range(2)]
        await hub.until(lambda: all("running" in told_states(hub, attempt_id) for attempt_id in both))
        go.touch()
        for attempt_id in both:
            assert (await receipt_of(hub, attempt_id)).exit_code == 0

    story(tmp_path, tell)


def test_limits_of_the_agent_end_before_those_of_the_hub():
    """Else the hub would blame a node for what its agent is about to tell."""
    log_seconds = finishing.LOG_LOOKS * 10.0
    assert UPLOAD_SECONDS + log_seconds + 2 * LAST_CHECKPOINT_SECONDS < REST_SECONDS
    assert FETCH_SECONDS + commands.TURN_SECONDS < START_SECONDS / 2
    assert commands.TURN_SECONDS < TRIAL_START_SECONDS


# ── the log ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class SlowHub(FakeHub):
    """Has a long way to where it keeps logs."""

    delay_seconds = 0.1

    def _hear_log(self, line, chunk):
        self.acknowledge_logs = False
        super()._hear_log(line, chunk)
        ack = LogAck(attempt_id=chunk.attempt_id, fence=chunk.fence, offset=len(self.logs[chunk.attempt_id]))
        asyncio.get_running_loop().call_later(self.delay_seconds, line.say, ack)


FLOOD = "import os; [os.write(1, bytes(65536)) for _ in range(640)]"
FLOOD_BYTES = 640 * 65536


@pytest.mark.engine("system-python")
@pytest.mark.parametrize("is_canceled", [True, False])
def test_log_that_takes_too_long_is_cut_off(tmp_path, monkeypatch, is_canceled):
    """A canceled job with a long log was the node's fault after 70 seconds."""
    monkeypatch.setattr(finishing, "LOG_LOOKS", 10**9 if is_canceled else 3)

    async def tell(hub, running):
        running.agent._shop.log_look_seconds = 0.15
        rest = "; import time; time.sleep(3600)" if is_canceled else ""
        attempt_id = hub.offer(running.node, PYTHON, "-c", FLOOD + rest)
        await hub.until(lambda: hub.logs[attempt_id])
        if is_canceled:
            (attempt,) = running.agent.supervisor.attempts
            await hub.until(lambda: attempt.spool.stored_bytes == FLOOD_BYTES)
            hub.stop(running.node, attempt_id, grace_seconds=0)
        receipt = await receipt_of(hub, attempt_id)
        assert receipt.reason is (EndReason.CANCELED if is_canceled else EndReason.EXITED)
        assert 0 < receipt.log_bytes < FLOOD_BYTES
        assert "of the log were left out" in receipt.detail

    # The hub of the tests compares the log's digest with the receipt's.
    story(tmp_path, tell, SlowHub())


def test_hub_is_told_that_the_command_is_over_while_the_rest_takes_long(tmp_path):
    """The hub counted the upload of the log as running time, and blamed the node a minute after `max_runtime`."""

    async def tell(hub, running):
        hub.acknowledge_logs = False
        attempt_id = hub.offer(running.node, "/bin/echo", "hello")
        await hub.until(lambda: (attempt := running.agent.supervisor.attempts) and attempt[0].ended is not None)
        (attempt,) = running.agent.supervisor.attempts
        running.agent.supervisor.tick()
        assert "finishing" not in told_states(hub, attempt_id), "most are over at once: that costs the hub nothing"
        attempt.command_over_at -= 60
        for _ in range(3):
            running.agent.supervisor.tick()
        await hub.until(lambda: told_states(hub, attempt_id) == ["running", "finishing"])
        hub.acknowledge_logs = True
        hub.drop_lines()
        assert (await receipt_of(hub, attempt_id)).exit_code == 0

    story(tmp_path, tell)


# ── outputs and the last checkpoint ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("parts_before", "error"), [(1, OutputsRefused), (0, UploadFailed)])
def test_uploads_have_a_limit_and_only_a_dead_line_is_the_nodes(tmp_path, parts_before, error):
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "a").write_bytes(b"abcd")

    class Hanging:
        count = 0

        async def upload(self, url, file, *, offset, size_bytes, headers):
            self.count += 1
            if self.count > parts_before:
                await asyncio.Event().wait()

    async def ask(files):
        target = UploadTarget(path="a", urls=("/1", "/2"), part_bytes=2)
        return UploadGrant(attempt_id="attempt_1", fence=1, request=1, targets=(target,))

    transfer: Any = Hanging()
    files = [Collected("a", "output/a", 4, "sha256:" + "0" * 64)]
    with pytest.raises(error, match="were not uploaded in"):
        asyncio.run(Uploads(tmp_path, transfer, ask, limit_seconds=0.1).put_all(files))


def test_small_files_go_up_together_and_what_failed_goes_again(tmp_path, monkeypatch):
    """Of eight at once one fails for good: the others get through, and only it is asked for again."""
    monkeypatch.setattr("computepool.agent.uploads.RETRY_SECONDS", 0.0)
    (tmp_path / "output").mkdir()
    names = [f"f{number}" for number in range(20)]
    for name in names:
        (tmp_path / "output" / name).write_bytes(b"x")
    asked, put, together = list[list[str]](), Counter[str](), list[int]()

    class Line:
        at_once = 0

        async def upload(self, url, file, *, offset, size_bytes, headers):
            self.at_once += 1
            together.append(self.at_once)
            await asyncio.sleep(0)
            self.at_once -= 1
            if url == "/f3" and len(asked) == 1:
                raise TransferFailed("HTTP 403", retry=False)
            put[url] += 1

    async def ask(files):
        asked.append([file.path for file in files])
        targets = tuple(UploadTarget(path=file.path, urls=(f"/{file.path}",), part_bytes=10) for file in files)
        return UploadGrant(attempt_id="attempt_1", fence=1, request=1, targets=targets)

    transfer: Any = Line()
    files = [Collected(name, f"output/{name}", 1, "sha256:" + "0" * 64) for name in names]
    asyncio.run(Uploads(tmp_path, transfer, ask).put_all(files))
    assert put == Counter(f"/{name}" for name in names)
    assert asked == [names, ["f3"]]
    assert max(together) == PUTS_AT_ONCE


def test_last_checkpoint_that_takes_too_long_to_read_is_the_renters_doing(tmp_path, monkeypatch):
    """A file of a terabyte of holes is quickly made and slowly read: the attempt was `gone`, and the node blamed."""
    read = threading.Event()
    monkeypatch.setattr(checkpoints, "LAST_CHECKPOINT_SECONDS", 0.2)

    def slow(folder, place, paths):
        while not read.is_set():
            yield
        return {}

    async def tell(hub, running):
        monkeypatch.setattr(checkpoints, "hash_files", slow)
        script = 'echo x > "$COMPUTEPOOL_CHECKPOINT/x"; exit 85'
        receipt = await receipt_of(hub, hub.offer(running.node, "/bin/sh", "-c", script))
        assert (receipt.reason, receipt.exit_code) == (EndReason.EXITED, 85)

    try:
        story(tmp_path, tell)
    finally:
        read.set()


@pytest.mark.engine("system-python")
def test_time_to_read_the_last_checkpoint_is_not_taken_from_its_upload(tmp_path, monkeypatch):
    """Else what is read just in time could not be sent, and the node was blamed."""

    async def tell(hub, running):
        shop = running.agent._shop
        attempt: Any = SimpleNamespace(
            id="attempt_1", manifest=SimpleNamespace(saved=None, checkpoint=None), ran_seconds=lambda now: 1.0
        )
        saver = checkpoints.Checkpoints(shop, attempt, tmp_path)
        async with asyncio.timeout(MEGABYTE) as saver._last_timeout:
            before = saver._last_timeout.when()
            monkeypatch.setattr(checkpoints.Checkpoints, "_report", lambda *_: asyncio.sleep(0))
            await saver._send({}, [], tmp_path, "checkpoint")
            after = saver._last_timeout.when()
        assert after is not None
        assert before is not None
        assert after < before
        assert after > asyncio.get_running_loop().time() + LAST_CHECKPOINT_SECONDS / 2

    story(tmp_path, tell)
