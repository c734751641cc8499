"""How reliable a node is, in figures."""

from tools.doc_parts.layout import table


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


def allowances() -> str:
    from computepool.hub.core.settings import Settings
    from computepool.hub.market.allowance import UNMEASURED, MeasuredCapacity, Trial, slices_at_once
    from computepool.hub.market.standing import Standing

    first = Settings.model_fields["unproven_slices"].default
    trials = [Trial(first, measured) for measured in (UNMEASURED, MeasuredCapacity(cores=8))]
    rows = []
    for ok_count in (0, 2, 6, 20):
        standing = Standing(mean=0.6, lower=0.25, ok_count=ok_count)
        rows.append((str(ok_count), *(str(slices_at_once(standing, trial)) for trial in trials)))
    return table(("ok for others", "not measured", "measured as 8 cores"), rows)
