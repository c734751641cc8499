"""Hostile names, log lines and files in every page that shows them: they are text, and nothing of them is executed."""

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from support.children import Child, environment_with
from support.hostile_text import HOSTILE_LINES, HOSTILE_NAMES, hostile_files
from support.pool import Pool
from support.waiting import patience
from support.web import ROOT

from benchmarks.crowd import SMALL, Invented, enrol, invent
from computepool.protocol.capacity import Gpu

pytestmark = pytest.mark.slow

CONNECTED = 20
"""Nodes that are online, so that the market offers their cards, whose names are hostile too."""
WORK = """
import json, os, sys
given = json.loads(open(sys.argv[1]).read())
for line in given["lines"]:
    sys.stdout.buffer.write(line.encode() + b"\\n")
sys.stdout.buffer.write(b"\\xff\\xfe\\xc0\\x80 no text\\n\\xe2\\x82\\nthe end\\n")
os.mkdir("out")
for name, content in given["files"].items():
    open("out/" + name, "w").write(content)
"""
WATCH = """
window.broken = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.broken.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
FOREIGN = "main :is(script, iframe, object, embed, base, link, meta, marquee, math, portal, [onerror], [onload])"


@pytest.fixture
def hostile_pool(card_pool: Pool, tmp_path: Path) -> Iterator[tuple[Pool, str]]:
    """A job that ran, and names of jobs, nodes, cards and people that only a database could have."""
    agent = card_pool.join_without_bubblewrap("shed")
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"lines": HOSTILE_LINES, "files": hostile_files()}))
    job = card_pool.submit("python3", "-c", WORK, str(given), name="<b>first</b>", outputs=["out/**"])
    card_pool.until_state(job.id, "succeeded")
    agent.stop()
    card_pool.kill_hub()
    nodes = seed(card_pool, job.id)
    card_pool.start_hub()
    with connected(card_pool, nodes[:CONNECTED], tmp_path):
        yield card_pool, job.id


def seed(pool: Pool, job_id: str) -> list[Invented]:
    """A third of the names for jobs, one for nodes and their cards, one for audit records."""
    jobs, names, details = (HOSTILE_NAMES[start::3] for start in range(3))
    cards = [Gpu(id="g", name=name[:200], slug=name[:200], memory_bytes=24 * 2**30, vendor=name[:40]) for name in names]
    nodes = invent([(SMALL.model_copy(update={"gpus": (card,)}), None) for card in cards])
    database = pool.home / "pool.db"
    with sqlite3.connect(database) as db:
        (owner,) = db.execute("SELECT owner_id FROM jobs WHERE id = ?", [job_id]).fetchone()
    enrol(nodes, f"sqlite:///{database}", owner)
    with sqlite3.connect(database) as db:
        db.executemany(
            "UPDATE nodes SET name = ? WHERE id = ?", zip(names, [node.node_id for node in nodes], strict=True)
        )
        db.execute("CREATE TEMP TABLE one AS SELECT * FROM jobs WHERE id = ?", [job_id])
        for number, name in enumerate(jobs):
            copied = {"id": f"job_{number:026}", "name": name, "message": name}
            db.execute("UPDATE one SET id = :id, name = :name, message = :message", copied)
            db.execute("INSERT INTO jobs SELECT * FROM one")
        audited = [(name[:60], json.dumps({name: name})) for name in details]
        now = "strftime('%Y-%m-%d %H:%M:%f000')"
        db.executemany(
            f"INSERT INTO audit (at, actor, action, subject, details) VALUES ({now}, 'hub', ?, 'x', ?)", audited
        )
    db.close()
    return nodes


@contextmanager
def connected(pool: Pool, nodes: list[Invented], folder: Path) -> Iterator[None]:
    hub_id = httpx.get(f"{pool.url}/api/v1/keys", timeout=patience()).json()["hub_id"]
    agents = [
        {"node_id": node.node_id, "sign_key": node.sign_key, "capacity": node.capacity.model_dump(mode="json")}
        for node in nodes
    ]
    plan = folder / "crowd.json"
    plan.write_text(json.dumps({"hub_url": pool.url, "hub_id": hub_id, "agents": agents}))
    command = [sys.executable, "-m", "benchmarks.crowd", str(plan)]
    crowd = Child("crowd", command, log=folder / "crowd.log", environment=environment_with(), cwd=ROOT)
    try:
        counted = f"{pool.url}/api/v1/stats"
        pool.until(lambda: httpx.get(counted, timeout=patience()).json()["nodes_online"] >= len(nodes), "the crowd")
        yield
    finally:
        crowd.kill()


def check_quiet(page: Page) -> None:
    assert page.evaluate("[window.hit, window.broken]") == [None, []], page.url
    assert page.locator(FOREIGN).count() == 0, page.url


def test_three_hundred_hostile_texts_are_only_text(visitors, hostile_pool):
    assert len(set(HOSTILE_NAMES)) >= 300
    pool, job_id = hostile_pool
    visitor = visitors(pool)
    visitor.context.add_init_script(WATCH)
    page = visitor.sign_in_as_operator()
    page.on("dialog", lambda dialog: visitor.problems.append(f"a dialog: {dialog.message}"))
    listed = [("/jobs", HOSTILE_NAMES[0::3]), ("/nodes", HOSTILE_NAMES[1::3]), ("/admin/audit", HOSTILE_NAMES[2::3])]
    for path, names in listed:
        visitor.go(path)
        rows = page.locator("main li, main tr")
        expect(rows.filter(has_text="window.hit=1").first).to_be_visible()
        while (more := page.get_by_role("button", name="More")).count():
            shown = rows.count()
            more.click()
            expect(rows.nth(shown)).to_be_attached()
        assert rows.count() >= len(names)
        check_quiet(page)
    for path in ("/admin/jobs", "/admin/nodes", "/market", "/map"):
        visitor.go(path)
        expect(page.locator("h1").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        check_quiet(page)

    visitor.go(f"/jobs/{job_id}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("the end")
    log.press("Home")
    expect(log).to_contain_text("<script>window.hit=1</script>")
    for _ in range(12):
        log.press("PageDown")
    page.get_by_role("button", name="Wrap long lines").click()
    log.press("End")
    expect(log).to_contain_text("the end")
    assert log.locator("img, script, iframe, a, style, svg").count() == 0
    page.get_by_role("link", name="Outputs").click()
    for name in sorted(hostile_files()):
        page.get_by_role("button", name=f"out/{name}", exact=True).click()
        page.wait_for_load_state("networkidle")
        check_quiet(page)
