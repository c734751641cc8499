"""One hub with the built app for all stories here, a browser for each file, and a browser profile for each test.

Add a story: `def test_…(visitor): page = visitor.sign_in("ann")`. Machines: `web_pool.join("attic")`. A page that logs
an error or a warning to its console fails its test; what a story means to happen it forgives (`visitor.forgive`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.pool import Pool, running_pool
from support.web import DESKTOP, Visitor, built_app, opened_browser


@pytest.fixture(scope="session", params=["@web"])
def web_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A hub without any machine."""
    built_app()
    folder: Path = tmp_path_factory.mktemp("web")
    with running_pool(folder / "pool") as pool:
        yield pool


@pytest.fixture(scope="module")
def web_browser(web_pool: Pool) -> Iterator[Browser]:
    """Closed after each file: while it is open, a loop runs in this thread, and other tests could not run theirs."""
    with opened_browser() as browser:
        yield browser


@pytest.fixture
def visitors(web_pool: Pool, web_browser: Browser) -> Iterator[Callable[[], Visitor]]:
    """Several people, each with a browser of their own."""
    made: list[Visitor] = []

    def visit() -> Visitor:
        made.append(Visitor(web_browser.new_context(viewport=DESKTOP), web_pool))
        return made[-1]

    yield visit
    for visitor in made:
        visitor.context.close()
    assert [problem for visitor in made for problem in visitor.problems] == []


@pytest.fixture
def visitor(visitors: Callable[[], Visitor]) -> Visitor:
    return visitors()
