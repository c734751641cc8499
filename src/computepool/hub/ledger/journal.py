"""The only writes of the ledger: an entry with its postings, and the balances that follow from it."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from sqlalchemy import Table, bindparam, func, select
from sqlalchemy.orm import Session

from computepool.hub.core.driver import Driver, driver_of
from computepool.hub.core.errors import Conflict, PoolError
from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.records import tell
from computepool.hub.ledger.accounts import (
    SPENT_FIRST,
    Kind,
    Platform,
    account,
    is_platforms,
    kind_of,
    may_hold,
    owner_of,
    platform,
)
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.tables import BalanceRow, EntryRow, PostingRow
from computepool.protocol.units import spell_credits

PLATFORM_SHARDS = 16
NAMES_AT_ONCE = 500
SPENDABLE = "ledger/spendable"
"""The topic of what owners can spend more or less than before: `{owner, micros, hold}`, the last if it is for one."""
MOVED = "ledger/moved"
"""The topic of owners whose credits moved from pocket to pocket, such as from what is held, without more or less to
spend: `{owner}`."""

_BALANCES, _ENTRIES = (cast(Table, table.__table__) for table in (BalanceRow, EntryRow))
_ADD_ENTRIES = (
    'INSERT INTO ledger_entries ("key", kind, actor, job_id, attempt_id, note, details, reverses, created_at) '
    '{rows} ON CONFLICT ("key") DO NOTHING RETURNING "key", id'
)
_ENTRY_COLUMNS = (
    "key text, kind text, actor text, job_id text, attempt_id text, note text, details json, reverses bigint, "
    "created_at timestamptz"
)
_ADD_POSTINGS = "INSERT INTO ledger_postings (entry_id, number, source, destination, micros) {rows}"
_POSTING_COLUMNS = "entry_id bigint, number integer, source text, destination text, micros bigint"
_APPLY = (
    "INSERT INTO ledger_balances (account, shard, micros) {rows} ON CONFLICT (account, shard) "
    "DO UPDATE SET micros = ledger_balances.micros + excluded.micros RETURNING account, micros"
)
_CHANGE_COLUMNS = "account text, shard integer, micros bigint"
_READ = "SELECT account, micros FROM ledger_balances WHERE account {among} ORDER BY account"
_LOCK = _READ + " FOR UPDATE"
_BALANCES_OF = select(_BALANCES.c.account, _BALANCES.c.micros)
_BALANCE = select(func.sum(_BALANCES.c.micros)).where(_BALANCES.c.account == bindparam("for_account"))


class Posted(NamedTuple):
    id: int
    is_new: bool
    """If not, the same had been posted before, and nothing happened now."""


class NotEnough(Conflict):
    """An account has less than is to be taken from it."""

    code = "insufficient_credits"

    def __init__(self, name: str, micros: int, has: int | None = None) -> None:
        self.account, self.micros, self.has = name, micros, has
        pocket = kind_of(name).replace("_", " ")
        super().__init__(
            f"{spell_credits(micros)} is needed, and the {pocket} balance is below that.",
            hint="`computepool wallet` shows what there is; `computepool wallet top-up N` adds to it.",
        )


class KeyTaken(PoolError):
    """The same key for something else: a bug of the caller, which must not move anything."""

    status = 500
    code = "ledger_key_taken"

    def __init__(self, key: str) -> None:
        super().__init__(f"The ledger has another entry with the key {key}.")


def post(session: Session, entry: Entry, now: datetime) -> Posted:
    """Write it, once, or raise and write nothing. Balances are locked by name, the platform's last."""
    return post_all(session, [entry], now)[0]


def post_all(session: Session, entries: Sequence[Entry], now: datetime) -> list[Posted]:
    """The same for several, in as many statements as for one. What counts is what is in an account after all of them:
    if that is too little, none is written."""
    driver = driver_of(session)
    at = driver.stored(_ENTRIES.c.created_at, now)
    rows = [_row_of(one, driver, at) for one in entries]
    ids: dict[str, int] = dict(driver.run_rows(_ADD_ENTRIES, _ENTRY_COLUMNS, rows))
    posted, lines, total = dict[int, Posted](), list[tuple[Any, ...]](), dict[str, int]()
    for place, entry in enumerate(entries):
        entry_id = ids.pop(entry.key, None)  # the second with a key is as late as one in another transaction
        if entry_id is None:
            continue
        posted[place] = Posted(entry_id, True)
        for number, one in enumerate(entry.postings):
            lines.append((entry_id, number, one.source, one.destination, one.micros))
        for name, change in entry.changes.items():
            total[name] = total.get(name, 0) + change
        _tell(session, entry, now)
    if lines:
        driver.run_rows(_ADD_POSTINGS, _POSTING_COLUMNS, lines)
        _apply(driver, {name: change for name, change in total.items() if change}, entries[0].key)
    return [posted.get(place) or _posted_before(session, entry) for place, entry in enumerate(entries)]


def balance(session: Session, name: str) -> int:
    """As it is in this transaction."""
    return int(session.connection().execute(_BALANCE, {"for_account": name}).scalar() or 0)


def named_balances(session: Session, names: Iterable[str]) -> dict[str, int]:
    """Of accounts of owners, by name, in few statements; those that were never used are empty."""
    wanted = sorted(set(names))
    found = dict.fromkeys(wanted, 0)
    for start in range(0, len(wanted), NAMES_AT_ONCE):
        some = BalanceRow.account.in_(wanted[start : start + NAMES_AT_ONCE])
        rows = session.execute(select(BalanceRow.account, BalanceRow.micros).where(some, BalanceRow.shard == 0))
        found |= {row.account: row.micros for row in rows}
    return found


def balances(session: Session, owner_id: str, *, lock: bool = False) -> dict[Kind, int]:
    """All pockets of an owner; those that were never used are empty. `lock`: nobody changes them meanwhile."""
    names = [account(owner_id, kind) for kind in Kind]
    query = select(BalanceRow.account, BalanceRow.micros).where(BalanceRow.account.in_(names), BalanceRow.shard == 0)
    if lock:
        query = query.order_by(BalanceRow.account).with_for_update()
    found = {Kind(kind_of(name)): micros for name, micros in session.execute(query)}
    return {kind: found.get(kind, 0) for kind in Kind}


def lock_accounts(session: Session, names: Iterable[str], needed: Iterable[str] | None = None) -> dict[str, int]:
    """What is in them now: nobody changes that until this transaction ends. Taken in the order in which entries are
    applied, so that nobody waits in a ring. `needed`: those whose balance has to be known, if it is not all."""
    driver = driver_of(session)
    is_alone = driver.is_sqlite  # as every writer there is: no lock is needed
    wanted = sorted({name for name in (names if needed is None or not is_alone else needed) if not is_platforms(name)})
    if not wanted:
        return {}
    found: dict[str, int] = dict(driver.run_among(_READ if is_alone else _LOCK, wanted))
    return {name: found.get(name, 0) for name in wanted}


def list_spendable(session: Session) -> dict[str, int]:
    """Of everybody who has anything to spend, how much."""
    found: Counter[str] = Counter()
    for row in session.connection().execute(_BALANCES_OF.where(_BALANCES.c.micros > 0)):
        if kind_of(row.account) in SPENT_FIRST and not is_platforms(row.account):
            found[owner_of(row.account)] += row.micros
    return dict(found)


def has_paid(session: Session, owner_id: str) -> bool:
    """Whether money ever came in for them, by card or by hand."""
    pockets = [account(owner_id, kind) for kind in (Kind.AVAILABLE, Kind.DEBT)]
    paid = (PostingRow.source == platform(Platform.CLEARING), PostingRow.destination.in_(pockets))
    return session.scalar(select(PostingRow.entry_id).where(*paid).limit(1)) is not None


def postings_of(session: Session, entry_id: int) -> tuple[Posting, ...]:
    rows = session.execute(select(PostingRow).where(PostingRow.entry_id == entry_id).order_by(PostingRow.number))
    return tuple(Posting(row.source, row.destination, row.micros) for row in rows.scalars())


def _tell(session: Session, entry: Entry, now: datetime) -> None:
    more: dict[str, int] = {}
    for name, change in entry.changes.items():
        owner_id, _, kind = name.partition("/")
        if owner_id != PLATFORM:
            more[owner_id] = more.get(owner_id, 0) + (change if kind in SPENT_FIRST else 0)
    hold = entry.attempt_id if entry.kind == "hold" else None
    for owner_id, micros in more.items():
        if micros:
            tell(session, SPENDABLE, now, owner=owner_id, micros=micros, hold=hold)
        else:
            tell(session, MOVED, now, owner=owner_id)


def in_order(names: Iterable[str]) -> list[str]:
    """In which balances are locked, by everybody: by name, the platform's after all others'. Who settles has locked the
    others' before."""
    return sorted(names, key=lambda name: (is_platforms(name), name))


def _row_of(entry: Entry, driver: Driver, at: Any) -> tuple[Any, ...]:
    details = driver.stored(_ENTRIES.c.details, dict(entry.details))
    about = (entry.key, entry.kind, entry.actor, entry.job_id, entry.attempt_id)
    return (*about, entry.note, details, entry.reverses, at)


def _apply(driver: Driver, changes: Mapping[str, int], key: str) -> None:
    """In one statement, then look what came of it: whoever has too little undoes it all."""
    if not changes:
        return
    shard = zlib.crc32(key.encode()) % PLATFORM_SHARDS
    rows = [(name, shard if is_platforms(name) else 0, changes[name]) for name in in_order(changes)]
    now_there: dict[str, int] = dict(driver.run_rows(_APPLY, _CHANGE_COLUMNS, rows))
    for name, _, change in rows:
        is_taken = (change < 0) != (kind_of(name) == Kind.DEBT)  # the other way there is always room
        if is_taken and not may_hold(name, now_there[name]):
            raise NotEnough(name, abs(change))


def _posted_before(session: Session, entry: Entry) -> Posted:
    earlier = session.execute(select(EntryRow.id, EntryRow.kind).where(EntryRow.key == entry.key)).one()
    if earlier.kind != entry.kind or postings_of(session, earlier.id) != entry.postings:
        raise KeyTaken(entry.key)
    return Posted(earlier.id, False)
