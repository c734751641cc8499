"""`./dev bench compare BASE`: the dispatch benchmark at two commits, in rounds that take turns.

Each commit gets a clone with its own environment below `.compare`, where it stays for the next time. Both are measured
by the benchmark of the newer commit, so that only what is measured differs. The figure is the ratio of one round, newer
to older, and then the median over rounds: whatever else the machine does meets both sides of a ratio. The floor, which
no commit of the hub changes, is compared in the same way: it shows how far the machine itself moved.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import dispatch, report
from benchmarks.measure import ROOT, Data, Options, Run, Table, judged
from benchmarks.processes import prepare_process

FOLDER = ROOT / ".compare"
ROUNDS = 10
SAMPLES = 160
"""Of each kind and round: about 40 s for one side on two cores, and more than twice what is in flight at once."""
SLOWER = 1.05
"""The most that a change may cost."""
Side = tuple[str, Path]
"""A commit, and its clone."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./dev bench compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="the older commit")
    parser.add_argument(
        "--with", dest="newer", default="HEAD", metavar="COMMIT", help="the newer one; HEAD if left out"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"{ROUNDS} if left out")
    parser.add_argument("--count", type=int, default=SAMPLES, help=f"samples of each kind and round; {SAMPLES}")
    given = parser.parse_args(arguments)
    prepare_process()
    console, run = Console(), Run("compare", Options(quick=True))
    newer = prepared(given.newer)
    base = prepared(given.base, newer[0])
    results: dict[str, list[Data]] = {"base": [], "newer": []}
    for number in range(given.rounds):
        sides = {"base": base, "newer": newer}
        for name in sides if number % 2 == 0 else reversed(sides):
            began = time.monotonic()
            results[name].append(measured_by(sides[name], given.count))
            console.print(f"round {number + 1}, {sides[name][0]}: {time.monotonic() - began:.0f} s")
    data = {"base": base[0], "newer": newer[0], "count": given.count, "results": results}
    report.show(console, run.save(data), tables(data))
    return 0


def prepared(revision: str, benchmark_of: str | None = None) -> Side:
    """A clone at a revision of this repository, with its environment, and with another commit's benchmark."""
    commit = _git(ROOT, "rev-parse", "--short=12", f"{revision}^{{commit}}")
    folder = FOLDER / commit
    if not (folder / ".git").exists():
        FOLDER.mkdir(exist_ok=True)
        _git(ROOT, "clone", "-q", "--no-checkout", str(ROOT), str(folder))
    _git(folder, "checkout", "-q", "--force", commit)
    if benchmark_of is not None:
        packed = subprocess.run(
            ["git", "-C", str(ROOT), "archive", benchmark_of, "benchmarks"], capture_output=True, check=True
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
    _call(["./dev", "test", "--version"], folder)  # makes the environment
    return commit, folder


def measured_by(side: Side, count: int) -> Data:
    """What one run of the benchmark found there."""
    commit, folder = side
    result = FOLDER / f"{commit}.json"
    _call(["./dev", "run", "python", "-m", "benchmarks.compare", str(count), str(result)], folder)
    found: Data = json.loads(result.read_text())
    if "untested" in found:
        raise SystemExit(f"dispatch cannot be measured here: {found['untested']}")
    return found


def figures(data: Data) -> dict[str, tuple[Callable[[Data, str], float], bool]]:
    """By name: how to read it from a run, for the pool or the floor; and whether more is better."""

    def start(program: str, percent: str) -> Callable[[Data, str], float]:
        return lambda run, target: float(run["starts"][program][target][f"{percent}_ms"])

    def submit(program: str) -> Callable[[Data, str], float]:
        return lambda run, target: float(run["starts"][program][f"{target}_submit_call"]["p50_ms"])

    def rate(kind: str) -> Callable[[Data, str], float]:
        return lambda run, target: float(run["jobs"][kind][target]["per_second"])

    one = data["results"]["newer"][0]
    found: dict[str, tuple[Callable[[Data, str], float], bool]] = {}
    for program in one["starts"]:
        for percent in ("p50", "p95"):
            found[f"start, {program}, {percent}, ms"] = start(program, percent), False
        found[f"submit call, {program}, p50, ms"] = submit(program), False
    for kind in one["jobs"]:
        found[f"jobs per second, {kind}"] = rate(kind), True
    return found


def tables(data: Data) -> list[Table]:
    results, rows = data["results"], []
    for name, (read, more_is_better) in figures(data).items():
        cells = [f"{statistics.median(read(run, 'pool') for run in results[side]):.2f}" for side in ("base", "newer")]
        ratios = ratios_of(results, read, "pool")
        ratio, floor = statistics.median(ratios), statistics.median(ratios_of(results, read, "floor"))
        target = round(1 / SLOWER, 3) if more_is_better else SLOWER
        spread = f"{min(ratios):.2f} – {max(ratios):.2f}"
        verdict = judged(ratio, target, at_least=more_is_better)
        rows.append([name, *cells, f"{ratio:.3f}", spread, f"{floor:.3f}", verdict])
    return [
        Table(
            f"{data['newer']} to {data['base']}",
            ("", "older", "newer", "ratio", "of rounds", "floor", "target"),
            rows,
            f"{len(results['base'])} rounds that take turns, n = {data['count']} each. Older and newer: medians of "
            "rounds. Ratio: median of the rounds' own ratios, newer to older; floor: the same of the floor.",
        )
    ]


def ratios_of(results: dict[str, list[Data]], read: Callable[[Data, str], float], target: str) -> list[float]:
    pairs = zip(results["base"], results["newer"], strict=True)
    return [read(newer, target) / read(base, target) for base, newer in pairs]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _call(command: list[str], folder: Path) -> None:
    """Shows the output only if the command fails. Ends the command if this process is ended."""
    variables = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "DEV_VENV")}
    with subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        try:
            told, _ = child.communicate()
        except BaseException:
            child.terminate()
            raise
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} in {folder} failed:\n{told}")


if __name__ == "__main__":
    # One run, in a clone: it imports this one benchmark, as others may need what an older commit does not have.
    prepare_process()
    Path(sys.argv[2]).write_text(json.dumps(dispatch.run(Options(quick=False, count=int(sys.argv[1])))))
