"""Every class of error that a hub has."""

from collections.abc import Iterator

import computepool.hub.app
import computepool.hub.serving.http_connection  # noqa: F401  with the app, every module that defines one
from computepool.hub.core.errors import PoolError


def error_classes(base: type[PoolError] = PoolError) -> Iterator[type[PoolError]]:
    yield base
    for derived in base.__subclasses__():
        if derived.__module__.startswith("computepool."):
            yield from error_classes(derived)
