"""For renters: what a job printed."""

import base64
import codecs
import sys
from typing import TYPE_CHECKING

import click

from computepool.cli.completion import JOB
from computepool.cli.errors import is_dumb, tell
from computepool.cli.options import JOB_HELP, json_option, open_pool, pool_options, print_json, raw_option
from computepool.cli.terminal import RESET, LinePrefixer, TerminalFilter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from computepool.client.logs import LogChunk
    from computepool.client.models import Job, Slice

NEWLINE = 0x0A

NOTICE = b"[computepool] "
"""What a line of the node's agent begins with, in the log of the job."""


class NoticeSplitter:
    """Takes the agent's lines out of a log, whatever the borders of the chunks."""

    def __init__(self) -> None:
        self._at_line_start = True
        self._is_notice = False
        self._held = b""
        """The beginning of a line that may be the agent's, or is, and is not whole."""

    def feed(self, data: bytes) -> tuple[bytes, list[bytes]]:
        """What the job printed, and the agent's whole lines."""
        data, self._held = self._held + data, b""
        printed, notices, at = list[bytes](), list[bytes](), 0
        while at < len(data):
            if self._at_line_start:
                self._is_notice = data.startswith(NOTICE, at)
                if not self._is_notice and NOTICE.startswith(data[at:]):
                    self._held = data[at:]
                    break
            end = data.find(b"\n", at) + 1 if self._is_notice else self._end_of_printed(data, at)
            if self._is_notice and not end:
                self._held = data[at:]
                break
            (notices if self._is_notice else printed).append(data[at:end])
            self._at_line_start = data[end - 1] == NEWLINE
            at = end
        return b"".join(printed), notices

    def finish(self) -> bytes:
        """What is left of a line without an end."""
        rest, self._held, self._at_line_start = self._held, b"", True
        return rest

    @staticmethod
    def _end_of_printed(data: bytes, at: int) -> int:
        """Before the next line that may be the agent's."""
        found = data.find(b"\n" + NOTICE[:1], at)
        if found >= 0:
            return found + 1
        return len(data)


class LogSink:
    """Writes what a job printed to stdout, and nothing else ever goes there: the agent's lines in its log go to stderr.
    A terminal gets it filtered, unless it is to be `raw`, and is left as if nothing had been written: without colours,
    so that the CLI's own lines are its own."""

    def __init__(self, *, several: bool, raw: bool = False) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._is_filtered = self._is_terminal and not raw
        self._prefixer = LinePrefixer(filtered=self._is_filtered) if several else None
        self._attempts: dict[int, int] = {}
        self._filters: dict[int, TerminalFilter] = {}
        self._splitters: dict[int, NoticeSplitter] = {}
        self._encoding = sys.stdout.encoding or "utf-8"
        self._at_line_start = True

    def write(self, chunk: "LogChunk") -> None:
        if self._attempts.setdefault(chunk.slice, chunk.attempt) != chunk.attempt:
            self._attempts[chunk.slice] = chunk.attempt
            self._end_attempt(chunk.slice)
        printed, notices = self._splitters.setdefault(chunk.slice, NoticeSplitter()).feed(chunk.data)
        for notice in notices:
            self.end_line()
            prefix = f"[{chunk.slice}] " if self._prefixer is not None else ""
            tell(prefix + notice.decode(errors="replace").rstrip(), dim=True)
        self._print(chunk.slice, printed)

    def _print(self, slice: int, data: bytes) -> None:
        if not self._is_filtered:
            self._show(slice, data, data.endswith(b"\n"))
            return
        one = self._filters.setdefault(slice, TerminalFilter(plain=is_dumb()))
        self._show_filtered(slice, one, one.style, one.feed(data))

    def end_line(self) -> None:
        """On a terminal: what comes next, from whomever, begins a line of its own."""
        if self._is_terminal and not self._at_line_start:
            self._put(b"\n", at_line_start=True)
            for one in self._filters.values():
                one.at_line_start = True

    def finish(self) -> None:
        for slice, splitter in self._splitters.items():
            self._print(slice, splitter.finish())
        for slice, one in self._filters.items():
            self._show_filtered(slice, one, one.style, one.finish())
        if self._prefixer is not None:
            self._put(self._prefixer.flush(), at_line_start=True)
        self.end_line()

    def _end_attempt(self, slice: int) -> None:
        """What it left unfinished is not for the next one to go on with."""
        if splitter := self._splitters.pop(slice, None):
            self._print(slice, splitter.finish())
        self._filters.pop(slice, None)
        if self._prefixer is not None:
            self._put(self._prefixer.flush(slice), at_line_start=True)
        else:
            self.end_line()

    def _show_filtered(self, slice: int, one: TerminalFilter, style: str, text: str) -> None:
        """`style` is what was in force before `text`; nothing is in force after it."""
        if text and self._prefixer is None:
            text = style + text + (RESET if one.style else "")
        self._show(slice, text.encode(self._encoding, "replace"), one.at_line_start)

    def _show(self, slice: int, data: bytes, at_line_start: bool) -> None:
        if self._prefixer is not None:
            data, at_line_start = self._prefixer.feed(slice, data), True
        self._put(data, at_line_start=at_line_start)

    def _put(self, data: bytes, *, at_line_start: bool) -> None:
        if data:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            self._at_line_start = at_line_start


class JsonSink:
    """JSON Lines for programs: text where it is text, and always the bytes' place in the log."""

    def __init__(self) -> None:
        self._decoders: dict[tuple[int, int], codecs.IncrementalDecoder] = {}

    def write(self, chunk: "LogChunk") -> None:
        place = (chunk.slice, chunk.attempt)
        decoder = self._decoders.setdefault(place, codecs.getincrementaldecoder("utf-8")("replace"))
        document = {
            "type": "log",
            "slice": chunk.slice,
            "attempt": chunk.attempt,
            "offset": chunk.offset,
            "text": decoder.decode(chunk.data),
            "data": base64.b64encode(chunk.data).decode(),
        }
        print_json(document, lines=True)
        sys.stdout.flush()

    def finish(self) -> None:
        """Nothing is held back."""


@click.command(
    epilog="Example: computepool logs -f last",
    help=f"Print a job's log: the newest attempt of each slice. {JOB_HELP} With -f, follow it until the job ends, also "
    "when the hub restarts. With several slices, each line begins with [SLICE]. On a terminal, control sequences other "
    "than colours are removed; files and pipes get every byte.",
)
@click.argument("job", metavar="JOB", type=JOB)
@click.option("-f", "--follow", is_flag=True, help="Follow the log until the job ends.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="Print only the last N lines of each slice.")
@click.option("--slice", "slice_index", type=click.IntRange(0), metavar="I", help="Print only this slice.")
@click.option("--attempt", type=click.IntRange(1), metavar="N", help="Print this attempt instead of the newest.")
@raw_option
@json_option
@pool_options
def logs(
    job: str,
    follow: bool,
    tail: int | None,
    slice_index: int | None,
    attempt: int | None,
    raw: bool,
    as_json: bool,
) -> None:
    with open_pool() as pool:
        known = pool.job(pool.find_job(job))
        _check_there(known, slice_index)
        several = known.has_several and slice_index is None
        sink = JsonSink() if as_json else LogSink(several=several, raw=raw)
        if attempt is not None:
            parts = pool.slices(known.id) if slice_index is None else (pool.slice(known.id, slice_index),)
            _check_attempt(parts, attempt)
        one = slice_index if slice_index is not None or attempt is None or several else 0
        if follow and attempt is None:
            _follow(pool.follow(known.id, slice=slice_index, tail=tail), sink)
        else:
            for chunk in pool.logs(known.id, follow=follow, slice=one, attempt=attempt, tail=tail):
                sink.write(chunk)
        sink.finish()
    if not follow and known.state == "queued":
        tell(f"{known.id} has not started. To see why: computepool why {known.id}", dim=True)


def _follow(events: object, sink: LogSink | JsonSink) -> None:
    from collections.abc import Iterable

    from computepool.client.follow import HubAway
    from computepool.client.logs import LogChunk

    assert isinstance(events, Iterable)
    told = False
    for event in events:
        if isinstance(event, LogChunk):
            told = False
            sink.write(event)
        elif isinstance(event, HubAway) and not told:
            told = True
            if isinstance(sink, LogSink):
                sink.end_line()
            tell("The hub does not answer. The log continues when it is back.", dim=True)


def _check_there(job: "Job", slice_index: int | None) -> None:
    if slice_index is not None and not job.has_slice(slice_index):
        slices = job.slice_count
        last = "it has only slice 0" if slices == 1 else f"its slices are 0 to {slices - 1}"
        if job.slice_indices is not None:
            last = f"it runs only {', '.join(map(str, job.slice_indices[:10]))} of {job.retry_of} again"
        raise click.BadParameter(f"the job has no slice {slice_index}: {last}", param_hint="--slice")


def _check_attempt(parts: "Iterable[Slice]", attempt: int) -> None:
    newest = 0
    for part in parts:
        numbers = [one.number for one in part.attempts]
        if attempt in numbers:
            return
        newest = max(newest, *numbers, 0)
    there = {0: "there was none yet", 1: "there is only attempt 1"}.get(newest, f"the newest is {newest}")
    raise click.BadParameter(f"there is no attempt {attempt}: {there}", param_hint="--attempt")
