"""What an operator does in the browser: disputes, payments, settings; and who sees none of it."""

import re
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from playwright.sync_api import expect
from support.fake_stripe import paying
from support.fake_stripe.server import FakeStripe
from support.fake_stripe.webhooks import signed
from support.pool import Pool
from support.waiting import patience

pytestmark = pytest.mark.slow


@pytest.mark.engine("bwrap")
def test_dispute_appears_by_itself_is_refunded_and_is_gone(visitors, web_pool):
    renter, machine = web_pool.register("iris"), web_pool.join("barn")
    page = visitors().sign_in_as_operator()
    page.get_by_role("link", name="Admin").click()
    page.get_by_role("link", name="Queue", exact=True).click()
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    spec = ("--name", "melody", "--max-runtime", "60s", "--node", machine.node_id)
    job = renter.cli("run", "-d", "-y", "--json", *spec, "--", "sleep", "1").expect(0).json["id"]
    web_pool.until_state(job, "succeeded")
    machine.stop()
    renter.cli("dispute", job, "--reason", "It is out of tune.").expect(0)
    item = page.get_by_role("link", name="A renter disputes the job melody.", exact=True)
    expect(item).to_be_visible()  # without a reload
    expect(page.get_by_text("It is out of tune.")).to_be_visible()
    item.click()
    row = page.get_by_role("row", name="Slice 0, attempt 1")
    expect(row).to_contain_text("barn")
    row.get_by_text("Show receipt").click()
    expect(row.get_by_text("Log digest")).to_be_visible()
    page.get_by_role("button", name="Refund all").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("cannot be undone")
    dialog.get_by_label("Note").fill("It is, indeed.")
    dialog.get_by_role("button", name="Refund all").click()
    expect(page.get_by_text("It is, indeed.")).to_be_visible()
    expect(page.get_by_text("Refunded in full").first).to_be_visible()
    assert renter.cli("dispute", job, "--reason", "Again.").code != 0
    theirs = visitors()
    seen = theirs.sign_in("iris")
    theirs.go(f"/jobs/{job}")
    expect(seen.get_by_role("region", name="Dispute")).to_contain_text("Refunded in full")
    expect(seen.get_by_role("region", name="Dispute")).to_contain_text("It is, indeed.")
    page.get_by_role("link", name=re.compile("Queue")).click()
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    expect(page.get_by_text("A renter disputes the job melody.")).to_be_hidden()


def tell(pool: Pool, stripe: FakeStripe) -> None:
    """Stripe's messages so far arrive."""
    for event in stripe.world.events:
        body, headers = signed(event, datetime.now(UTC))
        url = f"{pool.url}/api/v1/payments/stripe/webhook"
        httpx.post(url, content=body, headers=headers, timeout=patience()).raise_for_status()
    stripe.world.events.clear()


def test_top_up_is_paid_and_refunded_and_a_difference_is_settled(visitors, card_pool, web_stripe, monkeypatch):
    renter, operator = visitors(card_pool), visitors(card_pool)
    page = renter.sign_in("kim")
    page.route("https://checkout.fake.test/**", lambda route: route.fulfill(body="Stripe's own page"))
    page.get_by_role("link", name="Wallet").click()
    page.get_by_role("button", name="Top up").click()
    page.get_by_role("dialog").get_by_label("Credits").fill("40")
    page.get_by_role("button", name=re.compile("Go to payment · 40.00 INR")).click()
    expect(page.get_by_text("Stripe's own page")).to_be_visible()
    paying.complete_page(web_stripe.world, web_stripe.world.all("checkout.session")[0]["id"])
    renter.go("/wallet")
    top_up = page.locator("section", has=page.get_by_role("heading", name="Top-ups")).get_by_role("listitem")
    expect(top_up).to_contain_text("Open")
    tell(card_pool, web_stripe)
    expect(top_up).to_contain_text("Paid")  # without a reload
    page.get_by_role("list", name="Entries").get_by_text("+40.00 cr").wait_for()

    desk = operator.sign_in_as_operator()
    operator.go("/admin/payments?tab=top-ups")
    desk.get_by_role("row", name="kim@example.org").get_by_role("button", name="Refund").click()
    dialog = desk.get_by_role("dialog")
    expect(dialog).to_contain_text("At most 40.00 cr are unspent.")
    dialog.get_by_label("Amount in credits").fill("15")
    dialog.get_by_label("Note").fill("It was too much.")
    dialog.get_by_role("button", name="Refund").click()
    expect(dialog).to_be_hidden()
    (refund,) = web_stripe.world.all("refund")
    assert refund["amount"] == 1500
    tell(card_pool, web_stripe)
    page.get_by_role("list", name="Entries").get_by_text("−15.00 cr").wait_for()

    # A voucher, which the renter redeems.
    operator.switch_to("/admin/vouchers")
    desk.get_by_role("button", name="Create voucher").click()
    dialog.get_by_label("Credits each").fill("3")
    dialog.get_by_role("button", name="Create voucher").click()
    code = dialog.locator("code").inner_text()
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Redeem a voucher").click()
    page.get_by_label("Code").fill(code)
    page.get_by_role("dialog").get_by_role("button", name="Redeem").click()
    page.get_by_role("list", name="Entries").get_by_text("+3.00 cr").wait_for()
    operator.switch_to("/admin/payments?tab=top-ups")

    # A payment that the hub never heard of, old enough that it should have.
    monkeypatch.setattr(web_stripe.world, "now", lambda: datetime.now(UTC) - timedelta(days=2))
    paying.succeed(web_stripe.world, paying.create_intent(web_stripe.world, {"amount": "700", "currency": "inr"}))
    desk.get_by_role("button", name="Differences").click()
    desk.get_by_role("button", name="Compare now").click()
    dialog.get_by_role("button", name="Compare now").click()
    row = desk.get_by_role("row", name=re.compile("pi_"))
    expect(row).to_contain_text("700")
    row.get_by_role("button", name="Settle").click()
    dialog.get_by_role("button", name="Settle").click()
    expect(desk.get_by_text("No differences")).to_be_visible()
    operator.check_accessible("/admin/payments?tab=top-ups", "/admin/payments?state=all")


def test_setting_is_previewed_changed_with_a_reason_and_keeps_its_history(visitor):
    page = visitor.sign_in_as_operator()
    visitor.go("/admin/settings?q=fee")
    page.get_by_role("link", name="platform_fee_bps").click()
    page.get_by_label("New value").fill("90000")
    expect(page.get_by_role("alert")).to_be_visible()  # why not, in the API's words
    page.get_by_label("New value").fill("1500")
    expect(page.get_by_role("columnheader", name="After")).to_be_visible()
    page.get_by_label("Reason").fill("A week of lower fees")
    page.get_by_role("button", name="Change setting").click()
    history = page.get_by_role("region", name="History")
    expect(history).to_contain_text("A week of lower fees")
    expect(history).to_contain_text("1,500")
    page.get_by_role("button", name="Reset").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("The week is over")
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(history).to_contain_text("The week is over")
    expect(page.get_by_text("Default", exact=True)).to_be_visible()
    visitor.go("/admin/audit?action=setting.")
    expect(page.get_by_role("row", name="platform_fee_bps").first).to_be_visible()
    visitor.forgive("status of 422")


def test_admin_pages_are_not_there_for_others(visitor):
    page = visitor.sign_in("jack")
    for path in ("/admin", "/admin/settings/platform_fee_bps"):
        visitor.go(path)
        expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
        expect(page.get_by_role("navigation", name="Sections of the admin pages")).to_be_hidden()
