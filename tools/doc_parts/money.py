"""Who pays, and how well that is tested."""

import json

from tools.doc_parts.layout import table


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
        "paid by the platform",
        "returned",
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
    ("renter", "metered"): "the renter, for the billed seconds",
    ("renter", "saved"): "the renter, up to the last saved checkpoint",
    ("platform", "metered"): "the platform, for the billed seconds",
    ("nobody", "metered"): "nobody",
    ("nobody", "kept"): "nobody; but instalments of a long attempt stay paid up to its last checkpoint",
}
