"""Writes the parts of the documentation that the code knows better: `./dev run python -m tools.docs`.

A page holds `<!-- generated: NAME -->` … `<!-- end -->`; everything between is replaced. `tests/docs` fails while a
page and the code disagree.
"""

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import click
from pydantic import BaseModel

from computepool.protocol.states import State, Table

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def refreshed(text: str) -> str:
    """The page with each of its blocks as the code has it now."""
    return BLOCK.sub(lambda found: f"{found[1]}{GENERATORS[found[2]]()}\n{found[3]}", text)


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _diagram(states: Table[State], first: State, group: str = "", members: Iterable[State] = ()) -> str:
    """Arrows that all members of a group have are drawn once, from the group."""
    inside = [state for state in states if state in set(members)]
    common = frozenset.intersection(*(states[state] for state in inside)) if inside else frozenset[State]()
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first}"]
    if inside:
        lines += [f"    state {group} {{", *(f"        {state}" for state in inside), "    }"]
        lines += [f"    {group} --> {target}" for target in states if target in common]
    for state, after in states.items():
        drawn = after - common if state in inside else after
        lines += [f"    {state} --> {target}" for target in states if target in drawn]
        if not after:
            lines.append(f"    {state} --> [*]")
    return "\n".join([*lines, "```"])


def job_states() -> str:
    from computepool.protocol.states import JOB_NEXT, JobState

    return _diagram(JOB_NEXT, JobState.QUEUED)


def attempt_states() -> str:
    from computepool.protocol.states import ATTEMPT_LIVE, ATTEMPT_NEXT, AttemptState

    return _diagram(ATTEMPT_NEXT, AttemptState.LEASED, "live", ATTEMPT_LIVE)


def node_states() -> str:
    """A table: almost every arrow exists, and a picture of that says nothing."""
    from computepool.protocol.states import NODE_NEXT

    rows = [
        (f"`{state}`", ", ".join(f"`{one}`" for one in NODE_NEXT if one in after)) for state, after in NODE_NEXT.items()
    ]
    return table(("a node that is", "may become"), rows)


# ── ends, and time ───────────────────────────────────────────────────────────────────────────────────────────────────


def ends() -> str:
    """What each end that a node's receipt may name leads to, asked of the very functions that decide it."""
    from computepool.hub.jobs.policy import Tries, ending_of, next_step
    from computepool.protocol.receipt import EndReason

    rows = []
    for reason, exit_code in [(EndReason.EXITED, 0), *((reason, 1) for reason in EndReason)]:
        end = ending_of(reason, exit_code, "")
        allowed = next_step(end, Tries(failures=0, losses=0, retries_allowed=1), cancel_requested=False)
        used_up = next_step(end, Tries(failures=1, losses=0, retries_allowed=1), cancel_requested=False)
        name = f"{reason}, exit code {'0' if exit_code == 0 else 'not 0'}" if reason is EndReason.EXITED else reason
        elsewhere = " elsewhere, if there is an elsewhere" if allowed.avoid_node else ""
        rows.append((f"`{name}`", end.verdict, f"{allowed.state}{elsewhere}", f"{used_up.state}{elsewhere}"))
    return table(("end", "verdict", "the slice is then, with retries left", "without"), rows)


def timing() -> str:
    from computepool.protocol import timing as module

    names = [name for name in vars(module) if name.isupper()]
    return table(("constant", "value"), [(f"`{name}`", _seconds(getattr(module, name))) for name in names])


def _seconds(value: object) -> str:
    if isinstance(value, tuple):
        return " to ".join(f"{one:g}" for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


# ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def settlement() -> str:
    """Who pays for an hour at ten credits, by the very function that settles, with a checkpoint after 40 minutes."""
    from computepool.hub.jobs.metering import Meter
    from computepool.hub.ledger.holds import Pockets
    from computepool.hub.ledger.settlement import SECONDS_PER_HOUR, cost_of, rule_of, settle
    from computepool.protocol.states import Verdict
    from computepool.protocol.units import MICROS_PER_CREDIT, format_credits

    price, fee_bps = 10 * MICROS_PER_CREDIT, 2000
    hold = Pockets(available=cost_of(price, SECONDS_PER_HOUR))
    meter = Meter(SECONDS_PER_HOUR, claimed_seconds=SECONDS_PER_HOUR, saved_seconds=2400)
    rows = []
    for verdict, refund_failed in [*((one, False) for one in Verdict), (Verdict.RENTER, True)]:
        rule = rule_of(verdict, refund_failed=refund_failed)
        one = settle(hold, price, meter.billed(rule.basis, SECONDS_PER_HOUR), fee_bps, rule.payer)
        name = f"`{verdict}`, with `COMPUTEPOOL_REFUND_FAILED_JOBS`" if refund_failed else f"`{verdict}`"
        figures = (one.cost.total, one.fee.total, one.earned, one.subsidy.total, one.refund.total)
        rows.append((name, PAID_FOR[rule.payer, rule.basis], *(format_credits(micros) for micros in figures)))
    heads = (
        "verdict",
        "who pays for what",
        "renter pays",
        "fee",
        "host earns",
        "of that from the platform",
        "goes back",
    )
    return table(heads, rows)


def mutation() -> str:
    """As `tools.mutants` measured it last: never a figure that was not."""
    from tools.mutants import MODULES, RESULTS, score_of

    result = json.loads(RESULTS.read_text("utf-8"))
    rows: list[tuple[object, ...]] = []
    for name in MODULES:
        one = result["modules"].get(name)
        if one is None:
            rows.append((f"`{name}`", "not measured", "", "", ""))
            continue
        found, run = score_of([one])
        rows.append((f"`{name}`", run, found, run - found, one["not_run"] or ""))
    found, run = score_of(result["modules"].values())
    not_run = sum(one["not_run"] for one in result["modules"].values())
    rows.append(("together", run, found, run - found, not_run or ""))
    alive = [(f"`{name}`, {one['line']}", one["what"]) for name, of in result["modules"].items() for one in of["alive"]]
    share = f"{100 * found / run:.1f} %" if run else "nothing"
    tests = result["tests"]["run"]
    parts = (
        f"Measured on {result['measured']} with {tests} tests: of {run} mutants, **{share}** were found.",
        table(("module of `computepool.hub`", "mutants run", "found", "alive", "not run"), rows),
        "Those that were not found, by line:",
        table(("where", "what became what"), alive),
    )
    return "\n\n".join(parts)


PAID_FOR = {
    ("renter", "metered"): "the renter, for the seconds that are billed",
    ("renter", "saved"): "the renter, up to the last saved checkpoint",
    ("platform", "metered"): "the platform, for the seconds that are billed",
    ("nobody", "metered"): "nobody",
    ("nobody", "kept"): "nobody; of a long attempt, instalments stay paid as far as a checkpoint saved their time",
}


# ── reputation ───────────────────────────────────────────────────────────────────────────────────────────────────────


def reliability_weights() -> str:
    from computepool.hub.reputation.reliability import weight_of
    from computepool.protocol.states import Verdict

    rows = []
    for verdict, words in WHOSE_DOING.items():
        plain, saved = (weight_of(Verdict(verdict), "", saved=saved) for saved in (False, True))
        rows.append((f"`{verdict}`", words, f"{plain:+g}" if plain else "0", f"{saved:+g}" if saved else "0"))
    return table(("verdict", "whose doing it was", "counts", "with a checkpoint"), rows)


WHOSE_DOING = {
    "ok": "it ended well",
    "renter": "the job's own: its exit code, its limits, a cancel",
    "host": "the machine's: it vanished, its sandbox broke, its receipt does not match",
    "owner": "the machine's owner took it back",
    "preempted": "another job took the slot",
    "hub": "the hub's",
    "budget": "the money for it ran out",
}


def reliability_numbers() -> str:
    """By the very functions that matching uses."""
    from datetime import UTC, datetime

    from computepool.hub.reputation.record import Happening, after, fresh, standing_of
    from computepool.hub.reputation.reliability import HALF_LIFE, weight_of
    from computepool.protocol.states import Verdict

    now = datetime(2026, 1, 1, tzinfo=UTC)
    ok, vanish = ([(verdict, weight_of(verdict, "", saved=False))] for verdict in (Verdict.OK, Verdict.HOST))
    histories: tuple[tuple[str, list[tuple[Verdict, float]], int], ...] = (
        ("a new node", [], 0),
        ("ten clean attempts", ok * 10, 0),
        ("fifty clean attempts", ok * 50, 0),
        ("fifty clean attempts, and one on which it vanished", ok * 50 + vanish, 0),
        ("the same, a half-life later", ok * 50 + vanish, 1),
        ("three failures and nothing else", vanish * 3, 0),
    )
    rows = []
    for words, ends, half_lives in histories:
        record = fresh(now)
        for verdict, weight in ends:
            record = after(record, Happening(verdict, weight, now), HALF_LIFE)
        standing = standing_of(record, now + half_lives * HALF_LIFE, HALF_LIFE)
        rows.append((words, f"{standing.mean:.2f}", f"{standing.lower:.2f}"))
    return table(("history", "mean", "5 % lower bound"), rows)


def quarantines() -> str:
    from computepool.hub.reputation.quarantine import LONGEST, length

    rows: list[tuple[str, str]] = []
    level = 1
    while not rows or length(level - 1) < LONGEST:
        minutes = round(length(level).total_seconds() / 60)
        rows.append((str(level), f"{minutes} minutes" if minutes < 60 else f"{minutes / 60:.3g} hours"))
        level += 1
    return table(("quarantine", "how long"), rows)


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with the words that call it."""
    from computepool.cli.app import cli

    def walk(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield words, command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from walk(f"{words} {name}", below)

    return walk("computepool", cli)


def command_table() -> str:
    from computepool.cli.jobs import JOB_HELP
    from computepool.cli.node_price import NODE_HELP

    rows = []
    for words, command in commands():
        pieces = command.collect_usage_pieces(click.Context(command))
        usage = " ".join([words, *(piece for piece in pieces if piece != "[OPTIONS]")])
        options = [
            f"`{'`, `'.join(one.opts)}`"
            for one in command.params
            if isinstance(one, click.Option) and not one.hidden and one.name not in ("home", "url", "as_json", "help")
        ]
        first = (command.help or "").strip().split("\n\n")[0]
        for explained in (JOB_HELP, NODE_HELP):
            first = first.replace(explained, "").strip()
        rows.append((f"`{usage}`", first, " · ".join(options)))
    return table(("command", "does", "options"), rows)


# ── the REST API ─────────────────────────────────────────────────────────────────────────────────────────────────────


NOT_DESCRIBED = {
    "/": "The status page.",
    "/docs": "This API, to read in a browser.",
    "/device": "Where a person confirms the code of `computepool login`.",
    "/api/v1/agent/link": "An agent's line, over a WebSocket.",
    "/api/v1/agent/poll": "The same line, by long poll.",
    "/api/v1/jobs/{job_id}/stream": "The job and its log, live.",
    "/api/v1/blobs/{key:path}": "A part of an artifact, where the store is the hub's own disk.",
}
"""Routes of which the OpenAPI document does not say it."""


def route_table() -> str:
    return asyncio.run(_route_table())


async def _route_table() -> str:
    from computepool.hub.app import create_app
    from computepool.hub.commands import migrate
    from computepool.hub.core.http import route_table as declared
    from computepool.hub.core.settings import Settings
    from computepool.hub.opening import open_engine

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            home=Path(folder), database_url=f"sqlite:///{folder}/pool.db", storage_url=f"file://{folder}/artifacts"
        )
        migrate(settings)
        engine = await open_engine(settings)
        try:
            app = create_app(engine)
        finally:
            engine.context.db.close()
    described = app.openapi()["paths"]
    rows = []
    for entry in declared(app):
        if entry.method == "HEAD" or entry.path.startswith("/pages/"):
            continue
        told = described.get(entry.path, {}).get(entry.method.lower(), {})
        text = (told.get("description") or NOT_DESCRIBED.get(entry.path) or told.get("summary", "")).split("\n\n")[0]
        scope = f"`{entry.scope}`" if entry.scope else ""
        rows.append((f"`{entry.method} {entry.path}`", entry.visible, scope, text))
    return table(("route", "visible", "scope", "does"), rows)


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def setting_table() -> str:
    from computepool.hub.core.settings import PREFIX, Settings

    rows = []
    for name, info in Settings.model_fields.items():
        default = "`~/.computepool`" if isinstance(info.default, Path) else f"`{info.default}`"
        rows.append((f"`{PREFIX}{name.upper()}`", "" if info.default is None else default, info.description))
    return table(("variable", "default", "what it is"), rows)


# ── the job spec ─────────────────────────────────────────────────────────────────────────────────────────────────────


def spec_table() -> str:
    from computepool.protocol.spec_aliases import (
        LIFTED_FROM_RESOURCES,
        RESOURCE_ALIASES,
        RESOURCE_KEYS,
        SPEC_ALIASES,
        SPEC_KEYS,
        WHERE_KEYS,
    )
    from computepool.protocol.spec_support import NOT_YET

    missing = {field: hint for field, _, hint in NOT_YET}
    keys: list[str] = []
    for key in SPEC_KEYS:
        below = {"resources": RESOURCE_KEYS, "where": WHERE_KEYS}.get(key)
        keys += [f"{key}.{name}" for name in below] if below else [key]
    aliases: dict[str, list[str]] = {}
    for alias, key in SPEC_ALIASES.items():
        aliases.setdefault(key, []).append(alias)
    for alias, key in RESOURCE_ALIASES.items():
        aliases.setdefault(f"resources.{key}", []).append(f"resources.{alias}")
    for alias, key in LIFTED_FROM_RESOURCES.items():
        aliases.setdefault(key, []).append(f"resources.{alias}")
    rows = []
    for key in keys:
        also = ", ".join(f"`{alias}`" for alias in aliases.get(key, []))
        rows.append((f"`{key}`", MEANINGS[key], _support(key, missing), also))
    return table(("key", "what it says", "today", "also written"), rows)


def _support(key: str, missing: Mapping[str, str]) -> str:
    if key not in missing:
        return "works"
    return PARTLY.get(key) or f"not yet; {missing[key]}"


PARTLY: dict[str, str] = {}
"""Keys of which one value or another is refused."""

MEANINGS = {
    "name": "what the job is called",
    "resources.cpus": "cores of one slice: `8`, `8+`, `0.5`; default 1",
    "resources.memory": "`16GB`, `512MB`; default 1GB. Powers of two",
    "resources.disk": "what one slice may write; default 1GB",
    "resources.gpu": "whole GPUs: `24GB..`, `rtx-4090`, `rtx-4090:2`, `A100:80GB:1`",
    "image": "container image to run in",
    "workdir": "folder that is sent along, relative to the file; `.gitignore` holds",
    "setup": "runs before `run`, to install things",
    "run": "text for `sh -c`, or a list: a program and its arguments. The only key that is needed",
    "env": "variables of the job; a name without a value takes the caller's",
    "secrets": "stored secrets that the job gets",
    "outputs": "globs of files to keep, below the folder where the command runs",
    "checkpoint": "folder that is saved and restored; or `{path: ckpt, every: 10m}`; default every 5m",
    "slices": "parallel parts, up to 10,000; default 1",
    "max_price": "the most that a slice-hour may cost, in credits; default: a quarter more than was quoted",
    "max_runtime": "of one attempt: `90s`, `2h`, up to 30d; default 1h",
    "budget": "credits for the whole job",
    "priority": "from -100 to 100, among your own jobs; higher goes first; default 0",
    "preemptible": "costs less, and may lose its slot to other jobs, with a grace to save its checkpoint",
    "retries": "tries after an end that was the job's own doing; default 0",
    "optimize": "what to save: `cost`, `speed` (time) or `balanced`; default `balanced`",
    "where.country": "any of these countries, as two letters",
    "where.trust": "whose nodes: `mine`, `verified`, `any`; default `any`",
    "where.tags": "nodes that have all of these tags",
    "where.min_reliability": "nodes that are at least so reliable, from 0 to 1, by the 5 % lower bound",
    "where.node": "this node alone",
    "isolation": "the least that is accepted: `process`, `bubblewrap`, `container`, `gvisor`",
    "inputs": "files from stored artifacts or URLs",
    "notify": "who is told at the end",
    "team": "whose job it is",
    "network": "whether `run` reaches the internet",
    "deterministic": "two runs give the same outputs",
    "verify": "run it on several nodes and compare",
    "publish": "make a model of the outputs",
}

# ── the owner's policy ───────────────────────────────────────────────────────────────────────────────────────────────


def policy_table() -> str:
    from computepool.agent.owner.policy import Conditions, GpuRules
    from computepool.agent.owner.policy_file import expected_of, sections, settings_of

    rows = []
    parts: list[tuple[str, type[BaseModel]]] = [*sections(), ('gpu."ID"', GpuRules)]
    for name, model in parts:
        for key, field, default in settings_of(model):
            if model is GpuRules and key in Conditions.model_fields:
                continue
            place = f"[{name}] {key}" if name else key
            rows.append((f"`{place}`", f"`{default}`", field.description, expected_of(field)))
    return table(("setting", "default", "what it says", "written as"), rows)


def policy_unknowns() -> str:
    from computepool.agent.owner.readings import UNKNOWN_RULES

    rows = [(name.replace("_", " "), rule, why) for name, (rule, why) in UNKNOWN_RULES.items()]
    return table(("what cannot be read", "is taken", "because"), rows)


# ── the market ───────────────────────────────────────────────────────────────────────────────────────────────────────


def tier_table() -> str:
    from computepool.hub.market.rates import CORES_OF_THE_CPU_TIER
    from computepool.hub.market.regions import spell_millis
    from computepool.hub.market.settings import Tables
    from computepool.protocol.units import format_credits

    tables = Tables()
    base = tables.rates.base_micros
    rows = [
        (f"`{card}`", spell_millis(millis), f"{format_credits(base * millis // 1000)} a GPU-hour")
        for card, millis in tables.tiers.cards.items()
    ]
    core = base * tables.tiers.cpu_millis // 1000 // CORES_OF_THE_CPU_TIER
    rows.append(("CPU, eight cores", spell_millis(tables.tiers.cpu_millis), f"{format_credits(core)} a core-hour"))
    return table(("card", "tier", "credits, where region and spot are 1"), rows)


def region_table() -> str:
    from computepool.hub.market.regions import ELSEWHERE, ELSEWHERE_MILLIS, spell_millis
    from computepool.hub.market.settings import Tables

    rows = [
        (region.name, spell_millis(region.factor_millis), ", ".join(region.countries))
        for region in Tables().regions.items
    ]
    rows.append((ELSEWHERE, spell_millis(ELSEWHERE_MILLIS), "every other, with a notice to the operator"))
    return table(("region", "factor", "countries"), rows)


def spot_table() -> str:
    from computepool.hub.market.spot import Bounds, target_of

    rows = [(f"{percent} %", f"{target_of(percent / 100, Bounds()):.2f}") for percent in (0, 20, 40, 60, 80, 90, 100)]
    return table(("in use, for hours", "spot becomes"), rows)


def filter_table() -> str:
    from computepool.hub.scheduling.offers import FIELDS

    rows = [(f"`{name}`", f"`{field.example}`", "yes" if field.ordered else "") for name, field in FIELDS.items()]
    return table(("filter", "for example", "can be ordered by, with `-o`"), rows)


GENERATORS: dict[str, Callable[[], str]] = {
    "tiers": tier_table,
    "regions": region_table,
    "spot": spot_table,
    "filters": filter_table,
    "job-states": job_states,
    "attempt-states": attempt_states,
    "node-states": node_states,
    "ends": ends,
    "timing": timing,
    "commands": command_table,
    "routes": route_table,
    "settings": setting_table,
    "spec": spec_table,
    "settlement": settlement,
    "mutation": mutation,
    "reliability-weights": reliability_weights,
    "reliability-numbers": reliability_numbers,
    "quarantines": quarantines,
    "owner-policy": policy_table,
    "owner-unknowns": policy_unknowns,
}


def main() -> None:
    for page in pages():
        before = page.read_text()
        after = refreshed(before)
        if after != before:
            page.write_text(after)
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
