"""How much JavaScript a page loads, by the build's own list. `./dev bench web` measures the same in a browser."""

import json

import pytest

from computepool.hub.web import DIST

LIMITS = {
    "landing": (130_000, ["index.html", "src/features/home/home-page.tsx"]),
    # Its parts beside the log are drawn with it, though they are loaded after it.
    "job": (
        200_000,
        ["index.html", *(f"src/features/jobs/{part}.tsx" for part in ("job-page", "job-actions", "usage"))],
    ),
}
"""Bytes as brotli, and the modules that the page draws at once."""


@pytest.mark.usefixtures("web_pool")
@pytest.mark.parametrize("page", LIMITS)
def test_page_loads_no_more_javascript_than_its_limit(page: str) -> None:
    most, modules = LIMITS[page]
    manifest = json.loads((DIST / ".vite" / "manifest.json").read_text())
    needed: set[str] = set()
    open_keys = list(modules)
    while open_keys:
        key = open_keys.pop()
        if key not in needed:
            needed.add(key)
            open_keys += manifest[key].get("imports", [])
    files = {DIST / manifest[key]["file"] for key in needed} | {DIST / "theme.js"}
    if page == "job":
        files |= set(DIST.glob("assets/log.worker-*.js"))
    sent = [path.with_name(f"{path.name}.br") for path in files]
    total = sum((twin if twin.is_file() else twin.with_suffix("")).stat().st_size for twin in sent)
    assert 100_000 < total <= most
