"""The web app in Chromium, against a real hub: what its pages load, how soon they show, a long log, a large market,
how soon a change is on the screen, and what building the app costs a fresh clone."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Page, Request, sync_playwright

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
"""Longer than any time for which a page does not read the same list again."""
FRESH_SECONDS = 60.0
KEPT_UP = 0.9
"""The share of the printed lines that must reach the page while it follows, so that it does not draw a still log."""
PLAIN_BELOW_BYTES = 1024
"""Smaller files have no compressed twin (web/tools/build.mjs)."""
SUBMITTED = f"a job is submitted, after {REST_SECONDS:g} s without events"
CANCELED = "it is canceled, as soon as its row was shown"
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
window.seen = {paint: 0, shift: 0};
new PerformanceObserver((list) => { for (const entry of list.getEntries()) seen.paint = entry.startTime; })
  .observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value;
}).observe({type: "layout-shift", buffered: true});
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
// A message that is posted in a frame's callback comes when the frame has been drawn.
const drawn = () => new Promise((done) => requestAnimationFrame(() => {
  const {port1, port2} = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); }));
window.until_shown = (find) => new Promise((done) => {
  const look = () => { if (!find()) return; watching.disconnect(); drawn().then(() => done(Date.now())); };
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
        fresh = measured(lambda: _fresh_builds(folder / "fresh", options))
        hub = Hub(folder / "hub")
        try:
            hub.start()
            with _browser() as browser:
                with _signed_in(hub, browser) as page:
                    log = measured(lambda: _with_agent(hub, page, folder / "agent", options))
                    loading = _loading(hub, browser, page, log.get("job_id"), options)
                    changes = _changes(hub, page, options)
                market = _market(hub, browser, folder, options)
                return {"loading": loading, "fresh": fresh, "log": log, "changes": changes, "market": market}
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
    """`job_id`: a job that ran. Without an agent there is none; the page of one that waits loads less."""
    with _tab(browser) as page:
        scripts = {"landing": _scripts(page, hub.url)}
    shown_id = job_id or _submit_waiting(hub, "waits")
    scripts["job"] = _scripts(signed_in, f"{hub.url}/jobs/{shown_id}")
    paints, shifts = [], []
    for _ in range(options.samples(1, 7)):
        with _tab(browser) as page:
            paint, shift = _slow_paint(page, hub.url)
            paints.append(paint)
            shifts.append(shift)
    job_paints = [_slow_paint(signed_in, f"{hub.url}/jobs/{shown_id}")[0] for _ in range(options.samples(1, 7))]
    return {
        "scripts": scripts,
        "job_ran": job_id is not None,
        "largest_paint": summary_ms(paints),
        "largest_layout_shift": round(max(shifts), 4),
        "largest_paint_of_job": summary_ms(job_paints),
    }


def _slow_paint(page: Page, address: str) -> tuple[float, float]:
    """Seconds until the largest contentful paint, and the layout shift; without a cache, with a slower processor."""
    wire = page.context.new_cdp_session(page)
    wire.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    wire.send("Network.enable")
    wire.send("Network.setCacheDisabled", {"cacheDisabled": True})
    try:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        _wait(page, "seen.paint")  # told a little after the paint
        return page.evaluate("seen.paint") / 1000, page.evaluate("seen.shift")
    finally:
        wire.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        wire.detach()


def _scripts(page: Page, address: str) -> Data:
    """All JavaScript that a page asks for until it is idle, workers and preloads included, without a cache."""
    finished: list[Request] = []

    def note(request: Request) -> None:
        finished.append(request)

    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.on("requestfinished", note)
    try:
        page.goto(address)
        page.wait_for_load_state("networkidle")
    finally:
        page.remove_listener("requestfinished", note)
        wire.detach()
    found = {"files": 0, "body_bytes": 0, "header_bytes": 0}
    for request in finished:
        if not request.url.partition("?")[0].endswith(".js"):
            continue
        sizes, response = request.sizes(), request.response()
        encoding = response.headers.get("content-encoding") if response else None
        if encoding != "br" and sizes["responseBodySize"] >= PLAIN_BELOW_BYTES:
            raise Failed(f"{request.url} was sent as {encoding or 'plain'}, not as brotli")
        found["files"] += 1
        found["body_bytes"] += sizes["responseBodySize"]
        found["header_bytes"] += sizes["responseHeadersSize"]
    return found


# ── a fresh clone ────────────────────────────────────────────────────────────────────────────────────────────────────


def _fresh_builds(folder: Path, options: Options) -> Data:
    """Seconds from a clean checkout to the built app: packages downloaded into an empty cache, built, compressed."""
    if options.quick:
        raise Unavailable("a quick run downloads nothing")
    seconds: Data = {}
    if _node_on_path(os.environ["PATH"]):
        seconds["with the system's Node"] = _fresh_build(folder / "system", Path(sys.executable), os.environ["PATH"])
    venv.create(folder / "environment", with_pip=True)
    without = os.pathsep.join(part for part in os.environ["PATH"].split(os.pathsep) if not _node_on_path(part))
    python_there = folder / "environment" / "bin" / "python"
    seconds["without Node, which is downloaded too"] = _fresh_build(folder / "none", python_there, without)
    return {"seconds": seconds}


def _node_on_path(path: str) -> bool:
    return shutil.which("node", path=path) is not None


def _fresh_build(folder: Path, interpreter: Path, path: str) -> float:
    left_out = shutil.ignore_patterns("node_modules", "dist", ".build-*")
    shutil.copytree(web_build.WEB, folder / "web", ignore=left_out)
    for name in ("tools/web_build.py", "requirements/node.txt"):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(web_build.ROOT / name, folder / name)
    built = folder / web_build.DIST.relative_to(web_build.ROOT)
    built.parent.mkdir(parents=True)
    caches = {"npm_config_cache": str(folder / "npm"), "PIP_NO_CACHE_DIR": "1"}
    environment = {**os.environ, **caches, "PATH": path}
    environment.pop("NODE", None)
    began = time.perf_counter()
    command = [str(interpreter), str(folder / "tools" / "web_build.py"), "build"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode or not (built / "index.html").is_file():
        raise Unavailable(f"the app could not be built from a clean checkout: {done.stderr.strip()[-300:]}")
    return round(took, 1)


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
        "followed_seconds": seconds,
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
    """From just before the hub is asked until the frame that shows the change in the list of jobs was drawn."""
    submitted, canceled = [], []
    page.goto(f"{hub.url}/jobs")
    page.wait_for_load_state("networkidle")
    for number in range(options.samples(2, 40)):
        name = f"change-{number}-of-many"
        row = f"[...document.querySelectorAll('main tr, main li')].find((row) => row.textContent.includes('{name}'))"
        time.sleep(REST_SECONDS)
        page.evaluate(f"window.shown = until_shown(() => {row}); 0")
        began = time.time()
        job_id = _submit_waiting(hub, name)
        submitted.append(page.evaluate("shown") / 1000 - began)
        page.evaluate(f"window.shown = until_shown(() => /Cancel+ed/.test({row}?.textContent)); 0")
        began = time.time()
        hub.client.http.post(f"jobs/{job_id}/cancel").raise_for_status()
        canceled.append(page.evaluate("shown") / 1000 - began)
    return {SUBMITTED: summary_ms(submitted), CANCELED: summary_ms(canceled)}


# ── the market ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _market(hub: Hub, browser: Browser, folder: Path, options: Options) -> Data:
    """From the choice of a card until the frame was drawn that shows how many offers have it, and the first of them."""
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
                    loaded = f"/{count:,} offers/.test(document.body.innerText)"
                    _wait(page, f"{loaded} && document.querySelector('#filter-gpu option[value={model}]')")
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
    """Seconds, on the page's clock."""
    script = f"""async () => {{
      const field = document.querySelector("#filter-gpu");
      Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value").set.call(field, {json.dumps(model)});
      const began = Date.now();
      field.dispatchEvent(new Event("change", {{bubbles: true}}));
      return await until_shown(() => {shown}) - began;
    }}"""
    took = page.evaluate(script)
    if not isinstance(took, int | float):
        raise Failed("the market did not answer")
    return took / 1000


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(data: Data) -> list[Table]:
    return [
        _pages_table(data["loading"]),
        _fresh_table(data["fresh"]),
        _log_table(data["log"]),
        _changes_table(data["changes"]),
        _market_table(data["market"]),
    ]


def _pages_table(loading: Data) -> Table:
    landing, job = loading["scripts"]["landing"], loading["scripts"]["job"]
    which = "of a job that ran, with log and charts" if loading["job_ran"] else "of a job that waits"
    rows = [
        [f"JavaScript, {name}", _kilobytes(found["body_bytes"]), _most_bytes(found["body_bytes"], target)]
        for name, found, target in (
            ("landing page", landing, LANDING_BYTES),
            (f"page {which}", job, JOB_BYTES),
        )
    ]
    paints = (("landing page", loading["largest_paint"]), (f"page {which}", loading["largest_paint_of_job"]))
    rows += [
        [f"largest contentful paint, {name}, ms (p50)", ms(found, "p50"), _most(found["p50_ms"], PAINT_MS)]
        for name, found in paints
    ]
    rows.append(["layout shift of the landing page (largest)", f"{loading['largest_layout_shift']:g}", ""])
    return Table(
        "Pages of the web app",
        ("", "", "target"),
        rows,
        f"Chromium without a screen, on the hub's machine, over plain HTTP on 127.0.0.1, cache empty. JavaScript: the "
        f"bodies of all scripts that the page asks for until its network is idle, with workers and preloads, as sent: "
        f"brotli by their Content-Encoding, {PLAIN_BELOW_BYTES} bytes and less plain. Landing page "
        f"{landing['files']} files, with headers {_kilobytes(landing['body_bytes'] + landing['header_bytes'])}; "
        f"job {job['files']} files, {_kilobytes(job['body_bytes'] + job['header_bytes'])}. "
        f"Paint: CPU {SLOWER}× slower, n = {loading['largest_paint']['n']} loads each.",
    )


def _fresh_table(fresh: Data) -> Table:
    title = "The web app from a fresh clone, s"
    if "untested" in fresh:
        return untested_table(title, fresh)
    rows = [[f"build, {how}", f"{took:.1f}", _most(took, FRESH_SECONDS)] for how, took in fresh["seconds"].items()]
    note = (
        "A clean copy of the sources, empty caches: packages downloaded, built, compressed. One run each. `./dev up` "
        "starts the hub beside it, so this is the most by which the app is served later than the hub alone."
    )
    return Table(title, ("", "", "target"), rows, note)


def _changes_table(changes: Data) -> Table:
    return Table(
        "Change on the hub → on the screen, ms",
        ("", "p50", "p95", "target (p95)"),
        [
            [what, ms(found, "p50"), ms(found, "p95"), _most(found["p95_ms"], CHANGE_MS)]
            for what, found in changes.items()
        ],
        f"n = {next(iter(changes.values()))['n']} each. In the list of jobs of a browser that did not ask for the "
        f"change: from just before another client sends its request until the frame that shows the change was drawn.",
    )


def _market_table(market: Data) -> Table:
    return Table(
        f"Filter {market['offers']:,} offers, ms",
        ("", "p50", "p95", "target (p95)"),
        [
            [
                "choose a card",
                ms(market["filter"], "p50"),
                ms(market["filter"], "p95"),
                _most(market["filter"]["p95_ms"], FILTER_MS),
            ]
        ],
        f"n = {market['filter']['n']}. From the choice until the frame was drawn that shows the number of offers and "
        f"the first of them. The hub filters; nothing comes from the page's cache. The {market['offers']:,} nodes stay "
        "connected to the hub meanwhile.",
    )


def _log_table(log: Data) -> Table:
    title = "A long log in the browser"
    if "untested" in log:
        return untested_table(title, log)
    rate, lines = log["frames_per_second"], log["lines_per_second"]
    keeps_up = rate >= FRAMES_PER_SECOND and lines >= KEPT_UP * LINES_PER_SECOND
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
                "memory of the page's process once it is whole (RSS)",
                megabytes(log["memory_bytes"]),
                _most_bytes(log["memory_bytes"], MEMORY_BYTES),
            ],
            [
                f"follow {LINES_PER_SECOND:,} lines/s: frames/s, and lines/s that reach the page",
                f"{rate:g}, {lines:,}",
                f"≥ {FRAMES_PER_SECOND:g}, ≥ {KEPT_UP * LINES_PER_SECOND:,.0f} {'✓' if keeps_up else '✗'}",
            ],
        ],
        f"First screen and whole: from the start of the navigation, the app's files in the browser's cache; whole when "
        f"the page's worker has parsed every line. n = {log['first']['n']}. Hub, agent, job and browser share the "
        f"cores. Frames: callbacks of the page's animation frames in {log['followed_seconds']:g} s.",
    )


def _kilobytes(size_bytes: int) -> str:
    return f"{size_bytes / 1000:.1f} kB"


def _most(value: float, target: float) -> str:
    return f"≤ {target:g} {'✓' if value <= target else '✗'}"


def _most_bytes(value: int, target: int) -> str:
    named = f"{target / 1e6:g} MB" if target >= 1e6 else f"{target / 1000:g} kB"
    return f"≤ {named} {'✓' if value <= target else '✗'}"
