"""A page that has only the client generated from the hub's own document runs a whole job: signs in, submits a zip,
follows it live and downloads the result, in a real browser, from another origin than the hub's.

It downloads the generator and the compiler, so it is a proof: `./dev prove typescript`.
"""

import asyncio
import base64
import io
import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browsers import browser
from support.pool import running_pool
from support.typescript import CLIENT, run

PROGRAM = """
import pathlib, time
for step in range(3):
    print("step", step, flush=True)
    time.sleep(0.2)
pathlib.Path("out").mkdir()
pathlib.Path("out/answer.txt").write_text(pathlib.Path("data/six.txt").read_text() + " times 7 is 42")
"""
EMAIL, PASSWORD = "renter@example.org", "correct horse battery"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder at an origin of its own."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def documents(hub: str, folder: Path) -> None:
    """The OpenAPI document of the running hub, and its schema of events as one that the generator reads."""
    (folder / "openapi.json").write_text(httpx.get(f"{hub}/openapi.json").text)
    told = httpx.get(f"{hub}/api/v1/events/schema").json()
    schemas = {name: schema for stream in told.values() if isinstance(stream, dict) for name, schema in _defs(stream)}
    text = json.dumps(
        {"openapi": "3.1.0", "info": {"title": "events", "version": "1"}, "paths": {}}
        | {"components": {"schemas": schemas}}
    )
    (folder / "events.json").write_text(text.replace("#/$defs/", "#/components/schemas/"))


def _defs(stream: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from stream.get("$defs", {}).items()


def packed() -> str:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("main.py", PROGRAM)
        archive.writestr("data/six.txt", "6")
    return base64.b64encode(held.getvalue()).decode()


@pytest.mark.slow
@pytest.mark.proof(long=True)
@pytest.mark.engine("chromium")
@pytest.mark.engine("bwrap")
def test_typescript_page_runs_a_job(tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm: it is not installed")
    folder = shutil.copytree(CLIENT, tmp_path / "page", ignore=shutil.ignore_patterns("node_modules"))
    run("npm", "ci", "--ignore-scripts", folder=folder)
    with (
        served(folder) as origin,
        running_pool(tmp_path / "pool", {"COMPUTEPOOL_CORS_ORIGINS": origin}) as pool,
    ):
        pool.join("machine")
        documents(pool.url, folder)
        for name, types in (("openapi.json", "api.d.ts"), ("events.json", "events.d.ts")):
            run("npx", "openapi-typescript", name, "-o", types, "--default-non-nullable=false", folder=folder)
        run("npx", "tsc", "--project", ".", "--noEmit", "false", folder=folder)
        (folder / "index.html").write_text('<!doctype html><script type="module" src="page.js"></script>')
        account = {"email": EMAIL, "password": PASSWORD, "name": "Renter"}
        httpx.post(f"{pool.url}/api/v1/auth/register", json=account).raise_for_status()
        told = asyncio.run(_story(f"{origin}/index.html", [pool.url, EMAIL, PASSWORD, packed()], tmp_path / "profile"))
    assert told["state"] == "succeeded"
    assert told["log"] == "step 0\nstep 1\nstep 2\n"
    assert told["outputs"] == {"out/answer.txt": "6 times 7 is 42"}
    assert told["protocol"] == "computepool.v1"
    assert {"job", "attempt"} <= set(told["events"])


async def _story(page: str, words: list[str], profile: Path) -> Any:
    async with browser(profile) as opened:
        tab = await opened.open(page)
        await tab.until("typeof window.story === 'function'")
        return await tab.run(f"window.story(...{json.dumps(words)})")
