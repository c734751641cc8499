"""Jobs in the browser: watched live, with their outputs and receipts; shared; waiting and canceled."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from support.pool import Agent, Pool, patient
from support.web import Visitor, axe

from computepool.client.pool import Pool as Client

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


def test_two_people_never_see_each_others_jobs_nodes_and_money(visitors, web_pool):
    """Neither in lists nor by the address, and nothing moves on the page of one when the other does something."""
    web_pool.submit("true", name="operators-own", resources={"gpu": "h200:8"})
    person, ann, ben = web_pool.register("ann"), visitors(), visitors()
    theirs, own = ann.sign_in("ann"), ben.sign_in("ben")
    machine = Agent(web_pool, "anns-attic", {})
    web_pool.agents.append(machine)
    with patient(Client(home=person.home)) as client:
        job = client.submit({"run": "true", "name": "secret-plan", "resources": {"gpu": "h200:8"}})
        machine.run("join", web_pool.url, "--token", client.join_token().token, "--name", machine.name)
    expect(theirs.get_by_role("link", name="secret-plan")).to_be_visible()  # by an event
    ann.go("/nodes")
    expect(theirs.get_by_role("link", name="anns-attic")).to_be_visible()
    ben.go("/nodes")
    expect(own.get_by_role("heading", name="Add your first machine")).to_be_visible()
    node = f"/nodes/{machine.node_id}"
    machine.stop()
    for path in (f"/jobs/{job.id}", f"/jobs/{job.id}?tab=outputs", node, f"/submit?from={job.id}"):
        ben.go(path)
        expect(own.get_by_role("alert").first).to_be_visible()
        for name in ("secret-plan", "anns-attic", "operators-own"):
            assert name not in own.locator("body").inner_text(), path
    ben.go(f"/wallet?job={job.id}")
    expect(own.get_by_text("No entries match these filters")).to_be_visible()
    ben.go("/jobs")
    expect(own.get_by_text("No jobs yet")).to_be_visible()
    own.keyboard.press("Control+k")
    own.get_by_role("dialog").get_by_role("combobox").fill("secret")
    expect(own.get_by_text("No matches.")).to_be_visible()
    ben.forgive("status of 404")


def test_waiting_job_says_why_is_changed_and_others_are_canceled_at_once(visitor: Visitor, web_pool, machine):
    jobs = [web_pool.submit("true", name=f"wait-{number}", resources={"gpu": "h200:8"}) for number in range(3)]
    page = visitor.sign_in_as_operator()
    page.get_by_label("Name or id").fill("wait-")
    expect(page.get_by_text("3 jobs", exact=True)).to_be_visible()
    assert "q=wait-" in page.url
    page.get_by_role("link", name="wait-2").click()
    expect(page.get_by_role("heading", name="Why this job is waiting")).to_be_visible()
    visitor.check_accessible(f"/jobs/{jobs[2].id}")
    # One click fills in what would help; the new job takes the place of the old one.
    page.get_by_role("link", name="Apply change").first.click()
    expect(page.get_by_label("GPU", exact=True)).to_have_value("")
    expect(page.get_by_role("switch", name="Cancel the waiting job")).to_be_checked()
    page.get_by_label("Name", exact=True).fill("changed")
    page.get_by_role("button", name="Submit job").first.click()
    expect(page.get_by_role("heading", name="changed")).to_be_visible()
    web_pool.until_state(jobs[2].id, "canceled")
    visitor.go("/jobs?q=wait-&state=queued")
    page.get_by_label("Select all that can be canceled").click()
    page.get_by_role("button", name="Cancel 2 jobs").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel 2 jobs").click()
    expect(page.get_by_text("No job matches these filters")).to_be_visible()
