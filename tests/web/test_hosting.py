"""A host in the browser: a machine joins and shows up by itself, its price counts, it earns, and a cash-out is paid."""

import re
import sqlite3

import pytest
from playwright.sync_api import Page, expect
from support.pool import Agent, Person, Pool, patient

from computepool.client.pool import Pool as Client

pytestmark = pytest.mark.slow


def join_as_the_page_says(pool: Pool, page: Page, name: str) -> Agent:
    """By the command that the page shows."""
    line = page.get_by_text(re.compile("^computepool join ")).inner_text()
    agent = Agent(pool, name, {})
    pool.agents.append(agent)
    agent.run(*line.split()[1:], "--name", name, wait=False)
    return agent


def price_of(renter: Person, node_id: str) -> int:
    """What an hour there would cost somebody else."""
    with patient(Client(home=renter.home)) as client:
        return client.market.quote({"run": "sleep 2", "max_price": 400000, "where": {"node": node_id}})["price_micros"]


def a_month_passes(pool: Pool, node_id: str) -> None:
    """As far as the hub can tell: nobody can dispute what this node did any more."""
    pool.kill_hub()
    with sqlite3.connect(pool.home / "pool.db") as database:
        older = "UPDATE attempts SET finished_at = datetime(finished_at, '-40 days') WHERE node_id = ?"
        database.execute(older, [node_id])
    database.close()
    pool.start_hub()


@pytest.mark.engine("bwrap")
def test_host_adds_a_machine_sets_its_price_earns_and_is_paid_out(visitor, web_pool):
    page = visitor.sign_in("hanna")
    visitor.go("/nodes")
    expect(page.get_by_role("heading", name="What a card would earn here")).to_be_visible()
    expect(page.get_by_role("button", name="Linux")).to_have_attribute("aria-pressed", "true")
    machine = join_as_the_page_says(web_pool, page, "attic")
    row = page.get_by_role("list", name="Your machines").get_by_role("listitem").filter(has_text="attic")
    expect(row).to_contain_text("Online")  # without a reload
    row.get_by_role("link", name="attic").click()
    expect(page.get_by_role("heading", name="attic")).to_be_visible()

    # A price: the page says what it would mean, and a quote follows it.
    renter = web_pool.register("rita")
    before = price_of(renter, machine.node_id)
    page.get_by_role("button", name="Fixed").click()
    page.get_by_label("Credits per hour").fill("360000")
    expect(page.get_by_text(re.compile("(st|nd|rd|th) of "))).to_be_visible()
    page.get_by_role("button", name="Set price").click()
    expect(page.get_by_text("Price set")).to_be_visible()
    assert before < price_of(renter, machine.node_id) == 360_000_000_000

    # What it earns is there when the job has ended.
    web_pool.cli("admin", "grant", "rita@example.org", "9000", "--note", "a gift").expect(0)
    where = ("--node", machine.node_id)
    renter.cli("run", "-y", "--max-runtime", "60s", "--max-price", "360000", *where, "--", "sleep", "2").expect(0)
    earned = page.get_by_role("region", name="Ran before").get_by_role("row").nth(1)
    expect(earned).to_contain_text("Succeeded")
    expect(earned).to_contain_text(re.compile(r"[1-9]\d*\.\d\d cr"))

    # The hub is away for a moment; the page recovers by itself, and the earnings can be cashed out.
    web_pool.cli("admin", "settings", "set", "cash_out_min", "10", "--reason", "for a test").expect(0)
    page.get_by_role("link", name="Wallet").click()
    expect(page.get_by_text("At least 10 credits are paid out at once")).to_be_visible()
    a_month_passes(web_pool, machine.node_id)
    page.get_by_role("button", name="Cash out").click()
    page.get_by_role("dialog").get_by_label("Credits").fill("12.5")
    page.get_by_role("button", name="Request cash-out").click()
    cash_out = page.get_by_role("list", name="Cash-outs").get_by_role("listitem")
    expect(cash_out).to_contain_text("Requested")
    asked = web_pool.cli("admin", "cash-outs", "--json").expect(0).json["items"][0]["id"]
    web_pool.cli("admin", "cash-outs", "approve", asked).expect(0)
    expect(cash_out).to_contain_text("Approved")
    web_pool.cli("admin", "cash-outs", "paid", asked, "bank transfer 17").expect(0)
    expect(cash_out).to_contain_text("Paid")
    expect(cash_out).to_contain_text("bank transfer 17")
    page.get_by_role("list", name="Entries").get_by_role("button").first.click()
    expect(page.get_by_text("being cashed out to outside the pool")).to_be_visible()
    with page.expect_download() as statement:
        page.get_by_role("button", name=re.compile("as CSV")).first.click()
    assert "cash_out" in statement.value.path().read_text()
    visitor.check_accessible(f"/nodes/{machine.node_id}", "/nodes", "/wallet")
    visitor.forgive("ERR_CONNECTION|WebSocket")
