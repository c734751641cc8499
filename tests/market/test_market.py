"""Promise 31: cheating does not pay, and hardly anybody honest is banned."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import mean

import pytest
from market.hosts import Colluder, Host, Sleeper, Work, bits_of_name
from market.market import CARDS, DAY, START, WEEKS, Market, proceeds_micros, profit_micros
from support.proofs import figure, proving

from computepool.hub.trust import auditing, clawback, judgement
from computepool.hub.trust.auditing import AuditRecord
from computepool.hub.trust.judgement import Finding
from computepool.hub.trust.results import Result

MARKETS = figure(30, 1_000)
FALSE_BANS = 0.001
FEW = 8
"""Markets in which a planted bug must show."""
LASTS = 21 * DAY
"""Longer than this nobody who always cheats stays in the pool."""


@dataclass
class Outcome:
    """Of many markets."""

    honest: int = 0
    banned: int = 0
    jobs: int = 0
    reruns: int = 0
    canaries: int = 0
    findings: Counter[Finding] = field(default_factory=Counter)
    by_canary: Counter[Finding] = field(default_factory=Counter)
    proceeds: dict[str, list[float]] = field(default_factory=dict)
    """By kind of cheater, in credits: what each kept of the pay for wrong results, less the honest pay that it lost."""
    against_honest: dict[str, list[float]] = field(default_factory=dict)
    """Its profit, less that of honest hosts with such a card in its market."""
    lasting: int = 0

    def add(self, market: Market) -> None:
        self.jobs += market.jobs
        self.reruns += market.reruns
        self.canaries += market.canaries
        self.findings += market.findings
        self.by_canary += market.by_canary
        for card in CARDS:
            with_card = [one for one in market.hosts if one.card == card and one.done]
            honest = [one for one in with_card if one.is_honest]
            usual = mean(map(profit_micros, honest))
            self.honest += len(honest)
            self.banned += sum(one.banned for one in honest)
            for one in with_card:
                if not one.is_honest:
                    self.proceeds.setdefault(one.kind, []).append(proceeds_micros(one) / 1e6)
                    self.against_honest.setdefault(one.kind, []).append((profit_micros(one) - usual) / 1e6)
                    self.lasting += lasts(one)

    def check(self) -> None:
        assert len(self.proceeds) == 5, "every kind of cheater took part"
        for kind, nets in self.proceeds.items():
            assert mean(nets) <= 0, f"{kind}: cheating brought {mean(nets):.1f} credits each"
            assert mean(self.against_honest[kind]) <= 0, f"{kind}: more than honest work brings"
        assert self.banned <= FALSE_BANS * self.honest, f"{self.banned} of {self.honest} honest hosts banned"
        assert self.lasting == 0, f"{self.lasting} who always cheat are still there after three weeks"
        every = (Finding.VALID, Finding.GUILTY, Finding.NOT_DETERMINISTIC)
        assert min(self.findings[one] for one in every) > 0
        assert min(self.by_canary[one] for one in every[:2]) > 0, "canaries were sent, and found somebody"

    def told(self) -> str:
        lines = [
            f"{self.jobs} jobs, {self.reruns / self.jobs:.1%} of them computed again by others and"
            f" {self.canaries / self.jobs:.1%} more sent as canaries ({self.by_canary[Finding.GUILTY]} proved a host"
            f" wrong), {self.banned} of {self.honest} honest hosts banned"
        ]
        for kind, nets in self.proceeds.items():
            ahead = sum(net > 0 for net in nets) / len(nets)
            lines.append(
                f"{kind}: {len(nets)} cheaters, on average {mean(nets):.1f} credits of gain by cheating and"
                f" {mean(self.against_honest[kind]):.0f} against honest work; of single ones, {ahead:.1%} gained"
            )
        return "\n".join(lines)


def lasts(host: Host) -> bool:
    always = not isinstance(host, Sleeper)
    return always and not host.banned and host.joined < START + WEEKS * 7 * DAY - LASTS


def play(markets: int) -> Outcome:
    outcome = Outcome()
    for seed in range(markets):
        outcome.add(Market(seed).run())
    return outcome


@pytest.mark.proof
@pytest.mark.timeout(7200)
def test_cheating_does_not_pay_and_honest_hosts_are_not_banned(
    record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = play(MARKETS)
    record_property("market", outcome.told())
    with capsys.disabled():
        print(f"\n{outcome.told()}")  # noqa: T201 (the figures are the point)
    outcome.check()


# ── bugs put in on purpose ───────────────────────────────────────────────────────────────────────────────────────────


def audits_can_be_foreseen(plant: pytest.MonkeyPatch) -> None:
    """Drawn by the job's name, which its node knows."""

    def draws(self: Market, host: Host, work: Work) -> bool:
        share = auditing.share_audited(host.audits.valid_in_a_row)
        return auditing.is_drawn(share, lambda bits: bits_of_name(work.number, bits))

    plant.setattr(Market, "draws", draws)


def one_rerun_by_anybody_is_enough_for_guilt(plant: pytest.MonkeyPatch) -> None:
    def hasty(accused: Result, reruns: list[Result]) -> Finding:
        if not reruns:
            return Finding.OPEN
        return Finding.VALID if reruns[0].digest == accused.digest else Finding.GUILTY

    plant.setattr(judgement, "judge", hasty)


def correctness_is_a_sum(plant: pytest.MonkeyPatch) -> None:
    """+1 for a right result, -10 for a wrong one, and one in twenty audited."""

    def after(self: AuditRecord, finding: Finding, given_at: datetime) -> AuditRecord:
        change = {Finding.VALID: 1, Finding.GUILTY: -10}.get(finding, 0)
        return replace(self, valid_in_a_row=self.valid_in_a_row + change)

    plant.setattr(AuditRecord, "after", after)
    plant.setattr(auditing, "share_audited", lambda valid: 0.05)


def only_the_audited_result_is_given_back(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(clawback, "given_back", lambda earnings, last_valid_at, now: [])


def earnings_are_paid_out_at_once(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(clawback, "is_safe", lambda earning, last_valid_at, now: True)


def the_first_ten_are_not_audited(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(auditing, "share_audited", lambda valid: 0.02)


MUTANTS = [
    audits_can_be_foreseen,
    one_rerun_by_anybody_is_enough_for_guilt,
    correctness_is_a_sum,
    only_the_audited_result_is_given_back,
    earnings_are_paid_out_at_once,
    the_first_ten_are_not_audited,
]
QUICK_TO_SHOW = MUTANTS[3:]
"""In every run; all of them with `./dev prove`."""


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS if proving() else QUICK_TO_SHOW, ids=lambda mutant: mutant.__name__)
def test_a_planted_bug_shows(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(FEW).check()


def test_a_ring_says_the_same_when_it_is_asked_again() -> None:
    market = Market(1)
    ring = [one for one in market.hosts if isinstance(one, Colluder)]
    work = Work(7, deterministic=True, racy=False, hours=1.0)
    assert {one.wrong(work) for one in ring} == {"7/as agreed"}
    assert all(one.cheats(work) for one in ring)
