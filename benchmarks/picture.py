"""Draws how long one allocation takes, by the size of the fleet, from the figures that were kept."""

import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Data

PICTURE = Path("docs/pictures/allocation.svg")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 360, 62, 40, 150, 44
LOWEST_MS, HIGHEST_MS = 0.01, 1_000.0
GOAL_MS = 0.5
# One picture for both kinds of pages: it has no background of its own, and its colours follow the reader's.
STYLE = """<style>
text { fill: #24292f } .faint { fill: #57606a } .grid { stroke: #d0d7de }
.ours { stroke: #0969da; fill: none } .worst { stroke: #0969da; fill: none; stroke-dasharray: 6 4 }
.plain { stroke: #bc4c00; fill: none } .goal { stroke: #1a7f37; stroke-dasharray: 2 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
.ours, .worst { stroke: #58a6ff } .plain { stroke: #f0883e } .goal { stroke: #3fb950 }
}
</style>"""


def draw(sizes: Sequence[Data]) -> str:
    """`sizes` as the benchmark `scheduling` keeps them, the smallest fleet first."""
    nodes = [int(one["nodes"]) for one in sizes]
    drawn = [
        ("plain", "plain scan, p50", [one["plain"]["p50_ms"] for one in sizes]),
        ("worst", "allocation, p99", [one["allocation"]["p99_ms"] for one in sizes]),
        ("ours", "allocation, p50", [one["allocation"]["p50_ms"] for one in sizes]),
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12" role="img">',
        "<title>One allocation in ms, by the number of nodes; both scales are logarithmic</title>",
        STYLE,
        f'<text x="{LEFT}" y="20" font-size="14">One allocation, ms, by the number of nodes (log scales)</text>',
        *_grid(nodes),
        f'<path class="goal" stroke-width="2" d="M{LEFT} {_y(GOAL_MS)}H{WIDTH - RIGHT}"/>',
        f'<text class="faint" x="{LEFT + 8}" y="{_y(GOAL_MS) - 6}">goal for p99 at 100,000: {GOAL_MS:g} ms</text>',
    ]
    for kind, label, values in drawn:
        points = " ".join(f"{_x(count, nodes)},{_y(value)}" for count, value in zip(nodes, values, strict=True))
        lines.append(f'<polyline class="{kind}" stroke-width="2" points="{points}"/>')
        for count, value in zip(nodes, values, strict=True):
            lines.append(f'<circle class="{kind}" cx="{_x(count, nodes)}" cy="{_y(value)}" r="3">')
            lines.append(f"<title>{value:g} ms</title></circle>")
        lines.append(f'<text x="{WIDTH - RIGHT + 8}" y="{_y(values[-1]) + 4}">{label}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _grid(nodes: Sequence[int]) -> list[str]:
    lines = []
    exponents = range(round(math.log10(LOWEST_MS)), round(math.log10(HIGHEST_MS)) + 1)
    for value in (10.0**exponent for exponent in exponents):
        lines.append(f'<path class="grid" d="M{LEFT} {_y(value)}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text class="faint" x="{LEFT - 8}" y="{_y(value) + 4}" text-anchor="end">{value:g}</text>')
    for count in nodes:
        x = _x(count, nodes)
        lines.append(f'<path class="grid" d="M{x} {TOP}V{HEIGHT - BOTTOM}"/>')
        lines.append(f'<text class="faint" x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count:,}</text>')
    return lines


def _x(count: int, nodes: Sequence[int]) -> float:
    width = math.log10(nodes[-1] / nodes[0]) or 1.0
    return round(LEFT + (WIDTH - LEFT - RIGHT) * math.log10(count / nodes[0]) / width, 1)


def _y(ms: float) -> float:
    bounded = min(max(ms, LOWEST_MS), HIGHEST_MS)
    share = math.log10(HIGHEST_MS / bounded) / math.log10(HIGHEST_MS / LOWEST_MS)
    return round(TOP + (HEIGHT - TOP - BOTTOM) * share, 1)
