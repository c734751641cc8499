"""What operators and owners see and change on the command line, with answers made of the hub's own views."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from computepool.client.pool import Pool
from computepool.hub.api.admin_audit import AuditDetail, AuditLine, AuditLines
from computepool.hub.api.join_tokens import JoinedNode, JoinTokenActions, JoinTokenItem, JoinTokenPage
from computepool.hub.api.notices import NoticePage, NoticeView, UnreadNotices
from computepool.hub.api.shares import NewShare, ShareList, ShareView
from computepool.hub.core.actions import ALLOWED
from computepool.protocol.states import NodeState

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


class Deleted:
    def __init__(self, document):
        self.json = lambda: document


@pytest.fixture
def asked(monkeypatch):
    """(requests so far, answers by method and path: each a view, or plain JSON)"""
    found: list[object] = []
    answers: dict[tuple[str, str], Any] = {}

    def call(pool, method, path, body=None):
        found.append((method, path, body))
        answer = answers[method, path.partition("?")[0]]
        document = answer if isinstance(answer, dict) else answer.model_dump(mode="json")
        return Deleted(document) if method == "DELETE" else document

    monkeypatch.setattr(Pool, "call", call)
    return found, answers


def test_settings_are_changed_with_the_version_that_was_looked_at(cli, asked):
    requests, answers = asked
    fee = {"name": "platform_fee_bps", "type": "integer", "optional": False, "value": 2000, "version": 3}
    answers["GET", "/admin/settings/platform_fee_bps"] = fee
    answers["PUT", "/admin/settings/platform_fee_bps"] = {**fee, "value": 1500, "version": 4}
    done = cli("admin", "settings", "set", "platform_fee_bps", "1500", "--reason", "a spring offer")
    assert (done.code, done.err) == (0, "platform_fee_bps is 1500 now; it was 2000.\n")
    assert requests[-1][2] == {"value": 1500, "reason": "a spring offer", "version": 3}
    wrong = cli("admin", "settings", "set", "platform_fee_bps", "a lot", "--reason", "a spring offer")
    assert (wrong.code, "It takes: integer." in wrong.err) == (2, True)
    assert cli("admin", "settings", "set", "platform_fee_bps", "1500").code == 2  # without a reason


def test_audit_is_read_page_by_page_and_says_that_there_is_more(cli, asked):
    requests, answers = asked
    line = AuditLine(
        id=7,
        at=NOW,
        actor="user_ada",
        actor_name="ada@example.org",
        action="cash_out.approved",
        subject="cashout_1",
        subject_name=None,
        details=[AuditDetail(name="note", value="ok\x1b[2J")],
    )
    answers["GET", "/admin/audit"] = AuditLines(items=[line], next="further")
    shown = cli("admin", "audit", "--actor", "ada@example.org", "-n", "3")
    assert "\x1b" not in shown.text
    assert shown.text.count("cash_out.approved") == 3
    assert "3 of more" in shown.err
    assert [path.partition("cursor=")[2] for _, path, _ in requests] == ["", "further", "further"]
    assert "actor=ada%40example.org" in requests[0][1]
    answers["GET", "/admin/audit"] = AuditLines(items=[], next=None)
    assert "No such record." in cli("admin", "audit").err


def test_join_tokens_are_listed_with_their_machines_and_revoked(cli, asked):
    requests, answers = asked
    node = JoinedNode(id="node_1", name="attic", state=NodeState.ONLINE, created_at=NOW)
    token = JoinTokenItem(
        id="join_1",
        owner_id="user_ada",
        owner_name="Ada",
        state="open",
        uses=3,
        uses_left=2,
        created_at=NOW,
        expires_at=NOW,
        revoked_at=None,
        nodes=[node],
        actions=JoinTokenActions(revoke=ALLOWED),
    )
    answers["GET", "/nodes/join-tokens"] = JoinTokenPage(items=[token], next=None, total=1)
    answers["DELETE", "/nodes/join-tokens/join_1"] = token
    (_, row) = cli("node", "join-tokens", "--usable").text.splitlines()
    assert row.split()[:5] == ["join_1", "open", "2", "of", "3"]
    assert row.rstrip().endswith("attic")
    assert "usable=true" in requests[-1][1]
    assert cli("node", "join-tokens", "revoke", "join_1").err == "No machine joins with join_1 any more.\n"


def test_cash_out_is_canceled(cli, asked):
    _, answers = asked
    canceled = {"id": "cashout_1", "state": "canceled", "message": "You took it back."}
    answers["POST", "/wallet/cash-outs/cashout_1/cancel"] = canceled
    done = cli("wallet", "cash-outs", "cancel", "cashout_1")
    assert (done.code, done.err) == (0, "cashout_1 is canceled. You took it back.\n")


def test_notices_are_marked_as_read_once_they_were_shown(cli, asked):
    requests, answers = asked
    notice = NoticeView(
        id=5,
        at=NOW,
        code="job.failed",
        kind="jobs",
        severity="warning",
        title="train failed",
        text="Exit code 3.",
        link=None,
        subject_id="job_1",
        read_at=None,
    )
    answers["GET", "/notices"] = NoticePage(items=[notice], next=None, total=1, unread=1)
    answers["POST", "/notices/read"] = UnreadNotices(unread=0)
    assert "train failed" in cli("notices", "--keep-unread").text
    assert len(json.loads(cli("notices", "--json").text)["items"]) == 1
    assert [method for method, _, _ in requests] == ["GET", "GET"]
    assert "Exit code 3." in cli("notices").text
    assert requests[-1] == ("POST", "/notices/read", {"ids": [5]})
    answers["GET", "/notices"] = NoticePage(items=[], next=None, total=0, unread=0)
    assert "Nothing new." in cli("notices").err


def test_links_of_a_job_are_made_listed_and_revoked(hub, cli, asked):
    requests, answers = asked
    job_id = hub.add_job({"run": "true", "name": "train"}).document["id"]
    path = f"/jobs/{job_id}/shares"
    link = ShareView(id="share_1", job_id=job_id, with_logs=True, with_outputs=False, created_at=NOW, expires_at=None)
    answers["POST", path] = NewShare(**link.model_dump(), token="cps_secret")
    made = cli("share", "create", "train", "--logs", "--days", "3")
    assert (made.code, made.text) == (0, f"{hub.url}/shared/cps_secret\n")
    assert "Shows state, logs." in made.err
    assert requests[-1][2] == {"with_logs": True, "with_outputs": False, "expires_in_days": 3}
    assert json.loads(cli("share", "create", job_id, "--json").text)["url"] == f"{hub.url}/shared/cps_secret"

    answers["GET", path] = ShareList(items=[link])
    listed = cli("share", "list", "train").text
    assert "share_1" in listed
    assert "no end" in listed
    answers["DELETE", f"{path}/share_1"] = {}
    assert cli("share", "revoke", "train", "share_1").err == "Revoked share_1.\n"
    assert requests[-1][:2] == ("DELETE", f"{path}/share_1")
    assert "There is no link 'share_2'" in cli("share", "revoke", "train", "share_2").err


def test_public_name_is_shown_chosen_and_removed(cli, asked):
    requests, answers = asked
    assert "You have no public name." in cli("public-name").err
    answers["PATCH", "/me"] = {"public_name": "gpu-garage"}
    assert cli("public-name", "gpu-garage").text == "gpu-garage\n"
    assert requests[-1] == ("PATCH", "/me", {"public_name": "gpu-garage"})
    answers["PATCH", "/me"] = {"public_name": None}
    assert json.loads(cli("public-name", "--remove", "--json").text) == {"public_name": None}
    assert requests[-1][2] == {"public_name": None}
    assert cli("public-name", "x", "--remove").code != 0
