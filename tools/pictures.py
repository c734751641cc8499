"""Draws pictures for the documentation from real answers: `./dev run python -m tools.pictures STATUS.json`.

STATUS.json is what `computepool agent status --json` printed; the picture is the screen that it would have shown.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATUS_PICTURE = ROOT / "docs" / "pictures" / "agent-status.svg"


def draw_status(source: Path, target: Path = STATUS_PICTURE) -> None:
    from computepool.cli.agent_picture import status_svg

    # Times are told as the reader of the file would have seen them.
    taken_at = datetime.fromtimestamp(source.stat().st_mtime, UTC)
    target.write_text(status_svg(json.loads(source.read_text()), now=taken_at))


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    draw_status(*map(Path, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
