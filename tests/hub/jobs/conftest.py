import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.engine import prepare_database
from support.services import Postgres
from support.truth import Truth


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_truth(request: pytest.FixtureRequest, migrated_file: Path) -> Iterator[Truth]:
    """One database for a whole file of tests: each makes its own job."""
    if request.param == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(migrated_file, Path(folder, "hub.db"))
            truth = Truth(f"sqlite:///{folder}/hub.db")
            yield truth
            truth.close()
    else:
        server: Postgres = request.getfixturevalue("postgres_server")
        with server.database(server.template("hub", prepare_database)) as url:
            truth = Truth(url)
            yield truth
            truth.close()


@pytest.fixture
def truth(shared_truth: Truth) -> Iterator[Truth]:
    """Jobs in a database; what must always hold is checked at the end of each test."""
    yield shared_truth
    shared_truth.check()
