"""The tests beside the app's own files (vitest): pure ones in Node, components in Chromium."""

import subprocess

import pytest
from support import engines
from support.waiting import patience
from support.web import WEB, built_app


@pytest.mark.slow
def test_tests_beside_components_pass():
    engines.require("node", "chromium")
    built_app()
    command = ["node", "node_modules/vitest/vitest.mjs", "run"]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False, timeout=patience(60))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
