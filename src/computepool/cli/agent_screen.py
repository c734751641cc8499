"""The agent's state as a picture for a terminal: a function of what the agent said, of nothing else.

The agent may be of another version than this program, so nothing in its answer is taken for granted: what is missing
is left out, what is not a number is not counted, and every text goes through `clean`.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from computepool.cli.display import count, duration, size, state_text
from computepool.cli.errors import clean
from computepool.protocol.units import format_cpus, format_credits

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDE_ENOUGH = 72
"""Columns from which GPUs and jobs are tables; below, each has lines of its own."""
BAR_CELLS = 10
LABEL_CELLS = 8
HOT_CELSIUS = 83.0
KEYS = (("p", "pause"), ("r", "resume"), ("d", "drain"), ("q", "quit"), ("?", "help"))
HELP = (
    ("p", "pause: suspend jobs at once, and give them back after 10 seconds"),
    ("r", "accept jobs again"),
    ("d", "finish running jobs, accept no new ones, then stop the agent"),
    ("q", "leave this screen; the agent keeps running"),
    ("?", "show or hide this help"),
)

Status = Mapping[str, Any]


def screen(status: Status, width: int, *, now: datetime | None = None) -> "Group":
    """Everything that the agent says of itself, to be read at `width` columns."""
    now = now or datetime.now(UTC)
    parts: list[RenderableType] = [_head(status, now)]
    for part in (_gpus(status, width), _machine(status), _jobs(status, width, now), _money(status)):
        if part is not None:
            parts += [Text(""), part]
    return Group(*parts)


def keys_line() -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    for key, meaning in KEYS:
        line.append(f" {key} ", style="reverse").append(f" {meaning}  ")
    return line


def help_lines() -> Table:
    return _pairs((key, Text(meaning)) for key, meaning in HELP)


class Fitted:
    """As much of the body as the terminal has room for, and always the line of keys below it."""

    def __init__(self, body: "RenderableType", foot: "RenderableType") -> None:
        self._body = body
        self._foot = foot

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        foot = console.render_lines(self._foot, options.update(height=None), pad=False)
        body = console.render_lines(self._body, options.update(height=None), pad=False)
        room = max(1, (options.height or console.height) - len(foot) - 1)
        if len(body) > room:
            hidden = len(body) - room + 1
            body = [*body[: room - 1], [Segment(f"… {count(hidden, 'more line')}: a taller window shows them")]]
        for line in [*body, [], *foot[:-1]]:
            yield from line
            yield Segment.line()
        yield from foot[-1]


# ── the parts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _head(status: Status, now: datetime) -> Table:
    link = status.get("link")
    line = Text(clean(link)) if link else Text(f"none: {clean(status.get('trouble') or 'connecting')}", style="red")
    return _pairs(
        (
            ("node", Text().append(_said(status, "name"), "bold").append(f"  {_said(status, 'node_id')}", "dim")),
            ("state", _state(status, now)),
            ("hub", Text(_said(status, "hub_url"))),
            ("line", line),
            ("policy", _policy(status, now)),
            ("trouble", _problems(status)),
            ("version", _versions(status)),
            ("notice", Text(clean(status["notice"]), style="yellow") if status.get("notice") else None),
        )
    )


def _state(status: Status, now: datetime) -> Text:
    until = _instant(status.get("paused_until"))
    return state_text(str(status.get("state")), f"for {_left(until, now)} more" if until else "")


def _policy(status: Status, now: datetime) -> Text | None:
    policy = status.get("policy")
    if not isinstance(policy, Mapping):
        return None
    if status.get("state") == "draining":
        return Text("nothing new: the agent stops when what runs is finished", style="yellow")
    if policy.get("strangers_welcome"):
        words, style = "renters are welcome", "green"
    else:
        words, style = ("only your own jobs" if policy.get("own_welcome", True) else "nothing runs"), "yellow"
    text = Text().append(words, style)
    if policy.get("reason"):
        text.append(f": {clean(policy['reason'])}")
    until = _instant(policy.get("until"))
    if until:
        text.append(f" (for {_left(until, now)} more)", style="dim")
    return text


def _problems(status: Status) -> Text | None:
    """What is wrong with the policy's file, and what cannot be read of the machine."""
    found = _strings(_mapping(status.get("policy")), "problems")
    return Text("; ".join(clean(one) for one in found), style="yellow") if found else None


def _versions(status: Status) -> Text | None:
    found = [f"{name} {clean(status[key])}" for name, key in _VERSIONS.items() if status.get(key)]
    return Text(", ".join(found)) if found else None


_VERSIONS = {"agent": "agent_version", "hub": "hub_version", "the hub wants at least": "agent_minimum"}


def _gpus(status: Status, width: int) -> "RenderableType | None":
    gpus = _list(_mapping(status.get("capacity")).get("gpus"))
    if not gpus:
        return None
    loads = {clean(load.get("id")): load for load in _list(status.get("gpus"))}
    users = _gpu_users(status)
    rows = []
    for gpu in gpus:
        load = loads.get(clean(gpu.get("id")), {})
        row = (_bar(load), _gpu_memory(gpu, load), _temperature(load), _watts(load))
        rows.append((clean(gpu.get("name")), row, users.get(clean(gpu.get("id")), Text("free", style="dim"))))
    if width < WIDE_ENOUGH:
        lines = []
        for name, cells, user in rows:
            known = [cell for cell in cells if cell.plain]
            lines += [Text(name, style="bold").append("  ").append_text(user), _joined(known)]
        return Group(*(line for line in lines if line.plain))
    table = _table("gpu", "load", "memory", "temp", "power", "used by")
    for name, cells, user in rows:
        table.add_row(Text(name), *cells, user)
    return table


def _gpu_users(status: Status) -> dict[str, Text]:
    users = {clean(one): Text("you", style="yellow") for one in _strings(_mapping(status.get("policy")), "gpus_in_use")}
    for attempt in _list(status.get("attempts")):
        for gpu in _strings(attempt, "gpus"):
            users[clean(gpu)] = Text(f"{whose(attempt)}: {clean(attempt.get('name'))}", style="cyan")
    return users


def _bar(load: Status) -> Text:
    share = _number(load.get("utilisation"))
    if share is None:
        return Text("")
    share = min(max(share, 0.0), 1.0)
    full = round(share * BAR_CELLS)
    bar = Text().append("█" * full, style="cyan").append("░" * (BAR_CELLS - full), style="dim")
    return bar.append(f" {share:4.0%}")


def _gpu_memory(gpu: Status, load: Status) -> Text:
    used, whole = _number(load.get("memory_used_bytes")), _number(gpu.get("memory_bytes"))
    if whole is None:
        return Text("" if used is None else size(used))
    return Text(size(whole) if used is None else f"{size(used)} of {size(whole)}")


def _temperature(load: Status) -> Text:
    celsius = _number(load.get("temperature_celsius"))
    return Text("") if celsius is None else Text(f"{celsius:.0f} °C", style="red" if celsius >= HOT_CELSIUS else "")


def _watts(load: Status) -> Text:
    watts = _number(load.get("power_watts"))
    return Text("" if watts is None else f"{watts:.0f} W")


def _machine(status: Status) -> Table | None:
    capacity, usage = _mapping(status.get("capacity")), _mapping(status.get("usage"))
    cores = _of(usage.get("cpus"), capacity.get("cpus"), format_cpus)
    cache, network = _mapping(status.get("cache")), _mapping(status.get("network"))
    rows = (
        ("cores", cores),
        ("memory", _of(usage.get("memory_bytes"), capacity.get("memory_bytes"), size)),
        ("disk", _of(usage.get("disk_bytes"), capacity.get("disk_bytes"), size)),
        ("not removed", _unremoved(_list(status.get("unremoved")))),
        ("cache", _of(cache.get("used_bytes"), cache.get("limit_bytes"), size)),
        ("network", _of(network.get("used_bytes"), network.get("allowance_bytes"), size, "this month")),
    )
    known = [(name, Text(text)) for name, text in rows if text]
    return _pairs(known) if known else None


def _unremoved(remains: list[Status]) -> str:
    """Folders of ended jobs that the agent cannot remove."""
    if not remains:
        return ""
    whole = sum(_number(one.get("size_bytes")) or 0.0 for one in remains)
    return f"{count(len(remains), 'folder')} of ended jobs, {size(whole)}: see computepool agent doctor"


def _of(used: object, whole: object, shown: Any, note: str = "") -> str:
    """`4 of 16 cores` where both are known; what is not known is not said."""
    have, limit = _number(used), _number(whole)
    if limit is None:
        return "" if have is None else f"{shown(have)} used{' ' + note if note else ''}"
    text = f"{shown(limit)} shared" if have is None else f"{shown(have)} of {shown(limit)} used"
    return f"{text}{' ' + note if note else ''}"


def _jobs(status: Status, width: int, now: datetime) -> "RenderableType":
    attempts = _list(status.get("attempts"))
    if not attempts:
        return Text("Nothing runs here now.", style="dim")
    wide = width >= WIDE_ENOUGH
    table = _table("job", "whose", "state", "for", "isolation") if wide else _table("job", "state", "for")
    for attempt in attempts:
        state = state_text(str(attempt.get("state")))
        name = Text(clean(attempt.get("name") or attempt.get("job_id")), overflow="fold")
        since = Text(_age(attempt, now))
        if wide:
            table.add_row(name, whose(attempt), state, since, Text(_said(attempt, "isolation")))
        else:
            table.add_row(name.append(f" ({whose(attempt)})", style="dim"), state, since)
        progress = _progress(attempt, _strings(_mapping(status.get("policy")), "causes"))
        if progress:
            table.add_row(Text(f"  {progress}", style="dim"))
    return table


def whose(attempt: Status) -> str:
    return "yours" if attempt.get("own") else "a renter's"


def _age(attempt: Status, now: datetime) -> str:
    began = _instant(attempt.get("started_at"))
    return duration((now - began).total_seconds()) if began else ""


def _progress(attempt: Status, causes: list[str]) -> str:
    if reasons := _strings(attempt, "suspended_for"):
        words = [_OWNERS_CAUSES.get(cause, _SUSPENDED["owner"]) for cause in causes if "owner" in reasons]
        words += [_SUSPENDED.get(reason, clean(reason)) for reason in reasons if reason != "owner" or not causes]
        return f"stands still: {', '.join(dict.fromkeys(words))}"
    progress = _mapping(attempt.get("progress"))
    done, total = _number(progress.get("done_bytes")), _number(progress.get("total_bytes"))
    if done is None:
        return _said(progress, "what")
    what = clean(progress.get("what") or "fetching")
    return f"{what}: {size(done)}" + (f" of {size(total)} ({done / total:.0%})" if total else "")


# Of the owner's policy. The others are all the same to whoever looks: somebody is at the machine.
_OWNERS_CAUSES = {
    "pause": "you said pause",
    "battery": "the machine is on its battery",
    "heat": "it is too hot",
    "hours": "the hours are over",
    "metered": "the network is metered",
    "allowance": "the month's data is used up",
}
_SUSPENDED = {"owner": "you are using the machine", "lease": "no word from the hub", "copy": "its checkpoint is saved"}


def _money(status: Status) -> Table:
    earned = _mapping(status.get("earnings"))
    power = _mapping(status.get("power")) or earned
    credits = _today_and_month(earned, "today_micros", "month_micros", lambda micros: format_credits(int(micros)))
    currency = _said(power, "currency")
    cost = _today_and_month(power, "cost_today", "cost_month", lambda amount: f"{amount:.2f} {currency}".rstrip())
    energy = _today_and_month(power, "kwh_today", "kwh_month", lambda kwh: f"{kwh:.2f} kWh")
    return _pairs(
        (
            ("credits", Text(credits) if credits else None),
            ("power", Text(cost or energy) if cost or energy else None),
        )
    )


def _today_and_month(source: Status, today: str, month: str, shown: Any) -> str:
    values = (("today", _number(source.get(today))), ("this month", _number(source.get(month))))
    return ", ".join(f"{shown(value)} {when}" for when, value in values if value is not None)


# ── small things ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _pairs(rows: "Iterator[tuple[str, Text]] | Any") -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(style="dim", no_wrap=True, width=LABEL_CELLS)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None and value.plain:
            table.add_row(name, value)
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        named = head in ("gpu", "job", "used by")
        table.add_column(head.upper(), no_wrap=not named, overflow="fold" if named else "ellipsis")
    return table


def _joined(texts: list[Text]) -> Text:
    return Text("  ").append_text(Text("  ").join(texts)) if texts else Text("")


def _said(source: Status, key: str) -> str:
    return clean(source.get(key) or "")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e18 else None  # which NaN is not either


def _instant(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _left(until: datetime, now: datetime) -> str:
    return duration((until - now).total_seconds())


def _mapping(value: object) -> Status:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Status]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []


def _strings(source: Status, key: str) -> list[str]:
    value = source.get(key)
    return [str(one) for one in value] if isinstance(value, list | tuple) else []
