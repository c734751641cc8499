"""A month and a year of a wallet: nothing is missing, nothing is counted twice, and it can be read elsewhere."""

import csv
import io
import random
import re
import shutil
import tempfile
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session
from support.engine import ALICE, BOB, play
from support.money_lives import claw_back, live, run_for
from support.scripted_agent import add_agent
from support.truth import Truth

from computepool.hub.core.errors import Invalid
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balances, post
from computepool.hub.wallet import statements
from computepool.hub.wallet.amounts import grouped, signed
from computepool.hub.wallet.periods import parse_period
from computepool.hub.wallet.statement_pdf import Terms, latin, statement_pdf
from computepool.hub.wallet.statement_views import HEADS, statement_csv, statement_view
from computepool.hub.wallet.statements import make_statement

CREDIT = 1_000_000
NOW = datetime(2027, 6, 1, tzinfo=UTC)
TERMS = Terms("ComputePool, https://pool.example.org", "inr", "1")
MONTHS = [f"2026-{month:02}" for month in range(1, 13)]


def made(truth, name, owner=None):
    return truth.run(make_statement, owner or truth.renter, parse_period(name), NOW)


# ── it adds up ───────────────────────────────────────────────────────────────────────────────────────────────────────


def check_year(truth, owner_id, year="2026"):
    """Months are the year; each begins where the last one ended; the last is what there is."""
    whole, months = made(truth, year, owner_id), [made(truth, f"{year}-{month:02}", owner_id) for month in range(1, 13)]
    opening = whole.opening
    for one in months:
        assert one.opening == opening
        net = {kind: sum(line.pockets.get(kind, 0) for line in one.lines) for kind in one.closing}
        assert {kind: one.opening[kind] + net[kind] for kind in net} == one.closing
        assert sum(one.opening.values()) + sum(line.change for line in one.lines) == sum(one.closing.values())
        opening = one.closing
    assert opening == whole.closing
    assert [line for one in months for line in one.lines] == list(whole.lines)
    assert len({line.entry_id for line in whole.lines}) == len(whole.lines)
    for kind in whole.totals:
        assert whole.totals[kind] == sum(one.totals.get(kind, 0) for one in months)
    assert whole.fees_paid == sum(one.fees_paid for one in months)
    assert whole.fees_withheld == sum(one.fees_withheld for one in months)
    if whole.lines:
        assert whole.lines[-1].balance == sum(whole.closing.values())
    return whole


moves = st.lists(
    st.tuples(
        st.sampled_from([Kind.AVAILABLE, Kind.PROMOTIONAL, Kind.EARNINGS, Kind.DEBT]),
        st.integers(1, 10**9),
        st.integers(-20_000, 40_000),
    ),
    max_size=12,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves)
def test_opening_and_changes_are_closing_and_months_are_the_year(one_truth, moves):
    truth = one_truth
    truth.begin_anew()
    first = datetime(2026, 1, 1, tzinfo=UTC)

    def act(session: Session) -> None:
        for number, (kind, micros, minutes) in enumerate(sorted(moves, key=lambda move: move[2])):
            ends = (platform(Platform.CLEARING), account(truth.renter, kind))
            if kind is Kind.DEBT:
                ends = (ends[1], ends[0])
            at = first + timedelta(minutes=minutes * 13)
            post(session, Entry(f"{truth.renter}/{number}", f"kind_{number % 3}", (Posting(*ends, micros),)), at)

    truth.run(act)
    check_year(truth, truth.renter)
    has = truth.run(balances, truth.renter)
    assert made(truth, "2030").opening == {kind.value: micros for kind, micros in has.items()}


@pytest.fixture(scope="module")
def one_truth(migrated_file):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(migrated_file, Path(folder, "hub.db"))
        truth = Truth(f"sqlite:///{folder}/hub.db")
        yield truth
        truth.close()


def test_a_year_of_work_adds_up_for_both_sides(truth):
    chance = random.Random(5)
    truth.give(50_000)
    truth.give(40, kind=Kind.PROMOTIONAL)
    for _ in range(9):
        held = live(truth, chance)
        if chance.random() < 0.4:
            claw_back(truth, held)
        truth.move(days=chance.choice([1, 20, 45]))
    for owner in (truth.renter, truth.host):
        whole = check_year(truth, owner)
        assert whole.closing == {kind.value: micros for kind, micros in truth.run(balances, owner).items()}


def test_fees_are_those_of_what_was_paid_and_not_given_back(truth):
    truth.give(100)
    kept, undone = run_for(truth, 1000), run_for(truth, 500)
    mine, theirs = made(truth, "2026-01"), made(truth, "2026-01", truth.host)
    assert (mine.fees_paid, mine.fees_withheld) == (3 * CREDIT, 0)
    assert (theirs.fees_paid, theirs.fees_withheld) == (0, 3 * CREDIT)
    assert claw_back(truth, undone)
    mine, theirs = made(truth, "2026-01"), made(truth, "2026-01", truth.host)
    assert (mine.fees_paid, theirs.fees_withheld) == (2 * CREDIT, 2 * CREDIT)
    assert mine.totals["settle"] + mine.totals["clawback"] == -10 * CREDIT
    assert kept.job_id in {line.job_id for line in mine.lines}


def test_the_first_instant_of_a_month_belongs_to_it(truth):
    truth.now = datetime(2026, 2, 1, tzinfo=UTC)
    truth.give(1)
    truth.now -= timedelta(microseconds=1)
    truth.give(2)
    assert [sum(made(truth, name).totals.values()) for name in ("2026-01", "2026-02")] == [2 * CREDIT, CREDIT]


def test_too_many_entries_are_asked_for_by_month(truth, monkeypatch):
    monkeypatch.setattr(statements, "LINES_LIMIT", 3)
    for _ in range(4):
        truth.give(1)
    with pytest.raises(Invalid, match="more than 3 entries"):
        made(truth, "2026")


# ── it can be read elsewhere ─────────────────────────────────────────────────────────────────────────────────────────


def test_csv_has_everything_and_its_columns_add_up(truth):
    truth.give(100)
    run_for(truth, 250)
    found = made(truth, "2026-01")
    rows = list(csv.DictReader(io.StringIO(statement_csv(found))))
    assert list(rows[0]) == list(HEADS)
    kinds = [row["kind"] for row in rows]
    assert kinds == [
        "opening_balance",
        "grant",
        "hold",
        "settle",
        "closing_balance",
        "total:grant",
        "total:hold",
        "total:settle",
        "total:fees",
    ]
    by_kind = {row["kind"]: row for row in rows}
    assert by_kind["settle"]["change"] == "-2.5"
    assert by_kind["settle"]["balance"] == by_kind["closing_balance"]["balance"] == "97.5"
    assert by_kind["total:fees"]["fee_paid"] == "0.5"
    assert by_kind["grant"]["note"] == "for a test"


def test_a_note_is_never_a_formula(truth):
    def act(session: Session) -> None:
        posting = Posting(platform(Platform.CLEARING), account(truth.renter, Kind.AVAILABLE), 1)
        entry = Entry(f"formula/{truth.renter}", "grant", (posting,), note='=HYPERLINK("http://x","y")')
        post(session, entry, truth.now)

    truth.run(act)
    rows = list(csv.DictReader(io.StringIO(statement_csv(made(truth, "2026-01")))))
    assert rows[1]["note"].startswith("'=HYPERLINK")


def text_of(pdf: bytes) -> str:
    """Every line that is written on it."""
    assert pdf.startswith(b"%PDF-1.")
    assert pdf.rstrip().endswith(b"%%EOF")
    found = []
    for stream in re.findall(rb"stream\n(.*?)\nendstream", pdf, re.DOTALL):
        found += re.findall(rb"\[<([0-9a-f]*)>\] TJ", zlib.decompress(stream))
    return "\n".join(bytes.fromhex(hexed.decode()).decode("cp1252") for hexed in found)


def test_pdf_says_the_same(truth):
    truth.give(1_234_567)
    run_for(truth, 250)
    text = text_of(statement_pdf(made(truth, "2026-01"), TERMS))
    assert "Statement 2026-01" in text
    assert truth.renter in text
    assert "1 credit = 1 INR" in text
    assert re.search(r"settle +job_\d+ +-2\.500000 +1,234,564\.500000 +0\.500000", text)
    assert re.search(r"balance +0\.000000 +1,234,564\.500000", text)
    assert re.search(r"fees in what was paid for work +0\.500000", text)
    assert "hold" not in re.sub(r"was only held", "", text), "what only moves between one's own pockets is left out"
    assert "page 1 of 1" in text


def test_pdf_of_an_empty_month_says_so(truth):
    assert "Nothing came or went" in text_of(statement_pdf(made(truth, "2026-05"), TERMS))


def test_long_pdf_repeats_the_heads_and_cuts_no_amount(truth):
    for number in range(120):
        truth.give(10**9 + number)
    text = text_of(statement_pdf(made(truth, "2026-01"), TERMS))
    assert text.count("date (UTC)") == 3, "not above the sums, which come on a page of their own"
    assert text.count(" of 4") == 4
    assert f"{120 * 10**9 + sum(range(120)):,}" in text


@pytest.mark.parametrize(
    ("words", "shown"), [("Zoë Müller", "Zoë Müller"), ("Dvořák", "Dvorák"), ("नितिन", "?????"), ("a\nb\x1b", "a b ")]
)
def test_letters_that_the_fonts_lack(words, shown):
    assert latin(words).decode("cp1252") == shown


@pytest.mark.parametrize(("name", "lacks"), [("Zoë", False), ("Who?", False), ("Dvořák", False), ("নিতিন", True)])
def test_paper_says_where_it_lacks_letters(truth, name, lacks):
    text = text_of(statement_pdf(replace(made(truth, "2026-01"), owner_name=name), TERMS))
    assert ("letter that this paper lacks" in text) is lacks


def test_json_is_the_same_statement(truth):
    truth.give(100)
    run_for(truth, 250)
    view = statement_view(made(truth, "2026-01"))
    assert view.opening_micros + sum(line.change_micros for line in view.lines) == view.closing_micros
    assert view.closing["available"] == 97_500_000


@given(st.integers(-(10**18), 10**18))
def test_amounts_are_exact(micros):
    for written in (signed(micros), grouped(micros).replace(",", "")):
        whole, _, fraction = written.lstrip("-").partition(".")
        assert (int(whole) * CREDIT + int(fraction.ljust(6, "0") or 0)) * (-1 if written[0] == "-" else 1) == micros


def test_routes_give_files_with_names(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        await pool.submit()
        await agent.run_next()
        document = (await pool.call("GET", "wallet/statements/2026")).json()
        assert document["closing_micros"] == document["opening_micros"] + sum(document["totals"].values())
        table = await pool.call("GET", "wallet/statements/2026-01?format=csv")
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        assert table.headers["content-disposition"] == 'attachment; filename="statement-2026-01.csv"'
        assert ALICE not in table.text
        assert "opening_balance" in table.text
        paper = await pool.call("GET", "wallet/statements/2026?format=pdf", user=BOB)
        assert paper.headers["content-type"] == "application/pdf"
        assert BOB in text_of(paper.content)

    play(hub_url, story)


def test_period_that_is_not_over_says_so_and_goes_up_to_now(truth):
    truth.give(5)
    period = parse_period("2026")
    half = truth.run(make_statement, truth.renter, period, datetime(2026, 7, 2, 3, 4, tzinfo=UTC))
    assert not statement_view(half).is_over
    closing = next(row for row in csv.DictReader(io.StringIO(statement_csv(half))) if row["kind"] == "closing_balance")
    assert closing["date"] == "2026-07-02T03:04:00+00:00"
    assert "2026-07-02 03:04 UTC; until then: it is not over" in text_of(statement_pdf(half, TERMS))
    whole = truth.run(make_statement, truth.renter, period, period.end)
    assert statement_view(whole).is_over
    assert "not over" not in text_of(statement_pdf(whole, TERMS))


def test_period_begins_with_its_first_instant():
    period = parse_period("2026-11")
    period.check_begun(period.start)
    with pytest.raises(Invalid, match="2026-11 has not begun"):
        period.check_begun(period.start - timedelta(microseconds=1))
