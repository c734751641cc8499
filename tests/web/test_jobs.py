"""Jobs in the browser: watched live, with their outputs and receipts; shared; waiting and canceled."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.pool import Agent, Pool
from support.web import Visitor, axe

pytestmark = pytest.mark.slow

LINES = 3000
WORK = """
import os, sys, time
print("begin", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
for number in range(int(sys.argv[2])):
    print(f"\\x1b[32minfo\\x1b[0m step {number}")
for part in range(101):
    sys.stdout.write(f"\\r{part}%")
print("\\nover", flush=True)
os.mkdir("out")
open("out/table.csv", "w").write('step,"loss, mean"\\n1,0.5\\n')
open("out/notes.txt", "w").write("all is well\\n")
"""


@pytest.fixture(scope="module")
def machine(web_pool: Pool) -> Iterator[Agent]:
    """Without a sandbox: a story tells its job by a file when to go on."""
    agent = web_pool.join_without_bubblewrap("shed")
    yield agent
    agent.stop()


def log_of(page: Page) -> Locator:
    return page.get_by_role("log")


def test_job_is_watched_live_and_its_results_are_fetched_and_shared(visitors, web_pool, machine, tmp_path: Path):
    go = tmp_path / "go"
    job = web_pool.submit("python3", "-c", WORK, str(go), str(LINES), name="story", outputs=["out/**"])
    visitor = visitors()
    page = visitor.sign_in_as_operator()
    page.get_by_role("link", name="story").click()
    expect(page.get_by_role("heading", name="story")).to_be_visible()
    expect(log_of(page)).to_contain_text("begin")
    go.touch()  # from here on the page hears of it by its socket alone
    expect(log_of(page)).to_contain_text("over")
    expect(log_of(page)).to_contain_text("100%")
    expect(log_of(page)).to_have_accessible_name(f"Log, {LINES + 3:,} lines")
    expect(log_of(page)).not_to_contain_text("99%")  # a progress bar is one line
    expect(page.get_by_label("Timeline")).to_contain_text("Succeeded")
    page.get_by_label("Search the log").fill("step 7")
    expect(log_of(page).locator("mark").first).to_have_text("step 7")
    expect(page.get_by_text("1 / 111")).to_be_visible()
    page.get_by_role("button", name="Next match").click()
    expect(log_of(page)).to_contain_text("step 70")
    page.reload()  # the whole log, opened at its end
    expect(log_of(page)).to_contain_text(f"{LINES + 3}over")

    page.get_by_role("link", name="Outputs").click()
    page.get_by_role("button", name="Preview out/table.csv").click()
    expect(page.get_by_role("columnheader", name="loss, mean")).to_be_visible()
    page.get_by_role("button", name="out/notes.txt", exact=True).click()
    expect(page.get_by_text("all is well")).to_be_visible()
    with page.expect_download() as told:
        page.get_by_role("link", name="Download all (zip)").click()
    archive = zipfile.ZipFile(io.BytesIO(Path(told.value.path()).read_bytes()))
    assert sorted(name.rpartition("/")[2] for name in archive.namelist()) == ["notes.txt", "table.csv"]
    page.get_by_role("link", name="Receipts").click()
    expect(page.get_by_text("All signatures are valid")).to_be_visible()
    for tab in ("", "?tab=outputs", "?tab=cost", "?tab=receipts", "?tab=history", "?tab=spec"):
        visitor.check_accessible(f"/jobs/{job.id}{tab}")

    page.get_by_role("button", name="Share").click()
    page.get_by_role("switch", name="Include logs").click()
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_role("dialog").locator("code").inner_text()
    assert axe(page) == []
    stranger = visitors()
    other = stranger.go(link.removeprefix(web_pool.url))
    expect(other.get_by_role("heading", name="story")).to_be_visible()
    expect(log_of(other)).to_contain_text("over")
    stranger.check_accessible(link.removeprefix(web_pool.url))
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No links to this job yet.")).to_be_visible()
    other.reload()
    expect(other.get_by_role("alert")).to_be_visible()
    stranger.forgive("status of 404")


def test_waiting_job_says_why_and_several_are_canceled_at_once(visitor: Visitor, web_pool):
    jobs = [web_pool.submit("true", name=f"wait-{number}", resources={"gpu": "h200:8"}) for number in range(2)]
    page = visitor.sign_in_as_operator()
    page.get_by_label("Name or id").fill("wait-")
    expect(page.get_by_text("2 jobs", exact=True)).to_be_visible()
    assert "q=wait-" in page.url
    page.get_by_role("link", name="wait-1").click()
    expect(page.get_by_role("heading", name="Why this job is waiting")).to_be_visible()
    change = page.get_by_role("link", name="Change and run").first
    expect(change).to_have_attribute("href", f"/submit?from={jobs[1].id}")
    visitor.check_accessible(f"/jobs/{jobs[1].id}")
    page.go_back()
    page.get_by_label("Select all that can be canceled").click()
    page.get_by_role("button", name="Cancel 2 jobs").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel 2 jobs").click()
    expect(page.get_by_text("Canceled", exact=True).nth(1)).to_be_visible()
    page.get_by_label("Any state").select_option("queued")
    expect(page.get_by_text("No job matches these filters")).to_be_visible()
