"""What a real machine brings to its agent: its owner's wishes, its GPUs, its images, its caches, its way out."""

import contextlib
import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from computepool.agent.caching import CacheKeeper, Kept, Room, Shelf
from computepool.agent.clock import Clock
from computepool.agent.detect import Hardware
from computepool.agent.detect.monitor import GpuMonitor
from computepool.agent.egress import Allowance, Resolver, TokenBucket
from computepool.agent.environments import Environments
from computepool.agent.home import AgentHome
from computepool.agent.inputs import InputCache
from computepool.agent.outside import Outside, find_outside
from computepool.agent.owner.opening import open_watch
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.ownership import OpenWatch
from computepool.agent.ports import Transfer, offload_to_threads
from computepool.agent.sandbox import ContainerSandbox, EngineImages, Sandbox
from computepool.agent.sandbox.containers import Engine
from computepool.protocol.messages import cached_image

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Household:
    outside: Outside
    open_watch: OpenWatch
    images: EngineImages | None = None
    monitor: GpuMonitor | None = None


@dataclass(frozen=True)
class Stores:
    inputs: InputCache
    environments: Environments
    keeper: CacheKeeper


async def keep_house(
    home: AgentHome,
    policy_file: PolicyFile,
    hardware: Hardware,
    sandboxes: Sequence[Sandbox],
    clock: Clock,
    closing: contextlib.AsyncExitStack,
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
    return Household(outside, watch, _images_of(home, policy_file, clock, sandboxes), monitor)


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


def _images_of(
    home: AgentHome, policy_file: PolicyFile, clock: Clock, sandboxes: Sequence[Sandbox]
) -> EngineImages | None:
    """Those of the engine that jobs with an image run in."""
    for sandbox in sandboxes:
        if isinstance(sandbox, ContainerSandbox):
            floor = policy_file.policy.storage.keep_free
            engine = Engine(sandbox.engine.path)
            return EngineImages(engine, sandbox.facts, state=home.root / "images.json", clock=clock, floor_bytes=floor)
    return None


class ImageShelf:
    """The images that jobs brought, as the caches see them."""

    def __init__(self, images: EngineImages) -> None:
        self._images = images

    async def kept(self) -> Sequence[Kept]:
        try:
            found = await self._images.list()
        except Exception as error:
            # An engine that is away takes nothing and gives nothing.
            log.warning("images.unlisted", extra={"reason": str(error)})
            return ()
        return [
            Kept(
                cached_image(one.name),
                one.size_bytes,
                one.last_used_at.timestamp(),
                functools.partial(self._images.remove, one.digest),
            )
            for one in found
            if one.is_ours
        ]


def make_stores(
    home: AgentHome,
    policy_file: PolicyFile,
    transfer: Transfer,
    images: EngineImages | None,
    sandboxes: Sequence[Sandbox],
) -> Stores:
    inputs = InputCache(home.cache, transfer, offload_to_threads)
    environments = Environments(offload_to_threads, sandboxes)
    shelves: list[Shelf] = [inputs, environments]
    if images is not None:
        shelves.append(ImageShelf(images))

    def room() -> Room:
        policy_file.refresh()
        storage = policy_file.policy.storage
        return Room(storage.cache, storage.keep_free)

    keeper = CacheKeeper(home.root, shelves, room, offload_to_threads)
    inputs.make_room = keeper.tidy
    return Stores(inputs, environments, keeper)
