"""What heartbeats say of attempts whose command does not run yet: the hub gives up those that it hears nothing of."""

import asyncio

from support.agents import offload_inline
from support.lone_supervisor import LoneSupervisor, LoopClock, NoTransfer, run_in_virtual_time

from computepool.agent.inputs import InputCache
from computepool.protocol.manifest import BundleRef
from computepool.protocol.messages import Offer
from computepool.protocol.timing import BEGIN_SECONDS, HEARTBEAT_SECONDS

HOURS = 3 * 3600.0


class SlowLine(NoTransfer):
    """Brings a byte now and then."""

    async def download(self, url, *, offset, sink):
        sink.begin(offset)
        while True:
            await asyncio.sleep(50)
            sink.write(b"x")


def named(bench):
    return {ref.attempt_id for ref in bench.supervisor.heartbeat().preparing}


def test_agent_tells_of_what_it_fetches_for_hours_and_of_what_waits_for_the_same(tmp_path):
    async def tell():
        bench = LoneSupervisor(tmp_path, LoopClock())
        shop = bench.supervisor._shop
        shop.cache = InputCache(bench.home.cache, SlowLine(), offload_inline)
        large = BundleRef(digest="sha256:" + "0" * 64, size_bytes=10 * 1024**3)
        fetching = [bench.manifest(bundle=large) for _ in range(2)]
        for number, manifest in enumerate(fetching, start=1):
            signed = bench.hub.sign_manifest(manifest)
            bench.supervisor.handle(Offer(number=number, manifest=signed, downloads={large.digest: ("/slow",)}))
        waited = 0.0
        while waited < HOURS:
            assert named(bench) == {manifest.attempt_id for manifest in fetching}
            await asyncio.sleep(HEARTBEAT_SECONDS)
            waited += HEARTBEAT_SECONDS
        await bench.close()

    run_in_virtual_time(tell())


def test_agent_tells_at_once_of_what_it_took_and_no_more_of_what_runs(tmp_path):
    async def tell():
        bench = LoneSupervisor(tmp_path, LoopClock())
        bench.listen()
        start = bench.sandbox.start

        async def start_slowly(command):
            await asyncio.sleep(2 * BEGIN_SECONDS)
            return await start(command)

        bench.sandbox.start = start_slowly  # type: ignore[method-assign]
        bench.give(bench.hub.sign_manifest(bench.manifest("sleep", "3600")))
        (attempt,) = bench.supervisor.attempts
        assert named(bench) == {attempt.id}
        await asyncio.sleep(BEGIN_SECONDS)
        assert named(bench) == {attempt.id}
        await asyncio.sleep(2 * BEGIN_SECONDS)
        assert named(bench) == set()
        assert [ref.attempt_id for ref in bench.supervisor.heartbeat().holding] == [attempt.id]
        await bench.close()

    run_in_virtual_time(tell())
