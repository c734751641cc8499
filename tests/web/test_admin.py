"""What an operator does in the browser: decide a dispute, change a setting; and who sees none of it."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow


@pytest.mark.engine("bwrap")
def test_dispute_appears_by_itself_is_refunded_and_is_gone(visitors, web_pool):
    renter, machine = web_pool.register("iris"), web_pool.join("barn")
    page = visitors().sign_in_as_operator()
    page.get_by_role("link", name="Admin").click()
    page.get_by_role("link", name="Queue", exact=True).click()
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    ran = renter.cli("run", "-d", "-y", "--json", "--name", "melody", "--max-runtime", "60s", "--", "sleep", "1")
    job = ran.expect(0).json["id"]
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
    page.get_by_role("link", name=re.compile("Queue")).click()
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    expect(page.get_by_text("A renter disputes the job melody.")).to_be_hidden()


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
