"""The package carries the built app: who installs it needs no Node."""

import subprocess
import sys
import tarfile
import zipfile

import pytest
from support.waiting import patience
from support.web import ROOT, built_app

FILES = ("index.html", "landing.html", "licences.txt", ".made-of")


@pytest.mark.slow
def test_wheel_and_sdist_carry_the_app_and_its_licences(tmp_path):
    built_app()
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=patience())
    assert done.returncode == 0, done.stderr
    with (
        zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel,
        tarfile.open(next(tmp_path.glob("*.tar.gz"))) as sdist,
    ):
        in_sdist = sdist.getnames()
        for names in (wheel.namelist(), [name.partition("/src/")[2] for name in in_sdist]):
            inside = {name.removeprefix("computepool/hub/web/dist/") for name in names}
            assert set(FILES) <= inside
            scripts = {name for name in inside if name.startswith("assets/") and name.endswith(".js")}
            assert len(scripts) > 10
            assert [name for name in scripts if f"{name}.br" in inside and f"{name}.gz" in inside]
        assert not [name for name in in_sdist if "node_modules" in name]
        licences = wheel.read("computepool/hub/web/dist/licences.txt").decode()
    for package in ("react", "@base-ui/react", "@tanstack/react-router", "@fontsource-variable/geist", "tailwindcss"):
        assert f"{package} " in licences
