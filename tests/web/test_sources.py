"""What the app's files may not contain, and what its lock must: checked without Node."""

import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
SNAPSHOTS = ROOT / "tests" / "snapshots"
LOCK = json.loads((WEB / "package-lock.json").read_text())["packages"]
SOURCES = sorted(
    path for path in (WEB / "src").rglob("*") if path.suffix in (".ts", ".tsx", ".css") and ".d.ts" not in path.name
)
NATIVE = {
    "@rolldown/binding": ("darwin-arm64", "linux-x64-gnu", "linux-x64-musl", "linux-arm64-gnu", "win32-x64-msvc"),
    "@tailwindcss/oxide": ("darwin-arm64", "linux-x64-gnu", "linux-x64-musl", "linux-arm64-gnu", "win32-x64-msvc"),
    "lightningcss": ("darwin-arm64", "linux-x64-gnu", "linux-x64-musl", "linux-arm64-gnu", "win32-x64-msvc"),
    "@biomejs/cli": ("darwin-arm64", "linux-x64", "linux-x64-musl", "linux-arm64", "win32-x64"),
}
MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "srcdoc", "eval(", "Function(")
STORES_FOR_LONG = {"theme.ts": ("theme",), "session.ts": ("SEEN",)}
"""Who may write to localStorage, and under which key. A token must not outlive its tab."""


@pytest.mark.parametrize("package", NATIVE)
def test_lock_has_the_native_packages_of_every_platform(package):
    """npm leaves out, silently, what a registry lacks; other systems then cannot build."""
    names = {f"node_modules/{package}-{platform}" for platform in NATIVE[package]}
    assert names <= set(LOCK), names - set(LOCK)


def test_lock_names_versions_and_hashes_and_no_registry():
    assert not [name for name, package in LOCK.items() if "resolved" in package]
    assert [
        name for name, package in LOCK.items() if name and not package.get("link") and "integrity" not in package
    ] == []
    wanted = json.loads((WEB / "package.json").read_text())
    loose = [v for kind in ("dependencies", "devDependencies") for v in wanted[kind].values() if v[0] in "^~*"]
    assert loose == []


@pytest.mark.parametrize(
    ("types", "source"),
    [("schema.d.ts", "openapi.json"), ("events.d.ts", "event-messages.json")],
    ids=["api", "events"],
)
def test_types_are_made_from_the_documents_as_they_are(types, source):
    """`./dev lint` makes them again and compares; this needs no Node."""
    digest = hashlib.sha256((SNAPSHOTS / source).read_bytes()).hexdigest()
    head = (WEB / "src" / "api" / types).read_text().splitlines()[0]
    assert f"sha256 {digest}." in head, "run `npm run api` in web/"


def test_sources_write_text_and_never_markup():
    assert len(SOURCES) > 40
    guilty = [(path.name, way) for path in SOURCES for way in MARKUP if way in path.read_text()]
    assert guilty == []


def test_only_the_theme_and_a_mark_are_stored_for_long():
    for path in SOURCES:
        keys = re.findall(r"localStorage\.setItem\(\"?(\w+)", path.read_text())
        assert set(keys) <= set(STORES_FOR_LONG.get(path.name, ())), path.name


def test_no_source_names_an_address_outside():
    outside = re.compile(r"(?:https?:|wss?:)//(?!localhost|127\.0\.0\.1|pool\.example|www\.w3\.org)[\w.-]+")
    guilty = [(path.name, found[0]) for path in SOURCES if (found := outside.search(path.read_text()))]
    assert guilty == []
