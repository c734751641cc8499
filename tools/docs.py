"""Writes the parts of the documentation that the code knows better: `./dev run python -m tools.docs`.

A page holds `<!-- generated: NAME -->` … `<!-- end -->`; everything between is replaced. `tests/docs` fails while a
page and the code disagree.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.doc_parts import interfaces, layers, market, money, reputation, states
from tools.doc_parts.layout import table

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def refreshed(text: str) -> str:
    """The page with each of its blocks as the code has it now."""
    return BLOCK.sub(lambda found: f"{found[1]}{GENERATORS[found[2]]()}\n{found[3]}", text)


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


PARTLY: dict[str, str] = {"notify": "`[email]` works: a mail to you; no webhooks yet"}
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

GENERATORS: dict[str, Callable[[], str]] = {
    "layers": layers.hub_layers,
    "tiers": market.tier_table,
    "regions": market.region_table,
    "spot": market.spot_table,
    "filters": market.filter_table,
    "job-states": states.job_states,
    "attempt-states": states.attempt_states,
    "node-states": states.node_states,
    "ends": states.ends,
    "timing": states.timing,
    "commands": interfaces.command_table,
    "routes": interfaces.route_table,
    "settings": interfaces.setting_table,
    "spec": spec_table,
    "settlement": money.settlement,
    "mutation": money.mutation,
    "reliability-weights": reputation.reliability_weights,
    "reliability-numbers": reputation.reliability_numbers,
    "quarantines": reputation.quarantines,
    "allowances": reputation.allowances,
    "owner-policy": interfaces.policy_table,
    "owner-unknowns": interfaces.policy_unknowns,
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
