"""Builds the program that listens in containers which nobody can enter from outside: `./dev run python -m tools.door`.

It is built for every architecture that jobs run on, and kept in the repository, because hosts have no compilers.
It needs gcc, and its cross compiler for the other architecture. The same version builds the same, byte for byte.
"""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src" / "computepool" / "agent" / "sandbox" / "containers" / "door"
SOURCE = FOLDER / "door.c"
COMPILERS = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
BUILT_BY = "12.2.0"
FLAGS = [
    "-std=c11", "-Os", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pic",
    "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-ident", "-s",
    "-Wl,-z,noexecstack,-z,noseparate-code,--build-id=none,-z,max-page-size=65536",
]  # fmt: skip


def build(architecture: str, target: Path) -> None:
    subprocess.run([COMPILERS[architecture], *FLAGS, "-o", str(target), str(SOURCE)], check=True)
    target.chmod(0o644)


def version_of(compiler: str) -> str:
    """Empty if there is none."""
    try:
        done = subprocess.run([compiler, "-dumpfullversion"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def main() -> int:
    for architecture in COMPILERS:
        build(architecture, FOLDER / f"door.{architecture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
