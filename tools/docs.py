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
    from computepool.protocol.model import docstrings_of
    from computepool.protocol.spec_aliases import RESOURCE_ALIASES, RESOURCE_KEYS, SPEC_ALIASES, SPEC_KEYS, WHERE_KEYS
    from computepool.protocol.spec_support import NOT_YET
    from computepool.protocol.written_spec import WrittenResources, WrittenSpec, WrittenWhere

    meanings = docstrings_of(WrittenSpec)
    for section, below in (("resources", WrittenResources), ("where", WrittenWhere)):
        meanings |= {f"{section}.{name}": text for name, text in docstrings_of(below).items()}
    missing = {field: hint for field, _, hint in NOT_YET}
    keys: list[str] = []
    for key in SPEC_KEYS:
        names = {"resources": RESOURCE_KEYS, "where": WHERE_KEYS}.get(key)
        keys += [f"{key}.{name}" for name in names] if names else [key]
    aliases: dict[str, list[str]] = {}
    for alias, key in SPEC_ALIASES.items():
        aliases.setdefault(key, []).append(alias)
    for alias, key in RESOURCE_ALIASES.items():
        aliases.setdefault(f"resources.{key}", []).append(f"resources.{alias}")
    rows = []
    for key in keys:
        also = ", ".join(f"`{alias}`" for alias in aliases.get(key, []))
        rows.append((f"`{key}`", meanings[key].removesuffix("."), _support(key, missing), also))
    return table(("key", "what it says", "today", "also written"), rows)


def _support(key: str, missing: Mapping[str, str]) -> str:
    if key not in missing:
        return "works"
    return PARTLY.get(key) or f"not yet; {missing[key]}"


def foreign_table() -> str:
    from computepool.protocol.foreign import TABLES
    from computepool.protocol.foreign_keys import Fate

    parts = []
    for system, keys in TABLES.items():
        rows = [
            (f"`{row.name}`", row.fate.value, row.note.replace(": ", "; ", 1) if row.fate is Fate.REFUSED else row.note)
            for row in keys.values()
        ]
        parts.append(f"**{system}**\n\n{table((f'key of {system}', 'what happens', 'how, or why'), rows)}")
    return "\n\n".join(parts)


PARTLY: dict[str, str] = {"notify": "`[email]` works: a mail to you; no webhooks yet"}
"""Keys of which one value or another is refused."""

GENERATORS: dict[str, Callable[[], str]] = {
    "layers": layers.hub_layers,
    "error-codes": interfaces.error_table,
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
    "foreign": foreign_table,
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
