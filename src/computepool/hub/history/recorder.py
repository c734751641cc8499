"""Samples as they come, in memory, and their way into the database every few minutes.

What agents say is not trusted: a sample gets the hub's time, counts once, and comes at most so often. A crash of the
hub costs the samples since the last write.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from computepool.hub.core.context import Context
from computepool.hub.core.pruning import prune_in_batches
from computepool.hub.history.metrics import (
    GPUS_RECORDED,
    AttemptMetrics,
    Metric,
    NodeMetrics,
    Values,
    stored_values,
)
from computepool.hub.history.repository import (
    COARSE_STEP,
    FINE_DAYS,
    FINEST,
    Delta,
    HistoryKind,
    add_samples,
    merge_old,
    prune_history,
    read_series,
)
from computepool.hub.history.series import Series, decode, encode, merged
from computepool.protocol.messages import AttemptUsage, NodeReport
from computepool.protocol.telemetry import UsageSample

WRITE_SECONDS = 300.0
"""How often samples are stored: what a crash can cost."""
WRITTEN_AT_ONCE = 200
"""Subjects in one transaction: a few milliseconds of SQLite's one writer."""
RECENT_STEP = 60
RECENT_BUCKETS = 60
"""Of a node, in memory: the last hour by the minute. A start of the hub begins it anew."""
NODE_PAUSE_SECONDS = 7.5
"""A node's samples that come sooner are dropped: at most 120 in a bucket, which bounds what a bucket takes."""
ATTEMPT_BUCKET_SAMPLES = 16
"""Of one attempt in ten seconds."""
KEPT_SECONDS = 900.0
"""An attempt's samples are taken for so long after its last one: its end may be heard before them."""
MERGED_AT_ONCE = 500
POOL = "pool"


@dataclass
class Recent:
    """The last hour by the minute. Minutes that are over are kept as bytes: a node takes about 7 kB."""

    open: Series = field(default_factory=lambda: Series(RECENT_STEP))
    closed: deque[bytes] = field(default_factory=lambda: deque(maxlen=RECENT_BUCKETS))

    def add(self, at: float, values: Mapping[int, int]) -> None:
        if self.open and int(at // RECENT_STEP) not in self.open.buckets:
            self.closed.append(encode(self.open))
            self.open = Series(RECENT_STEP)
        self.open.add(at, values)

    def whole(self) -> Series:
        return merged(self.open, *(decode(minute) for minute in self.closed))


@dataclass
class Track:
    """One subject that is being recorded."""

    kind: HistoryKind
    subject: str
    pending: Series
    """Not stored yet."""
    heard_at: float
    """On the hub's elapsed clock."""
    recent: Recent | None = None
    next_number: int = 0
    """Of an attempt: earlier samples are there already."""
    node_id: str = ""
    fence: int = 0

    def take(self, at: float, values: Mapping[int, int]) -> None:
        self.pending.add(at, values)
        if self.recent is not None:
            self.recent.add(at, values)


class History:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._tracks: dict[tuple[HistoryKind, str], Track] = {}
        self.heard_node: Callable[[str, NodeReport], None] = lambda node_id, report: None
        """Called with each report about a node that is taken."""
        self._writing = asyncio.Lock()
        """A reader waits for a write: else it could count what is being stored twice."""

    # ── samples ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def hear(self, node_id: str, gpu_ids: Sequence[str], fences: Mapping[str, int], report: NodeReport) -> None:
        """What an agent tells. `fences` are those of the attempts that the node holds, by id. No I/O."""
        if report.machine is not None or report.gpus:
            self._hear_node(node_id, gpu_ids, report)
        for usage in report.usage:
            self._hear_attempt(node_id, fences, usage)

    def add_pool(self, values: Values) -> None:
        """One sample of the pool as a whole."""
        self._track(HistoryKind.POOL, POOL).take(self._now(), stored_values(values))

    def _hear_node(self, node_id: str, gpu_ids: Sequence[str], report: NodeReport) -> None:
        now = self._context.clock.monotonic()
        known = self._tracks.get((HistoryKind.NODE, node_id))
        if known is not None and now - known.heard_at < NODE_PAUSE_SECONDS:
            return
        track = self._track(HistoryKind.NODE, node_id)
        if track.recent is None:
            track.recent = Recent()
        track.take(self._now(), stored_values(node_values(gpu_ids, report)))
        self.heard_node(node_id, report)

    def _hear_attempt(self, node_id: str, fences: Mapping[str, int], usage: AttemptUsage) -> None:
        known = self._tracks.get((HistoryKind.ATTEMPT, usage.attempt_id))
        if known is not None and (known.node_id, known.fence) != (node_id, usage.fence):
            known = None
        if known is None and fences.get(usage.attempt_id) != usage.fence:
            return
        track = known or self._begin(node_id, usage)
        track.heard_at, now = self._context.clock.monotonic(), self._now()
        for number, sample in enumerate(usage.samples, usage.first):
            if number >= track.next_number:
                track.next_number = number + 1
                self._take_usage(track, now - sample.age_seconds, sample)

    def _begin(self, node_id: str, usage: AttemptUsage) -> Track:
        track = self._track(HistoryKind.ATTEMPT, usage.attempt_id)
        track.node_id, track.fence, track.next_number = node_id, usage.fence, 0
        return track

    def _take_usage(self, track: Track, at: float, sample: UsageSample) -> None:
        bucket = track.pending.buckets.get(int(at // track.pending.step), {})
        if all(cell.samples < ATTEMPT_BUCKET_SAMPLES for cell in bucket.values()):
            track.take(at, stored_values(usage_values(sample)))

    def _track(self, kind: HistoryKind, subject: str) -> Track:
        now = self._context.clock.monotonic()
        track = self._tracks.get((kind, subject))
        if track is None:
            track = self._tracks[kind, subject] = Track(kind, subject, Series(FINEST[kind]), now)
        track.heard_at = now
        return track

    def _now(self) -> float:
        return self._context.now().timestamp()

    # ── storage ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def write(self) -> None:
        """Store what came since the last time, and forget who has been silent."""
        waiting = [track for track in self._tracks.values() if track.pending]
        for start in range(0, len(waiting), WRITTEN_AT_ONCE):
            async with self._writing:
                await self._write(waiting[start : start + WRITTEN_AT_ONCE])
        now = self._context.clock.monotonic()
        for key, track in list(self._tracks.items()):
            patience = RECENT_STEP * RECENT_BUCKETS if track.recent is not None else KEPT_SECONDS
            if not track.pending and now - track.heard_at > patience:
                del self._tracks[key]

    async def _write(self, tracks: Sequence[Track]) -> None:
        taken = [(track, track.pending) for track in tracks]
        for track, series in taken:
            track.pending = Series(series.step)
        try:
            deltas = [Delta(track.kind, track.subject, series) for track, series in taken]
            await self._context.db.run(add_samples, deltas)
        except BaseException:
            for track, series in taken:
                track.pending.merge(series)
            raise

    async def tidy(self) -> None:
        """Widen the buckets of what is old, and forget what is older."""
        now = self._context.now()
        async with self._writing:
            await prune_in_batches(self._context.db, merge_old, now, at_once=MERGED_AT_ONCE)
        keep = timedelta(days=self._context.settings.keep_history_days)
        await prune_in_batches(self._context.db, prune_history, now - keep)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def read(self, kind: HistoryKind, subject: str, since: datetime, until: datetime, step: int) -> Series:
        """The samples of this time in buckets of at least so many seconds: of more where it is not known so finely."""
        track = self._tracks.get((kind, subject))
        if self._is_recent(kind, since, step):
            whole = track.recent.whole() if track is not None and track.recent is not None else Series(RECENT_STEP)
            return whole.at_step(-(-step // RECENT_STEP) * RECENT_STEP).between(since.timestamp(), until.timestamp())
        async with self._writing:
            known = Series(self._finest(kind, since))
            if track is not None:
                known = merged(known, track.pending)
            return await self._context.db.read(read_series, kind, subject, since, until, step, known)

    def _is_recent(self, kind: HistoryKind, since: datetime, step: int) -> bool:
        hour = timedelta(seconds=RECENT_STEP * RECENT_BUCKETS)
        return kind is HistoryKind.NODE and step < FINEST[kind] and since >= self._context.now() - hour

    def _finest(self, kind: HistoryKind, since: datetime) -> int:
        if kind is not HistoryKind.ATTEMPT and since < self._context.now() - timedelta(days=FINE_DAYS):
            return COARSE_STEP
        return FINEST[kind]


def node_values(gpu_ids: Sequence[str], report: NodeReport) -> Values:
    """By metric. GPUs count in the order of the node's capacity; those that it does not have are ignored."""
    found: dict[Metric, float | None] = {}
    machine = report.machine
    if machine is not None:
        found |= {
            NodeMetrics.CPU: machine.cpu,
            NodeMetrics.MEMORY: machine.memory_used_bytes,
            NodeMetrics.DISK: machine.disk_used_bytes,
            NodeMetrics.RECEIVED: machine.received_bytes_per_second,
            NodeMetrics.SENT: machine.sent_bytes_per_second,
        }
    places = {gpu_id: place for place, gpu_id in enumerate(gpu_ids[:GPUS_RECORDED])}
    for load in report.gpus:
        place = places.get(load.id)
        if place is None:
            continue
        found |= {
            NodeMetrics.UTILISATION[place]: load.utilisation,
            NodeMetrics.GPU_MEMORY[place]: load.memory_used_bytes,
            NodeMetrics.TEMPERATURE[place]: load.temperature_celsius,
            NodeMetrics.POWER[place]: load.power_watts,
        }
    return found


def usage_values(sample: UsageSample) -> Values:
    return {
        AttemptMetrics.CPUS: sample.cpus,
        AttemptMetrics.MEMORY: sample.memory_bytes,
        AttemptMetrics.GPU: sample.gpu,
        AttemptMetrics.GPU_MEMORY: sample.gpu_memory_bytes,
        AttemptMetrics.POWER: sample.power_watts,
        AttemptMetrics.NETWORK: sample.network_bytes_per_second,
    }
