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
def test_pages_load_no_more_javascript_than_their_limits() -> None:
    sizes = {page: size_of(page, modules) for page, (_, modules) in LIMITS.items()}
    assert {page for page, (most, _) in LIMITS.items() if not 100_000 < sizes[page] <= most} == set(), sizes


def size_of(page: str, modules: list[str]) -> int:
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
    return sum((twin if twin.is_file() else twin.with_suffix("")).stat().st_size for twin in sent)
