"""Both databases, with their schema in place: migrated once, then copied."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.engine import prepare_database
from support.services import Postgres


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "hub.db"
    prepare_database(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_hub(migrated_file: Path) -> Iterator[str]:
    # In memory where there is such a folder: what is tested here is logic, and fsync on a busy disk takes long.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        shutil.copy(migrated_file, Path(folder, "hub.db"))
        yield f"sqlite:///{folder}/hub.db"


@pytest.fixture
def postgres_hub(postgres_server: Postgres) -> Iterator[str]:
    with postgres_server.database(postgres_server.template("hub", prepare_database)) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def hub_url(request: pytest.FixtureRequest) -> str:
    """The URL of a fresh database with the hub's schema: the test runs once on each kind."""
    return request.getfixturevalue("sqlite_hub" if request.param == "sqlite" else "postgres_hub")
