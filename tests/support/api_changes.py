"""What a program that was built against one OpenAPI document would stumble over in the next.

Additions are fine: operations, optional parameters and fields of requests, fields and values of answers, errors.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

Schema = Mapping[str, Any]
Direction = Literal["sent", "answered"]
MOVED_SCOPES = {
    "account:read": {"wallet:read"},
    "account:write": {"wallet:write", "wallet:payout"},
    "admin": {"admin:read", "admin:write"},
}
"""Tokens that had the one when the other was made have both: tests/hub/accounts/test_scopes.py."""
UPPER = ("maximum", "maxLength", "maxItems", "exclusiveMaximum")
LOWER = ("minimum", "minLength", "minItems", "exclusiveMinimum")


def breaking_changes(before: Schema, after: Schema) -> list[str]:
    return list(_Comparison(before, after).document())


class _Comparison:
    def __init__(self, before: Schema, after: Schema) -> None:
        self.before, self.after = before, after

    def document(self) -> Iterator[str]:
        for path, operations in self.before["paths"].items():
            for method, old in operations.items():
                new = self.after["paths"].get(path, {}).get(method)
                name = f"{method.upper()} {path}"
                if new is None:
                    yield f"{name} was removed"
                else:
                    yield from self.operation(old, new, name)

    def operation(self, old: Schema, new: Schema, name: str) -> Iterator[str]:
        for fact in ("operationId", "x-scope", "x-visible"):
            if old.get(fact) != new.get(fact) and new.get(fact) not in MOVED_SCOPES.get(str(old.get(fact)), ()):
                yield f"{name}: {fact} was {old.get(fact)} and is {new.get(fact)}"
        yield from self.parameters(old, new, name)
        yield from self.request(old.get("requestBody"), new.get("requestBody"), name)
        for status, response in old["responses"].items():
            if status.startswith("2"):
                yield from self.response(response, new["responses"].get(status), f"{name} {status}")

    def parameters(self, old: Schema, new: Schema, name: str) -> Iterator[str]:
        before = {(each["in"], each["name"]): each for each in old.get("parameters", ())}
        after = {(each["in"], each["name"]): each for each in new.get("parameters", ())}
        for key, parameter in after.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                yield f"{name}: the parameter {key[1]} became required"
        for key, parameter in before.items():
            if key not in after:
                yield f"{name}: the parameter {key[1]} was removed"
            else:
                yield from self.schema(parameter["schema"], after[key]["schema"], f"{name} {key[1]}", "sent", ())

    def request(self, old: Schema | None, new: Schema | None, name: str) -> Iterator[str]:
        if new is not None and new.get("required") and (old is None or not old.get("required")):
            yield f"{name}: a body became required"
        for media_type, content in (old or {}).get("content", {}).items():
            now = (new or {}).get("content", {}).get(media_type)
            if now is None:
                yield f"{name}: no longer takes {media_type}"
            else:
                yield from self.schema(content.get("schema", {}), now.get("schema", {}), f"{name} body", "sent", ())

    def response(self, old: Schema, new: Schema | None, name: str) -> Iterator[str]:
        if new is None:
            yield f"{name} was removed"
            return
        for header in old.get("headers", {}):
            if header not in new.get("headers", {}):
                yield f"{name}: the header {header} was removed"
        for media_type, content in old.get("content", {}).items():
            now = new.get("content", {}).get(media_type)
            if now is None:
                yield f"{name}: no longer answers with {media_type}"
            else:
                yield from self.schema(content.get("schema", {}), now.get("schema", {}), name, "answered", ())

    def schema(
        self, old: Schema, new: Schema, place: str, direction: Direction, seen: tuple[Any, ...]
    ) -> Iterator[str]:
        names = (old.get("$ref"), new.get("$ref"))
        if any(names) and names in seen:
            return
        seen = (*seen, names)
        before, after = _choices(old, self.before), _choices(new, self.after)
        if len(before) == len(after) == 1:
            yield from self.choice(before[0], after[0], place, direction, seen)
            return
        # Whoever reads must know every choice; whoever writes must find each of theirs.
        unknown, known = (after, before) if direction == "answered" else (before, after)
        for choice in unknown:
            pairs = [(other, choice) if direction == "answered" else (choice, other) for other in known]
            if not any(not list(self.choice(*pair, place, direction, seen)) for pair in pairs):
                yield f"{place} {'may be' if direction == 'answered' else 'may no longer be'} {_short(choice)}"

    def choice(
        self, old: Schema, new: Schema, place: str, direction: Direction, seen: tuple[Any, ...]
    ) -> Iterator[str]:
        reader, writer = (old, new) if direction == "answered" else (new, old)
        if _is_anything(reader):
            return
        if reader.get("type") != writer.get("type") and not (
            reader.get("type") == "number" and writer.get("type") == "integer"
        ):
            yield f"{place} was {_short(old)} and is {_short(new)}"
            return
        missing = set(_values(old)) - set(_values(new)) if _values(new) else set()
        if missing:
            yield f"{place} lost the values {', '.join(sorted(map(str, missing)))}"
        if direction == "sent" and _values(new) and not _values(old):
            yield f"{place} takes only some values now"
        if direction == "answered" and _values(old) and not _values(new):
            yield f"{place} may have any value now"
        if direction == "sent":
            yield from _tightened(old, new, place)
        yield from self.fields(old, new, place, direction, seen)
        for inner in ("items", "additionalProperties"):
            if isinstance(old.get(inner), Mapping) and isinstance(new.get(inner), Mapping):
                yield from self.schema(old[inner], new[inner], f"{place}[]", direction, seen)

    def fields(
        self, old: Schema, new: Schema, place: str, direction: Direction, seen: tuple[Any, ...]
    ) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        for name in sorted(before.keys() - after.keys()):
            yield f"{place}.{name} was removed"
        required, was_required = set(new.get("required", ())), set(old.get("required", ()))
        if direction == "sent":
            for name in sorted(required - was_required):
                yield f"{place}.{name} became required"
        else:
            for name in sorted((was_required - required) & after.keys()):
                yield f"{place}.{name} is no longer always there"
        for name in sorted(before.keys() & after.keys()):
            yield from self.schema(before[name], after[name], f"{place}.{name}", direction, seen)


def _choices(schema: Schema, document: Schema) -> list[Schema]:
    """What a value may be, with references followed."""
    if "$ref" in schema:
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return _choices(target, document)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return [found for choice in schema[key] for found in _choices(choice, document)]
    return [schema]


def _is_anything(schema: Schema) -> bool:
    return not any(key in schema for key in ("type", "enum", "const", "properties"))


def _values(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _tightened(old: Schema, new: Schema, place: str) -> Iterator[str]:
    for key in UPPER:
        if key in new and new[key] < old.get(key, float("inf")):
            yield f"{place}: {key} is {new[key]}, and was {old.get(key, 'not limited')}"
    for key in LOWER:
        if key in new and new[key] > old.get(key, float("-inf")):
            yield f"{place}: {key} is {new[key]}, and was {old.get(key, 'not limited')}"
    if "pattern" in new and new["pattern"] != old.get("pattern"):
        yield f"{place} has to match {new['pattern']}"


def _short(schema: Schema) -> str:
    return str(schema.get("title") or schema.get("enum") or schema.get("type") or "anything")[:80]
