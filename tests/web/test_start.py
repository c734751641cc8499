"""Coming in: the landing page, signing up, in and out, links, tabs, the palette, and a hub that goes away."""

import re

import httpx
import pytest
from playwright.sync_api import expect
from support.waiting import patience

pytestmark = pytest.mark.slow


def test_landing_page_shows_before_any_script_and_again_with_scripts(visitor, web_pool, web_browser):
    text = httpx.get(web_pool.url + "/", timeout=patience()).text
    assert "Idle GPUs, behind any NAT, as one pool." in text
    page = visitor.go("/")
    expect(page.get_by_text(re.compile(r"This pool is open, \d+ nodes? online"))).to_be_visible()
    expect(page.get_by_text("Nodes online", exact=True)).to_be_visible()
    page.get_by_role("link", name="Run your first job").click()
    expect(page.get_by_role("heading", name="Create an account")).to_be_visible()


def test_person_signs_up_and_out_and_is_told_what_is_wrong(visitor):
    page = visitor.go("/jobs?state=running")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_role("link", name="Create one").click()
    page.get_by_label("Name").fill("Eve \u202eevil")
    page.get_by_label("E-mail").fill("eve@example.org")
    page.get_by_label("Password").fill("short")
    page.get_by_label("Country").select_option("Germany")
    page.get_by_role("main").get_by_role("button", name="Create account").click()
    expect(page.get_by_text("has 5 characters")).to_be_visible()  # beside the field
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("main").get_by_role("button", name="Create account").click()
    expect(page).to_have_url(re.compile(r"/jobs\?state=running$"))  # where the person wanted to go
    # A character that turns the direction of text is shown, in every text of the page.
    expect(page.get_by_role("button", name="Account of Eve ⟨202E⟩evil")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage)") == []
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Account of").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    assert page.evaluate("Object.keys(sessionStorage)") == []
    visitor.forgive("status of 4(01|22)")


def test_link_signs_in_and_another_tab_borrows_the_session(visitor):
    visitor.go("/")  # where a link changes the fragment alone
    page = visitor.sign_in_as_operator()
    assert "#" not in page.url
    second = visitor.context.new_page()
    second.goto(visitor.pool.url + "/jobs")
    expect(second.get_by_role("heading", name="Jobs")).to_be_visible()
    assert second.evaluate("sessionStorage.length") == 0
    page.get_by_role("button", name="Account of").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(second.get_by_role("heading", name="Sign in")).to_be_visible()  # the other tab is signed out too


def test_link_may_lead_to_a_job_and_one_that_was_used_says_so(visitor):
    link = visitor.pool.cli("hub", "admin", "--json").expect(0).json["sign_in_url"].partition("#")[2]
    page = visitor.go(f"/#{link}&job=job_1")
    expect(page).to_have_url(visitor.pool.url + "/jobs/job_1")
    other = visitor.context.browser.new_context()
    again = other.new_page()
    again.goto(f"{visitor.pool.url}/#{link}")
    expect(again.get_by_role("list", name="Messages")).to_contain_text("link")
    assert "sign-in" not in again.url
    other.close()
    visitor.forgive("status of 404")


def test_palette_goes_anywhere_and_admin_pages_are_for_admins(visitors):
    page = visitors().sign_in("bob")
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("mark")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Market")).to_be_visible()
    page.goto(page.url.replace("/market", "/admin"))
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    operator = visitors().sign_in_as_operator()
    operator.get_by_role("link", name="Admin").click()
    expect(operator.get_by_role("heading", name="Admin")).to_be_visible()


def test_page_says_that_the_hub_is_away_and_recovers(visitor, web_pool):
    page = visitor.sign_in("carol")
    web_pool.kill_hub()
    away = page.get_by_role("status").filter(has_text="Connection to the hub lost")
    try:
        expect(away).to_be_visible()
        # A part that was not loaded yet is not there: the page stays, and loads it when the hub is back.
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(away).to_be_visible()
    finally:
        web_pool.start_hub()  # others use it too
    expect(away).to_be_hidden()
    expect(page.get_by_role("dialog")).to_be_visible()
    visitor.forgive("ERR_CONNECTION|WebSocket")


def test_docs_show_every_route_with_its_scope(visitor, web_pool):
    api = httpx.get(f"{web_pool.url}/openapi.json", timeout=patience()).json()
    page = visitor.go("/docs#post-/api/v1/nodes/join-tokens")
    opened = page.locator('[id="post-/api/v1/nodes/join-tokens"]')
    expect(opened.get_by_role("link", name="NewJoinToken")).to_be_visible()
    shown = page.evaluate(
        "Object.fromEntries(Array.from(document.querySelectorAll('details'), (one) => [one.id, one.innerText]))"
    )
    routes = [(method, path, route) for path, methods in api["paths"].items() for method, route in methods.items()]
    assert len(routes) > 100
    for method, path, route in routes:
        if method != "head":
            assert path in shown[f"{method}-{path}"]
            assert route.get("x-scope", route["x-visible"]) in shown[f"{method}-{path}"]
    opened.get_by_role("link", name="NewJoinToken").click()
    expect(page.locator('[id="schema-NewJoinToken"]').get_by_role("table")).to_be_visible()
    page.get_by_label("Find a route").fill("no such words")
    expect(page.get_by_text("No route or schema matches.")).to_be_visible()
