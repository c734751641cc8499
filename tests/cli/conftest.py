import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.fake_api import TOKEN, FakeHub

from computepool.cli.app import run


@dataclass(frozen=True)
class Result:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


class Cli:
    """The command line in this process, on the real file descriptors."""

    def __init__(self, capture: pytest.CaptureFixture[bytes], home: Path) -> None:
        self._capture = capture
        self.home = home

    def __call__(self, *arguments: str) -> Result:
        self._capture.readouterr()
        code = run(arguments)
        out, err = self._capture.readouterr()
        return Result(code, out, err.decode())


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        hub.frame_bytes = 1000
        yield hub


@pytest.fixture
def cli(
    hub: FakeHub, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """Signed in to the fake hub, in an empty folder."""
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("COMPUTEPOOL_HOME", str(home))
    monkeypatch.setenv("COMPUTEPOOL_URL", hub.url)
    monkeypatch.setenv("COMPUTEPOOL_TOKEN", TOKEN)
    monkeypatch.setenv("COLUMNS", "200")
    assert not os.isatty(1)
    return Cli(capfdbinary, home)
