"""What an hour is worth, and how offers are looked through."""

from tools.doc_parts.layout import table


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
    from computepool.hub.scheduling.offer_filters import FIELDS

    rows = [(f"`{name}`", f"`{field.example}`", "yes" if field.ordered else "") for name, field in FIELDS.items()]
    return table(("filter", "for example", "can be ordered by, with `-o`"), rows)
