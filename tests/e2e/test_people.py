"""Two people on one hub: what one of them has does not exist for the other."""

from collections.abc import Iterator

import pytest
from support import pool as pools

from computepool.client import NotSignedIn, Pool
from computepool.client.logs import LogChunk

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["@people"])
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pools.Pool]:
    """One hub and one bare machine, `alpha`."""
    with pools.running_pool(tmp_path_factory.mktemp("pool")) as pool:
        pool.join_without_bubblewrap("alpha")
        yield pool


def test_other_people_see_and_touch_nothing(pool):
    (agent,) = pool.agents
    mine = pool.submit("sh", "-c", "echo private; sleep 60", name="mine")
    pool.until_running(mine.id)
    bob = pool.register("bob")
    assert bob.cli("whoami", "--json").expect(0).json["email"] == "bob@example.org"
    assert bob.cli("ps", "-a", "--json").expect(0).json["items"] == []
    assert bob.cli("nodes", "--json").expect(0).json["items"] == []
    for words in (
        ("show", mine.id),
        ("logs", mine.id),
        ("why", mine.id),
        ("get", mine.id),
        ("verify", mine.id),
        ("cancel", mine.id, "-y"),
        ("retry", mine.id),
        ("node", "show", agent.node_id),
        ("node", "tags", agent.node_id, "bobs"),
    ):
        refused = bob.cli(*words).expect(1)
        assert "private" not in refused.text
        assert "no such" in refused.err.lower() or "there is no" in refused.err.lower(), f"{words}: {refused.err}"
    assert pool.client.job(mine.id).state == "running"
    pool.client.cancel(mine.id)
    assert pool.until_state(mine.id, "canceled")


def test_revoked_token_stops_working_at_once(pool):
    token = pool.cli("token", "create", "ci", "--json").expect(0).json["token"]
    as_ci = {"COMPUTEPOOL_TOKEN": token, "COMPUTEPOOL_URL": pool.url}
    pool.cli("ps", environment=as_ci).expect(0)
    pool.cli("token", "revoke", "ci").expect(0)
    refused = pool.cli("ps", environment=as_ci).expect(77)
    assert "login" in refused.err


def test_revoked_token_loses_its_open_stream(pool):
    job = pool.submit("sh", "-c", "echo begun; sleep 3600; echo secret", name="mine")
    pool.until_running(job.id)
    token = pool.cli("token", "create", "ci", "--json").expect(0).json["token"]
    seen, is_revoked = b"", False

    def follow():
        nonlocal seen, is_revoked
        with Pool(pool.url, token, pool.folder / "nobodys") as client:
            for event in client.follow(job.id):
                if isinstance(event, LogChunk):
                    seen += event.data
                if seen and not is_revoked:
                    pool.cli("token", "revoke", "ci").expect(0)
                    is_revoked = True

    with pytest.raises(NotSignedIn, match="signed out"):
        follow()
    assert is_revoked
    assert seen == b"begun\n"
    pool.client.cancel(job.id)
    pool.until_state(job.id, "canceled")
