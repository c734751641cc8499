"""Staying with a job: what it waits for, its log, how it ended, and Ctrl-C."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from computepool.cli.errors import INTERRUPTED, POOL_COULD_NOT, clean, is_dumb, tell
from computepool.cli.jobs import retry_note, took
from computepool.cli.logs import JsonSink, LogSink
from computepool.cli.slices import progress, tell_failures

if TYPE_CHECKING:
    from computepool.client.logs import LogChunk
    from computepool.client.models import Attempt, Job, Why
    from computepool.client.pool import Pool

NOTES_LIMIT = 5
GATES_LIMIT = 3
WHY_EVERY_SECONDS = 2.0
WHY_AFTER_SECONDS = 0.4
"""A job that starts at once is not asked why it waits."""
NEWS_EVERY_SECONDS = 10.0
"""Where there is no terminal, so that a log is not full of how a job waited."""
MOST_EXIT_CODE = 255
POOLS_DOING = frozenset({"host", "owner", "preempted", "hub", "budget"})


@contextmanager
def ends_as_interrupt() -> Iterator[None]:
    """SIGTERM is what Ctrl-C is, from the start of a command on."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Interrupts:
    """Ctrl-C as a thing to ask about, so that nothing is torn off midway. The second one in a row is obeyed at once.
    SIGTERM is the same without the question: who sends it does not sit at this terminal."""

    def __init__(self) -> None:
        self.pending = False
        self.can_ask = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.can_ask = number == signal.SIGINT
        self.pending = True

    @contextmanager
    def raised(self) -> Iterator[None]:
        """While a question is open, Ctrl-C is an answer to it."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


class StatusLine:
    """One line that changes, on a terminal; elsewhere only what a reader of the log would want to know."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live: Any = None
        self._text = ""
        self._told_at: float | None = None

    @property
    def has_told(self) -> bool:
        return self._told_at is not None

    def say(self, text: str, *, matters: bool = True, urgent: bool = False) -> None:
        """Without a terminal a text that is not urgent waits until the last one is some seconds old: say it again."""
        text = clean(text)
        is_terminal = sys.stderr.isatty() and not is_dumb()
        if self._quiet or text == self._text or not (matters or is_terminal):
            return
        now = time.monotonic()
        if not is_terminal:
            if self._told_at is not None and now - self._told_at < NEWS_EVERY_SECONDS and not urgent:
                return
            self._text, self._told_at = text, now
            tell(text, dim=True)
            return
        self._text, self._told_at = text, now
        if self._live is None:
            from rich.status import Status
            from rich.text import Text

            from computepool.cli.display import console

            self._live = Status(Text(text), console=console(err=True))
            self._live.start()
        else:
            from rich.text import Text

            self._live.update(Text(text))

    def stop(self) -> None:
        self._text = ""
        if self._live is not None:
            self._live.stop()
            self._live = None


@dataclass(frozen=True, slots=True)
class Attached:
    job: "Job"
    detached: bool = False


class Attachment:
    def __init__(self, pool: "Pool", job: "Job", sink: LogSink | JsonSink, *, quiet: bool) -> None:
        self._pool = pool
        self._job = job
        self._sink = sink
        self._status = StatusLine(quiet=quiet)
        self._quiet = quiet
        self._canceling = False
        self._attempts: dict[int, int] = {}
        self._asked_why_at = time.monotonic() + WHY_AFTER_SECONDS - WHY_EVERY_SECONDS
        self._waits_for = ""
        self._away = False

    def follow(self) -> Attached:
        try:
            with Interrupts() as interrupts:
                return self._follow(interrupts)
        except KeyboardInterrupt:
            # Twice in a row: leave now, and do not leave the job behind.
            if not self._canceling:
                self._cancel()
            return Attached(self._job)
        finally:
            self._status.stop()
            self._end_line()

    def _follow(self, interrupts: Interrupts) -> Attached:
        from computepool.client.follow import Ended, HubAway, JobChanged
        from computepool.client.logs import LogChunk

        for event in self._pool.follow(self._job.id):
            if isinstance(event, LogChunk):
                self._show(event)
            elif isinstance(event, Ended):
                self._job = event.job
                self._status.stop()
                self._sink.finish()
                return Attached(event.job)
            elif isinstance(event, JobChanged):
                self._job = event.job
                self._away = False
                if isinstance(self._sink, JsonSink):
                    _print_event("job", event.job)
            elif isinstance(event, HubAway):
                self._away = True
            if interrupts.pending:
                interrupts.pending = False
                if self._interrupted(interrupts):
                    return Attached(self._job, detached=True)
            self._tell_state()
        raise AssertionError("following ends with Ended or raises")

    # ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────

    def _show(self, chunk: "LogChunk") -> None:
        self._status.stop()
        self._away = False
        before = self._attempts.get(chunk.slice)
        if before is not None and chunk.attempt > before and not self._quiet:
            which = "" if not self._job.has_several else f" of slice {chunk.slice}"
            self._end_line()
            tell(f"── attempt {chunk.attempt}{which}{self._how_it_begins(chunk)} ──", fg="yellow")
        self._attempts[chunk.slice] = chunk.attempt
        self._sink.write(chunk)

    def _how_it_begins(self, chunk: "LogChunk") -> str:
        """As far as it is known by now: the log may be quicker than the job's state."""
        part = next((part for part in self._job.slices if part.index == chunk.slice), None)
        attempt = next((one for one in part.attempts if one.number == chunk.attempt), None) if part else None
        if attempt is None:
            return ""
        saved = attempt.resumed_from
        return ": it starts from the beginning" if saved is None else f": it continues from checkpoint {saved}"

    def _tell_state(self) -> None:
        if self._away:
            self._say(
                "the hub does not answer; the job continues, and its log resumes when the hub is back", urgent=True
            )
        elif self._canceling:
            self._say("canceling …", urgent=True)
        elif self._job.state == "queued":
            reason = self._reason()
            self._say(f"queued{f': {reason}' if reason else ' …'}", matters=bool(reason))
        elif (note := retry_note(self._job)) and not self._job.counts.get("running"):
            reason = self._reason()
            self._say(note.removeprefix("· ") + (f": {reason}" if reason else " …"), matters=bool(reason))
        elif self._is_silent() or self._job.slice_count > 1:
            # Without a terminal only after a wait was told: that it is over is news then.
            self._say(self._running_text(), matters=self._status.has_told)
        else:
            self._status.stop()

    def _say(self, text: str, *, matters: bool = True, urgent: bool = False) -> None:
        self._end_line()
        self._status.say(text, matters=matters, urgent=urgent)

    def _end_line(self) -> None:
        """What the CLI says never stands on a line that the job has begun."""
        if isinstance(self._sink, LogSink):
            self._sink.end_line()

    def _is_silent(self) -> bool:
        """Nothing was printed yet by what runs now."""
        newest = [(part.index, part.newest) for part in self._job.slices if part.state == "running"]
        spoke = any(one is not None and self._attempts.get(index) == one.number for index, one in newest)
        return bool(newest) and not spoke

    def _running_text(self) -> str:
        found = [part.newest for part in self._job.slices if part.newest is not None]
        if not self._job.has_several and found:
            one = found[0]
            kind = " (simulated)" if self._job.simulated else ""
            return f"{one.state} on {one.node_name or one.node_id or 'a node'}{kind}"
        return progress(self._job)

    def _reason(self) -> str:
        """What the job waits for, asked now and then; a hub that does not answer is no reason to stop following."""
        from computepool.client.errors import ClientError

        now = time.monotonic()
        if now - self._asked_why_at >= WHY_EVERY_SECONDS:
            self._asked_why_at = now
            try:
                self._waits_for = _what_for(self._pool.why(self._job.id))
            except ClientError:
                self._waits_for = ""
        return self._waits_for

    # ── Ctrl-C ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _interrupted(self, interrupts: Interrupts) -> bool:
        """True: leave the job alone and go."""
        self._status.stop()
        self._end_line()
        if self._canceling:
            raise KeyboardInterrupt
        answer = "c"
        if interrupts.can_ask and sys.stdin.isatty() and sys.stderr.isatty():
            with interrupts.raised():
                try:
                    answer = _ask_cancel_or_detach(self._job)
                except (KeyboardInterrupt, EOFError):
                    answer = "c"
        if answer == "d":
            return True
        if answer == "c":
            self._cancel()
        return False

    def _cancel(self) -> None:
        from computepool.client.errors import ClientError

        self._canceling = True
        try:
            self._job = self._pool.cancel(self._job.id)
        except ClientError as error:
            tell(f"The job could not be canceled: {clean(error.message)}", fg="red")
            tell(f"  Try again: computepool cancel {self._job.id}", dim=True)


def _what_for(answer: "Why") -> str:
    """What no node can ever run comes with what is in its way: waiting longer does not help there."""
    stuck = next((one for one in answer.waiting if one.nodes_total and not one.feasible), None)
    if stuck is None:
        return answer.summary
    gates = sorted((one for one in stuck.gates if one.removed), key=lambda one: -one.removed)[:GATES_LIMIT]
    shown = ", ".join(f"{one.gate} ({one.detail})" if one.detail else one.gate for one in gates)
    return " ".join(
        [answer.summary, *([f"In the way: {shown}."] if shown else []), f"More: computepool why {answer.job_id}"]
    )


def _ask_cancel_or_detach(job: "Job") -> str:
    """c, d, or nothing to go on."""
    tell(f"\n{clean(job.name or job.id)} is {job.state}.", bold=True)
    sys.stderr.write("[c]ancel it, [d]etach and leave it running, or Enter to keep following? ")
    sys.stderr.flush()
    # Not through readline or stdout: that is the job's.
    line = os.read(sys.stdin.fileno(), 100)
    if not line:
        raise EOFError
    return line.decode(errors="replace").strip().lower()[:1]


# ── how it ended ─────────────────────────────────────────────────────────────────────────────────────────────────────


def exit_code_for(job: "Job") -> int:
    """The job's own; 75 when the pool could not do it; 130 when it was canceled."""
    if job.state == "succeeded":
        return 0
    if job.state == "canceled" or job.cancel_requested_at is not None:
        return INTERRUPTED
    if job.state != "failed" or job.verdict in POOLS_DOING:
        return POOL_COULD_NOT
    if job.exit_code is None or job.exit_code == 0:
        return 1
    # A host may say any number, and the system keeps only its last eight bits: 256 must not come out as success.
    return min(job.exit_code if job.exit_code > 0 else 128 - job.exit_code, MOST_EXIT_CODE)


def cost_of(pool: "Pool", job: "Job") -> str:
    """In words, if it cost anything. Whoever may not see it, or has a pool without money, is told nothing."""
    if job.next_slice is None and all(attempt.own for part in job.slices for attempt in part.attempts):
        return ""  # one's own nodes cost nothing
    from computepool.cli.display import in_credits
    from computepool.client.errors import ClientError

    try:
        micros = pool.wallet.cost_micros(job.id) if job.started_at is not None else 0
    except ClientError:
        return ""
    return in_credits(micros) if micros else ""


def tell_end(job: "Job", cost: str = "") -> None:
    marks: dict[str, tuple[str, str]] = {"succeeded": ("✓", "green"), "canceled": ("■", "yellow")}
    mark, color = marks.get(job.state, ("✗", "red"))
    parts = [f"{mark} {job.state}"]
    if job.state == "failed":
        parts.append(_failure(job))
    if job.started_at is not None:
        parts.append(f"in {took(job)}")
    parts.append(_place(job))
    if job.simulated:
        parts.append("· simulated: nothing was really run")
    if cost:
        parts.append(f"· {cost}")
    for note in _notes(job):
        tell(f"note: {clean(note)}", dim=True)
    tell(" ".join(clean(part) for part in parts if part), fg=color)
    tell_failures(job)
    if job.state == "failed" and job.verdict == "budget":
        change = "change `budget`, `max_price` or `max_runtime` in its spec, or get credits: computepool wallet"
        tell(f"  Before you run it again, {change}", dim=True)
    elif job.state == "failed" and job.verdict in POOLS_DOING:
        tell(f"  The job itself did not fail. Run it again: computepool retry {job.id}", dim=True)


def _notes(job: "Job") -> list[str]:
    """What the nodes have to say of slices that went well, such as outputs that are not there. Each thing once."""
    newest = [part.newest for part in job.slices if part.state == "succeeded" and part.newest is not None]
    return list(dict.fromkeys(attempt.detail for attempt in newest if attempt.detail))[:NOTES_LIMIT]


def _failure(job: "Job") -> str:
    if job.message:
        return f"({job.message})"
    if job.exit_code:
        return f"(exit code {job.exit_code})"
    return f"({job.reason or job.verdict})" if job.reason or job.verdict else ""


def _place(job: "Job") -> str:
    attempts: list[Attempt] = [part.newest for part in job.slices if part.newest is not None]
    if not attempts:
        return ""
    nodes = sorted({attempt.node_name or attempt.node_id or "?" for attempt in attempts})
    where = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
    levels = sorted({attempt.isolation for attempt in attempts if attempt.isolation})
    label = ", ".join(_level(level, attempts) for level in levels)
    return f"on {where}" + (f" ({label})" if label else "")


def _level(level: str, attempts: "list[Attempt]") -> str:
    if level != "process":
        return level
    own = all(attempt.own for attempt in attempts if attempt.isolation == "process")
    return "not isolated: your own machine" if own else "process: NOT ISOLATED"


def _print_event(kind: str, job: "Job") -> None:
    from computepool.cli.options import print_json

    print_json({"type": kind, "job": job.model_dump(mode="json")}, lines=True)
    sys.stdout.flush()


def attach(pool: "Pool", job: "Job", *, as_json: bool, raw: bool, after: "Callable[[Job], None]") -> int:
    """Follow to the end, do what comes after it, tell how it ended; the exit code."""
    sink = JsonSink() if as_json else LogSink(several=job.has_several, raw=raw)
    try:
        attached = Attachment(pool, job, sink, quiet=as_json).follow()
    except BrokenPipeError:
        tell(f"The output was closed. {job.id} keeps running: computepool logs -f {job.id}", dim=True)
        raise
    last = attached.job
    if attached.detached:
        tell(f"Detached. {last.id} keeps running: computepool logs -f {last.id}")
        return 0
    if last.is_final:
        after(last)
    if as_json:
        _print_event("end", last)
    else:
        tell_end(last, cost_of(pool, last))
    return exit_code_for(last)
