"""Examines a connected node: when it is new, when its hardware or a driver changed, and about once a day.

All times are the hub's own, from a question to its answer. A node that works, or whose owner uses it, is left alone; an
agent that does not know these messages stays unverified. What it proves, and what not: docs/contributing/benchmark.md.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import structlog

from computepool.hub.core.context import Context
from computepool.hub.gateway.exam_plan import (
    DIGEST_SECONDS,
    OPENINGS,
    READY_SECONDS,
    REVEAL_SECONDS,
    Examined,
    Plan,
    is_late,
    make_plan,
    mark_of,
    memory_is_answered_for,
    tier_of_node,
)
from computepool.hub.market.tiers import Finding, Mark, Measured, judge, tier_of
from computepool.hub.nodes.benchmarks import Benchmark, hardware_digest, save_benchmark
from computepool.hub.nodes.challenge import Caught, check_reveal, draw_places, random_bytes
from computepool.hub.reputation.service import note_examined
from computepool.hub.scheduling.fleet import FleetNode
from computepool.protocol.benchmark import (
    CPU,
    BenchmarkDeclined,
    BenchmarkDigests,
    BenchmarkFilled,
    BenchmarkFromAgent,
    BenchmarkNonce,
    BenchmarkOpen,
    BenchmarkOver,
    BenchmarkReady,
    BenchmarkRequest,
    BenchmarkReveal,
    LineEcho,
    LineProbe,
)
from computepool.protocol.capacity import Gpu
from computepool.protocol.model import Wire
from computepool.protocol.states import NodeState
from computepool.protocol.timing import HEARTBEAT_SECONDS

log = structlog.get_logger()

FIRST_SECONDS = (20.0, 60.0)
"""After a line came up; at random, so that a hub that restarts is not asked everything at once."""
LOOK_SECONDS = (45.0, 75.0)
"""A node that is busy is looked at again."""
RETRY_SECONDS = (3600.0, 3 * 3600.0)
"""After one that did not answer, or failed."""
ROUTINE_SECONDS = (12 * 3600.0, 36 * 3600.0)
PROBE_SECONDS = 60.0
PROBE_BYTES = 512 * 1024
LEAST_PROBE_SECONDS = 0.001
SEED_BYTES = 32

A = TypeVar("A", bound=BenchmarkFromAgent)


class Silent(Exception):
    """No answer in time."""


class Postponed(Exception):
    """The node has something better to do."""


class Unable(Exception):
    """The node cannot be examined until its owner changes something."""


class Examiner:
    """Of one link; ends with it."""

    def __init__(self, context: Context, node: FleetNode, post: Callable[[Wire], None], last: Benchmark | None) -> None:
        self._context = context
        self._node = node
        self._post = post
        self._last = last
        self._waiting: tuple[str, type[Any], asyncio.Future[Any]] | None = None

    def heard(self, message: BenchmarkFromAgent) -> None:
        """An answer, if it is the one that is waited for: everything else is of an earlier question, or made up."""
        if self._waiting is None:
            return
        about, kind, answer = self._waiting
        said = str(message.number) if isinstance(message, LineEcho) else message.challenge_id
        if said != about or answer.done():
            return
        if isinstance(message, kind):
            answer.set_result(message)
        elif isinstance(message, BenchmarkDeclined):
            answer.set_exception(Postponed(message.reason) if message.retry else Unable(message.reason))

    async def run(self) -> None:
        """As long as the line is up."""
        if self._node.capacity.simulated:
            return  # it only pretends, and says so
        pause = max(self._between(FIRST_SECONDS), self._until_due(self._last))
        while True:
            await asyncio.sleep(pause)
            pause = self._between(LOOK_SECONDS)
            try:
                if self._is_idle():
                    pause = self._until_due(await self.examine())
            except (Silent, Postponed) as why:
                log.info("benchmark.postponed", node_id=self._node.traits.node_id, reason=str(why))
                pause = self._between(RETRY_SECONDS)
            except Exception:
                log.exception("benchmark.fault", node_id=self._node.traits.node_id)
                pause = self._between(RETRY_SECONDS)

    async def examine(self) -> Benchmark:
        """All of its devices, and its line. Raises Silent, Postponed."""
        node_id, capacity = self._node.traits.node_id, self._node.capacity
        devices = [await self._device(CPU, None)]
        for gpu in capacity.gpus:
            devices.append(await self._device(gpu.id, gpu))  # noqa: PERF401 - one after the other
        line = await self._line()
        mark, words = mark_of(devices)
        tier = tier_of_node(devices)
        saved = await self._context.db.run(
            save_benchmark,
            node_id,
            mark=mark,
            words=words,
            tier_millis=tier.millis,
            tier_basis=tier.basis,
            hardware=hardware_digest(capacity),
            figures={"devices": [one.as_json() for one in devices], "line": line},
            now=self._context.now(),
        )
        half_life = self._context.settings.reliability_half_life
        standing = await self._context.db.run(note_examined, node_id, self._context.now(), half_life)
        self._node.traits = replace(self._node.traits, standing=standing)
        log.info("benchmark.done", node_id=node_id, mark=mark, words=words)
        return saved

    # ── one device ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _device(self, device: str, gpu: Gpu | None) -> Examined:
        challenge_id = self._context.new_id("bench")
        figures: dict[str, Any] = {}
        slug = gpu.slug if gpu is not None else None
        try:
            ready = await self._ask(
                BenchmarkRequest(challenge_id=challenge_id, device=device), BenchmarkReady, READY_SECONDS
            )
        except Unable as why:
            finding = _finding("unverified", str(why), slug)
            return Examined(device, gpu is not None, finding, figures)
        except Silent:
            self._post(BenchmarkOver(challenge_id=challenge_id, words="there was no answer in time"))
            raise
        seed = random_bytes(self._context.randbits, SEED_BYTES)
        plan = make_plan(ready, seed, gpu.memory_bytes if gpu is not None else None)
        figures |= {"backend": ready.backend, "reported": ready.figures.model_dump(mode="json")}
        try:
            measured = await self._challenge(plan, figures, memory_counts=gpu is not None)
            finding = judge(slug, gpu.memory_bytes if gpu is not None else 0, measured)
        except Caught as caught:
            finding = _finding("failed", str(caught), slug)
        except Silent as silent:
            finding = _finding("failed", f"it did not answer in time: {silent}", slug)
        except Unable as why:
            finding = _finding("failed", str(why), slug)
        self._post(BenchmarkOver(challenge_id=challenge_id, words=finding.words))
        return Examined(device, gpu is not None, finding, figures)

    async def _challenge(self, plan: Plan, figures: dict[str, Any], *, memory_counts: bool) -> Measured:
        """Compute; then read all of it; then show what is asked for. Raises Caught, Silent, Postponed."""
        task, clock = plan.task, self._context.clock
        began = clock.monotonic()
        filled = await self._ask(task, BenchmarkFilled, plan.fill_seconds)
        fill_seconds = clock.monotonic() - began
        nonce = random_bytes(self._context.randbits, SEED_BYTES)
        began = clock.monotonic()
        question = BenchmarkNonce(challenge_id=task.challenge_id, nonce=nonce)
        digests = await self._ask(question, BenchmarkDigests, DIGEST_SECONDS + fill_seconds)
        digest_seconds = clock.monotonic() - began
        gflops = plan.flops / max(fill_seconds + digest_seconds, 1e-9) / 1e9
        figures |= {
            "gflops": round(gflops, 3),
            "reported_gflops": round(plan.flops / max(filled.seconds, 1e-9) / 1e9, 3),
            "fill_seconds": round(fill_seconds, 3),
            "digest_seconds": round(digest_seconds, 3),
            "filled_bytes": plan.filled_bytes,
        }
        places = draw_places(task, OPENINGS, self._context.randbits)
        reveal = await self._ask(
            BenchmarkOpen(challenge_id=task.challenge_id, places=places), BenchmarkReveal, REVEAL_SECONDS
        )
        await self._context.offload(
            check_reveal, task, nonce, digests.root, places, reveal.openings, self._context.randbits
        )
        if memory_counts and is_late(fill_seconds, digest_seconds):
            raise Caught(
                f"it took {digest_seconds:.1f} s to read its memory, which it filled in {fill_seconds:.1f} s:"
                " it does not hold what it says, or was busy"
            )
        return Measured(gflops, plan.filled_bytes, memory_is_answered_for(plan, fill_seconds))

    # ── its line ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _line(self) -> dict[str, float | None]:
        """An empty answer tells the way there and back; what a full one takes longer is the line's."""
        try:
            nothing = await self._probe(0, 0)
            down = await self._probe(PROBE_BYTES, 0)
            up = await self._probe(0, PROBE_BYTES)
        except (Silent, Postponed, Unable):
            return {}
        return {
            "round_trip_seconds": round(nothing, 4),
            "down_bytes_per_second": _rate(down - nothing),
            "up_bytes_per_second": _rate(up - nothing),
        }

    async def _probe(self, down: int, up: int) -> float:
        number = self._context.randbits(48)
        ballast = random_bytes(self._context.randbits, down) if down else b""  # random: lines may compress
        began = self._context.clock.monotonic()
        probe = LineProbe(number=number, ballast=ballast, answer_bytes=up)
        answer = await self._ask(probe, LineEcho, PROBE_SECONDS, about=str(number))
        if len(answer.ballast) != up:
            raise Silent("another answer than what was asked for")
        return self._context.clock.monotonic() - began

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, question: Wire, kind: type[A], seconds: float, about: str = "") -> A:
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting = (about or getattr(question, "challenge_id", ""), kind, answer)
        self._post(question)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise Silent(f"{getattr(question, 'type', 'question')} was not answered within {seconds:.0f} s") from None
        finally:
            self._waiting = None

    def _until_due(self, row: Benchmark | None) -> float:
        """How long a result of the same hardware still holds."""
        if row is None or row.hardware != hardware_digest(self._node.capacity):
            return 0.0
        due = self._between(RETRY_SECONDS if row.mark == "failed" else ROUTINE_SECONDS)
        return max(0.0, due - (self._context.now() - row.measured_at).total_seconds())

    def _is_idle(self) -> bool:
        node = self._node
        if self._context.clock.monotonic() - node.seen_at > 2 * HEARTBEAT_SECONDS:
            return False  # its line may be dead already
        left = node.availability.strangers and not node.availability.gpus_in_use
        return not node.attempts and left and node.state is NodeState.ONLINE is node.reported

    def _between(self, limits: tuple[float, float]) -> float:
        least, most = limits
        return least + (most - least) * self._context.randbits(32) / 2**32


def _finding(mark: Mark, words: str, slug: str | None) -> Finding:
    return Finding(mark, words, tier_of(slug, None))


def _rate(seconds: float) -> float | None:
    return round(PROBE_BYTES / seconds, 1) if seconds >= LEAST_PROBE_SECONDS else None
