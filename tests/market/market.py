"""A pool for some simulated weeks. Who is audited, who gets canaries, who is guilty, what is given back and how
reliable a node counts are the hub's own functions; only work, money and chance are made up.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

from market.hosts import KINDS, Colluder, Host, Sleeper, Work

from computepool.hub.core.settings import Settings
from computepool.hub.market.tiers import EXPECTED_GFLOPS, Measured, tier_of
from computepool.hub.reputation import record as records
from computepool.hub.reputation.record import Happening
from computepool.hub.reputation.reliability import HALF_LIFE, WEIGHTS
from computepool.hub.trust import auditing, canaries, clawback, judgement
from computepool.hub.trust.clawback import Earning
from computepool.hub.trust.judgement import Finding
from computepool.hub.trust.results import Result
from computepool.protocol.states import Verdict
from computepool.protocol.units import MICROS_PER_CREDIT

START = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)
CARDS = ("rtx-4090", "rtx-3060")
HONEST_PER_CARD = 14
RING = 3
"""Owners who work together, of one card: with the others about a seventh of all who have it."""
WEEKS = 8
JOBS_A_DAY = 3
"""Of a node that is neither in quarantine nor banned; a better record gets more of them."""
DETERMINISTIC = 0.5
RACY = 0.002
"""Of those that are declared deterministic."""
FAILURES = 0.01
"""Honest attempts that the host's machine fails."""
BASE_MICROS = 10 * MICROS_PER_CREDIT
POWER_SHARE = 0.3
"""What honest work costs its host, of what it earns."""
CASH_OUT_MICROS = 500 * MICROS_PER_CREDIT
ASKED_AT_MOST = 12
"""Reruns of one audit, until it is left open for good."""
SMALL_CARD_GFLOPS = 4_400.0
CANARIES_A_DAY = float(Settings.model_fields["canary_rate_per_day"].default)
DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class Known:
    """A result that owners agreed on. They may have agreed on nothing."""

    work: Work
    card: str
    digest: str
    owners: frozenset[str]
    """On whose word it is known."""
    since: datetime


@dataclass
class Audit:
    work: Work
    accused: Host
    earning: Earning
    mine: Result
    reruns: list[Result] = field(default_factory=list)
    known: Known | None = None
    """Of a canary: what is said to be right."""

    @property
    def finding(self) -> Finding:
        if self.known is not None:
            return judgement.judge_against(self.mine, self.known.digest, self.reruns)
        return judgement.judge(self.mine, self.reruns)


@dataclass
class Market:
    seed: int
    hosts: list[Host] = field(default_factory=list)
    audits: list[Audit] = field(default_factory=list)
    findings: Counter[Finding] = field(default_factory=Counter)
    by_canary: Counter[Finding] = field(default_factory=Counter)
    known: list[Known] = field(default_factory=list)
    jobs: int = 0
    reruns: int = 0
    canaries: int = 0

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        for card in CARDS:
            for number in range(HONEST_PER_CARD):
                self.join(Host, f"honest-{card}-{number}", card, START)
            for kind in KINDS[:4]:
                self.join(kind, f"{kind.__name__}-{card}", card, START + DAY * self.rng.randrange(14))
        ring: set[int] = set()
        for number in range(RING):
            host = self.join(Colluder, f"ring-{number}", CARDS[0], START)
            assert isinstance(host, Colluder)
            host.ring = ring

    def join(self, kind: type[Host], owner: str, card: str, at: datetime) -> Host:
        speed = EXPECTED_GFLOPS[card] * 0.7 if kind.kind != "spoofed GPU" else SMALL_CARD_GFLOPS
        host = kind(owner, card, speed, at, Random(self.rng.getrandbits(32)))
        if isinstance(host, Sleeper):
            host.share = self.rng.choice((0.1, 0.5, 1.0))
        self.hosts.append(host)
        return host

    def run(self) -> "Market":
        for day in range(WEEKS * 7):
            now = START + day * DAY
            for host in [one for one in self.hosts if one.joined <= now and not one.banned]:
                self.work_a_day(host, now)
            self.send_canaries(now)
            for audit in self.audits[:]:
                self.go_on_with(audit, now)
            if day % 7 == 6:
                for host in self.hosts:
                    self.cash_out(host, now)
        return self

    # ── work ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def work_a_day(self, host: Host, now: datetime) -> None:
        standing = records.standing_of(host.record, now, HALF_LIFE)
        if standing.quarantined_until is not None:
            return
        jobs = 1 if standing.slots == 1 else round(JOBS_A_DAY * (0.5 + standing.lower))
        for _ in range(jobs):
            self.work_once(host, now)

    def work_once(self, host: Host, now: datetime) -> None:
        deterministic = self.rng.random() < DETERMINISTIC
        racy = deterministic and self.rng.random() < RACY
        work = Work(self.jobs, deterministic, racy, self.rng.uniform(0.2, 2.0))
        self.jobs += 1
        if host.rng.random() < FAILURES:
            self.count(host, Verdict.HOST, now)
            return
        digest, worked = host.deliver(work)
        earning = self.pay(host, work, worked, now, f"attempt-{work.number}")
        if work.deterministic and self.draws(host, work):
            mine = Result(host.owner, digest, may_judge=host.audits.may_judge)
            self.audits.append(Audit(work, host, earning, mine))

    def pay(self, host: Host, work: Work, worked: bool, now: datetime, attempt_id: str) -> Earning:
        micros = price_micros(host, work, worked)
        earning = Earning(attempt_id, now, micros)
        host.earnings.append(earning)
        if worked:
            host.cost_micros += int(micros * POWER_SHARE)
        else:
            host.wrong_attempts.add(earning.attempt_id)
        self.count(host, Verdict.OK, now)
        return earning

    def draws(self, host: Host, work: Work) -> bool:
        return auditing.is_drawn(auditing.share_audited(host.audits.valid_in_a_row), self.rng.getrandbits)

    def count(self, host: Host, verdict: Verdict, now: datetime) -> None:
        host.record = records.after(host.record, Happening(verdict, WEIGHTS[verdict], now), HALF_LIFE)

    # ── canaries ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def send_canaries(self, now: datetime) -> None:
        self.known = [one for one in self.known if now - one.since <= canaries.KEPT]
        there = [one for one in self.hosts if one.joined <= now and not one.banned]
        for _ in range(canaries.draw_count(len(there), CANARIES_A_DAY, DAY_SECONDS, self.rng.getrandbits)):
            host = there[canaries.draw_below(len(there), self.rng.getrandbits)]
            suiting = [one for one in self.known if one.card == host.card and one.work.number not in host.seen]
            standing = records.standing_of(host.record, now, HALF_LIFE)
            if suiting and not host.banned and standing.quarantined_until is None:
                self.send_canary(host, self.rng.choice(suiting), now)

    def send_canary(self, host: Host, known: Known, now: datetime) -> None:
        """To the host it is a job like any other, and paid like one."""
        self.canaries += 1
        digest, worked = host.deliver(known.work)
        earning = self.pay(host, known.work, worked, now, f"canary-{self.canaries}")
        mine = Result(host.owner, digest, may_judge=host.audits.may_judge)
        self.audits.append(Audit(known.work, host, earning, mine, known=known))

    # ── audits ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def go_on_with(self, audit: Audit, now: datetime) -> None:
        finding = audit.finding
        while finding is Finding.OPEN:
            other = self.choose_other(audit)
            if other is None:
                break
            self.reruns += 1
            digest, _ = other.deliver(audit.work)
            audit.reruns.append(Result(other.owner, digest, may_judge=other.audits.may_judge))
            finding = audit.finding
        if finding is not Finding.OPEN:
            self.decide(audit, finding, now)
            self.audits.remove(audit)
        elif len(audit.reruns) >= ASKED_AT_MOST:
            self.audits.remove(audit)

    def choose_other(self, audit: Audit) -> Host | None:
        """By lot, of those with a record; a newcomer only where nobody has one, and only for the first rerun. For a
        canary, nobody on whose word its result is known."""
        behind = audit.known.owners if audit.known is not None else frozenset()
        asked = {audit.accused.owner, *(one.owner_id for one in audit.reruns)} | behind
        there = [
            one
            for one in self.hosts
            if one.card == audit.accused.card and not one.banned and one.done and one.owner not in asked
        ]
        judges = [one for one in there if one.audits.may_judge]
        if judges:
            return self.rng.choice(judges)
        return self.rng.choice(there) if there and not audit.reruns and audit.known is None else None

    def decide(self, audit: Audit, finding: Finding, now: datetime) -> None:
        host, given_at = audit.accused, audit.earning.at
        self.findings[finding] += 1
        self.learn(audit, finding, now)
        if host.banned:
            return
        last_valid_at = host.audits.last_valid_at
        host.audits = host.audits.after(finding, given_at)
        if finding is Finding.VALID:
            host.earnings = [replace(one, audited=True) if one == audit.earning else one for one in host.earnings]
        if finding is not Finding.GUILTY:
            return
        self.count(host, Verdict.HOST, now)
        until = now + auditing.GUILTY_QUARANTINE
        host.record = replace(host.record, trouble=replace(host.record.trouble, until=until))
        back = clawback.given_back(host.earnings, last_valid_at, now)
        host.honest_taken_micros += sum(one.micros for one in back if one.attempt_id not in host.wrong_attempts)
        taken = {one.attempt_id for one in back} | {audit.earning.attempt_id}
        host.earnings = [one for one in host.earnings if one.attempt_id not in taken]
        if auditing.is_banned(host.audits):
            host.banned = True
            self.come_back_as_another(host, now)

    def learn(self, audit: Audit, finding: Finding, now: datetime) -> None:
        """What was found valid is sent to others; what nobody gives again is not."""
        if audit.known is not None:
            self.by_canary[finding] += 1
            if finding is Finding.NOT_DETERMINISTIC:
                self.known = [one for one in self.known if one.work != audit.work]
        elif finding is Finding.VALID:
            owners = frozenset({audit.accused.owner, *(one.owner_id for one in audit.reruns)})
            self.known.append(Known(audit.work, audit.accused.card, audit.mine.digest, owners, now))

    def come_back_as_another(self, host: Host, now: datetime) -> None:
        """A cheater who was found out joins anew, a week later, as somebody whom nobody knows."""
        if host.is_honest:
            return
        again = self.join(type(host), host.owner + "'", host.card, now + 7 * DAY)
        if isinstance(again, Colluder) and isinstance(host, Colluder):
            again.ring = host.ring

    # ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def cash_out(self, host: Host, now: datetime) -> None:
        """As soon as it may, and as much as it may."""
        safe = [one for one in host.earnings if clawback.is_safe(one, host.audits.last_valid_at, now)]
        if sum(one.micros for one in safe) < CASH_OUT_MICROS:
            return
        host.cashed_micros += sum(one.micros for one in safe)
        host.cashed_wrong_micros += sum(one.micros for one in safe if one.attempt_id in host.wrong_attempts)
        gone = set(safe)
        host.earnings = [one for one in host.earnings if one not in gone]


def price_micros(host: Host, work: Work, worked: bool) -> int:
    """For the hours that it took there, at the tier of what was measured. Who does nothing waits as long."""
    tier = tier_of(host.card, Measured(host.speed, 0))
    slowness = EXPECTED_GFLOPS[host.card] * 0.7 / host.speed if worked else 1.0
    return int(BASE_MICROS * tier.millis * work.hours * slowness) // 1000


def profit_micros(host: Host) -> int:
    """With what is left on its account: a ban does not take that."""
    return host.cashed_micros + sum(one.micros for one in host.earnings) - host.cost_micros


def proceeds_micros(host: Host) -> int:
    """Of cheating: what it got out of the pay for wrong results, less the honest pay that it lost with the others."""
    return host.cashed_wrong_micros - host.honest_taken_micros
