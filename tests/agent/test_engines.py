"""Engines that come up after the agent, are upgraded, or go: offered once proven, and no longer than they are there."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest
from support.agents import running_agent
from support.fake_hub import FakeHub
from support.fake_sandbox import FakeSandbox

from computepool.agent import engines
from computepool.agent.control import serve_control
from computepool.agent.detect import isolation_of
from computepool.agent.doctor import engines_of_agent, sandboxes_to_examine
from computepool.agent.engines import FORGIVE_LOOKS, EngineWatch
from computepool.agent.housekeeping import is_beginning
from computepool.agent.sandbox import FoundEngine, SelfTest, look_again
from computepool.agent.sandbox.containers import Engine, EngineFacts
from computepool.protocol.states import AttemptState, IsolationLevel

BUBBLEWRAP, CONTAINER, GVISOR = IsolationLevel.BUBBLEWRAP, IsolationLevel.CONTAINER, IsolationLevel.GVISOR


def docker(version="27.1", *, gvisor=False, stamp=1):
    runtimes = {"runsc": {"path": "/usr/bin/runsc"}} if gvisor else {}
    facts = EngineFacts("docker", version, runtimes, False, (), 2, Path("/var/lib/docker"))
    return FoundEngine(Engine(Path("/nowhere/docker.sock")), facts, (stamp,))


class FakeContainers(FakeSandbox):
    takes_images = True
    closed = False

    async def close(self):
        self.closed = True


class Machine:
    """Whose engines come and go."""

    def __init__(self, folder, *engines, proven=()):
        self.folder = folder
        self.engines = list(engines)
        self.answers = []
        """Of the next looks, before it is `engines` again."""
        self.made, self.tests, self.told = [], [], []
        self.holds = True
        self.first = [FakeContainers(folder, level=level) for level in proven]
        self.watch = EngineWatch(
            found=engines,
            sandboxes=[*self.first, FakeSandbox(folder)],
            look=self._look,
            make=self._make,
            prove=self._prove,
            again_seconds=0,
            quiet_seconds=0,
        )
        self.watch.on_change = self._change

    async def _look(self, known):
        return self.answers.pop(0) if self.answers else list(self.engines)

    def _make(self, engine, gvisor):
        self.made.append(FakeContainers(self.folder, level=GVISOR if gvisor else CONTAINER))
        return self.made[-1]

    async def _prove(self, sandbox):
        self.tests.append(sandbox.level)
        return SelfTest(self.holds, () if self.holds else ("it leaks",))

    async def _change(self, sandboxes):
        self.told.append([sandbox.level for sandbox in sandboxes])


def test_engine_that_comes_up_later_is_offered_once_it_is_proven(tmp_path):
    async def story():
        machine = Machine(tmp_path)
        await machine.watch.look()
        assert (machine.told, machine.tests) == ([], [])
        machine.engines = [docker(gvisor=True)]
        await machine.watch.look()
        assert machine.tests == [GVISOR, CONTAINER]
        assert machine.told[-1] == [GVISOR, CONTAINER, BUBBLEWRAP]
        assert machine.watch.status()[0]["levels"] == ["container", "gvisor"]

    asyncio.run(story())


def test_nothing_is_tested_again_while_nothing_changes(tmp_path):
    async def story():
        machine = Machine(tmp_path, docker(), proven=[CONTAINER])
        for _ in range(2 * FORGIVE_LOOKS):
            await machine.watch.look()
        assert (machine.told, machine.tests) == ([], [])

    asyncio.run(story())


def test_engine_that_does_not_hold_is_not_offered_and_tried_again_when_it_changes(tmp_path):
    async def story():
        machine = Machine(tmp_path)
        machine.engines, machine.holds = [docker()], False
        for _ in range(3):
            await machine.watch.look()
        assert (machine.told, machine.tests) == ([], [CONTAINER])
        assert machine.made[0].closed
        assert machine.watch.status()[0]["problem"] == "it leaks"
        machine.engines, machine.holds = [docker("27.2")], True
        await machine.watch.look()
        assert machine.told == [[CONTAINER, BUBBLEWRAP]]

    asyncio.run(story())


def test_engine_that_failed_at_the_start_is_forgiven_after_an_hour(tmp_path):
    async def story():
        machine = Machine(tmp_path, docker())
        for _ in range(FORGIVE_LOOKS - 1):
            await machine.watch.look()
        assert machine.tests == []
        await machine.watch.look()
        assert machine.told == [[CONTAINER, BUBBLEWRAP]]

    asyncio.run(story())


def test_engine_that_has_gone_is_taken_away_and_comes_back_with_a_proof(tmp_path):
    async def story():
        machine = Machine(tmp_path, docker(), proven=[CONTAINER])
        busy = True
        machine.watch.is_idle = lambda: not busy
        (old,) = machine.first
        machine.engines = []
        await machine.watch.look()
        assert machine.told == [[BUBBLEWRAP]]
        # A job may still be in it.
        assert not old.closed
        machine.engines, busy = [docker()], False
        await machine.watch.look()
        assert machine.told == [[BUBBLEWRAP], [CONTAINER, BUBBLEWRAP]]
        assert (machine.tests, old.closed) == ([CONTAINER], True)
        assert machine.watch.sandboxes[0] is machine.made[0]

    asyncio.run(story())


def test_engine_that_misses_one_look_is_not_gone(tmp_path):
    async def story():
        machine = Machine(tmp_path, docker(), proven=[CONTAINER])
        machine.answers = [[]]
        await machine.watch.look()
        assert (machine.told, machine.tests) == ([], [])

    asyncio.run(story())


def test_engine_that_was_upgraded_or_started_anew_proves_itself_again(tmp_path):
    async def story():
        machine = Machine(tmp_path, docker(), proven=[CONTAINER])
        for change in (docker("28.0"), docker("28.0", stamp=2)):
            machine.told.clear()
            machine.engines = [change]
            await machine.watch.look()
            # Never offered between the change and the proof.
            assert machine.told == [[BUBBLEWRAP], [CONTAINER, BUBBLEWRAP]]
        assert machine.tests == [CONTAINER, CONTAINER]

    asyncio.run(story())


def test_no_test_begins_beside_a_job_that_has_just_begun(tmp_path):
    async def story():
        machine = Machine(tmp_path)
        beginning = [True, True, False]
        machine.watch.is_beginning = lambda: beginning.pop(0)
        machine.engines = [docker()]
        await machine.watch.look()
        assert (beginning, machine.tests) == ([], [CONTAINER])

    asyncio.run(story())


def test_hub_learns_of_a_new_level_while_a_job_runs_on(tmp_path, monkeypatch):
    monkeypatch.setattr("computepool.agent.housekeeping.QUIET_SECONDS", 3600.0)

    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            agent, node = running.agent, running.node
            attempt_id = hub.offer(node, "/bin/sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two")
            await hub.until(lambda: hub.logs[attempt_id])
            assert is_beginning(agent.supervisor)
            sandboxes = [FakeContainers(tmp_path / "containers", level=CONTAINER), *running.sandboxes]
            await agent.offer(sandboxes, agent.capacity.model_copy(update=isolation_of(sandboxes)))
            await hub.until(lambda: len(node.proofs) == 2)
            proof = node.proofs[1]
            assert proof.capacity.isolation == (CONTAINER, IsolationLevel.PROCESS)
            assert proof.capacity.networked == (CONTAINER, IsolationLevel.PROCESS)
            assert [held.state for held in proof.holding] == [AttemptState.RUNNING]
            (running.job_folders[0] / "work" / "go").touch()
            await hub.until(lambda: attempt_id in hub.receipts)
            assert bytes(hub.logs[attempt_id]) == b"one\ntwo\n"
            assert agent.status()["capacity"]["isolation"] == ["container", "process"]
            # Once is enough.
            assert len(node.proofs) == 2

    asyncio.run(story())


def test_doctor_asks_the_running_agent_which_engines_it_sees(tmp_path):
    async def story():
        machine = Machine(tmp_path / "containers", docker(), proven=[CONTAINER])
        async with FakeHub() as hub, running_agent(hub, tmp_path, engines=machine.watch) as running:
            home = running.home
            assert await asyncio.to_thread(engines_of_agent, home) is None
            async with serve_control(running.agent, home.socket_path):
                seen = await asyncio.to_thread(engines_of_agent, home)
                assert [(one["socket"], one["levels"]) for one in seen or ()] == [
                    ("/nowhere/docker.sock", ["container"])
                ]
                # Another engine of this shell's is not the agent's: only the agent's are tested.
                sandboxes = await sandboxes_to_examine(home)
                assert not [sandbox for sandbox in sandboxes if sandbox.takes_images]
                for sandbox in sandboxes:
                    await sandbox.close()

    asyncio.run(story())


# ── bugs put in on purpose ────────────────────────────────────────────────────────────────────────────────────────────


async def _offer_unproven(self, key, choice):
    self._offered[key] = self._make(*choice)
    await self.on_change(self.sandboxes)


async def _keep(self, keys):
    del keys


async def _close_at_once(self, keys):
    for key in keys:
        await self._offered.pop(key).close()
    if keys:
        await self.on_change(self.sandboxes)


MUTANTS = [
    (test_engine_that_does_not_hold_is_not_offered_and_tried_again_when_it_changes, "_try", _offer_unproven),
    (test_engine_that_has_gone_is_taken_away_and_comes_back_with_a_proof, "_withdraw", _keep),
    (test_engine_that_has_gone_is_taken_away_and_comes_back_with_a_proof, "_withdraw", _close_at_once),
]


@pytest.mark.parametrize(("story", "name", "bug"), MUTANTS)
def test_planted_bug_is_found(tmp_path, monkeypatch, story, name, bug):
    monkeypatch.setattr(EngineWatch, name, bug)
    with pytest.raises(AssertionError):
        story(tmp_path)


def test_engine_that_only_its_place_tells_apart_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "key_of", lambda one, gvisor: (gvisor, one.engine.path))
    with pytest.raises(AssertionError):
        test_engine_that_was_upgraded_or_started_anew_proves_itself_again(tmp_path)


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.asynccontextmanager
async def answering(path, kind):
    """An engine's socket, and how often it was asked."""
    asked = []

    async def talk(reader, writer):
        line = (await reader.readline()).split()[1]
        asked.append(line.decode())
        components = [{"Name": "Podman Engine"}] if kind == "podman" else [{"Name": "Engine"}]
        body = json.dumps({"Version": "1.0", "ApiVersion": "1.41", "Components": components}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(talk, str(path))
    try:
        yield asked
    finally:
        server.close()
        path.unlink(missing_ok=True)


def test_podman_is_not_kept_awake_by_looking_for_it(tmp_path):
    async def story():
        path = tmp_path / "p.sock"
        async with answering(path, "podman") as asked:
            first = await look_again([], sockets=[path])
            assert [one.facts.kind for one in first] == ["podman"]
            asked.clear()
            assert await look_again(first, sockets=[path]) == first
            assert asked == []
        # Another socket of the same name is another start, and worth a question.
        async with answering(path, "podman") as asked:
            again = await look_again(first, sockets=[path])
            assert asked
            assert again[0].stamp != first[0].stamp
        assert await look_again(again, sockets=[path]) == []

    asyncio.run(story())


def test_docker_is_asked_each_time(tmp_path):
    async def story():
        path = tmp_path / "d.sock"
        async with answering(path, "docker") as asked:
            first = await look_again([], sockets=[path])
            asked.clear()
            again = await look_again(first, sockets=[path])
            assert len(asked) == 2
            assert (again[0].stamp, again[0].facts) == (first[0].stamp, first[0].facts)

    asyncio.run(story())
