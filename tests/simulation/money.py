"""Money in a whole world: after every commit it adds up, and in the end every credit can be followed."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from simulation.placing import LIVE
from simulation.virtual_time import spawn
from sqlalchemy.orm import Session
from support.money import give_credits

from computepool.hub.jobs import instalments, terms
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.entries import Entry, moved
from computepool.hub.ledger.journal import lock_accounts, post

if TYPE_CHECKING:
    from simulation.world import World

TRY_SECONDS = 10.0
SPEND_SECONDS, PAID_CREDITS = 5.0, 20
COUNTED = {
    "instalment": "SELECT count(*) FROM ledger_holds WHERE number > 1",
    "given_back": "SELECT count(*) FROM ledger_entries WHERE kind = 'give_back'",
    "clawback": "SELECT count(*) FROM ledger_entries WHERE kind = 'clawback'",
    "claim": "SELECT count(*) FROM ledger_claims",
    "claim_by_guilt": "SELECT count(*) FROM ledger_claims JOIN clawbacks USING (attempt_id)",
    "restitution": "SELECT count(*) FROM ledger_entries WHERE kind = 'restitution'",
    "out_of_money": "SELECT count(*) FROM attempts WHERE leave_for = 'budget'",
}
RESTITUTION = platform(Platform.RESTITUTION)
SPENDABLE = ("promotional", "available", "earnings")


SHORT_HOLD, SHORT_GRACE = 100, 60
"""Seconds: so that attempts of minutes are settled in instalments too."""
USUAL = (terms.HOLD_SECONDS, terms.LEAST_SECONDS, terms.GRACE_SECONDS)


def choose_instalments(*, short: bool) -> None:
    """For this world. Runs take minutes here, and an hour would never be over."""
    hold, least, grace = (SHORT_HOLD, SHORT_GRACE + 5, SHORT_GRACE) if short else USUAL
    terms.HOLD_SECONDS, terms.LEAST_SECONDS, instalments.GRACE_SECONDS = hold, least, grace  # type: ignore[attr-defined]


class Money:
    def __init__(self, world: "World", db: sqlite3.Connection, blame: Callable[[str], None]) -> None:
        self._world = world
        self._db = db
        self._blame = blame
        self._top_ups = 0

    def top_up(self, credits: float | None = None) -> None:
        """Somebody is given some, if the hub hears it."""
        world, engine = self._world, self._world.hub
        if engine is None or world.hub_process is None:
            return
        self._top_ups += 1
        owner = world.rng.choice(world.those_who_rent)
        amount = world.rng.choice((0.1, 1, 20)) if credits is None else credits
        world.faults.fired["top_up"] += 1
        spawn(world.loop, world.hub_process, self._give(owner, amount, f"{self._top_ups}"))

    async def _give(self, owner: str, credits: float, key: str) -> None:
        engine = self._world.hub
        assert engine is not None
        await engine.context.db.run(give_credits, owner, engine.context.now(), credits, key=key)

    async def begin_with_paid_credits(self) -> None:
        """In worlds whose hosts spend what they earn: nobody owes presents, and renters would spend those first."""
        engine = self._world.hub
        assert engine is not None

        def change(session: Session, now: datetime) -> None:
            for owner in self._world.those_who_rent:
                present = account(owner, Kind.PROMOTIONAL)
                back = moved(present, platform(Platform.SUBSIDY), lock_accounts(session, [present])[present])
                post(session, Entry(f"no present/{owner}", "test", back), now)
                give_credits(session, owner, now, PAID_CREDITS, key="paid")

        if self._world.those_who_spend:
            await engine.context.db.run(change, engine.context.now())

    async def spend_earnings(self) -> None:
        """Hosts who do not rent spend them at once, whenever the hub hears it: what they have to give back then is not
        there."""
        while self._world.those_who_spend:
            await asyncio.sleep(SPEND_SECONDS)
            world = self._world
            for owner in world.those_who_spend:
                if world.hub is not None and world.hub_process is not None and self._has(owner, Kind.EARNINGS):
                    world.faults.fired["spent"] += 1
                    key = f"spent/{world.faults.fired['spent']}"
                    spawn(world.loop, world.hub_process, self._spend(owner, key))

    async def _spend(self, owner: str, key: str) -> None:
        engine, name = self._world.hub, account(owner, Kind.EARNINGS)
        assert engine is not None
        now = engine.context.now()

        def spend(session: Session) -> None:
            micros = lock_accounts(session, [name])[name]
            if micros:
                post(session, Entry(key, "test", moved(name, platform(Platform.CLEARING), micros)), now)

        await engine.context.db.run(spend)

    def _has(self, owner: str, kind: Kind) -> int:
        query = "SELECT micros FROM ledger_balances WHERE account = ?"
        row = self._db.execute(query, (account(owner, kind),)).fetchone()
        return int(row[0]) if row else 0

    async def make_rich(self) -> None:
        """All who rent, whenever the hub can hear it: so that in the end nobody waits for credits."""
        rich = set[str]()
        while len(rich) < len(self._world.those_who_rent):
            world, engine = self._world, self._world.hub
            for owner in world.those_who_rent:
                if engine is not None and world.hub_process is not None and owner not in rich:
                    spawn(world.loop, world.hub_process, self._make_rich(owner, rich))
            await asyncio.sleep(TRY_SECONDS)

    async def _make_rich(self, owner: str, rich: set[str]) -> None:
        await self._give(owner, 100_000.0, "plenty")
        rich.add(owner)

    # ── after every commit ──

    def check_commit(self) -> None:
        """Cheap, by the balances; that these are what the postings say is checked at the end."""
        balances = dict(self._db.execute("SELECT account, sum(micros) FROM ledger_balances GROUP BY account"))
        if sum(balances.values()):
            self._blame(f"money: all accounts together have {sum(balances.values())} micros")
        for name, micros in balances.items():
            owner, _, kind = name.partition("/")
            if owner != "owner_platform" and (micros > 0 if kind == "debt" else micros < 0):
                self._blame(f"money: {name} has {micros} micros")
        (owed,) = self._db.execute("SELECT coalesce(sum(owed_micros), 0) FROM ledger_claims").fetchone()
        if owed != balances.get("owner_platform/restitution", 0):
            self._blame(f"money: hosts owe renters {owed}, {balances.get('owner_platform/restitution', 0)} are kept")
        live = dict(
            self._db.execute(
                "SELECT a.id, j.owner_id FROM attempts a JOIN jobs j ON j.id = a.job_id "
                f"WHERE a.state IN ({LIVE}) AND a.price_micros > 0 AND j.owner_id != 'owner_platform'"
            )
        )
        held: Counter[str] = Counter()
        query = "SELECT attempt_id, owner_id, promotional + available + earnings FROM ledger_holds WHERE "
        for attempt_id, owner_id, micros in self._db.execute(f"{query} resolved_at IS NULL"):
            held[owner_id] += micros
            if live.pop(attempt_id, None) != owner_id:
                self._blame(f"money: {micros} micros are held for {attempt_id}, which has ended")
        if live:
            self._blame(f"money: nothing is held for {sorted(live)}")
        for owner_id in {name.partition("/")[0] for name in balances} | set(held):
            if held[owner_id] != balances.get(f"{owner_id}/held", 0):
                self._blame(f"money: {owner_id} has {balances.get(f'{owner_id}/held', 0)} held, for {held[owner_id]}")

    # ── when all is quiet ──

    def look(self) -> None:
        """What the scheduler believes that renters can spend."""
        assert self._world.hub is not None
        purse = self._world.hub.scheduler.purse
        truly: Counter[str] = Counter()
        for name, micros in self._db.execute("SELECT account, micros FROM ledger_balances"):
            owner, _, kind = name.partition("/")
            if kind in SPENDABLE:
                truly[owner] += micros
        for owner in self._world.those_who_rent:
            if purse.left(owner) != truly[owner]:
                self._blame(f"memory: {owner} can spend {purse.left(owner)}, truly {truly[owner]}")

    # ── at the end ──

    def check_end(self, prices: dict[str, int]) -> None:
        assert self._world.hub is not None
        with Session(self._world.hub.context.db.engine) as session:
            report = check(session, INVARIANTS)
        if not report.balanced:
            self._blame(f"money: {report.problems}")
        seen = self._world.ledger.seen
        seen["money_moved"] += report.moved_micros > 0
        for name, query in COUNTED.items():
            seen[name] += self._db.execute(query).fetchone()[0]
        self._check_prices(prices)
        self._check_spending()
        self._check_paid_once()
        self._check_claims()

    def _check_prices(self, prices: dict[str, int]) -> None:
        """At the price of the lease, whatever its node asked for when it ended."""
        query = "SELECT attempt_id, details FROM ledger_entries WHERE kind = 'settle'"
        for attempt_id, raw in self._db.execute(query):
            told = json.loads(raw)
            if told["price_micros"] != prices[attempt_id]:
                self._blame(f"{attempt_id} is settled at {told['price_micros']}, it was leased at {prices[attempt_id]}")
            owed = -(-prices[attempt_id] * told["seconds"]["billed"] // 3600)
            if told["cost_micros"] not in (0, min(owed, told["hold_micros"])):
                self._blame(f"{attempt_id} cost {told['cost_micros']}, it owed {owed}")

    def _check_spending(self) -> None:
        expected: Counter[str] = Counter()
        query = (
            "SELECT j.owner_id, e.kind, e.details FROM ledger_entries e "
            "JOIN attempts a ON a.id = e.attempt_id JOIN jobs j ON j.id = a.job_id "
            "WHERE e.kind IN ('settle', 'give_back', 'clawback')"
        )
        for owner_id, kind, raw in self._db.execute(query):
            expected[owner_id] += json.loads(raw)["cost_micros"] * (1 if kind == "settle" else -1)
        spent = dict(self._db.execute("SELECT owner_id, sum(micros) FROM spending GROUP BY owner_id"))
        for owner_id in sorted({*spent, *expected}):
            if spent.get(owner_id, 0) != expected[owner_id]:
                self._blame(f"{owner_id} spent {spent}, by what was settled it is {expected[owner_id]}")

    def _check_claims(self) -> None:
        """Each is what its attempt's host had spent, and what came of that; and whoever earned something paid it."""
        kept: Counter[tuple[str, str]] = Counter()
        query = (
            "SELECT e.attempt_id, p.source, p.destination, p.micros FROM ledger_postings p JOIN ledger_entries e "
            "ON e.id = p.entry_id WHERE ? IN (p.source, p.destination)"
        )
        for attempt_id, source, _, micros in self._db.execute(query, (RESTITUTION,)):
            kept[attempt_id, "paid" if source == RESTITUTION else "owed"] += micros
        owes: Counter[str] = Counter()
        claims = self._db.execute("SELECT attempt_id, host_id, owed_micros, paid_micros FROM ledger_claims")
        for attempt_id, host_id, owed, paid in claims:
            if (kept[attempt_id, "owed"], kept[attempt_id, "paid"]) != (owed + paid, paid):
                self._blame(f"money: {attempt_id} has a claim of {owed}, {paid} are paid; the ledger says {kept}")
            owes[host_id] += owed
        for host_id, owed in owes.items():
            if owed and owed > -self._has(host_id, Kind.DEBT) - self._has(host_id, Kind.EARNINGS):
                self._blame(f"money: {host_id} has earned what it owes, and {owed} are not paid")

    def _check_paid_once(self) -> None:
        """Of all attempts of a slice, one that ended well; and no second is billed twice."""
        query = (
            "SELECT id, billed_seconds, started_at, finished_at FROM attempts "
            "WHERE billed_seconds > 0 AND started_at IS NOT NULL AND finished_at IS NOT NULL"
        )
        for attempt_id, billed, began, ended in self._db.execute(query):
            (ran,) = self._db.execute("SELECT (julianday(?) - julianday(?)) * 86400", (ended, began)).fetchone()
            if billed > ran + 1.5:
                self._blame(f"{attempt_id} ran for {ran:.0f} s, and {billed} s were paid for")
