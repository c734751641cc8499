"""The TypeScript project that proves what a client can be made from: `tests/typescript`."""

import subprocess
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1] / "typescript"


def run(*command: str, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
