"""A real browser without a screen."""

import subprocess
from pathlib import Path

from support import engines
from support.waiting import patience

BROWSER = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
]


def page_in_browser(url: str, profile: Path) -> str:
    """The page as its scripts have made it after a few (virtual) seconds."""
    engines.require("chromium")
    command = [*BROWSER, f"--user-data-dir={profile}", "--virtual-time-budget=6000", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience()).stdout
