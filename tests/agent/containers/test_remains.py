"""Nothing is left: of an agent that was killed, of an engine that died, of a start that came to nothing."""

import asyncio
import functools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support import engines, private_engines
from support.containers import ContainerBench, facts_of
from support.private_engines import PrivateEngine
from support.sandboxes import ROOMY, processes_with, read_all
from support.waiting import eventually, patience

from computepool.agent.engines import EngineWatch
from computepool.agent.sandbox import Command, SandboxError, available_sandboxes, find_engines
from computepool.agent.sandbox.available import container_sandbox
from computepool.agent.sandbox.containers import ContainerSandbox, Engine, how_to_get_containers
from computepool.agent.sandbox.containers.engine import api_version
from computepool.agent.sandbox.containers.find import socket_places
from computepool.agent.sandbox.containers.sandbox import new_run
from computepool.agent.sandbox.containers.spec import INSTANCE
from computepool.agent.sandbox.identity import instance_of
from computepool.agent.sandbox.running import readable

# An agent that starts a job which would run for ever, says so, and waits to be killed.
AGENT = """
import asyncio, sys
from pathlib import Path
from computepool.agent.sandbox import Command, Limits
from computepool.agent.sandbox.containers import ContainerSandbox, Engine

async def main(state, path, script, lifeline, level):
    engine = Engine(Path(path))
    sandbox = ContainerSandbox(Path(state), engine=engine, facts=await engine.facts(), gvisor=level == "gvisor")
    if lifeline == "cut":
        sandbox._lifeline.ensure = lambda: None
    folder = sandbox.attempts_folder / "attempt-of-the-killed"
    (folder / "work").mkdir(parents=True)
    limits = Limits(cpus=1.0, memory_bytes=1 << 28, pids=50, disk_bytes=1 << 28)
    job = await sandbox.start(Command(argv=["/bin/sh", "-c", script], env={}, folder=folder, limits=limits))
    print(job.container, flush=True)
    await asyncio.sleep(3600)

asyncio.run(main(*sys.argv[1:]))
"""


def killed_agent(state: Path, engine: Path, mark: str, *, lifeline: str, level: str = "container") -> str:
    """The container that its job was in."""
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(state), str(engine), f"sleep {mark}", lifeline, level], stdout=subprocess.PIPE
    )
    assert agent.stdout
    try:
        return agent.stdout.readline().decode().strip()
    finally:
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        agent.stdout.close()


def until_gone(*texts: str) -> None:
    eventually(lambda: not any(processes_with(text) for text in texts), f"no process with {texts} runs")


async def all_containers(engine: Engine) -> list[dict]:
    return list(await engine.ask("GET", "/containers/json", query={"all": "true"}))


@pytest.fixture
def home(tmp_path_factory):
    """An agent's folder of its own, for one test."""
    with private_engines.private_folder() as folder:
        yield folder


def test_containers_of_a_killed_agent_are_ended_by_its_lifeline(every, home):
    mark = f"37{time.time_ns() % 10**7}"
    container = killed_agent(home, every.private.socket, mark, lifeline="held", level=every.sandbox.level)
    assert container
    # gVisor's processes are not the host's: there it is what carries them.
    until_gone(container, f"sleep {mark}")


def test_sweep_ends_what_a_killed_agent_left_and_nothing_else(every, home):
    mark = f"38{time.time_ns() % 10**7}"
    container = killed_agent(home, every.private.socket, mark, lifeline="cut", level=every.sandbox.level)
    assert container
    assert processes_with(container), "the control: nobody else ended it"

    async def story() -> None:
        engine = every.engine()
        await every.finish("true")
        image = (await engine.list_images(labels=["computepool.empty"]))[0]["Id"]
        strangers = await engine.create("strangers-own", {"Image": image, "Cmd": ["/x"]})
        other = await engine.create(
            "another-agents", {"Image": image, "Cmd": ["/x"], "Labels": {"computepool.instance": "another"}}
        )
        sandbox = ContainerSandbox(home, engine=every.engine(), facts=every.facts)
        swept = await sandbox.sweep()
        assert swept == ["container of attempt attempt-of-the-killed: running"]
        assert await sandbox.sweep() == []
        left = {container["Id"] for container in await all_containers(engine)}
        assert {strangers, other} <= left
        assert not await engine.list_containers({"computepool.instance": instance_of(home)})
        for container in (strangers, other):
            await engine.remove(container)
        await sandbox.close()

    asyncio.run(story())
    until_gone(container, f"sleep {mark}")


def test_sweep_spares_what_runs_now_in_any_sandbox_of_this_agent(bench, home, docker: PrivateEngine):
    engines.require("gvisor")

    async def story() -> None:
        found = await find_engines({}, sockets=[docker.socket])
        strong, plain = available_sandboxes(home, engines=found)[:2]
        assert (strong.level, plain.level) == ("gvisor", "container")
        folder = plain.attempts_folder / "now"
        (folder / "work").mkdir(parents=True)
        command = Command(argv=["/bin/sh", "-c", "echo here; sleep 3600"], env={}, folder=folder, limits=ROOMY)
        process = await plain.start(command)
        await readable(process.output_fd)
        assert await strong.sweep() == []
        assert await plain.sweep() == []
        await strong.close()
        assert not process._supervision.done()  # type: ignore[attr-defined]
        await process.stop(0)
        await read_all(process)
        await plain.close()

    asyncio.run(story())


def test_closing_leaves_no_container(shared_kernel, home):
    mark = f"39{time.time_ns() % 10**7}"

    async def story() -> None:
        sandbox = ContainerSandbox(home, engine=shared_kernel.engine(), facts=shared_kernel.facts)
        folder = sandbox.attempts_folder / "running"
        (folder / "work").mkdir(parents=True)
        process = await sandbox.start(Command(argv=["sleep", mark], env={}, folder=folder, limits=ROOMY))
        await sandbox.close()
        await process.wait()
        await read_all(process)

    asyncio.run(story())
    until_gone(f"sleep {mark}")


@pytest.fixture
def mortal(request):
    """Engines that a test may kill."""
    made = []

    def make(kind: str) -> PrivateEngine:
        manager = private_engines.docker_engine() if kind == "docker" else private_engines.podman_engine()
        engine = manager.__enter__()
        made.append(manager)
        return engine

    yield make
    for manager in made:
        manager.__exit__(None, None, None)


@pytest.mark.parametrize("kind", ["docker", "podman"])
def test_engine_that_dies_is_the_hosts_doing_and_the_job_does_not_go_on(kind, mortal, home):
    private = mortal(kind)
    mark = f"40{time.time_ns() % 10**7}"
    bench = ContainerBench.make(home, private)

    async def story() -> None:
        process = await bench.start("/bin/sh", "-c", f"echo ready; sleep {mark}")
        await readable(process.output_fd)
        private.kill()
        output = await asyncio.wait_for(read_all(process), patience())
        ended = await asyncio.wait_for(process.wait(), patience())
        assert output == b"ready\n"
        assert (ended.code, ended.reason) == (137, "engine_lost")
        assert "engine stopped answering" in ended.detail
        with pytest.raises(SandboxError, match="does not answer"):
            await bench.start("true")
        assert "may be left" in (await bench.sandbox.sweep())[0]
        await bench.sandbox.close()

    asyncio.run(story())
    until_gone(f"sleep {mark}")


def test_stop_ends_a_job_whose_engine_died_before(mortal, home):
    private = mortal("docker")
    bench = ContainerBench.make(home, private)

    async def story() -> None:
        process = await bench.start("/bin/sh", "-c", "echo ready; sleep 3600")
        await readable(process.output_fd)
        private.kill()
        await asyncio.wait_for(process.stop(1), patience())
        await read_all(process)
        assert (await process.wait()).reason in {"killed", "engine_lost"}
        await bench.sandbox.close()

    asyncio.run(story())


def test_engines_are_found_at_their_sockets_docker_first(docker: PrivateEngine, podman: PrivateEngine, home):
    nobody = home / "nobody.sock"

    async def story() -> None:
        found = await find_engines({}, sockets=[podman.socket, nobody, docker.socket])
        assert [one.facts.kind for one in found] == ["docker", "podman"]
        by_variable = await find_engines({"DOCKER_HOST": f"unix://{docker.socket}", "XDG_RUNTIME_DIR": str(home)})
        assert docker.socket.resolve() in [one.engine.path for one in by_variable]
        only_podman = await find_engines({}, sockets=[podman.socket])
        sandboxes = available_sandboxes(home, engines=found)
        levels = [sandbox.level.value for sandbox in sandboxes]
        assert levels.count("container") == 1
        assert levels == sorted(levels, key=["gvisor", "container", "bubblewrap", "process"].index)
        podmans = available_sandboxes(home, engines=only_podman)
        assert [sandbox.level for sandbox in podmans if sandbox.takes_images] == ["container"]
        for sandbox in [*sandboxes, *podmans]:
            await sandbox.close()

    asyncio.run(story())


def test_engine_on_another_machine_is_none_of_ours():
    places = socket_places({"DOCKER_HOST": "tcp://10.0.0.1:2375", "XDG_RUNTIME_DIR": "/run/user/7"})
    assert [str(place) for place in places] == [
        "/var/run/docker.sock",
        "/run/user/7/docker.sock",
        "/run/podman/podman.sock",
        "/run/user/7/podman/podman.sock",
    ]


def test_advice_names_what_is_missing(docker: PrivateEngine):
    assert how_to_get_containers({"DOCKER_HOST": f"unix://{docker.socket}"}) is None


def test_version_of_the_api_is_one_that_the_engine_speaks():
    assert api_version({"ApiVersion": "1.41", "MinAPIVersion": "1.12"}) == "1.41"
    assert api_version({"ApiVersion": "1.52", "MinAPIVersion": "1.44"}) == "1.44"
    assert api_version({"ApiVersion": "1.40", "MinAPIVersion": "1.12"}) == "1.40"
    assert api_version({}) == "1.41"


def test_facts_of_engines_are_read(docker: PrivateEngine):
    facts = asyncio.run(facts_of(docker))
    assert facts.kind == "docker"
    assert facts.storage.is_dir()
    assert json.loads((docker.socket.parent / "daemon.json").read_text())["data-root"] == str(facts.storage)


def test_engine_found_by_a_running_agent_proves_itself_and_disturbs_no_job_of_before(docker: PrivateEngine, state):
    """As after an upgrade: the same engine is taken for a new one, while a job of the old one runs."""

    async def story() -> None:
        run = new_run(state)
        [one] = await find_engines(sockets=[docker.socket])
        found = replace(one, facts=replace(one.facts, runtimes={}))  # one level will do
        make = functools.partial(container_sandbox, state=state, run=run)

        async def look(known):
            return [found]

        old = make(found, False)
        folder = old.attempts_folder / "attempt_of_before"
        (folder / "work").mkdir(parents=True)
        old.adopt(folder)
        job = await old.start(Command(argv=["/bin/sh", "-c", "sleep 3600"], env={}, folder=folder, limits=ROOMY))
        try:
            watch = EngineWatch(found=(), sandboxes=(), look=look, make=make)
            await watch.look()
            assert [sandbox.level for sandbox in watch.sandboxes] == ["container"]
            await watch.close()
            running = await Engine(docker.socket).list_containers({INSTANCE: instance_of(state)})
            assert [one["State"] for one in running] == ["running"]
        finally:
            await job.stop(0)
            os.close(job.output_fd)
            await old.close()

    asyncio.run(story())
