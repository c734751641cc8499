"""Takes the screenshots of the documentation: `./dev run python -m tools.web_pictures`.

It starts a demo pool (`up --demo`, in a folder of its own), lets it work for a while, and opens the app in Chromium.
All nodes but this machine are simulated, and the pages say so. The pictures go to docs/pictures, each of
at most 200 kB.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tools import web_build

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
MOST_BYTES = 200_000
COMPUTEPOOL = [sys.executable, "-P", "-m", "computepool"]
DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
WARM_UP_SECONDS = 25.0
"""Until the demo's jobs have run, waited and failed, and the market has prices."""
TRAINING = """
import math, time
print("\\x1b[1mloading\\x1b[0m 60,000 samples, batch 64, 938 steps an epoch", flush=True)
for step in range(100_000):
    loss, seconds = 2.3 * math.exp(-step / 400) + 0.04, 0.031 + 0.002 * math.sin(step)
    kind = "\\x1b[33mwarn\\x1b[0m" if step % 97 == 42 else "\\x1b[32minfo\\x1b[0m"
    note = "gradient clipped to 1.0" if step % 97 == 42 else f"loss {loss:.4f}  lr 3.0e-04  {seconds:.3f} s"
    print(f"{time.strftime('%H:%M:%S')} {kind} epoch {step // 938} step {step:5d}  {note}", flush=True)
    time.sleep(0.04)
"""


def main() -> int:
    web_build.build(quiet=True)
    program = shutil.which("chromium")
    if program is None:
        sys.stderr.write("There is no Chromium here, which takes the pictures.\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="computepool-pictures-") as folder, demo(Path(folder)) as url:
        job_id = begin_training(Path(folder))
        time.sleep(WARM_UP_SECONDS)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            take_all(browser, Path(folder), url, job_id)
            browser.close()
    return 0


@contextmanager
def demo(home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with (home / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [*COMPUTEPOOL, "up", "--demo", "--port", str(port)], env=variables(home), stdout=log, stderr=log
        )
    try:
        for _ in range(600):
            if "Ctrl-C stops" in (home / "up.log").read_text():
                break
            time.sleep(0.1)
        yield url
    finally:
        up.terminate()
        up.wait(60)


def variables(home: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COMPUTEPOOL_")}
    return {**clean, "COMPUTEPOOL_HOME": str(home)}


def cli(home: Path, *words: str) -> str:
    return subprocess.run(
        [*COMPUTEPOOL, *words], env=variables(home), capture_output=True, text=True, check=True
    ).stdout


def begin_training(home: Path) -> str:
    """A job on this machine, with a log that grows while the pictures are taken."""
    spec = home / "train-mnist.yaml"
    needs = {"cpus": 1, "memory": "512MB", "disk": "100MB"}
    command = ["python3", "-u", "-c", TRAINING]
    spec.write_text(json.dumps({"name": "train-mnist", "run": command, "resources": needs, "max_runtime": "1h"}))
    told = cli(home, "run", "--detach", str(spec))
    found = re.search(r"job_\w+", told)
    assert found, told
    return found[0]


def take_all(browser: Browser, home: Path, url: str, job_id: str) -> None:
    with tab(browser, DESKTOP, "light") as page:
        show(page, f"{url}/")
        save(page, "web-landing")
    with tab(browser, DESKTOP, "light") as page:
        sign_in(page, home, url)
        show(page, f"{url}/nodes")
        save(page, "web-nodes")
        show(page, f"{url}/market?simulated=true")
        save(page, "web-market")
        show(page, f"{url}/map")
        save(page, "web-map")
        show(page, f"{url}/admin")
        save(page, "web-admin")
        show(page, f"{url}/jobs/{job_id}")
        save(page, "web-job")
    with tab(browser, DESKTOP, "dark") as page:
        sign_in(page, home, url)
        show(page, f"{url}/jobs/{job_id}")
        save(page, "web-job-dark")
    with tab(browser, PHONE, "light") as page:
        sign_in(page, home, url)
        show(page, f"{url}/jobs/{job_id}")
        save(page, "web-job-phone")


@contextmanager
def tab(browser: Browser, size: ViewportSize, theme: Literal["light", "dark"]) -> Iterator[Page]:
    context = browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce", timezone_id="UTC")
    try:
        yield context.new_page()
    finally:
        context.close()


def sign_in(page: Page, home: Path, url: str) -> None:
    told = json.loads(cli(home, "hub", "admin", "--json"))
    page.goto(f"{url}/#sign-in={told['sign_in_url'].partition('#sign-in=')[2]}")
    page.wait_for_url(f"{url}/jobs*")


def show(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("h1").first.wait_for()
    page.wait_for_timeout(3000)


def save(page: Page, name: str) -> None:
    file = PICTURES / f"{name}.png"
    page.screenshot(path=file)
    size = file.stat().st_size
    assert size <= MOST_BYTES, f"{file}: {size} bytes"
    sys.stderr.write(f"{file.relative_to(ROOT)}: {size / 1000:.0f} kB\n")


if __name__ == "__main__":
    sys.exit(main())
