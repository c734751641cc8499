"""What a card is worth, and whether it is the card that it says it is. A name is a claim; what was measured is a fact.

Speeds are in GFLOP/s of single precision. What the challenge measures is below what a maker prints: it counts the
squaring between products and the way to the hub, and cards slow down when they are warm. So the borders are wide. They
tell a card from another class of card, not from its neighbour.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from computepool.protocol.gpus import gpu_name_matches

Basis = Literal["card", "measured", "claimed"]
Mark = Literal["unverified", "matches", "too_slow", "too_fast", "failed"]

CPU_TIER_MILLIS = 800
LEAST_GPU_TIER_MILLIS = 1000

TIER_MILLIS: dict[str, int] = {
    "rtx-5090": 3000,
    "rtx-4090": 3000,
    "rtx-3090": 2500,
    "rtx-4070": 2500,
    "rtx-3080": 2000,
    "rtx-3060": 2000,
    "rtx-2070": 2000,
    "gtx-1080-ti": 1500,
    "gtx-1080": 1500,
    "gtx-1660": 1300,
}
"""The multipliers of known cards, in thousandths."""

SPEED_TIERS = ((30_000, 3000), (13_000, 2500), (5_000, 2000), (3_500, 1500), (2_000, 1300))
"""For cards that are not in the table, and for those that are not what they say: at least so fast, so much worth."""

EXPECTED_GFLOPS: dict[str, float] = {
    "rtx-5090": 104_800, "rtx-5080": 56_300, "rtx-5070-ti": 43_900, "rtx-5070": 30_900, "rtx-5060-ti": 23_700,
    "rtx-4090": 82_600, "rtx-4080-super": 52_200, "rtx-4080": 48_700, "rtx-4070-ti-super": 44_100,
    "rtx-4070-ti": 40_100, "rtx-4070-super": 35_500, "rtx-4070": 29_100, "rtx-4060-ti": 22_100, "rtx-4060": 15_100,
    "rtx-4090-laptop": 33_000, "rtx-4080-laptop": 24_700, "rtx-4070-laptop": 15_600, "rtx-4060-laptop": 11_600,
    "rtx-3090-ti": 40_000, "rtx-3090": 35_600, "rtx-3080-ti": 34_100, "rtx-3080": 29_800, "rtx-3070-ti": 21_700,
    "rtx-3070": 20_300, "rtx-3060-ti": 16_200, "rtx-3060": 12_700, "rtx-3050": 9_100, "rtx-3060-laptop": 10_900,
    "rtx-2080-ti": 13_400, "rtx-2080-super": 11_100, "rtx-2080": 10_100, "rtx-2070-super": 9_100, "rtx-2070": 7_500,
    "rtx-2060-super": 7_200, "rtx-2060": 6_500, "gtx-1660-ti": 5_400, "gtx-1660-super": 5_000, "gtx-1660": 5_000,
    "gtx-1650": 3_000, "gtx-1080-ti": 11_300, "gtx-1080": 8_900, "gtx-1070": 6_500, "gtx-1060": 4_400,
    "a100": 19_500, "h100": 51_000, "h200": 60_000, "v100": 14_000, "p100": 9_300, "t4": 8_100, "a10": 31_200,
    "l4": 30_300, "l40": 90_500, "l40s": 91_600, "a40": 37_400, "rtx-a6000": 38_700, "rtx-a5000": 27_800,
    "rtx-a4000": 19_200, "rtx-6000-ada": 91_100, "rtx-4000-ada": 26_700, "rx-7900-xtx": 61_400, "rx-7900-xt": 51_500,
    "rx-6900-xt": 23_000, "rx-6800-xt": 20_700, "mi210": 22_600, "mi250x": 23_900, "mi300x": 81_700,
}  # fmt: skip
"""As makers print them."""

TOO_SLOW = 0.2
"""Of what is expected: a card that is warm, power-limited or shared with a screen is not a lie."""
TOO_FAST = 1.6
"""More than this cannot be that card in single precision."""
MEMORY_SHARE = 0.75
MEMORY_ASIDE_BYTES = 1024**3
"""What screens and drivers may hold of a card's memory, besides the quarter that is never asked for."""
GIB = 1024**3


@dataclass(frozen=True)
class Measured:
    """What the hub itself saw of a device."""

    gflops: float
    filled_bytes: int
    asked_all: bool = True
    """False where the hub asked for less than there was room for, to be done in time."""


@dataclass(frozen=True)
class Tier:
    millis: int
    basis: Basis


@dataclass(frozen=True)
class Finding:
    mark: Mark
    words: str
    tier: Tier


def tier_of(slug: str | None, measured: Measured | None, cards: Mapping[str, int] = TIER_MILLIS) -> Tier:
    """None is a CPU. Without a measurement it is what the name claims, and says so. `cards` is the pool's table."""
    if slug is None:
        return Tier(CPU_TIER_MILLIS, "card" if measured is not None else "claimed")
    named = _lookup(cards, slug)
    if measured is None:
        return Tier(int(named or LEAST_GPU_TIER_MILLIS), "claimed")
    by_speed = _tier_by_speed(measured.gflops)
    if named is None:
        return Tier(by_speed, "measured")
    if _mark_of_speed(slug, measured.gflops) == "too_slow":
        return Tier(min(int(named), by_speed), "measured")
    return Tier(int(named), "card")


def judge(slug: str | None, claimed_bytes: int, measured: Measured) -> Finding:
    """A device whose answers were right: is it what it says?"""
    tier = tier_of(slug, measured)
    if slug is None:
        return Finding("matches", f"computes {_spoken(measured.gflops)}", tier)
    least = claimed_bytes * MEMORY_SHARE - MEMORY_ASIDE_BYTES
    if measured.asked_all and measured.filled_bytes < least:
        words = (
            f"{slug} says that it has {claimed_bytes / GIB:.1f} GiB; {measured.filled_bytes / GIB:.1f} GiB could be"
            " filled. Another program may have been using it: close it, and the hub asks again"
        )
        return Finding("failed", words, tier)
    mark = _mark_of_speed(slug, measured.gflops)
    expected = _lookup(EXPECTED_GFLOPS, slug)
    if mark == "matches" or expected is None:
        known = f", as {slug} should" if expected is not None else f"; {slug} is not in the hub's table"
        return Finding("matches", f"computes {_spoken(measured.gflops)}{known}", tier)
    word = "slower" if mark == "too_slow" else "faster"
    words = f"much {word} than {slug}: {_spoken(measured.gflops)}, where about {expected:,.0f} are usual"
    return Finding(mark, words, tier)


def _mark_of_speed(slug: str, gflops: float) -> Mark:
    expected = _lookup(EXPECTED_GFLOPS, slug)
    if expected is None or expected * TOO_SLOW <= gflops <= expected * TOO_FAST:
        return "matches"
    return "too_slow" if gflops < expected else "too_fast"


def _spoken(gflops: float) -> str:
    return f"{gflops:,.0f} GFLOP/s" if gflops >= 100 else f"{gflops:.2g} GFLOP/s"


def _tier_by_speed(gflops: float) -> int:
    return next((millis for least, millis in SPEED_TIERS if gflops >= least), LEAST_GPU_TIER_MILLIS)


def is_listed(slug: str, cards: Mapping[str, int] = TIER_MILLIS) -> bool:
    return _lookup(cards, slug) is not None


def _lookup(table: Mapping[str, float] | Mapping[str, int], slug: str) -> float | None:
    """`a100` in a table means `a100-sxm4` as well; a laptop's card is another."""
    if slug in table:
        return table[slug]
    return next((value for name, value in table.items() if gpu_name_matches(name, slug)), None)
