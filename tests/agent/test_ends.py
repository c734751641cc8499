"""How a job's end is told: the limit, what was used, and the option that raises it."""

import asyncio
import shutil

import pytest
from support.agents import running_agent
from support.fake_hub import FakeHub
from support.lone_supervisor import LoneSupervisor, run_in_virtual_time

from computepool.agent.sandbox import BubblewrapSandbox
from computepool.protocol.manifest import Grant
from computepool.protocol.messages import Finished
from computepool.protocol.receipt import EndReason, Receipt

MIB = 1 << 20
GRANT = Grant(cpus=1.0, memory_bytes=96 * MIB, disk_bytes=16 * MIB)
CUT = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    open("f", "wb").write(bytes(1 << 26))
except OSError:
    pass
"""


@pytest.mark.engine("bwrap")
def test_limits_are_told_with_the_option_that_raises_them_and_signals_by_name(tmp_path):
    async def story():
        sandbox = BubblewrapSandbox(tmp_path / "state", bwrap=shutil.which("bwrap") or "bwrap")
        async with FakeHub() as hub, running_agent(hub, tmp_path, sandboxes=[sandbox]) as running:

            async def end_of(*argv):
                attempt_id = hub.offer(running.node, *argv, grant=GRANT)
                await hub.until(lambda: attempt_id in hub.receipts)
                receipt = hub.receipts[attempt_id]
                return receipt.reason, receipt.exit_code, receipt.detail

            reason, _, detail = await end_of("python3", "-c", "bytearray(1 << 30)")
            assert reason is EndReason.MEMORY
            assert detail.startswith("limit 96 MB, peak "), detail
            assert detail.endswith("ask for more with resources.memory (--memory 192MB)")
            # It ended by itself, with a file that the limit had cut.
            reason, code, detail = await end_of("python3", "-c", CUT)
            assert (reason, code) == (EndReason.DISK, 0)
            assert detail.endswith("ask for more with resources.disk (--disk 32MB)"), detail
            assert await end_of("sh", "-c", "kill -SEGV $$") == (EndReason.EXITED, 139, "")
            reason, code, detail = await end_of("sh", "-c", "kill -KILL $$")
            assert (reason, code) == (EndReason.EXITED, 137)
            assert "memory was" in detail
        await sandbox.close()

    asyncio.run(story())


@pytest.mark.parametrize(("peak_bytes", "reason"), [(95 * MIB, EndReason.MEMORY), (20 * MIB, EndReason.EXITED)])
def test_kill_that_no_engine_explains_was_for_memory_if_little_was_left(tmp_path, peak_bytes, reason):
    async def story():
        bench = LoneSupervisor(tmp_path)
        bench.listen()
        bench.give(bench.hub.sign_manifest(bench.manifest("peak", str(peak_bytes), ";", "exit", "137", grant=GRANT)))
        await asyncio.sleep(60)
        [finished] = bench.of(Finished)
        receipt = Receipt.model_validate_json(finished.receipt.body)
        assert receipt.reason is reason
        assert ("--memory 192MB" in receipt.detail) == (reason is EndReason.MEMORY)

    run_in_virtual_time(story())
