"""Who runs which test when a run has several workers (pytest-xdist).

Every test goes to the next worker that is free, but tests that share something expensive, a running pool for example,
go to one worker, one after the other. They say so in their id, by a parameter of the fixture that they share:

    @pytest.fixture(scope="module", params=["@up"])

The marker `xdist_group` does not do it: pytest-xdist 3.8 writes the group into an attribute that pytest 9.2 does not
read, and says nothing.
"""

import re

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


class SharingScheduler(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        found = re.search(r"@([\w-]+)\]$", nodeid)
        return found[1] if found else nodeid
