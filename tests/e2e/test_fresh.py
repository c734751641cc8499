"""The newcomer's path: a fresh clone, an empty home, empty caches, an ordinary user, and the commands of the README.

On this machine, and in container images of four distributions. It downloads everything that the locks name, so it is a
proof: `./dev prove fresh`.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from support import engines, newcomer
from support.children import environment_with
from support.ordinary_user import NOBODY, ordinary_folder
from support.private_engines import docker_engine

pytestmark = [pytest.mark.slow, pytest.mark.proof(long=True), pytest.mark.timeout(7200)]

ROOT = Path(__file__).parents[2]
USER = NOBODY if os.geteuid() == 0 else os.geteuid()
# How this machine reaches the package registries is the only thing that a newcomer is taken to have set.
REGISTRIES = ("PIP_", "UV_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


class Image(NamedTuple):
    name: str
    prepare: str
    """What the README asks for: bash, Python and the certificates of the registries."""


IMAGES = [
    Image("debian:12", "apt-get update && apt-get install -y --no-install-recommends python3-venv ca-certificates"),
    Image("ubuntu:24.04", "apt-get update && apt-get install -y --no-install-recommends python3-venv ca-certificates"),
    Image("fedora:42", "dnf install -y python3"),
    Image("alpine:3.22", "apk add --no-cache bash python3"),
]


@pytest.fixture
def home() -> Iterator[Path]:
    """An ordinary user's home, with nothing in it but the clone."""
    engines.require("git")
    if not (ROOT / ".git").exists():
        pytest.skip("git checkout: these files are not one")
    with ordinary_folder() as home:
        clone = home / "computepool"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True, env=environment_with(GIT_DIR=None))
        if os.geteuid() == 0:
            for path in [clone, *clone.rglob("*")]:
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        shutil.copy(newcomer.__file__, home)
        yield home
        status = ["git", "-c", f"safe.directory={clone}", "-C", str(clone), "status", "--short"]
        assert subprocess.run(status, capture_output=True, text=True, check=True).stdout == "", "the checkout is clean"


def registries() -> dict[str, str]:
    """Variables for pip and uv: those of this process, and what pip's configuration files say."""
    found = {name: value for name, value in os.environ.items() if name.upper().startswith(REGISTRIES)}
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        if key.startswith(("global.", "install.")):
            found.setdefault("PIP_" + key.partition(".")[2].upper().replace("-", "_"), shlex.split(value)[0])
    return found


def fresh(home: Path, path: str) -> dict[str, str]:
    """As after `env -i`, with every cache inside the new home."""
    caches = {name: str(home / ".cache" / name.lower()) for name in ("PIP_CACHE_DIR", "UV_CACHE_DIR")}
    return {**registries(), **caches, "XDG_CACHE_HOME": str(home / ".cache"), "HOME": str(home), "PATH": path}


def test_readme_works_on_this_machine(home):
    # The system's programs first; the Python of these tests only where the system has none that is new enough.
    base = Path(getattr(sys, "_base_executable", sys.executable)).parent
    check_story([], home, fresh(home, f"/usr/bin:/bin:{base}"))


@pytest.fixture(scope="module")
def engine() -> Iterator[list[str]]:
    """The command line of a container engine: a private one of root's, or what this user may use."""
    if os.geteuid() == 0:
        engines.require("docker-client")
        with docker_engine() as private:
            yield ["docker", "-H", f"unix://{private.socket}"]
        return
    for program in ("docker", "podman"):
        with contextlib.suppress(FileNotFoundError):
            if subprocess.run([program, "info"], capture_output=True, check=False).returncode == 0:
                yield [program]
                return
    pytest.skip("container image: neither docker nor podman works for this user")


def obtain(engine: list[str], image: Image) -> str:
    """The name of an image with bash and Python. What cannot be had is skipped by name."""
    mine = f"localhost/computepool-fresh-{image.name.replace(':', '-')}"
    if told(*engine, "image", "inspect", image.name) is None and told(*engine, "pull", "-q", image.name) is None:
        if image.name != "debian:12" or not shutil.which("debootstrap") or os.geteuid() != 0:
            pytest.skip(f"image {image.name}: the engine does not have it and cannot pull it")
        make_debian(engine, mine)
        return mine
    made = ["--network", "host", "--name", "computepool-fresh", *mounts(), image.name, "sh", "-c", image.prepare]
    try:
        subprocess.run([*engine, "run", *made], check=True)
        subprocess.run([*engine, "commit", "computepool-fresh", mine], check=True)
    finally:
        subprocess.run([*engine, "rm", "-f", "computepool-fresh"], check=False, capture_output=True)
    return mine


def make_debian(engine: list[str], name: str) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        included = "--include=python3,python3-venv,ca-certificates"
        subprocess.run(["debootstrap", "--variant=minbase", included, "bookworm", folder], check=True)
        with subprocess.Popen(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE) as packed:
            subprocess.run([*engine, "import", "-", name], stdin=packed.stdout, check=True)


def mounts() -> list[str]:
    """Certificates and local indexes that the registries' variables name."""
    words = [word.removeprefix("file://") for value in registries().values() for word in value.split()]
    return [f"--volume={word}:{word}:ro" for word in sorted(set(words)) if word.startswith("/") and Path(word).exists()]


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_readme_works_in_an_image(image, engine, home):
    name = obtain(engine, image)
    options = [f"--env={key}={value}" for key, value in fresh(home, "/usr/local/bin:/usr/bin:/bin").items()]
    options += [f"--volume={home}:{home}", *mounts(), f"--user={USER}:{USER}"]
    options += ["--userns=keep-id"] if engine == ["podman"] else []
    try:
        check_story([*engine, "run", "--rm", "--init", "--network", "host", *options, name], home)
    finally:
        subprocess.run([*engine, "rmi", "-f", name], check=False, capture_output=True)


def check_story(where: list[str], home: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run the newcomer's story by a command that starts a container, or here with this environment."""
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if not where and os.geteuid() == 0 else {}
    done = subprocess.run(
        [*where, "python3", str(home / "newcomer.py"), str(home / "computepool")],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **user,  # type: ignore[call-overload]
    )
    sys.stdout.write(done.stdout)
    assert done.returncode == 0, done.stdout[-5000:]


def told(*command: str) -> str | None:
    """What the command prints; None if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout
