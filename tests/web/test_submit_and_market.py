"""A renter writes a job in the browser, and a visitor looks at what the pool has."""

import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow


def archive(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, text in files.items():
            packed.writestr(name.replace("_", "."), text)
    return out.getvalue()


def drag(page: Page, folder: Path, to: Locator) -> None:
    """As the desktop does it: the browser gets the folder's path, the page what is in it."""
    to.scroll_into_view_if_needed()
    box = to.bounding_box()
    assert box
    data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    session = page.context.new_cdp_session(page)
    for step in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": step, **place, "data": data})
    session.detach()


def write(editor: Locator, *lines: str) -> None:
    """By keys: Playwright's `fill` makes the browser add inline styles, which the policy forbids."""
    editor.press("ControlOrMeta+a")
    editor.press("Delete")
    for line in lines:
        editor.press_sequentially(line)
        editor.press("Enter")


def test_renter_drops_a_folder_and_a_zip_sees_the_quote_change_and_submits(visitor, web_pool, tmp_path):
    web_pool.join("submits")
    page = visitor.sign_in("submitter")
    page.goto(web_pool.url + "/submit")
    page.get_by_label("Start from a template").select_option(index=1)
    expect(page.get_by_role("textbox", name=re.compile("^(Command|Script)$"))).not_to_have_value("")
    page.get_by_label("Start from a template").select_option(index=0)
    expect(page.get_by_label("Command")).to_have_value("")
    for name in ("work/main.py", "work/data/seed.txt", "work/node_modules/left/pad.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name * (1 + name.endswith("main.py") * 9))
    zone = page.get_by_role("region", name="Files")
    drag(page, tmp_path / "work", zone)
    expect(zone.get_by_role("listitem")).to_have_text([re.compile("main.py"), re.compile("data/seed.txt")])
    expect(zone.get_by_text("node_modules")).to_be_visible()
    zone.get_by_role("button", name="Remove files").click()
    files = page.get_by_label("Choose files or a zip")
    files.set_input_files(
        [{"name": "work.zip", "mimeType": "application/zip", "buffer": archive(main_py="print(6 * 7)")}]
    )
    expect(page.get_by_text("work.zip")).to_be_visible()
    quote = page.locator("section", has=page.get_by_role("heading", name="Quote"))
    expect(quote.get_by_text("per slice-hour now")).to_be_visible()
    submit = quote.get_by_role("button", name="Submit job")
    expect(submit).to_be_disabled()  # it does not say yet what to run
    page.get_by_label("Command").fill("python3 main.py")
    expect(submit).to_be_enabled()
    # Too much memory: no node fits, and the API's own suggestion changes the form back.
    page.get_by_label("Memory", exact=True).fill("4000GB")
    expect(quote.get_by_text(re.compile("less than 4000GB"))).to_be_visible()
    page.get_by_label("Memory", exact=True).fill("4000Gx")
    expect(page.get_by_label("Memory", exact=True)).to_have_accessible_description(re.compile("4000Gx|GB"))
    expect(submit).to_be_disabled()
    page.get_by_label("Memory", exact=True).fill("4000GB")
    quote.get_by_role("button", name=re.compile("^memory: 4000GB → ")).click()
    expect(quote.get_by_text("Now: 1 node is free.")).to_be_visible()
    expect(page.get_by_label("Memory", exact=True)).not_to_have_value("4000GB")
    # Form and YAML are the same job.
    page.get_by_role("button", name="YAML").first.click()
    editor = page.get_by_role("textbox", name="Job spec as YAML")
    expect(editor).to_contain_text("run: python3 main.py")
    write(editor, "run: python3 main.py", "slices: two")
    expect(page.get_by_text("Line 2, column").first).to_be_visible()
    write(editor, "name: from-yaml", "run: python3 main.py", "slices: 2")
    expect(page.get_by_label("Slices", exact=True)).to_have_value("2")
    expect(page.get_by_label("Name", exact=True)).to_have_value("from-yaml")
    expect(page.get_by_text(re.compile("^computepool run .*--slices 2"))).to_be_visible()
    expect(submit).to_be_enabled()
    submit.click()
    expect(page).to_have_url(re.compile(r"/jobs/job_\w+"))
    expect(page.get_by_role("heading", name="from-yaml")).to_be_visible()
    job_id = page.url.rpartition("/")[2]
    page.goto(f"{web_pool.url}/submit?from={job_id}")  # again, with the files of before
    expect(page.get_by_text("The files of the job before")).to_be_visible()
    expect(page.get_by_label("Slices", exact=True)).to_have_value("2")
    visitor.check_accessible(f"/submit?from={job_id}")


def test_visitor_filters_offers_by_the_address_and_sees_a_node(visitor, web_pool):
    web_pool.join("offered")
    page = visitor.go("/market?min_cpus=100000&max_price=5000")
    page.get_by_role("button", name=re.compile(r"^Remove cpus>=100000: ")).click()
    expect(page).to_have_url(re.compile(r"/market\?max_price=5000$"))
    expect(page.get_by_label("Price", exact=True)).to_have_value("5000")
    page.get_by_label("Order").select_option("Most reliable")
    expect(page).to_have_url(re.compile("order=-reliability"))
    page.get_by_role("list", name="Offers").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Uptime by day")).to_be_visible()
    visitor.check_accessible(page.url.removeprefix(web_pool.url))
    visitor.go("/map?state=online")
    expect(page.get_by_role("cell").first).to_be_visible()
    page.get_by_role("button", name="Simulated").click()
    expect(page.get_by_text("No nodes match these filters")).to_be_visible()
    expect(page).to_have_url(re.compile("kind=simulated"))
