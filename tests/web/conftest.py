"""One hub with the built app for all stories here, a browser for each file, and a browser profile for each test.

Add a story: `def test_…(visitor): page = visitor.sign_in("ann")`. Machines: `web_pool.join("attic")`. A page that logs
an error or a warning to its console fails its test; what a story means to happen it forgives (`visitor.forgive`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.fake_stripe.server import KEY, FakeStripe, fake_stripe
from support.fake_stripe.webhooks import SECRET
from support.pool import Pool, running_pool
from support.web import Visitor, built_app, opened_browser


@pytest.fixture(scope="session", params=["@web"])
def web_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A hub without any machine."""
    built_app()
    folder: Path = tmp_path_factory.mktemp("web")
    with running_pool(folder / "pool") as pool:
        yield pool


@pytest.fixture(scope="session")
def web_stripe() -> Iterator[FakeStripe]:
    with fake_stripe() as stripe:
        yield stripe


@pytest.fixture(scope="session")
def card_pool(tmp_path_factory: pytest.TempPathFactory, web_pool: Pool, web_stripe: FakeStripe) -> Iterator[Pool]:
    """A hub that takes cards and pays hosts by Stripe alone. A story may leave there what no other should see."""
    settings = {"SECRET_KEY": KEY, "WEBHOOK_SECRET": SECRET, "API_URL": web_stripe.url}
    variables = {f"COMPUTEPOOL_STRIPE_{name}": value for name, value in settings.items()}
    with running_pool(tmp_path_factory.mktemp("cards") / "pool", variables) as pool:
        yield pool


@pytest.fixture(scope="module")
def web_browser(web_pool: Pool) -> Iterator[Browser]:
    """Closed after each file: while it is open, a loop runs in this thread, and other tests could not run theirs."""
    with opened_browser() as browser:
        yield browser


@pytest.fixture
def visitors(web_pool: Pool, web_browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """Several people, each with a browser of their own: `visitors()`, or `visitors(card_pool)`."""
    made: list[Visitor] = []

    def visit(pool: Pool = web_pool) -> Visitor:
        made.append(Visitor(web_browser, pool))
        return made[-1]

    yield visit
    for visitor in made:
        visitor.context.close()
    assert [problem for visitor in made for problem in visitor.problems] == []


@pytest.fixture
def visitor(visitors: Callable[[], Visitor]) -> Visitor:
    return visitors()
