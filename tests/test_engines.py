"""An engine is present when it does its work. A missing one is skipped by name, or fails where it is required."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import engines
from support.doors import EMULATED
from support.proofs import figure, proving

TESTS = Path(__file__).parent
# What each engine starts. /bin/busybox and /usr/bin/python3 are not looked up on PATH.
PROGRAMS = {
    "bwrap": ["bwrap"],
    "chromium": ["chromium"],
    "dbus": ["dbus-daemon"],
    "docker": ["dockerd", "containerd", "runc", "docker"],
    "docker-client": ["dockerd", "containerd", "runc", "docker"],
    "gcc": ["gcc"],
    "git": ["git"],
    "gvisor": ["dockerd", "containerd", "runc", "docker", "runsc"],
    "network-namespace": ["unshare"],
    "node": ["node", "npm"],
    "podman": ["podman", "conmon", "runc"],
    "podman-rootless": ["podman", "conmon", "runc", "newuidmap"],
    "qemu": [f"qemu-{EMULATED}", f"qemu-{EMULATED}-static"],
    "registry": ["docker-registry"],
    "small-disk": ["unshare", "nsenter"],
    "systemd-analyze": ["systemd-analyze"],
    "xvfb": ["Xvfb", "xdotool", "xprop"],
}
# A bare client answers for a version, and cannot do the work.
STUBS = {
    "missing": None,
    "broken": "echo 'no such luck' >&2; exit 1",
    "bare client": 'case "$*" in *version*) echo "version 1.0";; *) echo "no daemon" >&2; exit 1;; esac',
    "silent": "exit 0",
    "hanging": "exec /bin/sleep 600",
}
HANGING_SECONDS = 1.5

Detect = Callable[[str, Mapping[str, str], float | None], str | None]


def check_detection(detect: Detect, kind: str, place: Path) -> dict[str, str]:
    """Every engine is found missing on a PATH of nothing but such stubs; the reasons."""
    script = STUBS[kind]
    for program in {program for programs in PROGRAMS.values() for program in programs} if script else ():
        (place / program).write_text(f"#!/bin/sh\n{script}\n")
        (place / program).chmod(0o755)
    if kind != "missing":
        for program in ("setpriv", "mount", "sh"):
            (place / program).symlink_to(shutil.which(program) or "/nothing")
    environment = {"PATH": str(place), "LANG": "C"}
    seconds = HANGING_SECONDS if kind == "hanging" else None
    with ThreadPoolExecutor(len(PROGRAMS)) as threads:
        reasons = threads.map(lambda name: detect(name, environment, seconds), PROGRAMS)
        found = dict(zip(PROGRAMS, reasons, strict=True))
    assert [name for name, reason in found.items() if not reason] == [], f"{kind}: taken for engines that work"
    return {name: reason or "" for name, reason in found.items()}


def test_every_engine_that_is_looked_up_is_in_the_table():
    assert set(PROGRAMS) == set(engines.NAMES) - {"busybox", "system-python"}


@pytest.mark.parametrize("kind", STUBS)
def test_program_that_cannot_do_its_work_is_no_engine(kind, tmp_path):
    reasons = check_detection(engines.try_engine, kind, tmp_path)
    if os.geteuid() == 0 and shutil.which("setpriv"):
        words = {"missing": "not installed", "broken": "no such luck", "hanging": "no answer within"}
        assert words.get(kind, "") in reasons["docker"]
    assert {"missing": "git not installed", "broken": "`git` failed with 1: no such luck"}.get(kind, "") in reasons[
        "git"
    ]


def by_name(name: str, environment: Mapping[str, str], seconds: float | None) -> str | None:
    return None if all(shutil.which(program, path=environment["PATH"]) for program in PROGRAMS[name]) else "missing"


def by_version(name: str, environment: Mapping[str, str], seconds: float | None) -> str | None:
    if by_name(name, environment, seconds):
        return "missing"
    command = [shutil.which(PROGRAMS[name][0], path=environment["PATH"]) or "", "--version"]
    return None if subprocess.run(command, capture_output=True, check=False).returncode == 0 else "broken"


@pytest.mark.parametrize(("detect", "kind"), [(by_name, "broken"), (by_version, "bare client")])
def test_detection_by_name_or_by_version_would_be_noticed(detect, kind, tmp_path):
    with pytest.raises(AssertionError, match="taken for engines that work"):
        check_detection(detect, kind, tmp_path)


def test_trial_that_crashes_is_a_missing_engine(monkeypatch):
    monkeypatch.setattr(engines, "TESTS", Path("/nothing"))
    assert "No module named" in (engines.try_engine("git") or "")


def test_workers_share_what_one_of_them_found(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "shared", tmp_path)
    monkeypatch.setattr(engines, "found", {})
    tried: list[str] = []
    monkeypatch.setattr(engines, "try_engine", tried.append)
    assert engines.missing("bwrap") is None
    monkeypatch.setattr(engines, "found", {})
    assert engines.missing("bwrap") is None
    assert tried == ["bwrap"]
    (tmp_path / "podman").write_text("podman not installed")
    assert engines.missing("podman") == "podman not installed"


# ── in a run of pytest ──

NEEDY = """
import pytest
from support.private_engines import docker_engine

@pytest.fixture(scope="session")
def docker():
    with docker_engine() as engine:
        yield engine

@pytest.mark.engine("chromium")
def test_it(): pass

@pytest.mark.parametrize("number", range(3))
def test_another(docker, number): pass

def test_as_root(): pytest.skip("root: needs it")
"""


def run_pytest(tmp_path: Path, required: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Tests that need engines, on a machine whose PATH has only a docker client."""
    (tmp_path / "test_it.py").write_text(NEEDY)
    (tmp_path / "docker").write_text("#!/bin/sh\necho Docker version 1.0\n")
    (tmp_path / "docker").chmod(0o755)
    settings = ["-c", str(TESTS.parent / "pyproject.toml"), "--rootdir", str(TESTS.parent), "-p", "conftest"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *settings, *more]
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(TESTS), "COMPUTEPOOL_REQUIRE_ENGINES": required}
    return subprocess.run(
        [*command, str(tmp_path / "test_it.py")], capture_output=True, text=True, env=environment, check=False
    )


def test_missing_engines_are_skipped_and_summed_up_by_name(tmp_path):
    done = run_pytest(tmp_path, "", "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    why = "dockerd, containerd, runc, setpriv not installed" if os.geteuid() == 0 else "needs root"
    assert "untested here: 5 tests skipped" in done.stdout
    assert f"     3 docker: {why}\n     1 chromium: chromium not installed\n     1 root: needs it\n" in done.stdout


def test_missing_engine_is_a_failure_when_required(tmp_path):
    done = run_pytest(tmp_path, required="chromium")
    assert done.returncode != 0
    assert "chromium: chromium not installed" in done.stdout + done.stderr


def test_misspelt_requirement_is_refused(tmp_path):
    done = run_pytest(tmp_path, required="bwarp")
    assert done.returncode != 0
    assert "no engine is called bwarp" in done.stdout + done.stderr


@pytest.mark.engine("bwrap")
def test_marker_lets_a_test_run_where_the_engine_works():
    assert engines.missing("bwrap") is None


def test_every_skip_names_what_is_missing():
    """The summary groups by it: "name: why"."""
    nameless = []
    texts = {path: path.read_text() for path in TESTS.rglob("*.py")}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if re.search(r"pytest\.(mark\.)?skip", text) else ():
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("pytest.skip", "pytest.mark.skipif"):
                continue
            reason = next((word.value for word in node.keywords if word.arg == "reason"), node.args[0])
            if isinstance(reason, ast.Constant | ast.JoinedStr) and ": " not in ast.unparse(reason):
                nameless.append(f"{path.relative_to(TESTS)}:{node.lineno}")
    assert nameless == []


@pytest.mark.proof
def test_figures_are_small_outside_of_prove():
    assert figure(3, 3000) == (3000 if proving() else 3)
