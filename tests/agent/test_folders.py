"""Folders of jobs: clean ones ready ahead of time, used ones removed whatever the job did to them."""

import asyncio
import os

from support.agents import offload_inline
from support.fake_sandbox import FakeSandbox
from support.ordinary_user import ordinary_folder, ordinary_user
from support.waiting import async_eventually

from computepool.agent.folders import JobFolders, remove_folders
from computepool.agent.unremoved import UnremovedFolders


def test_folder_is_ready_before_it_is_needed_and_never_used_twice(tmp_path):
    async def story():
        sandbox = FakeSandbox(tmp_path / "attempts")
        (sandbox.attempts_folder / "attempt_stray").mkdir()
        (sandbox.attempts_folder / "attempt_kept").mkdir()
        folders = JobFolders(offload_inline, UnremovedFolders(offload_inline))
        await folders.begin([sandbox], [str(sandbox.attempts_folder / "attempt_kept")])
        assert sorted(path.name for path in sandbox.attempts_folder.iterdir()) == [".ready", "attempt_kept"]
        seen = set()
        for number in range(6):
            folder = folders.take(sandbox, f"attempt_{number}")
            assert sorted(path.name for path in folder.iterdir()) == ["checkpoint", "output", "work"]
            assert not any(list(path.iterdir()) for path in folder.iterdir())
            seen.add(folder.stat().st_ino)
            (folder / "work" / "left").write_text("behind")
            if number % 2:
                folders.give_back(str(folder))
                await asyncio.sleep(0)
        assert len(seen) >= 5
        left = [".ready", "attempt_0", "attempt_2", "attempt_4", "attempt_kept"]
        await async_eventually(
            lambda: sorted(path.name for path in sandbox.attempts_folder.iterdir()) == left,
            "the folders that were given back are removed",
        )
        await folders.close()

    asyncio.run(story())


def test_whatever_a_job_left_is_removed_and_nothing_else(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    job = tmp_path / "job"
    deep = job / "work" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (deep / "link").symlink_to(outside)
    (job / "output").symlink_to(outside)
    os.mkfifo(job / "pipe")
    deep.chmod(0o000)
    (job / "work").chmod(0o500)
    assert remove_folders([str(job), str(tmp_path / "never_was")]) == []
    assert not job.exists()
    assert (outside / "precious").read_text() == "mine"


def test_closed_folders_inside_closed_folders_are_removed_by_an_ordinary_user():
    with ordinary_folder() as home, ordinary_user():
        places = [home / "job", home / "job/work", home / "job/work/a", home / "job/work/a/b"]
        for place in places:
            place.mkdir()
            (place / "file").write_text("x")
        for place in reversed(places):
            place.chmod(0)
        assert remove_folders([str(places[0])]) == []
        assert not places[0].exists()
