"""The Range header: one part of a file, as browsers ask for it to go on with a download or to seek in a film."""

import re
from collections.abc import Mapping

from computepool.hub.core.errors import PoolError

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


class RangeNotSatisfiable(PoolError):
    status = 416
    code = "invalid"

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"The range is not a part of this file: it has {size_bytes} bytes.")


def asked_part(headers: Mapping[str, str], size_bytes: int, etag: str) -> tuple[int, int] | None:
    """Where the part begins and ends that was asked for; None for the whole. Several parts at once are not given, nor
    is a part of what is not the same any more (`If-Range`): that is answered with the whole, as HTTP allows."""
    found = _RANGE.fullmatch(headers.get("range", "").replace(" ", ""))
    if found is None or found[0] == "bytes=-" or headers.get("if-range", etag) != etag:
        return None
    first, last = found[1], found[2]
    if not first:
        start, stop = max(0, size_bytes - int(last)), size_bytes
    else:
        start, stop = int(first), min(size_bytes, int(last) + 1 if last else size_bytes)
        if last and int(last) < start:
            return None
    if start >= stop:
        raise RangeNotSatisfiable(size_bytes)
    return start, stop
