"""What other programs rely on, kept in files. A change shows up as a difference, and has to be meant."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "snapshots"
VARIABLE = "COMPUTEPOOL_UPDATE_SNAPSHOTS"


def compare(name: str, now: Any, breaks: Callable[[Any, Any], list[str]] = lambda _before, _now: []) -> None:
    """`breaks`: what a program that was built against the first would stumble over in the second. A snapshot is not
    rewritten while there is something."""
    path, before = FOLDER / name, load(name)
    found = breaks(before, now) if before is not None else []
    assert not found, "\n".join([f"What was built against tests/snapshots/{name} would stumble:", *sorted(found)])
    text = json.dumps(now, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get(VARIABLE) == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return
    assert path.exists(), f"tests/snapshots/{name} is missing: run this test with {VARIABLE}=1, and commit the file."
    if path.read_text() != text:
        difference = "\n".join(differences(json.loads(path.read_text()), json.loads(text)))
        raise AssertionError(
            f"tests/snapshots/{name} is not what the code says:\n{difference}\n\n"
            f"If that is meant, run this test with {VARIABLE}=1 and commit the file with the change. Programs were "
            "built against the old one: changes must only add. Nothing may be removed, renamed or become required."
        )


def load(name: str) -> Any:
    path = FOLDER / name
    return json.loads(path.read_text()) if path.exists() else None


def differences(before: Any, after: Any, place: str = "", limit: int = 40) -> list[str]:
    """In words, place by place."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = [f"- {place}/{key}" for key in before.keys() - after.keys()]
        found += [f"+ {place}/{key}" for key in after.keys() - before.keys()]
        for key in sorted(before.keys() & after.keys()):
            found += differences(before[key], after[key], f"{place}/{key}", limit)
        return found[:limit]
    return [] if before == after else [f"~ {place}: {_short(before)} → {_short(after)}"]


def breaking(before: dict[str, Any], after: dict[str, Any], place: str, *, grows: bool = False) -> list[str]:
    """What a peer that was built against the schema `before` would stumble over in the schema `after`.

    `grows`: the peer only reads it, and passes over values that it does not know. Then new values are no break, nor is
    a new field that is always there; a field that was always there must stay so.
    """
    return _Comparison(before, after, grows).look(before, after, place, frozenset())


class _Comparison:
    def __init__(self, old_root: dict[str, Any], new_root: dict[str, Any], grows: bool) -> None:
        self._old_root = old_root
        self._new_root = new_root
        self._grows = grows

    def look(self, old: dict[str, Any], new: dict[str, Any], place: str, seen: Any) -> list[str]:
        names = (old.get("$ref"), new.get("$ref"))
        if names in seen:
            return []
        if any(names):
            seen = seen | {names}
            old, new = _resolved(old, self._old_root), _resolved(new, self._new_root)
        found = []
        if old.get("type") != new.get("type"):
            found.append(f"{place} was {_short(old.get('type'))} and is {_short(new.get('type'))}")
        before, after = set(old.get("enum", ())), set(new.get("enum", ()))
        if (before - after if self._grows else before != after) or old.get("const") != new.get("const"):
            found.append(f"{place} has other values: an older peer refuses those that it does not know")
        if "properties" in old or "properties" in new:
            found += self._look_at_fields(old, new, place, seen)
        if "items" in old and "items" in new:
            found += self.look(old["items"], new["items"], f"{place}[]", seen)
        for choices in ("anyOf", "prefixItems"):
            for index, (one, other) in enumerate(zip(old.get(choices, ()), new.get(choices, ()), strict=False)):
                found += self.look(one, other, f"{place}|{index}", seen)
            if len(old.get(choices, ())) > len(new.get(choices, ())):
                found.append(f"{place} takes less than it did")
        return found

    def _look_at_fields(self, old: dict[str, Any], new: dict[str, Any], place: str, seen: Any) -> list[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        was, is_ = set(old.get("required", ())), set(new.get("required", ()))
        found = [f"{place}.{name} was removed" for name in before.keys() - after.keys()]
        if self._grows:
            gone = sorted(was & after.keys() - is_)
            found += [f"{place}.{name} is no longer always there" for name in gone]
        else:
            found += [f"{place}.{name} became required: an older peer does not send it" for name in sorted(is_ - was)]
        for name in sorted(before.keys() & after.keys()):
            found += self.look(before[name], after[name], f"{place}.{name}", seen)
        return found


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref")
    return root["$defs"][name.rsplit("/", 1)[1]] if name else schema


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"
