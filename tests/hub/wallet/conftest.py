from collections.abc import Iterator

import pytest
from support.truth import Truth


@pytest.fixture
def truth(hub_url: str) -> Iterator[Truth]:
    """Jobs and their money in a database, on each kind; what must always hold is checked at the end of each test."""
    truth = Truth(hub_url)
    truth.begin_anew()
    yield truth
    truth.check()
    truth.close()
