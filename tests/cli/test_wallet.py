"""Money on the command line: the wallet, entries, statements, explain, the operator's books."""

import json
import re
from datetime import UTC, datetime

import pytest
from support.fake_api import prints
from support.fake_wallet import CREDIT, entry, wallet

from computepool.hub.jobs.metering import Meter
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.entries import Posting
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.settlement import Payer, in_figures, postings_of, settle
from computepool.hub.payments.manual import Manual
from computepool.hub.wallet.explain_views import Explained, View
from computepool.hub.wallet.explaining import explain_attempt, summary
from computepool.hub.wallet.facts import AttemptFacts, EntryFacts, Parties
from computepool.protocol.states import JobState, Verdict

JOB = "job_" + "1" * 26

# ── the wallet ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_wallet_shows_what_can_be_spent_and_what_it_is_made_of(cli, hub):
    hub.wallet.wallet = wallet(spendable=12_500_000, available=10 * CREDIT, promotional=2_500_000, held=36 * CREDIT)
    text = cli("wallet").text
    assert re.search(r"spendable +12\.500000", text)
    assert re.search(r"promotional +2\.500000 +promotional credit", text)
    assert re.search(r"held +36\.000000 +for what runs now", text)
    assert "debt" not in text
    assert "earnings" not in text
    assert json.loads(cli("wallet", "--json").out)["spendable_micros"] == 12_500_000


def test_an_empty_wallet_says_what_to_do(cli, hub):
    result = cli("wallet")
    assert result.code == 0
    assert "Nothing to spend." in result.err
    assert "computepool wallet top-up N" in result.err
    hub.wallet.provider = Manual().name
    told = cli("wallet").err
    assert "others' need credits: ask the pool's operator for some." in told
    assert "top-up" not in told, "nobody sells any here"


def test_what_is_too_little_to_be_cashed_out_says_the_least(cli, hub):
    hub.wallet.wallet = wallet(spendable=620 * CREDIT, earnings=620 * CREDIT) | {"cashable_micros": 499 * CREDIT}
    assert re.search(r"to cash out +499\.000000 +of the earnings: from 500 credits on", cli("wallet").text)
    hub.wallet.wallet["cashable_micros"] = 500 * CREDIT
    assert "of the earnings: computepool wallet cash-out N" in cli("wallet").text


def test_debt_is_below_zero(cli, hub):
    hub.wallet.wallet = wallet(debt=3 * CREDIT)
    assert re.search(r"debt +-3\.000000 +given back", cli("wallet").text)


@pytest.mark.parametrize("words", [("wallet",), ("wallet", "entries"), ("explain", JOB), ("admin", "ledger", "check")])
def test_a_pool_without_money_says_so(cli, hub, words):
    hub.wallet.is_off = True
    hub.wallet.explained = {JOB: {"attempts": []}}
    result = cli(*words)
    assert result.code == 1
    assert "This pool works without money." in result.err


# ── entries ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_entries_pass_their_filters_on(cli, hub):
    hub.wallet.entries = [entry(number, note=f"note {number}") for number in range(3)]
    result = cli(
        *("wallet", "entries", "--kind", "settle", "--kind", "grant", "--job", JOB),
        *("--since", "2026-11-01", "--until", "2026-12-01", "-n", "2"),
    )
    assert result.code == 0
    asked = hub.wallet.asked[0]
    assert (asked["kind"], asked["job"]) == (["settle", "grant"], JOB)
    assert (asked["since"], asked["until"], asked["limit"]) == ("2026-11-01", "2026-12-01", "2")
    assert "-2.500000" in result.text
    assert "held -36, available +33.5" in result.text
    assert "note 1" in result.text
    assert "The newest 2; more with --limit." in result.err
    hub.wallet.entries = [entry(change_micros=-1389, pockets={"held": -1 * CREDIT, "promotional": 998_611})]
    assert "held -1, promotional +0.998611" in cli("wallet", "entries").text
    hub.wallet.entries = [entry(number) for number in range(3)]
    found = json.loads(cli("wallet", "entries", "--json", "-n", "2").out)
    assert ([one["id"] for one in found["items"]], found["next"]) == (["entry_0", "entry_1"], "2")


def test_no_entries_are_said(cli, hub):
    assert "No entries yet" in cli("wallet", "entries").err
    assert "No entries like that." in cli("wallet", "entries", "--kind", "Refund asked").err
    assert hub.wallet.asked[-1]["kind"] == ["refund_asked"], "as it is shown"


def test_earnings_are_a_table_and_a_sum(cli, hub):
    assert "Nothing was earned from 2026-11-01 on." in cli("wallet", "earnings").err
    day = {"node_id": "node_1", "node_name": "alpha", "day": "2026-11-02", "attempts": 3}
    hub.wallet.earnings = [{**day, "earned_micros": 7_000_000, "cashable_micros": 0, "promotional_micros": 500_000}]
    result = cli("wallet", "earnings", "--since", "2026-11-01")
    assert hub.wallet.asked[-1] == {"since": "2026-11-01"}
    assert re.search(r"2026-11-02 +alpha +3 +7\.000000 +0\.500000", result.text)
    assert "7.000000 credits in all." in result.err


# ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_statement_shows_balances_and_sums(cli, hub):
    hub.wallet.statement = {
        "period": "2026-11",
        "opening_micros": 100 * CREDIT,
        "closing_micros": 97_500_000,
        "totals": {"hold": 0, "settle": -2_500_000},
        "fees_paid_micros": 500_000,
        "fees_withheld_micros": 0,
        "lines": [{}, {}],
    }
    result = cli("wallet", "statement", "2026-11")
    assert re.search(
        r"opening balance +100\.000000 *\n +settle +-2\.500000 *\nclosing balance +97\.500000", result.text
    )
    assert "All 2 entries" in result.err
    assert "not over" not in result.text
    hub.wallet.statement["is_over"] = False
    assert re.search(r"^period +2026-11, until today: it is not over", cli("wallet", "statement", "2026-11").text)
    assert json.loads(cli("wallet", "statement", "2026-11", "--json").out)["period"] == "2026-11"


def test_statement_files_are_written(cli, hub, tmp_path):
    table, paper = tmp_path / "a.csv", tmp_path / "a.pdf"
    result = cli("wallet", "statement", "2026-11", "--csv", str(table), "--pdf", str(paper))
    assert result.code == 0
    assert (table.read_bytes(), paper.read_bytes()) == (b"a csv", b"a pdf")
    assert [(one["period"], one["format"]) for one in hub.wallet.asked] == [("2026-11", "csv"), ("2026-11", "pdf")]
    assert cli("wallet", "statement", "2026", "--csv", "-").out == b"a csv"
    assert cli("wallet", "statement", "2026", "--csv", str(tmp_path)).code == 2


# ── explain ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def explained(view: View, slices: int = 1) -> dict:
    """As the hub makes it, of an attempt of 1000 seconds."""
    parties = Parties("user_host", "user_ada")
    price = {"own": False, "per": "gpu", "gpus": 1, "ask_micros": 23_100_000, "base_micros": 10_000_000}
    price |= {"tier_millis": 3000, "region": "IN", "region_millis": 700, "spot_millis": 1100}
    one = settle(Pockets(1 * CREDIT, 30 * CREDIT), 23_100_000, 1000, 2000, Payer.RENTER)
    seconds = {**Meter(1000.4, claimed_seconds=999.2).in_figures(), "settled_before": 0, "billed": 1000}
    details = {"verdict": "ok", "price_micros": 23_100_000, "fee_bps": 2000, "seconds": seconds, **in_figures(one)}
    at = datetime(2026, 11, 2, tzinfo=UTC)
    postings = postings_of(one, parties.renter_id, parties.host_id)
    held = tuple(
        Posting(account("user_ada", kind), account("user_ada", Kind.HELD), micros * CREDIT)
        for kind, micros in ((Kind.PROMOTIONAL, 1), (Kind.AVAILABLE, 30))
    )
    attempts = [
        explain_attempt(
            AttemptFacts(
                id=f"attempt_{index}",
                job_id=JOB,
                slice=index,
                number=1,
                node_id="node_1",
                node_name="alpha\x1b[31m",
                state="succeeded",
                verdict="ok",
                reason="exited",
                own=False,
                price_micros=23_100_000,
                price=price,
                parties=parties,
                billed_seconds=1000,
            ),
            [EntryFacts(6, "hold", at, held), EntryFacts(7, "settle", at, postings, details=details)],
            view,
        )
        for index in range(slices)
    ]
    change = sum(one.change_micros for one in attempts)
    whole = Explained(
        job_id=JOB,
        view=view,
        state=JobState.SUCCEEDED,
        verdict=Verdict.OK,
        attempts=attempts,
        others=[],
        checks=[],
        held_micros=0,
        change_micros=change,
        entries=slices,
        next_slice=None,
        words=summary(attempts, 0, change, 0, view),
    )
    return whole.model_dump(mode="json")


def test_explain_can_be_followed_with_a_pocket_calculator(cli, hub):
    hub.wallet.explained = {JOB: explained("renter")}
    lines = [re.sub(r" {2,}", " | ", line.strip()) for line in cli("explain", JOB).text.splitlines()]
    assert lines == [
        "slice 0, attempt 1 on alpha [31m: succeeded, verdict ok",
        "base rate | 10.000000",
        "tier of the card | × 3 | 30.000000",
        "region IN | × 0.7 | 21.000000",
        "spot, by demand | × 1.1 | 23.100000",
        "rate, locked by the lease | = | 23.100000",
        "— settled (entry_7)",
        "ran, on the hub's clock | 1,000.4 s",
        "ran, as the node says (the lesser counts) | 999.2 s",
        "billed | = 1000 s",
        "cost, rounded up to a millionth | 23.1 × 1000 ÷ 3600 | 6.416667",
        "fee, rounded down | − 20 % | 1.283333",
        "the host earns | = | 5.133334",
        "It ended well: the renter pays for the time that it ran.",
        "It cost 6.416667 credits: 5.133334 went to the host, 1.283333 are the platform's fee.",
        "Taken from: 1 promotional credit, 5.416667 available credits.",
        "",
        "This job cost 6.416667 credits.",
    ]


def test_run_and_show_say_what_a_job_cost(cli, hub):
    first = f"job_{1:026}"
    hub.wallet.explained = {first: explained("renter")}
    hub.play = prints(b"42\n", own=False)
    assert cli("run", "--", "x").err.strip().endswith("· 6.42 credits")
    assert re.search(r"^cost +6\.42 credits", cli("show", first).text, re.MULTILINE)
    free = cli("run", "--", "x")
    assert "credits" not in free.err.splitlines()[-1]
    assert "cost" not in cli("show", f"job_{2:026}").text


def test_explain_for_a_host_and_as_json(cli, hub):
    hub.wallet.explained = {JOB: explained("host")}
    result = cli("explain", JOB, "--as", "host")
    assert hub.wallet.asked[0] == {"view": "host"}
    assert "You earned 5.133334 credits by this job." in result.text
    assert "0.8 of that are promotional: to be spent here, not cashed out." in result.text
    assert json.loads(cli("explain", JOB, "--json").out)["attempts"][0]["earned_micros"] == 5_133_334


def test_explain_has_every_attempt_however_many_pages(cli, hub):
    hub.wallet.explained = {JOB: explained("renter", slices=3)}
    text = cli("explain", JOB).text
    assert [f"slice {index}, attempt 1" in text for index in range(4)] == [True, True, True, False]
    assert "This job cost 19.250001 credits." in text


def test_explain_of_what_has_not_run_and_of_nothing(cli, hub):
    nothing = {**explained("renter"), "attempts": []}
    hub.wallet.explained = {JOB: {**nothing, "state": "queued"}}
    assert "It has not run yet" in cli("explain", JOB).err
    hub.wallet.explained = {
        JOB: {**nothing, "state": "canceled", "words": summary([], 0, 0, 0, "renter", never_ran=True)}
    }
    never = cli("explain", JOB)
    assert (never.text, never.err) == ("It never ran, and cost nothing.\n", "")
    missing = cli("explain", "job_" + "2" * 26)
    assert missing.code == 1
    assert "There is no such job." in missing.err


def test_explain_fits_a_narrow_terminal(cli, hub, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    hub.wallet.explained = {JOB: explained("renter")}
    text = cli("explain", JOB).text
    table = [line for line in text.splitlines() if re.search(r"\d\.\d{6}$", line)]
    assert table
    assert max(len(line) for line in table) <= 60


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ledger_check_says_yes_or_fails(cli, hub):
    hub.wallet.report = {
        "balanced": True,
        "entries": 1234,
        "postings": 5678,
        "accounts": 9,
        "moved_micros": CREDIT,
        "problems": [],
        "cash_outs_frozen": False,
        "platform": {"fees": 500_000, "clearing": -100 * CREDIT},
    }
    good = cli("admin", "ledger", "check")
    assert good.code == 0
    assert re.search(r"balanced +yes", good.text)
    assert re.search(r"clearing +-100\.000000", good.text)
    hub.wallet.report |= {"balanced": False, "problems": ["all accounts together have 5 micros instead of none"]}
    bad = cli("admin", "ledger", "check")
    assert bad.code == 1
    assert "all accounts together have 5 micros" in bad.err
    assert "Cash-outs are frozen" in bad.err
    as_json = cli("admin", "ledger", "check", "--json")
    assert (as_json.code, json.loads(as_json.out)["balanced"]) == (1, False)


@pytest.mark.parametrize(("command", "path"), [("grant", "grants"), ("withdraw", "withdrawals")])
def test_credits_by_hand_need_a_note(cli, hub, command, path):
    assert cli("admin", command, "bob@example.org", "10").code == 2
    result = cli("admin", command, "bob@example.org", "10.5", "--note", "in cash", "--promotional")
    assert result.code == 0
    (asked,) = hub.wallet.asked
    assert asked.pop("key")
    body = {"user": "bob@example.org", "credits": "10.5", "note": "in cash", "promotional": True}
    assert asked == {"path": path, **body, "unless_repeated": True}
    assert "10.5 promotional credits" in result.err
    assert "bob@example.org" in result.err
    assert "user_bob" not in result.err, "people know addresses"


@pytest.mark.parametrize("command", ["grant", "withdraw"])
def test_the_same_by_hand_once_more_has_to_be_said(cli, hub, command):
    cli("admin", command, "bob@example.org", "1", "--note", "in cash", "--again")
    (asked,) = hub.wallet.asked
    assert "unless_repeated" not in asked


def test_one_credit_is_one_credit(cli, hub):
    told = [cli("admin", "grant", "bob@example.org", credits, "--note", "x").err for credits in ("1", "0.5", "2")]
    assert told == [f"{words} for bob@example.org.\n" for words in ("1 credit", "0.5 credits", "2 credits")]


BELOW_ZERO = [
    ("admin", "grant", "bob@example.org", "-1", "--note", "x"),
    ("admin", "withdraw", "bob@example.org", "-.5", "--note", "x"),
    ("admin", "write-off", "bob@example.org", "-12", "--note", "x"),
    ("admin", "vouchers", "create", "-1"),
    ("admin", "cash-outs", "reverse", "cashout_1", "-1", "--note", "x"),
    ("admin", "disputes", "resolve", "dispute_1", "partial", "-1", "--note", "x"),
    ("wallet", "top-up", "-1.5"),
    ("wallet", "cash-out", "-1"),
]


@pytest.mark.parametrize("words", BELOW_ZERO, ids=lambda words: " ".join(words[:2]))
def test_an_amount_below_zero_is_no_unknown_option(cli, hub, words):
    result = cli(*words)
    assert result.code == 2
    assert result.err == "error: An amount of credits cannot be below zero.\n  Write it like 40 or 0.25.\n"
    assert hub.wallet.asked == []


def test_a_number_that_is_no_amount_is_still_an_unknown_option(cli):
    assert "No such option '-1'" in cli("ps", "-1").err
    assert "No such option '-x'" in cli("wallet", "top-up", "-x").err


def test_who_grants_is_told_what_filled_a_debt(cli, hub):
    assert "debt" not in cli("admin", "grant", "bob@example.org", "10", "--note", "in cash").err
    hub.wallet.repaid_micros = 4 * CREDIT
    assert "4.000000 of them filled a debt" in cli("admin", "grant", "bob@example.org", "10", "--note", "in cash").err


def test_debt_is_written_off_with_a_note(cli, hub):
    assert cli("admin", "write-off", "bob@example.org").code == 2
    all_of_it = cli("admin", "write-off", "bob@example.org", "--note", "gone")
    assert "Written off: 80 credits of what bob@example.org owes." in all_of_it.err
    assert "still" not in all_of_it.err
    hub.wallet.repaid_micros = 4 * CREDIT
    part = cli("admin", "write-off", "bob@example.org", "10.5", "--note", "gone")
    assert "4.000000 were still there" in part.err
    first, second = hub.wallet.asked
    assert first.pop("key") != second.pop("key")
    assert first == {"user": "bob@example.org", "credits": None, "note": "gone"}
    assert second["credits"] == "10.5"
