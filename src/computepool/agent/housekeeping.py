"""Now and then: what the owner wrote into the policy is followed, the owner's disk is kept free, and what the machine
has gained or lost is taken up."""

import logging
import shutil
from collections.abc import Callable, Sequence

from computepool.agent.engines import QUIET_SECONDS
from computepool.agent.owner.policy import Policy
from computepool.agent.ownership import EVICT_GRACE_SECONDS
from computepool.agent.sandbox.interface import Sandbox
from computepool.agent.supervisor import Supervisor
from computepool.agent.workshop import Workshop
from computepool.protocol.capacity import Capacity
from computepool.protocol.messages import NodeReport

log = logging.getLogger(__name__)


def is_beginning(supervisor: Supervisor) -> bool:
    """Whether a job has begun a moment ago."""
    now = supervisor.monotonic()
    starts = [attempt.started_monotonic for attempt in supervisor.attempts if attempt.ended is None]
    return any(start is not None and now - start < QUIET_SECONDS for start in starts)


class Housekeeping:
    def __init__(self, shop: Workshop, supervisor: Supervisor, tell_capacity: Callable[[], None]) -> None:
        """`tell_capacity` makes the hub hear what the node has now."""
        self._shop = shop
        self._supervisor = supervisor
        self._tell_capacity = tell_capacity
        self._disk_bytes = shop.capacity.disk_bytes
        shop.unremoved.on_change = self._count_unremoved

    async def tick(self, policy: Policy | None) -> None:
        """`policy` is the owner's, where there is one."""
        now = self._supervisor.monotonic()
        if self._shop.unremoved.is_due(now):
            # Beside the tick: it may take minutes.
            self._supervisor.soon(self._shop.unremoved.retry(now))
        if policy is not None:
            self._follow(policy)
            await self._keep_disk_free(policy.storage.keep_free)

    def _count_unremoved(self) -> None:
        """What could not be removed is not on offer."""
        offered = max(0, self._disk_bytes - self._shop.unremoved.new_bytes)
        if offered != self._shop.capacity.disk_bytes:
            self._shop.capacity = self._shop.capacity.model_copy(update={"disk_bytes": offered})
            self._tell_capacity()

    async def offer(self, sandboxes: Sequence[Sandbox], capacity: Capacity) -> None:
        """From now on these, and no others. What runs in others runs on."""
        kept = [attempt.folder for attempt in self._supervisor.attempts if attempt.folder is not None]
        for sandbox in sandboxes:
            await self._shop.folders.add(sandbox, kept)
        own_jobs = self._shop.own_jobs
        if own_jobs is not None:
            capacity = capacity.model_copy(update=own_jobs.offered(sandboxes))
        self._shop.sandboxes = sandboxes
        self._shop.capacity = capacity
        self._tell_capacity()
        log.info("node.isolation", extra={"levels": [level.value for level in capacity.isolation]})

    def _follow(self, policy: Policy) -> None:
        """It holds from now on, without a restart."""
        shop = self._shop
        shop.least_isolation = policy.welcome.isolation
        if shop.outside is not None and shop.outside.allowance is not None:
            shop.outside.allowance.limit_bytes = policy.network.monthly_data
        rules = policy.house_rules()
        if rules != shop.rules:
            shop.rules = rules
            shop.capacity = shop.capacity.model_copy(update={"rules": rules})
            shop.outgoing.put(NodeReport(rules=rules))
            log.info("owner.rules", extra={"rules": rules.model_dump_json(exclude_defaults=True)})
        own_jobs = shop.own_jobs
        if own_jobs is not None and own_jobs.following(policy.own) is not own_jobs:
            shop.own_jobs = own_jobs.following(policy.own)
            shop.capacity = shop.capacity.model_copy(update=shop.own_jobs.offered(shop.sandboxes))
            self._tell_capacity()
            allowed = {"keys": shop.capacity.owner_keys, "unsandboxed": shop.own_jobs.process}
            log.info("owner.own_jobs", extra=allowed)

    async def _keep_disk_free(self, keep_free_bytes: int) -> None:
        """Jobs have their limits; together with all else that happens on the machine they may be too much."""
        busy = [one for one in self._supervisor.attempts if one.ended is None and one.folder and not one.own]
        if not busy:
            return
        newest = busy[-1]
        if newest.ending is not None:
            return
        free = (await self._shop.offload(shutil.disk_usage, str(newest.folder))).free
        if free < keep_free_bytes:
            # Jobs' logs and caches are in no grant, and may be what filled it: this is the owner's wish, not a fault.
            log.warning("owner.disk_full", extra={"attempt_id": newest.id, "free_bytes": free})
            newest.say("the node's disk is nearly full: its owner keeps the rest, and the job goes on elsewhere")
            self._supervisor.give_back(newest, "owner", EVICT_GRACE_SECONDS)
