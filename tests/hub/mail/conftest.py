from collections.abc import Iterator

import pytest
from support.mail_server import MailServer, mail_server
from support.mailing import ADA, BEN, Office


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


@pytest.fixture
def office(sqlite_hub: str, server: MailServer) -> Iterator[Office]:
    """With two people, and a server that takes everything."""
    made = Office(sqlite_hub, server.url)
    made.know(ADA)
    made.know(BEN)
    yield made
    made.close()
