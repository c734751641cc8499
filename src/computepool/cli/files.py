"""For renters: what a job left behind."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import JOB
from computepool.cli.errors import is_dumb, is_json, tell
from computepool.cli.options import JOB_HELP, F, json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.models import Job
    from computepool.client.pool import Pool
    from computepool.client.uploads import Progress

LINE_EVERY_SECONDS = 5.0


def default_folder(job: "Job") -> Path:
    """Readable, and different for each job: a second run does not overwrite the first one's outputs."""
    given = str(job.spec.get("name") or "")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("-.")[:60]
    return Path("outputs") / (f"{name}-{job.id[-6:]}" if name else job.id)


@contextmanager
def progress_bar(label: str, total_bytes: int) -> "Iterator[Progress | None]":
    """A bar on a terminal, elsewhere a line every few seconds; nothing for what is done before it is seen."""
    if total_bytes < 256 * 1024 or is_json():
        yield None
        return
    if not sys.stderr.isatty() or is_dumb():
        yield progress_lines(label)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from computepool.cli.display import console

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console(err=True), transient=True) as bar:
        task = bar.add_task(label, total=total_bytes)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def progress_lines(label: str, *, clock: "Callable[[], float]" = time.monotonic) -> "Progress":
    """Tells now and then how far it is. The first line comes after some seconds."""
    from computepool.cli.display import size

    told_at = clock()

    def report(done: int, total: int) -> None:
        nonlocal told_at
        if clock() - told_at >= LINE_EVERY_SECONDS:
            told_at = clock()
            tell(f"{label}: {size(done)} of {size(total)} ({100 * done // max(total, 1)} %)", dim=True)

    return report


def output_dir_option(function: F) -> F:
    return click.option(
        "-o",
        "--output-dir",
        "folder",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder for the outputs.  [default: outputs/NAME-ID]",
    )(function)


@click.command(
    epilog="Example: computepool get last -o results",
    help="Download a job's outputs and check their digests. Resumes where an earlier download stopped. "
    f"With several slices, each has a folder with its number. {JOB_HELP}",
)
@click.argument("job", metavar="JOB", type=JOB)
@output_dir_option
@json_option
@pool_options
def get(job: str, folder: Path | None, as_json: bool) -> None:
    with open_pool() as pool:
        known = pool.job(pool.find_job(job))
        fetched = fetch_outputs(pool, known, folder or default_folder(known), quiet=as_json)
    if as_json:
        items = [
            {
                "path": str(item["file"]),
                "slice": item["slice"],
                "size_bytes": item["size_bytes"],
                "digest": item["digest"],
            }
            for item in fetched
        ]
        print_json({"items": items, "next": None})
    elif not fetched:
        waits = "" if known.is_final else f" yet: it is {known.state}"
        tell(f"{known.id} has no outputs{waits}.", dim=True)


def fetch_outputs(pool: "Pool", job: "Job", folder: Path, *, quiet: bool) -> list[dict[str, Any]]:
    """Download what there is; says where it went."""
    from computepool.cli.display import count, size

    outputs = pool.outputs(job.id)
    if not outputs:
        return []
    total = sum(output.size_bytes for output in outputs)
    with progress_bar("fetching outputs", total) as progress:
        fetched = pool.download_outputs(job, folder, outputs=outputs, progress=progress)
    if not quiet:
        tell(f"{count(len(fetched), 'output')}, {size(total)} → {folder}{'/' if folder.suffix == '' else ''}")
    return [
        {
            "file": item.path,
            "slice": item.output.slice,
            "attempt": item.output.attempt,
            "path": item.output.path,
            "size_bytes": item.output.size_bytes,
            "digest": item.output.digest,
        }
        for item in fetched
    ]
