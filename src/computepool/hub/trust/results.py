"""What an attempt produced, as one digest that others can be compared with. Pure."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from computepool.hub.jobs.verification import is_result
from computepool.protocol.receipt import OutputRef

__all__ = ["Result", "independent", "is_result", "result_digest"]


@dataclass(frozen=True, slots=True)
class Result:
    """One node's answer."""

    owner_id: str
    """Of the node: two nodes of one owner are one voice."""
    digest: str
    may_judge: bool = True
    """The node has a record of right results: its word can prove another wrong."""
    attempt_id: str = ""


def result_digest(exit_code: int | None, outputs: Iterable[OutputRef]) -> str:
    """Of how the command ended, and of what it left behind: paths and contents. Not of logs, which hold times."""
    files = sorted((one.path, one.digest) for one in outputs)
    text = json.dumps([exit_code, files], ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def independent(results: Iterable[Result], but: str = "") -> list[Result]:
    """The first of each owner, without one owner's."""
    found: dict[str, Result] = {}
    for one in results:
        if one.owner_id != but:
            found.setdefault(one.owner_id, one)
    return list(found.values())
