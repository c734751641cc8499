"""An account: profile, password, mails, notices, sessions, tokens, and programs that ask to act in its name."""

import re

import httpx
import pytest
from playwright.sync_api import expect
from support.waiting import patience

pytestmark = pytest.mark.slow


def test_person_changes_profile_mails_and_password(visitor):
    page = visitor.sign_in("dora")
    visitor.go("/account")
    page.get_by_label("Public name").fill("Dora's attic")
    page.get_by_role("button", name="Save profile").click()
    expect(page.get_by_text("letters, digits, spaces")).to_be_visible()  # in the API's words
    page.get_by_label("Public name").fill("Dora attic")
    page.get_by_label("Country").select_option("India")
    page.get_by_role("button", name="Save profile").click()
    expect(page.get_by_text("Saved")).to_be_visible()
    page.get_by_role("switch", name="Nodes").click()
    expect(page.get_by_role("switch", name="Nodes")).not_to_be_checked()
    page.reload()
    expect(page.get_by_label("Public name")).to_have_value("Dora attic")
    expect(page.get_by_label("Country")).to_have_value("IN")
    expect(page.get_by_role("switch", name="Nodes")).not_to_be_checked()
    page.get_by_label("Current password").fill("wrong")
    page.get_by_label("New password").fill("another long password")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Current password").fill("correct horse battery")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("The password is set")).to_be_visible()
    visitor.go("/account/notices")  # still signed in, by the new session
    expect(page.get_by_role("main")).to_contain_text(re.compile("No notices yet|ago|just now"))
    visitor.forgive("status of 4..")


def test_token_is_shown_once_works_and_is_revoked(visitor):
    page = visitor.sign_in("emil")
    visitor.go("/account/tokens")
    expect(page.get_by_text("No tokens")).to_be_visible()
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Name").fill("laptop <b>")
    page.get_by_label("Change the account").uncheck()
    page.get_by_role("button", name="Create token").click()
    token = page.get_by_role("dialog").locator("code").first.inner_text()
    me = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{visitor.pool.url}/api/v1/me", headers=me, timeout=patience())
    assert "account:write" not in answer.json()["scopes"]
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    row = page.get_by_role("row", name="laptop <b>")
    expect(row).to_be_visible()
    assert token not in page.content()
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No tokens")).to_be_visible()
    assert httpx.get(f"{visitor.pool.url}/api/v1/me", headers=me, timeout=patience()).status_code == 401


def test_session_of_another_browser_is_seen_and_ended(visitors):
    away, here = visitors(), visitors()
    other = away.sign_in("fay")
    expect(other.get_by_role("button", name="Account of fay")).to_be_visible()
    page = here.sign_in("fay")
    page.goto(page.url.replace("/jobs", "/account/sessions"))
    page.get_by_role("button", name="End all others").click()
    page.get_by_role("alertdialog").get_by_role("button", name="End all others").click()
    expect(page.get_by_role("row")).to_have_count(2)  # the heads, and this one
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()  # at once, without a reload
    away.forgive("HTTP Authentication failed|status of 401")  # browsers log what was refused


def test_program_is_looked_at_before_it_is_approved(visitor):
    begun = httpx.post(f"{visitor.pool.url}/api/v1/auth/device", timeout=patience()).json()
    page = visitor.sign_in("gus")
    page.goto(begun["verification_uri_complete"])
    expect(page.get_by_text("127.0.0.1, the address of this browser")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status").filter(has_text="Approved")).to_be_visible()
    polled = {"device_code": begun["device_code"]}
    answer = httpx.post(f"{visitor.pool.url}/api/v1/auth/device/token", json=polled, timeout=patience())
    assert answer.json()["user_id"]
