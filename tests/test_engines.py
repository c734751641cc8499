"""A missing engine is skipped by name, and is a failure where it is required."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import engines
from support.proofs import figure


def run_pytest(tmp_path: Path, required: str) -> subprocess.CompletedProcess[str]:
    """One test that needs chromium, on a machine whose PATH has no engine at all."""
    (tmp_path / "test_it.py").write_text("import pytest\n@pytest.mark.engine('chromium')\ndef test_it(): pass\n")
    tests = Path(__file__).parent
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-c",
        str(tests.parent / "pyproject.toml"),
    ]
    command += ["--rootdir", str(tests.parent), "-p", "conftest", str(tmp_path / "test_it.py")]
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(tests), "COMPUTEPOOL_REQUIRE_ENGINES": required}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_missing_engine_is_skipped_by_name(tmp_path):
    done = run_pytest(tmp_path, required="")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "engine chromium: chromium is not installed" in done.stdout


def test_missing_engine_is_a_failure_when_required(tmp_path):
    done = run_pytest(tmp_path, required="chromium")
    assert done.returncode != 0
    assert "chromium: chromium is not installed" in done.stdout + done.stderr


def test_misspelt_requirement_is_refused(tmp_path):
    done = run_pytest(tmp_path, required="bwarp")
    assert done.returncode != 0
    assert "no engine is called bwarp" in done.stdout + done.stderr


@pytest.mark.engine("bwrap")
def test_marker_lets_a_test_run_where_the_engine_works():
    assert engines.missing("bwrap") is None


def test_figures_are_small_outside_of_prove():
    assert figure(3, 3000) == 3


@pytest.mark.proof(long=True)
def test_long_proofs_run_only_in_prove():
    assert figure(3, 3000) == 3000
