"""What the owner sees and says: local control, detection, the doctor, and the decisions before anything runs."""

import asyncio
import os
import stat

import pytest
from support.agents import CAPACITY, enrolled_home, running_agent
from support.fake_hub import FakeHub
from support.fake_sandbox import FakeSandbox
from support.waiting import patience

from computepool.agent.clock import HubTime, SystemClock
from computepool.agent.control import AgentNotRunning, ask_agent, serve_control
from computepool.agent.detect import detect, nvidia_gpus
from computepool.agent.doctor import examine
from computepool.agent.own_jobs import believed
from computepool.agent.placement import choose_sandbox, is_safe_id, why_no_room
from computepool.agent.sandbox import ProcessSandbox
from computepool.protocol.capacity import Gpu
from computepool.protocol.manifest import Grant
from computepool.protocol.states import IsolationLevel


def test_owner_controls_a_running_agent_through_its_socket(tmp_path):
    async def story():
        # Deeper than the kernel lets a socket's path be.
        deep = tmp_path / ("d" * 60) / ("e" * 60)
        async with FakeHub() as hub, running_agent(hub, deep) as running:
            path = running.home.socket_path

            async def ask(action):
                return await asyncio.to_thread(ask_agent, path, action)

            async with serve_control(running.agent, path):
                await hub.until(lambda: running.agent.connected is not None)
                status = await ask("status")
                assert (status["state"], status["link"], status["attempts"]) == ("online", "websocket", [])
                attempt_id = hub.offer(running.node, "/bin/sleep", "3600")
                await hub.until(lambda: hub.updates[attempt_id])
                assert [one["attempt_id"] for one in (await ask("status"))["attempts"]] == [attempt_id]
                assert (await ask("pause"))["state"] == "paused"
                await hub.until(lambda: attempt_id in hub.gone)
                assert (await ask("resume"))["state"] == "online"
                with pytest.raises(AgentNotRunning, match="unknown action"):
                    await ask("dance")
                await ask("drain")
                await asyncio.wait_for(running.task, patience())
            with pytest.raises(AgentNotRunning, match=r"no agent runs in [^\[\]]*computepool agent start"):
                await ask("status")

    asyncio.run(story())


def test_machine_is_measured(tmp_path):
    hardware = detect(tmp_path)
    assert 0 < hardware.cpus <= (os.cpu_count() or 1)
    assert 0 < hardware.memory_bytes < 1 << 50
    assert hardware.disk_bytes >= 0
    capacity = hardware.capacity([FakeSandbox(tmp_path / "x")])
    assert capacity.isolation == (IsolationLevel.BUBBLEWRAP,)
    assert capacity.platform.count("-") >= 1


def test_gpus_are_read_from_the_driver(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\n"
        "echo '0, GPU-aaaa, NVIDIA GeForce RTX 4090, 24564, 00000000:01:00.0'\n"
        "echo 'a line that makes no sense'\n"
        "echo '1, GPU-bbbb, NVIDIA GeForce RTX 4090, [N/A], 00000000:02:00.0'\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    gpus, devices = nvidia_gpus()
    assert [(gpu.id, gpu.slug, gpu.memory_bytes) for gpu in gpus] == [("GPU-aaaa", "rtx-4090", 24564 * 1024**2)]
    assert list(devices) == ["GPU-aaaa"]
    program.write_text("#!/bin/sh\nexit 9\n")
    assert nvidia_gpus() == ((), {})


def test_doctor_says_what_to_do(tmp_path):
    async def story():
        async with FakeHub() as hub:
            home, _ = enrolled_home(hub, tmp_path)
            sandbox = ProcessSandbox(home.root, cgroups=None)
            checks = {check.name: check for check in await examine(home, [sandbox], SystemClock())}
            assert checks["enrolment"].ok
            assert checks["hub"].ok
            assert checks["clock"].ok
            assert not checks["agent"].ok
            assert checks["agent"].hint == "computepool agent start"
            assert not checks["limits"].ok
            assert checks["isolation process"].ok, checks["isolation process"]
            await hub.go_away()
            checks = {check.name: check for check in await examine(home, [], SystemClock())}
            assert not checks["hub"].ok
            assert "HTTPS_PROXY" in checks["hub"].hint
            await sandbox.close()

    asyncio.run(story())


def test_quickest_sandbox_that_will_do_is_chosen_and_process_only_for_ones_own(tmp_path):
    hub = FakeHub()
    node = hub.add_node(b"k" * 32)
    levels = {level: FakeSandbox(tmp_path / level, level=level) for level in IsolationLevel}
    process, bubblewrap, container, gvisor = levels.values()
    both, everything = [process, bubblewrap], list(levels.values())

    def choose(sandboxes, least, *, host_asks=IsolationLevel.BUBBLEWRAP, **changes):
        manifest = hub.manifest(node, ("x",), isolation=least, **changes)
        return choose_sandbox(sandboxes, manifest, host_asks, owner=believed(manifest))

    assert choose(both, IsolationLevel.PROCESS, own=True) is bubblewrap
    assert choose(both, IsolationLevel.PROCESS, own=False) is bubblewrap
    assert choose([process], IsolationLevel.PROCESS, own=True) is process
    assert choose([process], IsolationLevel.PROCESS, own=False) is None
    assert choose(both, IsolationLevel.CONTAINER, own=True) is None
    assert choose([], IsolationLevel.PROCESS, own=True) is None
    assert choose(everything, IsolationLevel.BUBBLEWRAP, own=False) is bubblewrap
    assert choose(everything, IsolationLevel.CONTAINER, own=False) is container
    assert choose(everything, IsolationLevel.PROCESS, own=False, host_asks=IsolationLevel.GVISOR) is gvisor
    assert choose(everything, IsolationLevel.PROCESS, own=True, host_asks=IsolationLevel.GVISOR) is bubblewrap
    container.takes_images = True
    assert choose(everything, IsolationLevel.PROCESS, own=True, image="python:3") is container
    bubblewrap.has_egress = False
    assert choose(everything, IsolationLevel.BUBBLEWRAP, own=False, network=True) is container


def test_room_counts_what_runs_already():
    gpu = Gpu(id="GPU-1", name="x", slug="x", memory_bytes=1)
    capacity = CAPACITY.model_copy(update={"gpus": (gpu,)})
    small = Grant(cpus=1, memory_bytes=1024**3, disk_bytes=1)
    assert why_no_room(small, capacity, [small] * 3) is None
    assert "cores" in str(why_no_room(small, capacity, [small] * 4))
    hungry = Grant(cpus=0.1, memory_bytes=4 * 1024**3, disk_bytes=1)
    assert "memory" in str(why_no_room(hungry, capacity, [small]))
    with_gpu = Grant(cpus=0.1, memory_bytes=1, disk_bytes=1, gpus=("GPU-1",))
    assert why_no_room(with_gpu, capacity, []) is None
    assert "in use" in str(why_no_room(with_gpu, capacity, [with_gpu]))
    assert "no GPU" in str(why_no_room(with_gpu, CAPACITY, []))


@pytest.mark.parametrize("attempt_id", ["", ".", "..", "a/b", "a\0b", "a b", "x" * 81, "é"])
def test_ids_that_could_be_paths_are_not_safe(attempt_id):
    assert not is_safe_id(attempt_id)


def test_hub_time_runs_on_elapsed_time_not_on_the_wall_clock():
    class Clock(SystemClock):
        elapsed = 100.0

        def monotonic(self):
            return self.elapsed

    clock = Clock()
    hub_time = HubTime(clock)
    instant = clock.now()
    hub_time.set(instant)
    clock.elapsed += 30
    assert (hub_time.now() - instant).total_seconds() == 30
