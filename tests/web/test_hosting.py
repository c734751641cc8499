"""A host and an operator: a machine joins, earns, is accused; a contest is accepted and a cash-out is paid."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.pool import Agent, Person, Pool, patient

from computepool.client.pool import Pool as Client
from computepool.hub.core.db import durable_engine
from computepool.hub.jobs.tables import Attempt
from computepool.hub.nodes.tables import Node
from computepool.hub.trust.tables import Accusation, Check

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
    """As far as the hub can tell: nobody can dispute what this node did any more. Two results were found wrong since.

    They are written as the hub writes them where replicas outvote an attempt, which would take three machines.
    """
    engine = durable_engine(f"sqlite:///{pool.home / 'pool.db'}")
    with Session(engine) as session, session.begin():
        attempts = session.scalars(
            select(Attempt).where(Attempt.node_id == node_id).order_by(Attempt.slice_index)
        ).all()
        for number, attempt in enumerate(attempts):
            assert attempt.finished_at is not None
            attempt.finished_at -= timedelta(days=40)
            check_id = f"check_{number}{attempt.id[-20:]}"
            check = Check(
                id=check_id,
                subject=f"{attempt.job_id}/{attempt.slice_index}",
                kind="replicas",
                job_id=attempt.job_id,
                slice_index=attempt.slice_index,
                state="accused",
                spec_digest="sha256:0",
                asked=3,
                created_at=attempt.finished_at,
            )
            session.add(check)
            session.flush()
            accusation = Accusation(
                id=f"accusation_{number}",
                check_id=check_id,
                attempt_id=attempt.id,
                node_id=node_id,
                record_id=node_id,
                owner_id=session.get_one(Node, node_id).owner_id,
                proven=False,
                state="open",
                created_at=attempt.finished_at + timedelta(minutes=number),
            )
            session.add(accusation)
    engine.dispose()


def decide(page: Page, item: Locator, act: str, **fields: str) -> None:
    """In the queue: the item leaves it, or offers what comes next."""
    item.get_by_role("button", name=act, exact=True).click()
    dialog = page.get_by_role("dialog")
    for label, text in fields.items():
        dialog.get_by_label(label.replace("_", " ")).fill(text)
    dialog.get_by_role("button", name=act, exact=True).click()
    expect(dialog).to_be_hidden()


@pytest.mark.engine("bwrap")
def test_host_earns_contests_a_finding_and_is_paid_by_the_operator(visitors, web_pool):
    visitor, operator = visitors(), visitors()
    page = visitor.sign_in("hanna")
    visitor.go("/nodes")
    expect(page.get_by_role("heading", name="What a card would earn here")).to_be_visible()
    expect(page.get_by_role("button", name="Linux")).to_have_attribute("aria-pressed", "true")
    machine = join_as_the_page_says(web_pool, page, "attic")
    row = page.get_by_role("list", name="Your machines").get_by_role("listitem").filter(has_text="attic")
    expect(row).to_contain_text("Online")  # without a reload
    row.get_by_role("link", name="attic").click()
    expect(page.get_by_role("heading", name="attic")).to_be_visible()

    # Tags, hours and a pause: the agent hears of them, and the page of its answers.
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Edit").click()
    page.get_by_role("textbox", name="Tags").fill("quiet, warm")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("quiet", exact=True)).to_be_visible()
    policy = page.get_by_role("region", name="Owner policy")
    policy.get_by_role("button", name="Edit hours and idle rules").click()
    page.get_by_role("textbox", name="After idle").fill("7m")
    page.get_by_role("button", name="Send to the agent").click()
    expect(policy.get_by_text("7m", exact=True)).to_be_visible()  # as the machine reports it
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("alertdialog").get_by_role("button", name="Pause").click()
    expect(policy).to_contain_text("Paused from the web app")
    page.get_by_role("button", name="End pause").click()
    expect(policy).not_to_contain_text("Paused from the web app")

    # A price: the page says what it would mean, and a quote follows it.
    renter = web_pool.register("rita")
    before = price_of(renter, machine.node_id)
    page.get_by_role("button", name="Fixed").click()
    page.get_by_label("Credits per hour").fill("360000")
    expect(page.get_by_text(re.compile(r"\d(st|nd|rd|th) of "))).to_be_visible()
    page.get_by_role("button", name="Set price").click()
    expect(page.get_by_text("Price set")).to_be_visible()
    assert before < price_of(renter, machine.node_id) == 360_000_000_000

    # What it earns is there when the job has ended.
    web_pool.cli("admin", "grant", "rita@example.org", "9000", "--note", "a gift").expect(0)
    where = ("--node", machine.node_id)
    renter.cli(
        "run", "-y", "--max-runtime", "60s", "--max-price", "360000", "--slices", "2", *where, "--", "sleep", "2"
    ).expect(0)
    earned = page.get_by_role("region", name="Ran before").get_by_role("row").nth(1)
    expect(earned).to_contain_text("Succeeded")
    expect(earned).to_contain_text(re.compile(r"[1-9]\d*\.\d\d cr"))

    # An operator decides about two results that others found wrong.
    web_pool.cli("admin", "settings", "set", "cash_out_min", "10", "--reason", "for a test").expect(0)
    a_month_passes(web_pool, machine.node_id)
    desk = operator.sign_in_as_operator()
    operator.go("/admin/queue")
    queue = desk.get_by_role("listitem")
    accusations = queue.filter(has_text="attic").filter(has=desk.get_by_role("button", name="Dismiss"))
    expect(accusations).to_have_count(2)
    decide(desk, accusations.first, "Dismiss", Note="The others used another seed.")
    expect(accusations).to_have_count(1)
    decide(desk, accusations.first, "Confirm")
    expect(accusations).to_have_count(0)

    # The host says why it was not the machine's fault, and the operator agrees.
    events = page.get_by_role("region", name="Reliability")
    events.get_by_role("button", name="Contest").click()
    page.get_by_label("Why it was not the machine").fill("A neighbour's microwave.")
    page.get_by_role("button", name="Send to the operator").click()
    expect(events.get_by_text("Contested")).to_be_visible()
    contest = queue.filter(has_text="A neighbour's microwave.")
    decide(desk, contest, "Accept", Note="Those are strong.")
    expect(contest).to_have_count(0)
    expect(events.get_by_text("Upheld")).to_be_visible()  # without a reload

    # A cash-out is asked for, approved and marked as paid, and each of them sees it.
    page.get_by_role("link", name="Wallet").click()
    page.get_by_role("button", name="Cash out").click()
    page.get_by_role("dialog").get_by_label("Credits").fill("12.5")
    page.get_by_role("button", name="Request cash-out").click()
    cash_out = page.get_by_role("list", name="Cash-outs").get_by_role("listitem")
    expect(cash_out).to_contain_text("Requested")
    asked = queue.filter(has_text="hanna@example.org")
    decide(desk, asked, "Approve")
    expect(cash_out).to_contain_text("Approved")
    decide(desk, asked, "Mark as paid", Payment_reference="bank transfer 17")
    expect(asked).to_have_count(0)
    expect(cash_out).to_contain_text("Paid")
    expect(cash_out).to_contain_text("bank transfer 17")
    page.get_by_role("list", name="Entries").get_by_role("button").first.click()
    expect(page.get_by_text("being cashed out to outside the pool")).to_be_visible()
    with page.expect_download() as statement:
        page.get_by_role("button", name=re.compile("as CSV")).first.click()
    assert "cash_out" in statement.value.path().read_text()
    visitor.check_accessible(f"/nodes/{machine.node_id}", "/nodes", "/wallet")
    machine.stop()
