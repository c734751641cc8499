"""The status screen as a picture, for the documentation: the same screen, drawn into a file."""

import io
from datetime import datetime

from rich.console import Console, Group
from rich.terminal_theme import MONOKAI
from rich.text import Text

from computepool.cli.agent_screen import Status, keys_line, screen

# Without the fonts that rich would have the reader's browser fetch from elsewhere.
_SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def status_svg(status: Status, *, width: int = 84, now: datetime | None = None) -> str:
    """An SVG that needs nothing from elsewhere."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Group(screen(status, width, now=now), Text(""), keys_line()))
    return console.export_svg(
        title="computepool agent status", theme=MONOKAI, code_format=_SVG, unique_id="agent-status"
    )
