"""`python -m benchmarks [name …]`: measures, shows tables, keeps JSON; without a name all of them, then the docs.

`python -m benchmarks compare BASE` measures two commits in turn (benchmarks/compare.py)."""

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType

from rich.console import Console

from benchmarks import (
    agent,
    api,
    auth,
    compare,
    dispatch,
    floods,
    ledger,
    memory,
    picture,
    profile,
    report,
    scale,
    scheduling,
    web,
)
from benchmarks.measure import RESULTS, ROOT, Data, Options, Run, Table, untested_table
from benchmarks.processes import fork_programs, prepare_process

BENCHMARKS: dict[str, ModuleType] = {
    "dispatch": dispatch,
    "scale": scale,
    "scheduling": scheduling,
    "ledger": ledger,
    "memory": memory,
    "agent": agent,
    "floods": floods,
    "api": api,
    "auth": auth,
    "web": web,
    "profile": profile,
}
DOCS = "docs"


def main() -> int:
    if sys.argv[1:2] == ["compare"]:
        return compare.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{', '.join(BENCHMARKS)}, or {DOCS}: only write docs")
    parser.add_argument("--quick", action="store_true", help="a smoke test, with the smallest sizes")
    parser.add_argument("--count", type=int, help="samples of each kind")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the JSON files")
    given = parser.parse_args()
    unknown = set(given.names) - {*BENCHMARKS, DOCS}
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join([*BENCHMARKS, DOCS])}")
    prepare_process()
    options = Options(given.quick, given.count)
    console, failed = Console(), False
    if options.quick:
        fork_programs()
    for name in [name for name in BENCHMARKS if name in (given.names or BENCHMARKS)]:
        try:
            with console.status(f"{name} …"):
                kept = measure(name, options, given.results)
            report.show(console, kept, tables_of(kept))
        except Exception:
            failed = True  # the others can still be measured
            console.print_exception(max_frames=10)
    if not options.quick and given.results == RESULTS:
        write_docs()
        console.print(f"wrote {report.DOCS} and {picture.PICTURE}")
    return 1 if failed else 0


def measure(name: str, options: Options, results: Path) -> Data:
    """Run a benchmark and keep what it found in a file below `results`."""
    run = Run(name, options)
    return run.save(BENCHMARKS[name].run(options), results)


def tables_of(kept: Data) -> list[Table]:
    module, data = BENCHMARKS[kept["benchmark"]], kept["data"]
    return [untested_table("Not measured", data)] if "untested" in data else module.tables(data)


def kept_figures() -> list[Data]:
    files = [RESULTS / f"{name}.json" for name in BENCHMARKS]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def write_docs() -> None:
    kept = kept_figures()
    (ROOT / report.DOCS).write_text(report.document(list(BENCHMARKS), [(run, tables_of(run)) for run in kept]))
    for run in kept:
        if run["benchmark"] == "scheduling":
            (ROOT / picture.PICTURE).write_text(picture.draw(run["data"]["sizes"]))


if __name__ == "__main__":
    sys.exit(main())
