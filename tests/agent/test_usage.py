"""Samples of what attempts use: taken while a command runs, sent in batches, none lost while there is no line."""

import asyncio

from support.agents import CAPACITY, offload_inline
from support.fleets import gpu
from support.lone_supervisor import LoneSupervisor, LoopClock, run_in_virtual_time

from computepool.agent.detect import GpuMonitor
from computepool.agent.sandbox.interface import UsageNow
from computepool.agent.telemetry import IDLE_LOOK_SECONDS, LOOK_SECONDS, Telemetry
from computepool.agent.usage import KEPT_SAMPLES, SAMPLE_SECONDS, UsageSampler
from computepool.protocol.manifest import Grant
from computepool.protocol.messages import GpuLoad, Heartbeat, NodeReport
from computepool.protocol.telemetry import USAGE_AGE_LIMIT_SECONDS, USAGE_SAMPLES_LIMIT

CARD = gpu(0)


class Monitor(GpuMonitor):
    """Two cards: one that is the job's, and another."""

    def __init__(self):
        pass

    def read(self):
        return [
            GpuLoad(id=CARD.id, utilisation=0.75, memory_used_bytes=2**30, power_watts=200.0),
            GpuLoad(id="gpu-b", utilisation=0.0, memory_used_bytes=0, power_watts=10.0),
        ]


class Machine(LoneSupervisor):
    """A supervisor with its telemetry, whose commands use half a core and 100 MB."""

    def __init__(self, folder):
        clock = LoopClock()
        super().__init__(folder, clock)
        self.shop.capacity = CAPACITY.model_copy(update={"gpus": (CARD,)})
        self.telemetry = Telemetry(
            outgoing=self.outgoing,
            clock=clock,
            offload=offload_inline,
            works=lambda: any(attempt.ended is None for attempt in self.supervisor.attempts),
            sampler=UsageSampler(clock, offload_inline, lambda: self.supervisor.attempts),
            monitor=Monitor(),
            machine=None,
            caches=None,
            book=None,
        )
        self._life = asyncio.ensure_future(self.telemetry.run())

    async def begin(self, seconds):
        """An attempt whose command takes so long."""
        grant = Grant(cpus=1, memory_bytes=2**30, disk_bytes=2**30, gpus=(CARD.id,))
        self.give(self.hub.sign_manifest(self.manifest("sleep", str(seconds), grant=grant)))
        await asyncio.sleep(0.5)
        (process,) = self.sandbox.processes
        loop, began = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        process.usage = lambda: UsageNow((loop.time() - began) / 2, 100_000_000)
        self.telemetry.look_for_work()

    @property
    def batches(self):
        return [usage for report in self.of(NodeReport) for usage in report.usage]

    async def close(self):
        self._life.cancel()
        await super().close()


def tell(tmp_path, story):
    async def whole():
        machine = Machine(tmp_path)
        try:
            await story(machine)
        finally:
            await machine.close()

    run_in_virtual_time(whole())


def test_running_command_is_sampled_every_few_seconds_and_told_in_batches(tmp_path):
    async def story(machine):
        machine.listen()
        await asyncio.sleep(3)  # in the middle of a look at an idle machine
        await machine.begin(100)
        await asyncio.sleep(98)
        batches = machine.batches
        samples = [sample for batch in batches for sample in batch.samples]
        assert len(samples) >= 95 / SAMPLE_SECONDS - LOOK_SECONDS / SAMPLE_SECONDS
        assert len(batches) <= len(samples) / 2 + 2
        numbers = [batch.first + place for batch in batches for place in range(len(batch.samples))]
        assert numbers == list(range(len(samples)))
        assert samples[0].cpus is None  # nothing to compare with
        assert {sample.cpus for sample in samples[1:]} == {0.5}
        assert {sample.memory_bytes for sample in samples} == {100_000_000}
        assert {(sample.gpu, sample.power_watts) for sample in samples[1:]} == {(0.75, 200.0)}
        assert all(sample.age_seconds <= LOOK_SECONDS for sample in samples)

    tell(tmp_path, story)


def test_last_samples_of_an_attempt_are_told_after_its_end(tmp_path):
    async def story(machine):
        machine.listen()
        await machine.begin(21)
        await asyncio.sleep(2 * IDLE_LOOK_SECONDS)
        assert sum(len(batch.samples) for batch in machine.batches) == 4  # at 5, 10, 15 and 20 s

    tell(tmp_path, story)


def test_samples_wait_for_a_line_up_to_their_limit(tmp_path):
    async def story(machine):
        await machine.begin(3600)
        await asyncio.sleep(USAGE_AGE_LIMIT_SECONDS + 300)
        machine.listen()
        await asyncio.sleep(3 * LOOK_SECONDS)
        old = [sample for batch in machine.batches for sample in batch.samples]
        assert KEPT_SAMPLES - 10 <= len(old) <= KEPT_SAMPLES + 10
        assert max(sample.age_seconds for sample in old) > USAGE_AGE_LIMIT_SECONDS - 60
        assert all(len(batch.samples) <= USAGE_SAMPLES_LIMIT for batch in machine.batches)
        first = machine.batches[0].first
        numbers = [batch.first + place for batch in machine.batches for place in range(len(batch.samples))]
        assert numbers == list(range(first, first + len(old)))
        assert first > 0

    tell(tmp_path, story)


def test_idle_machine_is_not_looked_at_more_often_than_before(tmp_path):
    async def story(machine):
        machine.listen()
        await asyncio.sleep(10 * IDLE_LOOK_SECONDS)
        assert 9 <= len(machine.of(NodeReport)) <= 11

    tell(tmp_path, story)


def test_heartbeat_carries_no_samples():
    """Its size is that of before: samples travel with the report of the GPUs."""
    assert set(Heartbeat.model_fields) == {"type", "cursor", "holding", "state", "availability", "preparing"}
