"""Draws what spot does in a thunderstorm: `./dev run python -m tools.storm`.

Five hundred cards of a kind, 300 of them in use. Four hundred go off in the same minute, and come back three hours
later, all at once. The factor is the hub's own (`Book.step`, once a minute); what it would be without smoothing and a
limited pace is drawn beside it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from computepool.hub.market.book import Book
from computepool.hub.market.spot import Bounds, Segment, Use, target_of

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "spot-storm.svg"
CARDS, WANTED, GONE = 500, 300, 400
OFF_MINUTE, ON_MINUTE, LAST_MINUTE = 2 * 60, 5 * 60, 12 * 60
SEGMENT = Segment("3.0", "EU")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 320, 46, 34, 14, 40
LOWEST, HIGHEST = 0.0, 2.2


@dataclass(frozen=True)
class Minute:
    there: int
    busy: int
    spot: float
    eager: float
    """The factor, if it followed at once."""


def play() -> list[Minute]:
    """The storm, minute by minute."""
    book, story = Book(), []
    for minute in range(LAST_MINUTE + 1):
        there = CARDS - GONE if OFF_MINUTE <= minute < ON_MINUTE else CARDS
        busy = min(there, WANTED)
        book.step({SEGMENT: Use(busy, there)}, 60)
        spot = book.spot_millis(SEGMENT) / 1000
        story.append(Minute(there, busy, spot, target_of(busy / there, Bounds())))
    return story


def draw(story: Sequence[Minute]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"',
        ' font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<text x="46" y="20" fill="#222" font-size="14">Spot while 400 of 500 cards go off, and come back</text>',
        _band(OFF_MINUTE, ON_MINUTE),
    ]
    for value in (0.5, 1.0, 1.5, 2.0):
        lines.append(f'<path d="M{LEFT} {_y(value)}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{_y(value) + 4}" text-anchor="end" fill="#555">{value:g}</text>')
    for hour in range(0, LAST_MINUTE // 60 + 1, 2):
        x = _x(hour * 60)
        lines.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#555">{hour} h</text>')
    lines += [
        _line([one.busy / one.there for one in story], "#9a9a9a", "2 3"),
        _line([one.eager for one in story], "#d08770", "6 4"),
        _line([one.spot for one in story], "#2a6f97", ""),
        _label(LAST_MINUTE - 120, story[-120].busy / story[-120].there - 0.14, "#777777", "share of cards in use"),
        _label(OFF_MINUTE + 30, 2.06, "#b5654a", "if it followed at once"),
        _label(ON_MINUTE + 45, 1.66, "#2a6f97", "spot"),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _x(minute: int) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * minute / LAST_MINUTE, 1)


def _y(value: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (HIGHEST - value) / (HIGHEST - LOWEST), 1)


def _band(start: int, end: int) -> str:
    height = HEIGHT - TOP - BOTTOM
    return f'<rect x="{_x(start)}" y="{TOP}" width="{_x(end) - _x(start):.1f}" height="{height}" fill="#eef1f5"/>'


def _line(values: Sequence[float], color: str, dashes: str) -> str:
    points = " ".join(f"{_x(minute)},{_y(value)}" for minute, value in enumerate(values) if minute % 2 == 0)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"{dashed}/>'


def _label(minute: int, value: float, color: str, text: str) -> str:
    return f'<text x="{_x(minute)}" y="{_y(value)}" fill="{color}">{text}</text>'


def main() -> int:
    PICTURE.write_text(draw(play()))
    sys.stdout.write(f"{PICTURE.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
