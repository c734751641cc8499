"""The web app in a real browser (Playwright, Debian's Chromium) against a real hub. Fixtures: tests/web/conftest.py."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright
from support import engines
from support.pool import Pool
from support.waiting import patience

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
PASSWORD = "correct horse battery"
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1440, "height": 900}
Theme = Literal["light", "dark"]
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe that a theme can break; the others look at names and structure."""
SWITCH = """
(path) => {
  const isOther = new URL(path, location).pathname !== location.pathname;
  for (const head of document.querySelectorAll("h1")) if (isOther) head.dataset.before = "";
  history.pushState({}, "", path);
}
"""
"""The router hears of it. A page that stays, such as a job's whose tab changes, keeps its title."""


def built_app() -> None:
    """Built from the sources as they are; skips by name where this machine has no Node."""
    engines.require("node", "chromium")
    command = [sys.executable, str(ROOT / "tools" / "web_build.py"), "build", "--dev"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(120))
    assert done.returncode == 0, done.stderr


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """No `asyncio.run` while it is open: Playwright's own loop runs in this thread."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=1000 * patience())
        opened = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        try:
            yield opened
        finally:
            opened.close()


class Visitor:
    """One browser of one person: its own cookies, storage and console. `problems` must be empty at the end."""

    def __init__(self, browser: Browser, pool: Pool) -> None:
        self.context = context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
        self.pool = pool
        self.problems: list[str] = []
        context.set_default_timeout(1000 * patience())
        context.on("weberror", lambda failure: self.problems.append(f"error: {failure.error}"))
        context.on("console", self._hear)
        self.page = context.new_page()

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def forgive(self, pattern: str) -> None:
        """What the console said is meant to be so: the browser logs every answer with a status of 400 or more."""
        self.problems = [problem for problem in self.problems if not re.search(pattern, problem)]

    def go(self, path: str) -> Page:
        self.page.goto(self.pool.url + path)
        return self.page

    def sign_in_as_operator(self) -> Page:
        """By a link, as `up` prints it."""
        told = self.pool.cli("hub", "admin", "--json").expect(0).json
        page = self.go("/#sign-in=" + told["sign_in_url"].partition("#sign-in=")[2])
        expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
        return page

    def sign_in(self, name: str) -> Page:
        """As somebody new or known, by the form."""
        email = f"{name}@example.org"
        person = {"email": email, "password": PASSWORD, "name": name}
        httpx.post(f"{self.pool.url}/api/v1/auth/register", json=person, timeout=patience())
        page = self.go("/sign-in")
        page.get_by_label("E-mail").fill(email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(re.compile("/jobs"))
        return page

    def switch_to(self, path: str) -> Page:
        """As a link of the app does it: its scripts are not loaded again. Afterwards all of the page is there."""
        self.page.evaluate(SWITCH, path)
        expect(self.page.locator("h1:not([data-before])").first).to_be_visible()
        expect(self.page.locator(".skeleton")).to_have_count(0)
        return self.page

    def check_accessible(self, *paths: str) -> None:
        """axe finds nothing on these pages in both themes."""
        for path in paths:
            self.switch_to(path)
            self._check_theme("dark", path)
            self._check_theme("light", path, *OF_COLOURS)

    def _check_theme(self, theme: Theme, path: str, *rules: str) -> None:
        self.page.emulate_media(color_scheme=theme)
        found = axe(self.page, *rules)
        assert found == [], f"{path} in {theme}: {found}"


def axe(page: Page, *rules: str) -> list[str]:
    """What breaks these rules, or any."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(AXE.read_text())
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    result = page.evaluate("(options) => axe.run(document, options)", options)
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in result["violations"]]
