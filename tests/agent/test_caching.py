"""What a node keeps: one budget for all of it, the owner's floor of free space, and nothing that is in use goes."""

import asyncio
import os

import pytest
from support.fake_hub import FakeHub

from computepool.agent.caching import CacheKeeper, Kept, NoRoom, Room
from computepool.agent.environments import Environments
from computepool.agent.inputs import InputCache, InputFailed
from computepool.agent.ports import offload_to_threads
from computepool.agent.transfer import HttpTransfer
from computepool.agent.unremoved import UnremovedFolders

PLENTY = 10**12


class ListedShelf:
    def __init__(self, **sizes_and_ages):
        self.things = dict(sizes_and_ages)

    async def kept(self):
        def remover(name):
            async def remove():
                del self.things[name]
                return True

            return remove

        return [Kept(name, size, age, remover(name)) for name, (size, age) in self.things.items()]


def keeper(tmp_path, *shelves, cache=100, floor=0, free=lambda: PLENTY):
    return CacheKeeper(tmp_path, shelves, lambda: Room(cache, floor), offload_to_threads, lambda path: free())


def test_what_was_used_longest_ago_goes_first_whatever_it_is(tmp_path):
    images, inputs = ListedShelf(a=(60, 1), b=(30, 4)), ListedShelf(c=(30, 2), d=(30, 3))
    caches = keeper(tmp_path, images, inputs)
    asyncio.run(caches.tidy())
    assert (set(images.things), set(inputs.things)) == ({"b"}, {"c", "d"})
    assert caches.used_bytes == 90
    assert caches.names == ("b", "d", "c")


def test_room_is_made_before_something_new_comes(tmp_path):
    shelf = ListedShelf(a=(60, 1), b=(30, 2))
    asyncio.run(keeper(tmp_path, shelf).tidy(wanted_bytes=50))
    assert set(shelf.things) == {"b"}


def test_owners_floor_holds_even_within_the_budget(tmp_path):
    shelf = ListedShelf(a=(10, 1), b=(10, 2), c=(10, 3))
    caches = keeper(tmp_path, shelf, floor=50, free=lambda: 80 - sum(size for size, _ in shelf.things.values()))
    asyncio.run(caches.tidy(wanted_bytes=15))
    assert set(shelf.things) == {"c"}


def test_what_would_go_below_the_floor_is_refused_and_says_why(tmp_path):
    shelf = ListedShelf(a=(10, 1))
    caches = keeper(tmp_path, shelf, floor=50, free=lambda: 60)
    with pytest.raises(NoRoom, match="less than 50 free"):
        asyncio.run(caches.tidy(wanted_bytes=20))


def test_download_that_would_fill_the_owners_disk_is_not_begun(tmp_path):
    async def run():
        async with FakeHub() as hub:
            transfer = HttpTransfer(hub.url)
            cache = InputCache(tmp_path, transfer, offload_to_threads)
            cache.make_room = keeper(tmp_path, cache, cache=PLENTY, floor=50, free=lambda: 60).tidy
            bundle, downloads = hub.bundle(os.urandom(1000))
            with pytest.raises(InputFailed, match="free on the node's disk"):
                await cache.get(bundle, downloads[bundle.digest])
            assert hub.ranges == []
            await transfer.close()

    asyncio.run(run())


def test_inputs_go_when_newer_ones_need_their_room(tmp_path):
    async def run():
        async with FakeHub() as hub:
            transfer = HttpTransfer(hub.url)
            cache = InputCache(tmp_path, transfer, offload_to_threads)
            caches = keeper(tmp_path, cache, cache=2500)
            cache.make_room = caches.tidy
            told = []
            caches.on_change = lambda: told.append(caches.names)
            bundles = [hub.bundle(os.urandom(1000)) for _ in range(3)]
            paths = []
            for age, (bundle, downloads) in enumerate(bundles):
                paths.append(await cache.get(bundle, downloads[bundle.digest]))
                os.utime(paths[-1], (age, age))
            await caches.tidy()
            assert [path.exists() for path in paths] == [False, True, True]
            assert set(told[-1]) == {bundle.digest for bundle, _ in bundles[1:]}
            await transfer.close()

    asyncio.run(run())


def test_environment_that_a_job_sees_stays(tmp_path):
    async def run():
        environments = Environments(offload_to_threads, UnremovedFolders(offload_to_threads))
        environments._folders.add(tmp_path / "environments")
        for name in ("used", "old"):
            (tmp_path / "environments" / name).mkdir(parents=True)
            (tmp_path / "environments" / f"{name}.size").write_text("80")
        environments.use(tmp_path / "environments/used")
        caches = keeper(tmp_path, environments, cache=10)
        await caches.tidy()
        assert sorted(path.name for path in (tmp_path / "environments").iterdir()) == ["used", "used.size"]
        environments.let_go(tmp_path / "environments/used")
        await caches.tidy()
        assert list((tmp_path / "environments").iterdir()) == []

    asyncio.run(run())
