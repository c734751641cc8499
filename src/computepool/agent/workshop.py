"""What every attempt on this node shares: passed in once, so that nothing below reaches for a global."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from computepool.agent.attempt import Attempt
from computepool.agent.caching import CacheKeeper
from computepool.agent.clock import Clock, HubTime
from computepool.agent.disk import NO_ROOM_BYTES
from computepool.agent.environments import Environments
from computepool.agent.folders import JobFolders
from computepool.agent.home import Identity, NodeRecord
from computepool.agent.images import Images
from computepool.agent.inputs import InputCache
from computepool.agent.journal import Journal
from computepool.agent.outgoing import Outgoing
from computepool.agent.output import PipeOutput
from computepool.agent.outside import Outside
from computepool.agent.own_jobs import OwnerCheck, OwnJobs, believed
from computepool.agent.ports import Offload, OpenOutput, Transfer
from computepool.agent.sandbox.interface import Sandbox
from computepool.agent.unremoved import UnremovedFolders
from computepool.protocol.capacity import Capacity, HouseRules
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import LOG_LIMIT_BYTES, Update, UploadFile, UploadGrant, UploadRequest
from computepool.protocol.states import AttemptState, IsolationLevel
from computepool.protocol.timing import FETCH_SECONDS

log = logging.getLogger(__name__)

ToldState = Literal["preparing", "running", "suspended", "finishing"]


@dataclass
class Workshop:
    node: NodeRecord
    identity: Identity
    capacity: Capacity
    clock: Clock
    hub_time: HubTime
    offload: Offload
    sandboxes: Sequence[Sandbox]
    staging: Path
    """Where copies lie that are being uploaded."""
    journal: Journal
    folders: JobFolders
    cache: InputCache
    environments: Environments
    transfer: Transfer
    outgoing: Outgoing
    unremoved: UnremovedFolders
    open_output: OpenOutput = PipeOutput
    gpu_devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By GPU id: the device files that a job with this GPU needs."""
    log_limit_bytes: int = LOG_LIMIT_BYTES
    images: Images | None = None
    outside: Outside | None = None
    caches: CacheKeeper | None = None
    rules: HouseRules = HouseRules()  # noqa: RUF009 - frozen
    least_isolation: IsolationLevel = IsolationLevel.BUBBLEWRAP
    """What the host asks for strangers' work."""
    log_look_seconds: float = 10.0
    """How often it is looked whether a log that is on its way to the hub goes forward."""
    fetch_seconds: float = FETCH_SECONDS
    """For a stranger's image and https inputs together."""
    own_jobs: OwnJobs | None = None
    """None where the hub is believed: on a machine that is not real."""

    hub_end_reasons: frozenset[str] = frozenset()
    """What the hub's last welcome named: other new reasons are told by an older name."""

    def whose(self, manifest: Manifest) -> OwnerCheck:
        if self.own_jobs is None:
            return believed(manifest)
        return self.own_jobs.check(manifest, self.clock.now())

    async def tidy_caches(self) -> None:
        """Now and then. What cannot be tidied harms no job."""
        if self.caches is not None:
            try:
                await self.caches.tidy()
            except Exception as error:
                log.warning("cache.untidy", extra={"reason": f"{type(error).__name__}: {error}"})

    def is_filled_by_logs(self, folder: str) -> bool:
        """Whether there would be room on a full disk but for the logs of jobs, which no grant counts."""
        try:
            return self.journal.log_bytes(Path(folder).stat().st_dev) > NO_ROOM_BYTES
        except OSError:
            return False

    def devices_for(self, gpus: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(device for gpu in gpus for device in self.gpu_devices.get(gpu, ())))

    def tell_finishing(self, attempt: Attempt) -> None:
        """Its command is over and the rest takes a while: without this the hub would count it as running time."""
        if not attempt.told_finishing and not attempt.gone and not attempt.over_at:
            attempt.told_finishing = True
            self.tell(attempt, "finishing")

    def tell(
        self,
        attempt: Attempt,
        state: ToldState,
        isolation: IsolationLevel | None = None,
        image_digest: str | None = None,
    ) -> None:
        """Report a state. Each costs the hub a transaction, so only those that mean something are told."""
        attempt.state = AttemptState(state)
        update = Update(
            attempt_id=attempt.id,
            fence=attempt.manifest.fence,
            sequence=attempt.reports.next_sequence(),
            state=state,
            isolation=isolation,
            image_digest=image_digest,
            at=self.hub_time.now(),
        )
        attempt.reports.add(update, self.clock.monotonic())
        self.outgoing.put(update)


async def ask_for_places(
    shop: Workshop, attempt: Attempt, files: tuple[UploadFile, ...], purpose: Literal["output", "checkpoint"]
) -> UploadGrant:
    """Where the hub wants these files; waits as long as it is away."""
    attempt.upload_requests += 1
    request = UploadRequest(
        attempt_id=attempt.id,
        fence=attempt.manifest.fence,
        request=attempt.upload_requests,
        files=files,
        purpose=purpose,
    )
    granted = attempt.ask(request, shop.clock.monotonic())
    shop.outgoing.put(request)
    return await granted
