"""`python -m benchmarks [name …]`: measures, shows tables, keeps JSON; without a name all of them, then the docs."""

import argparse
import os
import resource
import signal
import sys
from pathlib import Path
from types import ModuleType

from rich.console import Console

from benchmarks import agent, dispatch, ledger, memory, profile, report, scale, scheduling
from benchmarks.measure import RESULTS, Options, Run

BENCHMARKS: dict[str, ModuleType] = {
    "dispatch": dispatch,
    "scale": scale,
    "scheduling": scheduling,
    "ledger": ledger,
    "memory": memory,
    "agent": agent,
    "profile": profile,
}
DOCS = "docs"
MOST_FILES = 65_536


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(BENCHMARKS)}, or {DOCS}: only write docs")
    parser.add_argument("--quick", action="store_true", help="a smoke test in about a minute; results/*.local.json")
    parser.add_argument("--count", type=int, help="samples of each kind")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the JSON files")
    given = parser.parse_args()
    unknown = set(given.names) - {*BENCHMARKS, DOCS}
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join([*BENCHMARKS, DOCS])}")
    # The settings of the person who measures are not those of what is measured.
    for name in [name for name in os.environ if name.startswith("COMPUTEPOOL_") or name == "DATABASE_URL"]:
        del os.environ[name]
    # A thousand agents are a thousand sockets, here and in what is started from here.
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Whoever ends this ends everything that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    options = Options(given.quick, given.count)
    console, failed = Console(), False
    for name in [name for name in BENCHMARKS if name in (given.names or BENCHMARKS)]:
        try:
            with console.status(f"{name} …"):
                run = Run(name, options)
                kept = run.save(BENCHMARKS[name].run(options), given.results)
            report.show(console, kept, BENCHMARKS[name].tables(kept["data"]))
        except Exception:
            failed = True  # the others can still be measured
            console.print_exception(max_frames=10)
    if not options.quick and given.results == RESULTS:
        report.write_docs({name: module.tables for name, module in BENCHMARKS.items()})
        console.print(f"wrote {report.DOCS}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
