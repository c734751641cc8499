import pytest

from computepool.hub.nodes.notices import notice_for
from computepool.protocol.capacity import Capacity, Software
from computepool.protocol.states import IsolationLevel

BARE = Capacity(cpus=1, memory_bytes=1, disk_bytes=1)
OLD_RUNC = BARE.model_copy(update={"software": (Software(name="runc", version="1.1.5"),)})
CONTAINERS = OLD_RUNC.model_copy(update={"isolation": (IsolationLevel.CONTAINER,)})


@pytest.mark.parametrize(
    ("version", "capacity", "words"),
    [
        ("1.4", BARE, ""),
        ("1.3.9", BARE, "an upgrade is due"),
        ("1.2", BARE, "an upgrade is due"),
        ("1.1.9", BARE, "1.2 and newer"),
        ("a build of mine", BARE, ""),
        ("2.0", BARE, ""),
        ("1.4", OLD_RUNC, ""),
        ("1.4", CONTAINERS, "runc 1.1.5 is below the minimum"),
        ("1.1", CONTAINERS, "1.2 and newer"),
    ],
)
def test_owner_is_told_the_most_important_thing(version, capacity, words):
    notice = notice_for(version, "1.2", capacity, hub_version="1.4")
    assert (words in notice) if words else notice == ""
