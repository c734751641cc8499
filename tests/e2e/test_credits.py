"""One job's credits, from the grant to the cash-out: a renter, a host and an operator, each at a command line."""

import sqlite3

import pytest
from support.mail_server import MailServer, mail_server
from support.pool import Agent, running_pool

pytestmark = pytest.mark.slow

SETTINGS = {"COMPUTEPOOL_WELCOME_CREDITS": "0", "COMPUTEPOOL_CASH_OUT_MIN": "10"}


@pytest.fixture
def server():
    with mail_server() as running:
        yield running


@pytest.fixture
def pool(tmp_path, server):
    mail = {"COMPUTEPOOL_SMTP_URL": server.url, "COMPUTEPOOL_MAIL_FROM": "pool@example.org"}
    with running_pool(tmp_path / "pool", SETTINGS | mail) as made:
        yield made


def mailed(server: MailServer, words: str) -> int:
    """How often the host was told so."""
    return sum(one.text.count(words) for one in server.inbox if one.to == "host@example.org")


def micros(person, kind):
    return person.cli("wallet", "--json").expect(0).json[f"{kind}_micros"]


def a_month_passes(pool):
    """As far as the hub can tell: jobs ended so long ago that nobody disputes them any more."""
    pool.kill_hub()
    with sqlite3.connect(pool.home / "pool.db") as database:
        database.execute("UPDATE attempts SET finished_at = datetime(finished_at, '-40 days')")
    database.close()
    pool.start_hub()


@pytest.mark.engine("bwrap")
def test_renter_and_host_can_follow_one_jobs_credits_from_grant_to_cash_out(pool, server):
    renter, host = pool.register("renter"), pool.register("host")
    machine = Agent(pool, "machine", {})
    pool.agents.append(machine)
    token = host.cli("node", "join-token", "--json").expect(0).json["token"]
    machine.run("join", pool.url, "--token", token, "--name", "machine", wait=False)
    pool.until(lambda: machine.link, "the machine has a line")
    host.cli("node", "price", machine.node_id, "--fixed", "36000").expect(0)

    # Without credits it waits, and says so; with them it starts by itself.
    limits = ("--max-runtime", "60s", "--max-price", "36000")
    job = renter.cli("run", "-d", "-y", "--json", *limits, "--", "sleep", "2").expect(0).json["id"]
    assert "do not have enough credits" in renter.cli("why", job).expect(0).text
    pool.cli("admin", "grant", "renter@example.org", "1000", "--note", "paid in cash").expect(0)
    renter.cli("logs", "-f", job).expect(0)
    pool.until(lambda: renter.cli("show", job, "--json").json["state"] == "succeeded" or None, "it has ended")

    said = renter.cli("explain", job, "--json").expect(0).json
    theirs = host.cli("explain", job, "--json").expect(0).json
    cost = 1_000_000_000 - micros(renter, "available")
    earned = micros(host, "earnings")
    assert cost > 0
    assert micros(renter, "held") == 0
    assert said["change_micros"] == -cost
    assert theirs["change_micros"] == earned == cost - cost * 2000 // 10_000
    assert [one["kind"] for one in renter.cli("wallet", "entries", "--json").expect(0).json["items"]] == [
        "settle",
        "hold",
        "grant",
    ]
    assert [one["kind"] for one in host.cli("wallet", "entries", "--json").expect(0).json["items"]] == ["settle"]

    early = host.cli("wallet", "cash-out", "10").expect(1)
    assert "can be cashed out" in early.err
    a_month_passes(pool)
    asked = host.cli("wallet", "cash-out", "10", "--json").expect(0).json
    assert (micros(host, "cashing_out"), micros(host, "earnings")) == (10_000_000, earned - 10_000_000)
    pool.cli("admin", "cash-outs", "approve", asked["id"]).expect(0)
    pool.cli("admin", "cash-outs", "paid", asked["id"], "bank transfer 17").expect(0)
    assert micros(host, "cashing_out") == 0
    shown = host.cli("wallet", "cash-outs", "--json").expect(0).json["items"][0]
    assert (shown["state"], shown["micros"]) == ("paid", 10_000_000)
    steps = [f"Your cash-out of 10 credits (10.00 INR) was {step}." for step in ("requested", "approved", "paid")]
    pool.until(lambda: mailed(server, steps[-1]) or None, "the last mail arrives")
    assert [mailed(server, step) for step in steps] == [1, 1, 1]
    shown = pool.cli("admin", "mail").expect(0)
    assert "host@example.org" in shown.text
    assert f"They go to {server.url}; 0 wait." in shown.err
    assert f"{server.url} took it: 250 taken" in pool.cli("admin", "mail", "--test", "me@example.org").expect(0).err
    assert server.inbox[-1].to == "me@example.org"
    assert pool.cli("admin", "mail", "--waiting", "--json").expect(0).json["items"] == []

    report = pool.cli("admin", "ledger", "check", "--json").expect(0).json
    assert report["balanced"] is True
    assert report["platform"]["fees"] == cost - earned
    assert report["platform"]["clearing"] == -1_000_000_000 + 10_000_000
