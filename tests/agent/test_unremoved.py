"""What cannot be removed is remembered, counted, named, tried again, and keeps no agent from starting."""

import asyncio
import os
import subprocess

import pytest
from support import engines
from support.agents import SkippingClock, offload_inline, running_agent
from support.deep_folders import dig
from support.fake_hub import FakeHub
from support.proofs import figure

from computepool.agent import agent as agents
from computepool.agent import environments, folders
from computepool.agent.doctor.folder import check_unremoved
from computepool.agent.outputs import OutputsRefused, collect
from computepool.agent.pieces import run_through
from computepool.agent.removal import Remains, remove_tree
from computepool.agent.sandbox.space import folder_bytes
from computepool.agent.snapshots import look_at
from computepool.agent.trees import TooDeep, open_folder
from computepool.agent.unremoved import RETRY_SECONDS, UNREMOVED_FILE, UnremovedFolders, read_unremoved
from computepool.cli.agent_screen import screen


@pytest.fixture
def mounted(tmp_path):
    """A folder of an ended job, with a mount that the agent may not touch."""
    engines.require("small-disk")
    if os.geteuid() != 0:
        pytest.skip("root: only it mounts something for everybody to see")
    point = tmp_path / "agent" / "attempts" / "attempt_left" / "work" / "there"
    point.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", point], check=True)
    yield point
    subprocess.run(["umount", point], check=False, capture_output=True)


def test_what_an_agent_cannot_remove_is_counted_named_and_tried_again(tmp_path, mounted, monkeypatch):
    monkeypatch.setattr(agents, "TICK_SECONDS", 0.05)
    monkeypatch.setattr(folders, "RETRY_SECONDS", 0.001)
    (attempt,) = (tmp_path / "agent" / "attempts").iterdir()
    aside = tmp_path / "aside"
    attempt.rename(aside)

    async def story():
        clock = SkippingClock()
        async with FakeHub() as hub, running_agent(hub, tmp_path, clock=clock) as running:
            whole = running.agent.capacity.disk_bytes
            aside.rename(attempt)
            running.agent._shop.folders.give_back(str(attempt))
            await hub.until(lambda: running.agent.status()["unremoved"])
            (remains,) = running.agent.status()["unremoved"]
            assert remains["path"] == str(attempt)
            assert remains["reason"] == "there: something is mounted there"
            assert running.agent.capacity.disk_bytes == whole - remains["size_bytes"] < whole
            await hub.until(lambda: running.node.proofs[-1].capacity.disk_bytes == running.agent.capacity.disk_bytes)
            (check,) = check_unremoved(running.home)
            assert check.level == "warn"
            assert str(attempt) in check.message
            assert "findmnt" in check.hint
            assert "rm -rf" not in check.hint
            await asyncio.to_thread(subprocess.run, ["umount", attempt / "work" / "there"], check=True)
            clock.skipped += RETRY_SECONDS
            await hub.until(lambda: not attempt.exists())
            await hub.until(lambda: running.node.proofs[-1].capacity.disk_bytes == whole)
            assert list(check_unremoved(running.home)) == []

    asyncio.run(story())


def test_what_is_left_and_not_counted_is_found(tmp_path, mounted, monkeypatch):
    """A planted bug, for the test above."""
    monkeypatch.setattr(UnremovedFolders, "new_bytes", 0)
    with pytest.raises(AssertionError):
        test_what_an_agent_cannot_remove_is_counted_named_and_tried_again(tmp_path, mounted, monkeypatch)


def test_agent_starts_with_what_it_cannot_remove_and_remembers_it(tmp_path, mounted):
    attempt = mounted.parent.parent

    async def story():
        async with FakeHub() as hub:
            for _ in range(2):
                async with running_agent(hub, tmp_path) as running:
                    (remains,) = running.agent.supervisor.unremoved.remains
                    assert remains.path == str(attempt)
                    # The disk was measured with it.
                    assert running.agent.supervisor.unremoved.new_bytes == 0
                    attempt_id = hub.offer(running.node, "/bin/sh", "-c", "exit 0")
                    await hub.until(lambda: attempt_id in hub.receipts)  # noqa: B023 - awaited here

    asyncio.run(story())


def test_agent_starts_whatever_lies_in_its_folders(tmp_path):
    """Deep folders, and folders where files belong."""
    names = {
        "attempts": ["attempt_1", ".ready"],
        "staging": ["attempt_1"],
        "environments": ["key.new", "key.gone", "key.size"],
        "journal": ["attempt_1.log", "attempt_1.tail"],
        "cache": ["stray.part"],
    }
    places = [tmp_path / "agent" / folder / name for folder, found in names.items() for name in found]
    for place in places:
        dig(place, 1_100)
    odd = [tmp_path / "agent" / folder / os.fsdecode(b"odd\xff\n.log") for folder in names]
    for path in odd:
        path.touch()

    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            attempt_id = hub.offer(running.node, "/bin/sh", "-c", "exit 0")
            await hub.until(lambda: attempt_id in hub.receipts)

    asyncio.run(story())
    assert [place for place in places if place.exists()] == []


def test_remembered_folders_survive_a_restart_and_are_forgotten_when_they_are_gone(tmp_path):
    file, places = tmp_path / UNREMOVED_FILE, [tmp_path / "one", tmp_path / "two"]
    for place in places:
        place.mkdir()
    paths = list(map(str, places))

    async def story():
        unremoved = UnremovedFolders(offload_inline, file)
        changes = []
        unremoved.on_change = lambda: changes.append(unremoved.new_bytes)
        await unremoved.note(paths, [Remains(path, "busy", 1, 1000) for path in paths])
        assert changes == [2000]
        again = UnremovedFolders(offload_inline, file)
        assert [remains.path for remains in again.remains] == paths
        assert again.new_bytes == 0
        places[0].rmdir()
        assert [remains.path for remains in read_unremoved(file)] == paths[1:]
        assert unremoved.is_due(0.0)
        await unremoved.retry(0.0)
        assert not unremoved.is_due(0.0)
        assert (unremoved.remains, changes) == ((), [2000, 0])

    asyncio.run(story())


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", '[{"path": 1}]', '[{"path": "/", "more": 1}]'])
def test_unreadable_memory_is_an_empty_one(tmp_path, text):
    (tmp_path / UNREMOVED_FILE).write_text(text)
    assert read_unremoved(tmp_path / UNREMOVED_FILE) == []


def test_status_says_that_something_was_left():
    from rich.console import Console

    shown = Console(width=120)
    with shown.capture() as captured:
        shown.print(screen({"unremoved": [{"path": "/x", "reason": "busy", "size_bytes": 5_000_000}]}, 120))
    assert "1 folder of ended jobs, 4.8 MB: see computepool agent doctor" in captured.get()


@pytest.mark.proof
def test_no_walk_over_a_jobs_folders_depends_on_their_depth(tmp_path):
    job, deep = tmp_path / "job", tmp_path / "deep"
    for place in ("work", "output", "checkpoint", "env"):
        (job / place).mkdir(parents=True)
    dig(deep, figure(4_000, 20_000))
    try:
        deep = deep.rename(job / "output" / "deep")
        with pytest.raises(OutputsRefused, match="folders deep"):
            run_through(collect(job, ()))
        deep = deep.rename(job / "work" / "deep")
        with pytest.raises(OutputsRefused, match="folders deep"):
            run_through(collect(job, ["**"]))
        assert environments.look(job) != environments.look(job), "nobody can say that nothing changed"
        deep = deep.rename(job / "checkpoint" / "deep")
        with pytest.raises(OutputsRefused, match="folders deep"):
            run_through(look_at(job, "checkpoint"))
        root = open_folder(job)
        with pytest.raises(TooDeep):
            asyncio.run(folder_bytes(root))
        os.close(root)
        deep = deep.rename(job / "env" / "deep")
        with pytest.raises(TooDeep):
            environments.keep(job, tmp_path / "environments" / "key")
        assert deep.is_dir(), "the job goes on with it"
    finally:
        assert remove_tree(deep) is None
