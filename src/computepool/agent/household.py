"""What a real machine brings to its agent: its owner's wishes, its GPUs, its images, its caches, its way out."""

import contextlib
import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from computepool.agent.caching import CacheKeeper, Kept, Room, Shelf
from computepool.agent.clock import Clock
from computepool.agent.detect import Hardware
from computepool.agent.detect.monitor import GpuMonitor
from computepool.agent.egress import Allowance, Resolver, TokenBucket
from computepool.agent.egress.allowance import count_for_strangers
from computepool.agent.environments import Environments
from computepool.agent.home import AgentHome
from computepool.agent.images import ImageUnavailable
from computepool.agent.inputs import InputCache
from computepool.agent.outside import Outside, find_outside
from computepool.agent.owner.opening import open_watch
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.ownership import OpenWatch
from computepool.agent.ports import Transfer, offload_to_threads
from computepool.agent.registry import Puller
from computepool.agent.sandbox import ContainerSandbox, EngineImages, Sandbox
from computepool.agent.sandbox.containers import Engine, EngineFacts
from computepool.agent.unremoved import UNREMOVED_FILE, UnremovedFolders
from computepool.protocol.messages import cached_image

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Household:
    outside: Outside
    open_watch: OpenWatch
    images: "NodeImages"
    passed: Callable[[int], None]
    """To be told of bytes that were moved for an attempt: those for strangers are counted."""
    monitor: GpuMonitor | None = None


@dataclass(frozen=True)
class Stores:
    inputs: InputCache
    environments: Environments
    unremoved: UnremovedFolders
    keeper: CacheKeeper


async def keep_house(
    home: AgentHome,
    policy_file: PolicyFile,
    hardware: Hardware,
    sandboxes: Sequence[Sandbox],
    clock: Clock,
    closing: contextlib.AsyncExitStack,
    transfer: Transfer,
) -> Household:
    policy_file.refresh()
    policy = policy_file.policy
    allowance = Allowance(
        home.root / "network.json", clock, limit_bytes=policy.network.monthly_data, offload=offload_to_threads
    )
    closing.push_async_callback(allowance.close)
    resolver = Resolver()
    closing.callback(resolver.close)
    rate = policy.network.rate
    outside = await offload_to_threads(
        find_outside,
        clock,
        resolver.lookup,
        allowance=allowance,
        bucket=TokenBucket(rate, clock.monotonic) if rate is not None else None,
        allowed=functools.partial(_own_indexes, policy_file),
    )
    monitor = await _watch_gpus(home, hardware, clock, closing)
    watch = functools.partial(
        open_watch,
        home.root,
        clock=clock,
        offload=offload_to_threads,
        gpus=monitor.now if monitor is not None else tuple,
        data_used_bytes=lambda: allowance.used_bytes,
    )
    passed = functools.partial(count_for_strangers, allowance)
    layers = InputCache(home.layers, transfer, offload_to_threads)
    images = NodeImages(home, policy_file, clock, outside, layers)
    images.follow(sandboxes)
    return Household(outside, watch, images, passed, monitor)


def _own_indexes(policy_file: PolicyFile) -> frozenset[str]:
    """By what is written now: who has just been told to name an index tries again at once."""
    policy_file.refresh()
    return frozenset(policy_file.policy.network.indexes)


async def _watch_gpus(
    home: AgentHome, hardware: Hardware, clock: Clock, closing: contextlib.AsyncExitStack
) -> GpuMonitor | None:
    if not hardware.gpus:
        return None
    monitor = GpuMonitor(hardware.gpus, hardware.gpu_pci, clock=clock, power_note=home.root / "power-limits.json")
    # An agent that crashed may have left a card slow.
    await offload_to_threads(monitor.restore_power_limits)
    closing.push_async_callback(offload_to_threads, monitor.close)
    closing.push_async_callback(offload_to_threads, monitor.restore_power_limits)
    return monitor


def images_file(home: AgentHome, facts: EngineFacts) -> Path:
    """What an engine was given for jobs, so that nothing of it is forgotten when jobs run in another one."""
    return home.root / f"images-{facts.kind}{'-rootless' if facts.rootless else ''}.json"


class NodeImages:
    """The images that jobs bring, in the engine that they run in now, if there is one, and the layers of them. Also a
    shelf of the caches."""

    def __init__(
        self, home: AgentHome, policy_file: PolicyFile, clock: Clock, outside: Outside, layers: InputCache
    ) -> None:
        self.layers = layers
        self._home = home
        self._policy_file = policy_file
        self._clock = clock
        self._outside = outside
        self._engine: tuple[Path, EngineFacts] | None = None
        self._images: EngineImages | None = None
        self._puller: Puller | None = None

    def follow(self, sandboxes: Sequence[Sandbox]) -> None:
        """Those of the engine that jobs with an image run in."""
        containers = [sandbox for sandbox in sandboxes if isinstance(sandbox, ContainerSandbox)]
        engine = (containers[0].engine.path, containers[0].facts) if containers else None
        if engine == self._engine:
            return
        self._engine, self._images, self._puller = engine, None, None
        if engine is not None:
            path, facts = engine
            self._images = EngineImages(
                Engine(path), facts, state=images_file(self._home, facts), clock=self._clock, offload=offload_to_threads
            )
            self._puller = Puller(
                self._images,
                self.layers,
                self._outside,
                self._clock,
                offload_to_threads,
                floor_bytes=self._policy_file.policy.storage.keep_free,
            )

    async def ensure(self, name: str, digest: str | None, progress: Callable[[str], None], *, own: bool) -> str:
        if self._puller is None:
            raise ImageUnavailable("the container engine of this node has gone")
        return await self._puller.ensure(name, digest, progress, own=own)

    async def kept(self) -> Sequence[Kept]:
        # Layers have no name that the hub would understand.
        return [*await self._kept_images(), *(replace(layer, name="") for layer in await self.layers.kept())]

    async def _kept_images(self) -> Sequence[Kept]:
        images = self._images
        if images is None:
            return ()
        try:
            found = await images.list()
        except Exception as error:
            # An engine that is away takes nothing and gives nothing.
            log.warning("images.unlisted", extra={"reason": str(error)})
            return ()
        return [
            Kept(
                cached_image(one.name),
                one.size_bytes,
                one.last_used_at.timestamp(),
                functools.partial(images.remove, one.reference),
            )
            for one in found
        ]


def make_stores(
    home: AgentHome,
    policy_file: PolicyFile,
    transfer: Transfer,
    images: NodeImages,
    sandboxes: Sequence[Sandbox],
) -> Stores:
    inputs = InputCache(home.cache, transfer, offload_to_threads)
    unremoved = UnremovedFolders(offload_to_threads, home.root / UNREMOVED_FILE)
    environments = Environments(offload_to_threads, unremoved, sandboxes)
    shelves: list[Shelf] = [inputs, environments, images]

    def room() -> Room:
        policy_file.refresh()
        storage = policy_file.policy.storage
        return Room(storage.cache, storage.keep_free)

    keeper = CacheKeeper(home.root, shelves, room, offload_to_threads)
    inputs.make_room = images.layers.make_room = keeper.tidy
    return Stores(inputs, environments, unremoved, keeper)
