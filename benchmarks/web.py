"""The web app in Chromium, against a real hub: what its pages load, how soon they show, a long log, a large market,
and how soon a change is on the screen."""

import contextlib
import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.crowd import SMALL, enrol, invent, start_crowd
from benchmarks.measure import Data, Options, Table, Unavailable, measured, megabytes, ms, summary_ms, untested_table
from benchmarks.pool import COMPUTEPOOL, Agent, Hub
from benchmarks.processes import Failed, python, scratch, wait_until
from computepool.protocol.capacity import Gpu
from tools import web_build

LANDING_BYTES, JOB_BYTES = 130_000, 200_000
PAINT_MS, SLOWER = 1000.0, 4
LINES = 1_000_000
FIRST_MS, WHOLE_MS, MEMORY_BYTES = 1000.0, 2500.0, 400_000_000
LINES_PER_SECOND, FRAMES_PER_SECOND = 5000, 30.0
OFFERS, FILTER_MS = 10_000, 100.0
CHANGE_MS = 200.0
REST_SECONDS = 0.5
"""Longer than the 250 ms for which a page does not read the same list again."""
PATIENCE_MS = 120_000.0
MODELS = ("rtx-4090", "rtx-3090", "a100", "h100", "l4")
PRINT = "import sys\nfor n in range(int(sys.argv[1])): print(f'step {n} loss {1 / (n + 1):.6f} lr 0.0003')"
PRINT_STEADILY = """
import sys, time
rate, began, n = int(sys.argv[1]), time.time(), 0
while time.time() - began < float(sys.argv[2]):
    due = int((time.time() - began) * rate)
    for n in range(n, due): print(f'step {n} loss {1 / (n + 1):.6f} lr 0.0003')
    sys.stdout.flush()
    n = due
    time.sleep(0.02)
"""
OBSERVE = """
window.seen = {paint: 0};
new PerformanceObserver((list) => { for (const entry of list.getEntries()) seen.paint = entry.startTime; })
  .observe({type: "largest-contentful-paint", buffered: true});
const look = () => {
  const box = document.querySelector("[role=log]");
  if (box && !seen.first && /step \\d/.test(box.textContent)) seen.first = performance.now();
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
window.Worker = class extends Worker {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", ({data}) => { if (data.loaded && !seen.whole) seen.whole = performance.now(); });
  }
};
window.frames_in = (milliseconds) => new Promise((done) => {
  const began = performance.now(); let count = 0;
  const frame = () => { count++; const took = performance.now() - began;
    if (took < milliseconds) requestAnimationFrame(frame); else done(1000 * count / took); };
  requestAnimationFrame(frame);
});
window.until_shown = (find) => new Promise((done) => {
  const look = () => { if (!find()) return; watching.disconnect();
    requestAnimationFrame(() => done(performance.timeOrigin + performance.now())); };
  const watching = new MutationObserver(look);
  watching.observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true}); look();
});
"""


def run(options: Options) -> Data:
    try:
        web_build.build(quiet=True)
    except (web_build.NoNode, web_build.BuildFailed) as error:
        raise Unavailable(str(error)) from error
    with scratch() as folder:
        hub = Hub(folder / "hub")
        try:
            hub.start()
            with _browser() as browser:
                with _signed_in(hub, browser) as page:
                    log = measured(lambda: _with_agent(hub, page, folder / "agent", options))
                    loading = _loading(hub, browser, page, log.get("job_id"), options)
                    changes = _changes(hub, page, options)
                market = _market(hub, browser, folder, options)
                return {"loading": loading, "log": log, "changes": changes, "market": market}
        finally:
            hub.close()


@contextlib.contextmanager
def _browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        raise Unavailable("there is no Chromium here")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield opened
        finally:
            opened.close()


@contextlib.contextmanager
def _signed_in(hub: Hub, browser: Browser) -> Iterator[Page]:
    """By a link, as `up` prints it. A session is its tab's alone."""
    command = python(*COMPUTEPOOL, "hub", "admin", "--json", "--home", hub.home)
    told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    with _tab(browser) as page:
        page.goto(f"{hub.url}/#sign-in={told['sign_in_url'].partition('#sign-in=')[2]}")
        page.wait_for_url(f"{hub.url}/jobs*")
        yield page


@contextlib.contextmanager
def _tab(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(OBSERVE)
    try:
        yield context.new_page()
    finally:
        context.close()


def _wait(page: Page, condition: str) -> None:
    """Without `eval`, which the app's policy forbids; Playwright's own way needs it."""
    look = f"const look = () => {condition} ? done() : setTimeout(look, 10)"
    page.evaluate(f"new Promise((done, failed) => {{ {look}; look(); setTimeout(failed, {PATIENCE_MS}); }})")


# ── loading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _loading(hub: Hub, browser: Browser, signed_in: Page, job_id: str | None, options: Options) -> Data:
    with _tab(browser) as page:
        pages = {"landing": _script_bytes(page, hub.url)}
    job_id = job_id or _submit_waiting(hub, "waits")
    pages["job"] = _script_bytes(signed_in, f"{hub.url}/jobs/{job_id}")
    paints = []
    for _ in range(options.samples(1, 7)):
        with _tab(browser) as page:
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
            page.goto(hub.url)
            page.wait_for_load_state("networkidle")
            paints.append(page.evaluate("seen.paint") / 1000)
    return {"script_bytes": pages, "largest_paint": summary_ms(paints)}


def _script_bytes(page: Page, address: str) -> int:
    """As they come over the wire, without a cache."""
    sizes: Counter[str] = Counter()
    scripts: set[str] = set()
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.setCacheDisabled", {"cacheDisabled": True})
    wire.on("Network.responseReceived", lambda told: _note_script(scripts, told))
    wire.on("Network.dataReceived", lambda told: _add(sizes, told))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return int(sum(size for request, size in sizes.items() if request in scripts))


def _add(sizes: Counter[str], told: dict[str, Any]) -> None:
    sizes[told["requestId"]] += told["encodedDataLength"]


def _note_script(scripts: set[str], told: dict[str, Any]) -> None:
    if told["response"]["url"].partition("?")[0].endswith(".js"):
        scripts.add(told["requestId"])


# ── a long log ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _with_agent(hub: Hub, page: Page, folder: Path, options: Options) -> Data:
    agent = Agent(hub, folder)
    try:
        return _log(hub, page, options)
    finally:
        agent.stop()


def _log(hub: Hub, page: Page, options: Options) -> Data:
    lines, seconds = options.figure(2000, LINES), options.figure(0.5, 8.0)
    job_id = hub.client.submit(["python3", "-c", PRINT, str(lines)])
    wait_until(lambda: hub.client.get(f"jobs/{job_id}")["state"] == "succeeded", "the log", hub.child, every=0.2)
    firsts, wholes, memory = [], [], 0
    for _ in range(options.samples(1, 3)):
        page.goto(f"{hub.url}/jobs/{job_id}", wait_until="commit")
        _wait(page, "seen.first && seen.whole")
        firsts.append(page.evaluate("seen.first") / 1000)
        wholes.append(page.evaluate("seen.whole") / 1000)
        memory = max(memory, _largest_renderer())
    steadily = ["python3", "-c", PRINT_STEADILY, str(LINES_PER_SECOND), str(4 * seconds + options.figure(2, 10))]
    live_id = hub.client.submit(steadily)
    page.goto(f"{hub.url}/jobs/{live_id}")
    _wait(page, "seen.first")
    before = _shown_lines(page)
    began = time.perf_counter()
    frames = page.evaluate(f"frames_in({1000 * seconds})")
    grown = (_shown_lines(page) - before) / (time.perf_counter() - began)
    hub.client.cancel(live_id)
    return {
        "job_id": job_id,
        "lines": lines,
        "first": summary_ms(firsts),
        "whole": summary_ms(wholes),
        "memory_bytes": memory,
        "frames_per_second": round(frames, 1),
        "lines_per_second": round(grown),
    }


def _shown_lines(page: Page) -> int:
    label = page.get_by_role("log").get_attribute("aria-label") or ""
    return int("".join(filter(str.isdigit, label)) or 0)


def _largest_renderer() -> int:
    """Resident: what it shares with other processes counts too."""
    sizes = [0]
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "--type=renderer" in process.cmdline():
                sizes.append(process.memory_info().rss)
    return max(sizes)


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _submit_waiting(hub: Hub, name: str) -> str:
    """One that no node can have."""
    answer = hub.client.http.post("jobs", json={"name": name, "run": ["/bin/true"], "where": {"tags": ["nowhere"]}})
    answer.raise_for_status()
    return str(answer.json()["id"])


def _changes(hub: Hub, page: Page, options: Options) -> Data:
    """From the moment at which the hub was asked until the frame after the list of jobs shows it."""
    found: dict[str, list[float]] = {"submitted, after a rest": [], "canceled, right after that": []}
    page.goto(f"{hub.url}/jobs")
    page.wait_for_load_state("networkidle")
    for number in range(options.samples(2, 40)):
        name = f"change-{number}-of-many"
        page.evaluate(f"window.shown = until_shown(() => document.body.innerText.includes('{name}'))||0; 0")
        began = time.time()
        job_id = _submit_waiting(hub, name)
        found["submitted, after a rest"].append(page.evaluate("shown") / 1000 - began)
        row = f"[...document.querySelectorAll('main tr, main li')].find((row) => row.innerText.includes('{name}'))"
        page.evaluate(f"window.shown = until_shown(() => /Cancel+ed/.test({row}?.innerText)); 0")
        began = time.time()
        hub.client.http.post(f"jobs/{job_id}/cancel").raise_for_status()
        found["canceled, right after that"].append(page.evaluate("shown") / 1000 - began)
    return {what: summary_ms(samples) for what, samples in found.items()}


# ── the market ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _market(hub: Hub, browser: Browser, folder: Path, options: Options) -> Data:
    """From the choice of a card until the frame after the page shows how many offers have it."""
    count, samples = options.figure(10, OFFERS), options.samples(1, 20)
    cards = [Gpu(id="0", name=model, slug=model, memory_bytes=24 * 1024**3, vendor="nvidia") for model in MODELS]
    capacities = [SMALL.model_copy(update={"gpus": (cards[number % len(cards)],)}) for number in range(count)]
    nodes = invent([(capacity, "DE") for capacity in capacities])
    hub.stop()
    enrol(nodes, hub.settings.effective_database_url, hub.admin_id)
    hub.start()
    crowd = start_crowd(hub, nodes, folder)
    times = []
    try:
        wait_until(lambda: hub.nodes_online() >= count, "the crowd", hub.child, crowd, every=0.5)
        time.sleep(options.figure(1.0, 10.0))
        with _tab(browser) as page:
            for number in range(samples):
                model = MODELS[number % len(MODELS)]
                if number % len(MODELS) == 0:  # a page keeps what it has read: each card once
                    page.goto(f"{hub.url}/market")
                    _wait(page, f"/{count:,} offers/.test(document.body.innerText)")
                chosen = (
                    "document.querySelector('main output').innerText.startsWith("
                    f"'{count // len(MODELS):,} ') && "
                    "(document.querySelector('main a[href^=\"/market/nodes/\"]')?.innerText ?? '')"
                    f".toLowerCase().replace(/[ -]/g, '').includes('{model.replace('-', '')}')"
                )
                times.append(_choose(page, model, chosen))
                _choose(page, "", f"document.querySelector('main output').innerText.startsWith('{count:,} ')")
    finally:
        crowd.stop()
    return {"offers": count, "filter": summary_ms(times)}


def _choose(page: Page, model: str, shown: str) -> float:
    """Seconds, on the page's own clock."""
    script = f"""async () => {{
      const field = document.querySelector("#filter-gpu");
      Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value").set.call(field, {json.dumps(model)});
      const began = performance.timeOrigin + performance.now();
      field.dispatchEvent(new Event("change", {{bubbles: true}}));
      return await until_shown(() => {shown}) - began;
    }}"""
    took = page.evaluate(script)
    if not isinstance(took, int | float):
        raise Failed("the market did not answer")
    return took / 1000


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(data: Data) -> list[Table]:
    loading, changes, market = data["loading"], data["changes"], data["market"]
    scripts, paint = loading["script_bytes"], loading["largest_paint"]
    pages = Table(
        "Pages of the web app",
        ("", "", "target"),
        [
            [
                "JavaScript of the landing page",
                _kilobytes(scripts["landing"]),
                _most_bytes(scripts["landing"], LANDING_BYTES),
            ],
            ["JavaScript of a job's page", _kilobytes(scripts["job"]), _most_bytes(scripts["job"], JOB_BYTES)],
            [
                f"largest contentful paint of the landing page, CPU {SLOWER}× slower, ms (p50)",
                ms(paint, "p50"),
                _most(paint["p50_ms"], PAINT_MS),
            ],
        ],
        f"Chromium without a screen, on the hub's machine. Compressed, as sent. n = {paint['n']} loads, cache empty.",
    )
    change = Table(
        "Change on the hub → on the screen, ms",
        ("", "p50", "p95", "target"),
        [
            [what, ms(found, "p50"), ms(found, "p95"), _most(found["p95_ms"], CHANGE_MS)]
            for what, found in changes.items()
        ],
        f"n = {next(iter(changes.values()))['n']}. In the list of jobs, from the request to the frame that shows it. "
        f"The rest is {REST_SECONDS:g} s; the page reads the list at most every 250 ms.",
    )
    filters = Table(
        f"Filter {market['offers']:,} offers, ms",
        ("", "p50", "p95", "target"),
        [
            [
                "choose a card",
                ms(market["filter"], "p50"),
                ms(market["filter"], "p95"),
                _most(market["filter"]["p95_ms"], FILTER_MS),
            ]
        ],
        f"n = {market['filter']['n']}. The hub filters; nothing comes from the page's cache.",
    )
    return [pages, _log_table(data["log"]), change, filters]


def _log_table(log: Data) -> Table:
    title = "A long log in the browser"
    if "untested" in log:
        return untested_table(title, log)
    followed = f"follows {log['lines_per_second']:,} lines/s, frames per second"
    rate = log["frames_per_second"]
    return Table(
        title,
        ("", "", "target"),
        [
            [
                f"{log['lines']:,} lines: first screen, ms (p50)",
                ms(log["first"], "p50"),
                _most(log["first"]["p50_ms"], FIRST_MS),
            ],
            ["whole, ms (p50)", ms(log["whole"], "p50"), _most(log["whole"]["p50_ms"], WHOLE_MS)],
            [
                "memory of the page's process (RSS)",
                megabytes(log["memory_bytes"]),
                _most_bytes(log["memory_bytes"], MEMORY_BYTES),
            ],
            [followed, f"{rate:g}", f"≥ {FRAMES_PER_SECOND:g} {'✓' if rate >= FRAMES_PER_SECOND else '✗'}"],
        ],
        f"From the start of the navigation; whole when the page's worker has every line. n = {log['first']['n']}. "
        f"The job prints {LINES_PER_SECOND:,} lines/s; hub, agent, job and browser share the cores.",
    )


def _kilobytes(size_bytes: int) -> str:
    return f"{size_bytes / 1000:.1f} kB"


def _most(value: float, target: float) -> str:
    return f"≤ {target:g} {'✓' if value <= target else '✗'}"


def _most_bytes(value: int, target: int) -> str:
    named = f"{target / 1e6:g} MB" if target >= 1e6 else f"{target / 1000:g} kB"
    return f"≤ {named} {'✓' if value <= target else '✗'}"
