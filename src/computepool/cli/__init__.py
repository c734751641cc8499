"""The command `computepool`.

Owns: what people type and see. Uses: client, agent and hub, each only inside the commands that need it, so that a plain
command starts at once and the light install needs no hub. Never: decides anything that the hub decides.
"""

import sys


def main() -> None:
    # httpx brings a command line of its own, and loads a highlighter and more for it: half of the time of its import.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # as the import system marks what is not there
    from computepool.cli.app import run

    sys.exit(run(sys.argv[1:]))
