"""Cash-outs, vouchers, disputes and reports on the command line."""

import json
import re
import threading
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support.fake_api import CREATED, TOKEN

from computepool.cli.display import instant

CASH_OUT = {
    "id": "cashout_1",
    "owner_id": "user_me",
    "credits": "500",
    "micros": 500_000_000,
    "amount": "500.00 INR",
    "state": "requested",
    "message": "An operator looks at it.",
    "note": "",
    "reference": None,
    "returned_micros": 0,
    "created_at": CREATED,
    "approved_at": None,
    "ended_at": None,
}
CAN = {
    "owner_id": "user_me",
    "minimum_micros": 500_000_000,
    "cashable_micros": 620_000_000,
    "later": [
        {"at": "2027-01-02T10:00:00Z", "micros": 40_000_000},
        {"at": "2027-01-02T11:00:00Z", "micros": 2_000_001},
    ],
    "unknown_micros": 7_000_000,
    "hold_back_days": 7,
    "frozen": False,
    "way": "manual",
}
ADMINS = {"email": "host@example.org", "debt_micros": 0, "asked_by": "user_me", "decided_by": None, "way": "manual"}
DISPUTE = {
    "id": "dispute_1",
    "kind": "job",
    "job_id": "job_" + "1" * 26,
    "owner_id": "user_me",
    "reason": "the output is empty",
    "state": "open",
    "outcome": None,
    "micros": 12_500_000,
    "refunded_micros": 0,
    "note": "",
    "opened_at": CREATED,
    "resolved_at": None,
    "subject": "job_" + "1" * 26,
    "opened_by": "user_me",
    "resolved_by": None,
    "bank": None,
    "owed_micros": 0,
}
VOUCHER = {
    "id": "voucher_1",
    "credits": "50",
    "micros": 50_000_000,
    "uses": 20,
    "used": 3,
    "expires_at": None,
    "withdrawn_at": None,
    "note": "the lab",
    "created_at": CREATED,
}
JOB = DISPUTE["job_id"]
FACTS: dict[str, Any] = {
    "dispute": DISPUTE | {"uncovered_micros": 7_250_000, "owner_email": "rita@example.org"},
    "refundable_micros": 12_499_999,
    "jobs": [{"id": JOB, "state": "succeeded", "verdict": "ok", "message": None}],
    "attempts": [
        {
            "attempt_id": "attempt_1",
            "slice": 0,
            "node_name": "alpha",
            "verdict": "ok",
            "exit_code": 0,
            "billed_seconds": 1000,
            "cost_micros": 12_500_000,
            "receipt": {"exit_code": 0},
        }
    ],
    "nodes": [
        {
            "name": "alpha",
            "owner_id": "user_host",
            "owner_email": "hugo@example.org",
            "reliability": {"mean": 0.9, "lower": 0.8, "audited": {"ok": 3, "wrong": 0}},
            "refunded_before": 1,
            "earnings_micros": 4_000_000,
        }
    ],
    "paid_out": [
        {
            "owner_id": "user_host",
            "owner_email": "hugo@example.org",
            "cash_out_id": "cashout_1",
            "way": "stripe",
            "micros": 7_250_000,
        }
    ],
}


class Answering:
    """Answers what a test says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.keys: list[str | None] = []


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, cli: Any) -> Iterator[Answering]:
    known = Answering()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            name = f"{self.command} {self.path.removeprefix('/api/v1')}"
            known.asked.append((name, body))
            known.keys.append(self.headers.get("Idempotency-Key"))
            missing = (404, {"error": {"code": "not_found", "message": f"There is no {name}."}})
            answer = known.answers.get(name, missing)
            status, document = answer if isinstance(answer, tuple) else (200, answer)
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self._do()

        def do_POST(self) -> None:
            self._do()

        def log_message(self, format: str, *args: Any) -> None:
            """Not here."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    monkeypatch.setenv("COMPUTEPOOL_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("COMPUTEPOOL_TOKEN", TOKEN)
    yield known
    server.shutdown()
    server.server_close()
    thread.join()


def test_host_asks_for_a_cash_out(desk, cli):
    desk.answers["POST /wallet/cash-outs"] = (201, CASH_OUT)
    result = cli("wallet", "cash-out", "500")
    assert (result.code, "500.00 INR" in result.err, "An operator looks at it." in result.err) == (0, True, True)
    assert desk.asked == [("POST /wallet/cash-outs", {"credits": "500"})]
    assert desk.keys[0], "a lost answer must not become a second cash-out"
    assert json.loads(cli("wallet", "cash-out", "500", "--json").text) == CASH_OUT


def test_refusal_says_what_can_be_done(desk, cli):
    error = {"code": "not_cashable", "message": "900 credits are more than the 620.", "hint": "42 more can follow."}
    desk.answers["POST /wallet/cash-outs"] = (409, {"error": error})
    result = cli("wallet", "cash-out", "900")
    assert result.code == 1
    assert "900 credits are more than the 620." in result.err
    assert "42 more can follow." in result.err


def test_host_sees_what_can_be_cashed_out_and_when(desk, cli):
    desk.answers["GET /wallet/cash-outs"] = {"items": [CASH_OUT | {"state": "paid", "reference": "UTR 1"}], "can": CAN}
    result = cli("wallet", "cash-outs")
    assert "UTR 1" in result.text
    assert "Now: 620 credits can be cashed out, at least 500 at once." in result.err
    assert "From 2027-01-02: 42.000001 more" in result.err
    assert "7 more wait for jobs that are running" in result.err
    desk.answers["GET /wallet/cash-outs"] = {"items": [], "can": CAN | {"frozen": True, "later": []}}
    assert "does not add up" in cli("wallet", "cash-outs").err
    assert json.loads(cli("wallet", "cash-outs", "--json").text)["can"]["frozen"]


def test_voucher_is_redeemed(desk, cli):
    given = {"credits": "50", "micros": 50_000_000, "promotional_micros": 150_000_000}
    desk.answers["POST /wallet/vouchers"] = (201, given)
    told = cli("wallet", "redeem", "7QXM-2D9K-HT4V-PW8C").err
    assert told == "50 credits for you. They are spent before all others, and never cashed out.\n"
    assert desk.asked == [("POST /wallet/vouchers", {"code": "7QXM-2D9K-HT4V-PW8C"})]
    assert json.loads(cli("wallet", "redeem", "X" * 16, "--json").text) == given
    desk.answers["POST /wallet/vouchers"] = (201, given | {"credits": "1"})
    assert cli("wallet", "redeem", "X" * 16).err.startswith("1 credit for you. It is spent before all others")


def test_operator_decides_about_cash_outs(desk, cli):
    row = CASH_OUT | ADMINS
    desk.answers["GET /admin/cash-outs?state=requested&limit=500"] = {"items": [row], "frozen": False}
    assert "host@example.org" in cli("admin", "cash-outs", "--state", "requested").text
    desk.answers["GET /admin/cash-outs?limit=500"] = {"items": [row | {"debt_micros": 5_000_000}], "frozen": True}
    result = cli("admin", "cash-outs")
    assert re.search(r"OWES +NOTE *\n.* 5 *$", result.text, re.MULTILINE)
    assert "Frozen" in result.err
    desk.answers["POST /admin/cash-outs/cashout_1/approve"] = row | {"state": "approved"}
    assert "cash-outs paid cashout_1" in cli("admin", "cash-outs", "approve", "cashout_1").err
    desk.answers["POST /admin/cash-outs/cashout_1/paid"] = row | {"state": "paid"}
    assert "is paid" in cli("admin", "cash-outs", "paid", "cashout_1", "UTR 1").err
    desk.answers["POST /admin/cash-outs/cashout_1/reject"] = row | {"state": "rejected"}
    assert "is rejected" in cli("admin", "cash-outs", "reject", "cashout_1", "--note", "no account").err
    assert [body for _, body in desk.asked[-3:]] == [
        {"note": ""},
        {"reference": "UTR 1", "note": ""},
        {"note": "no account"},
    ]
    assert cli("admin", "cash-outs", "reject", "cashout_1").code == 2
    assert cli("admin", "cash-outs", "paid", "cashout_1").code == 2


def test_operator_takes_a_paid_one_back(desk, cli):
    route = "POST /admin/cash-outs/cashout_1/reverse"
    taken = {
        "id": "reversal_1",
        "cash_out_id": "cashout_1",
        "credits": "200",
        "state": "done",
        "message": "It is back.",
    }
    desk.answers[route] = (201, taken)
    assert (
        "200 credits of cashout_1: It is back."
        in cli("admin", "cash-outs", "reverse", "cashout_1", "200", "--note", "a dispute").err
    )
    assert desk.keys[-1], "a lost answer must not take it back twice"
    assert json.loads(cli("admin", "cash-outs", "reverse", "cashout_1", "--note", "x", "--json").text) == taken
    assert [body for _, body in desk.asked] == [
        {"credits": "200", "note": "a dispute"},
        {"credits": None, "note": "x"},
    ]
    desk.answers[route] = (201, taken | {"state": "refused", "message": "Nothing moved: no funds there."})
    result = cli("admin", "cash-outs", "reverse", "cashout_1", "--note", "x")
    assert (result.code, "no funds there" in result.err, "try again later" in result.err) == (1, True, True)
    assert cli("admin", "cash-outs", "reverse", "cashout_1").code == 2


@pytest.mark.parametrize("columns", ["80", "200"])
def test_what_came_back_of_a_cash_out_is_shown_with_its_note(desk, cli, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    name = "cashout_01k9abcdefghjkmnpqrstvwxyz"
    about = {"id": name, "state": "paid", "reference": "tr_1QabcdefGHIJKLmnopqrstuv", "note": "the dispute of Monday"}
    part = CASH_OUT | ADMINS | about | {"returned_micros": 5_500_000, "debt_micros": 2_000_000}
    whole = CASH_OUT | ADMINS | about | {"returned_micros": 500_000_000}
    desk.answers["GET /wallet/cash-outs"] = {"items": [part, whole], "can": CAN}
    desk.answers["GET /admin/cash-outs?limit=500"] = {"items": [part, whole], "frozen": False}
    for words in (("wallet", "cash-outs"), ("admin", "cash-outs")):
        text = cli(*words).text
        for expected in ("paid, 5.5 came back", "paid, all came back", "NOTE" if columns == "200" else "note: "):
            assert expected in text
        assert [text.count(one) for one in (name, about["reference"], about["note"])] == [2, 2, 2]
        assert "…" not in text


def test_name_that_is_a_way_elsewhere_is_one_name(desk, cli):
    assert cli("admin", "cash-outs", "approve", "../users").code == 1
    assert desk.asked == [("POST /admin/cash-outs/..%2Fusers/approve", {"note": ""})]
    assert "No cash-out is named." in cli("admin", "cash-outs", "approve", "..").err


def test_renter_disputes_a_job(desk, cli):
    desk.answers[f"POST /jobs/{JOB}/dispute"] = (201, DISPUTE)
    assert "for 12.5 credits" in cli("dispute", JOB, "--reason", "the output is empty").err
    assert desk.asked == [(f"POST /jobs/{JOB}/dispute", {"reason": "the output is empty"})]
    assert cli("dispute", JOB).code == 2
    assert cli("dispute", "--reason", "what").code == 2
    desk.answers["GET /disputes"] = {"items": [DISPUTE | {"outcome": "partial", "refunded_micros": 5_000_000}]}
    assert "partial" in cli("dispute").text
    assert json.loads(cli("dispute", "--json").text)["items"][0]["id"] == "dispute_1"
    desk.answers["GET /disputes"] = {"items": []}
    assert "You have no disputes." in cli("dispute").err


def test_operator_looks_at_a_dispute_and_resolves_it(desk, cli):
    desk.answers["GET /admin/disputes?state=open&limit=500"] = {
        "items": [DISPUTE | {"uncovered_micros": 7_250_000, "owner_email": "rita@example.org"}]
    }
    listed = cli("admin", "disputes").text
    for text in ("the output is empty", "UNCOVERED", "7.25", "rita@example.org"):
        assert text in listed
    desk.answers["GET /admin/disputes?limit=500"] = {"items": [DISPUTE | {"kind": "chargeback", "bank": "lost"}]}
    assert "chargeback (lost)" in cli("admin", "disputes", "--all").text
    desk.answers["GET /admin/disputes/dispute_1"] = FACTS
    result = cli("admin", "disputes", "show", "dispute_1")
    for text in (
        "12.499999",
        "7.25 of that",
        "alpha",
        "rita@example.org (",
        "hugo@example.org",
        "3 right, 0 wrong",
        "0.90, at least 0.80",
    ):
        assert text in result.text
    assert f"computepool logs {JOB}" in result.err
    assert "hugo@example.org owes 7.25 credits of what was paid out by stripe: " in result.err
    assert "computepool admin cash-outs reverse cashout_1 7.25 --note WHY" in result.err
    done = DISPUTE | {"outcome": "partial", "refunded_micros": 5_000_000, "owed_micros": 1_000_000}
    desk.answers["POST /admin/disputes/dispute_1/resolve"] = done
    result = cli("admin", "disputes", "resolve", "dispute_1", "partial", "5", "--note", "half of it")
    assert "5 credits went back" in result.err
    assert "Hosts had spent 1 of that" in result.err
    assert desk.asked[-1][1] == {"outcome": "partial", "note": "half of it", "credits": "5"}
    assert cli("admin", "disputes", "resolve", "dispute_1", "partial", "--note", "x").code == 2
    assert cli("admin", "disputes", "resolve", "dispute_1", "full", "5", "--note", "x").code == 2
    assert cli("admin", "disputes", "resolve", "dispute_1", "full").code == 2


def test_operator_makes_vouchers(desk, cli):
    desk.answers["POST /admin/vouchers"] = (201, VOUCHER | {"code": "AAAA-BBBB-CCCC-DDDD"})
    result = cli("admin", "vouchers", "create", "50", "--uses", "20", "--days", "30", "--note", "the lab")
    assert result.text == "AAAA-BBBB-CCCC-DDDD\n"
    assert desk.asked[0][1] == {"credits": "50", "uses": 20, "expires_in_days": 30, "code": None, "note": "the lab"}
    desk.answers["GET /admin/vouchers?limit=500"] = {"items": [VOUCHER]}
    assert "3 of 20" in cli("admin", "vouchers").text
    desk.answers["POST /admin/vouchers/voucher_1/withdraw"] = VOUCHER | {"withdrawn_at": CREATED}
    assert "3 of 20 had redeemed it" in cli("admin", "vouchers", "withdraw", "voucher_1").err


def report() -> dict[str, Any]:
    figures = {"spent_micros": 150_000_000, "fees_micros": 22_000_000, "refunded_micros": 40_000_000}
    figures |= {"paid_in_micros": 0, "paid_out_micros": 0, "jobs": 3}
    figures |= {"withdrawn_micros": 1_000_000, "returned_micros": 30_000_000}
    quiet = dict.fromkeys(figures, 0)
    return {
        "days": [{"day": "2026-11-01", **figures}, {"day": "2026-11-02", **quiet}],
        "totals": figures,
        "due": {
            "requested": 2,
            "requested_micros": 900_000_000,
            "approved": 1,
            "approved_micros": 1_000_000,
            "open_disputes": 1,
        },
        "hosts": [
            {
                "name": "alpha",
                "owner_id": "user_host",
                "state": "online",
                "reliability": 0.8,
                "mean": 0.9,
                "attempts": 3,
                "ok": 1,
                "lost": 1,
                "earned_micros": 88_000_000,
            }
        ],
    }


def test_operator_reads_reports(desk, cli):
    desk.answers["GET /admin/reports?since=2026-11-01"] = report()
    text = cli("admin", "reports", "--since", "2026-11-01").text
    assert re.search(r"^to renters +money: 1 credit withdrawn by hand, 30 credits back to cards", text, re.MULTILINE)
    assert re.search(r"^2026-11-01 .* 31 *$", text, re.MULTILINE)
    assert "1 cash-out, 1 credit" in text
    for part in ("2026-11-01", "150", "2 cash-outs, 900 credits", "alpha", "0.90, at least 0.80"):
        assert part in text
    assert "2026-11-02" not in text, "days on which nothing happened are left out"


def test_what_has_to_be_typed_next_is_whole_in_a_narrow_terminal(desk, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = {kind: f"{kind}_01k9abcdefghjkmnpqrstvwxyz" for kind in ("dispute", "cashout", "voucher")}
    people = {"owner_email": "somebody.with.a.long.name@example.org"}
    desk.answers["GET /admin/disputes?state=open&limit=500"] = {"items": [DISPUTE | people | {"id": names["dispute"]}]}
    desk.answers["GET /disputes"] = {"items": [DISPUTE | {"id": names["dispute"]}]}
    cash_out = CASH_OUT | ADMINS | {"id": names["cashout"], "reference": "UTR 4211 0815 4711"}
    desk.answers["GET /admin/cash-outs?limit=500"] = {"items": [cash_out], "frozen": False}
    desk.answers["GET /admin/vouchers?limit=500"] = {"items": [VOUCHER | {"id": names["voucher"]}]}
    for words, kind in (
        (("admin", "disputes"), "dispute"),
        (("dispute",), "dispute"),
        (("admin", "cash-outs"), "cashout"),
        (("admin", "vouchers"), "voucher"),
    ):
        text = cli(*words).text
        assert names[kind] in text, words
        assert max(len(line.rstrip()) for line in text.splitlines()) <= 80


def test_voucher_says_until_when_in_a_narrow_terminal(desk, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    row = VOUCHER | {"id": "voucher_01k9abcdefghjkmnpqrstvwxyz", "expires_at": CREATED}
    desk.answers["GET /admin/vouchers?limit=500"] = {"items": [row | {"note": "the summer school of the lab"}]}
    text = cli("admin", "vouchers").text
    for whole in (row["id"], instant(datetime.fromisoformat(CREATED)), "the summer school of the lab"):
        assert whole in text


def test_dispute_is_shown_whole_in_a_narrow_terminal(desk, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    attempt = FACTS["attempts"][0] | {"attempt_id": "attempt_01k9abcdefghjkmnpqrstvwxyz", "node_name": "workstation-07"}
    desk.answers["GET /admin/disputes/dispute_1"] = FACTS | {"attempts": [attempt]}
    text = cli("admin", "disputes", "show", "dispute_1").text
    assert "…" not in text
    assert {attempt["attempt_id"], JOB} <= set(text.split())
    for whole in ("REFUNDED BEFORE", "HOST HAS", "SECONDS", "SIGNED", "host: hugo@example.org"):
        assert whole in text
    lines = [line.rstrip() for line in text.splitlines()]
    for header in ("JOB", "SLICE", "MACHINE  RELIABILITY"):
        (place,) = [number for number, line in enumerate(lines) if line.startswith(header)]
        assert lines[place - 1] == "", f"a blank line is before {header}"


def test_report_is_shown_whole_in_a_narrow_terminal(desk, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    made = report()
    made["hosts"][0] |= {"name": "workstation-07", "owner_email": "somebody.with.a.long.name@example.org"}
    made["totals"] |= {"spent_micros": 1_234_567_890_000, "paid_in_micros": 1_234_567_890_000}
    desk.answers["GET /admin/reports"] = made
    lines = [line.rstrip() for line in cli("admin", "reports").text.splitlines()]
    text = "\n".join(lines)
    assert "…" not in text
    assert re.search(r"^disputes +1 open$", text, re.MULTILINE)
    assert re.search(r"^\n+(paid in .*\n)", text, re.MULTILINE)
    assert re.search(r"\n\nMACHINE ", text)
    assert "somebody.with.a.long.name@example.org" in text


def test_mails_are_shown_whole_in_a_narrow_terminal(desk, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    subject = "Your cash-out of 500 credits was paid, and this is its reference: UTR 4211 0815"
    mail = {"created_at": CREATED, "address": "host@example.org", "subject": subject, "state": "given_up", "tries": 5}
    listed = {"items": [mail | {"words": "550 no such mailbox"}], "where": "mail.example.org", "waiting": 0, "away": ""}
    desk.answers["GET /admin/mails"] = listed
    text = " ".join(cli("admin", "mail").text.split())
    for whole in (f"subject: {subject}", "host@example.org", "given up", "550 no such mailbox"):
        assert whole in text
