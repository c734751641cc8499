"""Who runs which test, and when, if a run has several workers (pytest-xdist).

Every test goes to the next worker that is free, but tests that share something expensive, a running pool for example,
go to one worker, one after the other. They say so in their id, by a parameter of the fixture that they share:

    @pytest.fixture(scope="module", params=["@up"])

The marker `xdist_group` does not do it: pytest-xdist 3.8 writes the group into an attribute that pytest 9.2 does not
read, and says nothing.

Some tests wait, for hubs, agents and sandboxes that are processes of their own, others compute. If all that wait came
first, as the longest, the processors would idle then, and later all workers would want them at once: `mixed` spreads
both over the run, the long ones of each first, so that at the end no worker waits long for another. The quick ones of
a file stay together, some dozens at least, as they may share what the file sets up.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

WAITING = ("tests/agent/", "tests/cli/", "tests/client/", "tests/e2e/", "tests/security/", "tests/test_")
SECONDS_OF_A_GROUP, SECONDS_OF_A_SLOW_TEST, SECONDS_OF_ANOTHER = 30.0, 10.0, 0.15
"""On average; only what they are to each other matters."""
TOGETHER = 40
ONE_IN = 6
"""Of a file's stories, one in so many runs on PostgreSQL too."""


class SharingScheduler(LoadScopeScheduling):  # type: ignore[misc]
    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the order is `mixed`'s

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid) or nodeid


def group_of(nodeid: str) -> str | None:
    found = re.search(r"@([\w-]+)\]$", nodeid)
    return found[1] if found else None


def mixed(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    waiting, computing = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (waiting if item.nodeid.startswith(WAITING) else computing).append(item)
    placed = [*_place(waiting), *_place(computing)]
    return [item for _, item in sorted(placed, key=lambda each: each[0])]


def _place(items: Sequence[pytest.Item]) -> Iterator[tuple[float, pytest.Item]]:
    """Each with the part of its kind's time that is over when its turn comes: from 0 to 1."""
    pieces: dict[tuple[str, int], list[pytest.Item]] = {}
    alone, met = list[list[pytest.Item]](), Counter[str]()
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        file, group = item.nodeid.partition("::")[0], group_of(item.nodeid)
        if group is not None:
            groups.setdefault(group, []).append(item)
        elif is_slow(item):
            alone.append([item])
        else:
            pieces.setdefault((file, met[file] // TOGETHER), []).append(item)
            met[file] += 1
    timed = [(SECONDS_OF_A_GROUP, group) for group in groups.values()]
    timed += [(SECONDS_OF_A_SLOW_TEST, one) for one in alone]
    timed += [(SECONDS_OF_ANOTHER * len(piece), piece) for piece in pieces.values()]
    whole, passed = sum(seconds for seconds, _ in timed), 0.0
    for seconds, together in timed:
        yield from ((passed / whole, item) for item in together)
        passed += seconds


def is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def rest_on_postgresql(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Stories of the hub (fixture `hub_url`) that run on PostgreSQL only with --both-databases: all of a file but its
    first, seventh and so on.

    They run one transaction after the other, so what PostgreSQL may find is a statement that it reads otherwise, and
    hundreds of stories share their statements. Tests of transactions at the same time ask for PostgreSQL by name.
    """
    met: Counter[str] = Counter()
    for item in items:
        case = getattr(item, "callspec", None)
        if case is None or case.params.get("hub_url") != "postgresql":
            continue
        file = item.nodeid.partition("::")[0]
        met[file] += 1
        if met[file] % ONE_IN != 1:
            yield item
