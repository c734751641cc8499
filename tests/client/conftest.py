from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fake_api import TOKEN, FakeHub

from computepool.client import Pool


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        yield hub


@pytest.fixture
def pool(hub: FakeHub, tmp_path: Path) -> Iterator[Pool]:
    with Pool(hub.url, TOKEN, tmp_path / "home") as pool:
        # A hub that never answered gets two seconds, and a busy machine may take longer than that.
        pool._http.reached = True
        yield pool
