"""Every test here has a pool of its own, made of real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.pool import Pool, remove_paths, running_pool


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    """A hub without any machine, on SQLite and local disk."""
    with running_pool(tmp_path / "pool") as pool:
        yield pool


@pytest.fixture(scope="session", autouse=True)
def _paths_are_removed() -> Iterator[None]:
    yield
    remove_paths()
