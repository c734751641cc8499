"""A job spec as text: YAML or JSON to plain values with their places, and back.

YAML is read from its events. Only what JSON can say comes out, and what the text may cost is bounded: its size, its
depth, and what merge keys copy. An alias refers to a value that is complete, so that none contains itself.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from computepool.protocol.spec_input import MAX_SPEC_BYTES, join_path

MAX_TEXT_BYTES = 4 * MAX_SPEC_BYTES
"""As it was written, with its spaces and comments."""
MAX_TEXT_DEPTH = 32
MAX_TEXT_VALUES = 20_000
"""Scalars, lists, mappings and aliases: many more than a valid spec can have, and read in a fifth of a second."""
MAX_NUMBER_LENGTH = 100
"""Of a number or a date: YAML reads 1:00:00 to the base 60, which takes minutes for a megabyte of it."""
MAX_MERGED_KEYS = 10_000
"""That `<<` may copy in one text."""
MERGE = "tag:yaml.org,2002:merge"
_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "timestamp", "map", "seq", "merge")
)
_NUMBER_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp"))
# libyaml is ten times as fast, and in most builds of PyYAML.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Where something is written, counted from 1."""

    line: int
    column: int


class SpecTextError(ValueError):
    """The text is neither YAML nor JSON, or more than a spec may be. `place` is None where it has none."""

    def __init__(self, message: str, place: TextPlace | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


@dataclass(frozen=True, slots=True)
class SpecText:
    value: Any
    """Plain values; most often a mapping, but that is for `parse_spec` to say."""
    places: Mapping[str, TextPlace] = field(default_factory=dict)
    """By field, as `parse_spec` names it: the place of its key, or of the item of a list."""

    def place_of(self, name: str) -> TextPlace | None:
        """Of the field, or else of what it is in."""
        while name:
            if name in self.places:
                return self.places[name]
            name = name[: max(name.rfind("."), name.rfind("["), 0)]
        return None


def read_yaml(text: str) -> SpecText:
    """Raises SpecTextError."""
    try:
        reader = _Reader(yaml.parse(text, _LOADER))
        return SpecText(reader.document(), reader.places)
    except yaml.MarkedYAMLError as error:
        raise SpecTextError(error.problem or "it is not valid YAML", _place(error.problem_mark)) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise SpecTextError(str(error).partition("\n")[0]) from None


def read_json(text: str) -> SpecText:
    """Raises SpecTextError. A key that is there twice is refused: JSON's reader would drop the first."""
    try:
        return SpecText(json.loads(text, object_pairs_hook=_each_once))
    except json.JSONDecodeError as error:
        raise SpecTextError(f"it is not valid JSON: {error.msg}", TextPlace(error.lineno, error.colno)) from None
    except SpecTextError:
        raise
    except (RecursionError, ValueError):
        raise SpecTextError("it is nested too deeply, or has too long a number") from None


def write_yaml(wire: Mapping[str, object]) -> str:
    """Text that reads as the same, with scripts as blocks."""
    text: str = yaml.dump(dict(wire), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Writes text of several lines as a block."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _write_text(dumper: Any, text: str) -> yaml.ScalarNode:
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)
    return node


_Dumper.add_representer(str, _write_text)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SpecTextError(f"the key {key[:100]!r} is there twice")
        found[key] = value
    return found


def _place(mark: Any) -> TextPlace | None:
    return None if mark is None else TextPlace(mark.line + 1, mark.column + 1)


class _Reader:
    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self.places: dict[str, TextPlace] = {}
        self._events = events
        self._anchors: dict[str, Any] = {}
        self._resolver: Any = yaml.resolver.Resolver()
        self._constructor: Any = yaml.constructor.SafeConstructor()
        self._merged = 0
        self._count = 0

    def document(self) -> Any:
        next(self._events)  # the stream begins
        first = next(self._events)
        if isinstance(first, yaml.StreamEndEvent):
            return None
        value = self._value(next(self._events), "", 0)
        next(self._events)  # the document ends
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise SpecTextError("a second document begins here, and a spec is one", _place(after.start_mark))
        return value

    def _value(self, event: yaml.Event, path: str, depth: int) -> Any:
        place = _place(event.start_mark)
        self._count += 1
        if self._count > MAX_TEXT_VALUES:
            raise SpecTextError(f"it has more than {MAX_TEXT_VALUES} values", place)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise SpecTextError(f"the alias *{event.anchor} refers to nothing that is complete before it", place)
            return self._anchors[event.anchor]
        if depth > MAX_TEXT_DEPTH:
            raise SpecTextError(f"it is nested deeper than {MAX_TEXT_DEPTH} levels", place)
        if isinstance(event, yaml.MappingStartEvent):
            self._check_tag(event.tag, place)
            value: Any = self._mapping(path, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._check_tag(event.tag, place)
            value = self._sequence(path, depth)
        else:
            assert isinstance(event, yaml.ScalarEvent)
            value = self._scalar(event)[1]
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _sequence(self, path: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            here = f"{path}[{len(found)}]"
            self._note(here, _place(event.start_mark))
            found.append(self._value(event, here, depth + 1))
        return found

    def _mapping(self, path: str, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        merged: list[Mapping[Any, Any]] = []
        written: dict[str, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            place = _place(event.start_mark)
            assert place is not None
            if not isinstance(event, yaml.ScalarEvent):
                raise SpecTextError("a key has to be text", place)
            tag, key = self._scalar(event)
            if event.value in written:
                first = written[event.value]
                raise SpecTextError(f"the key {event.value[:100]!r} is there twice, first in line {first}", place)
            written[event.value] = place.line
            if tag == MERGE:
                merged += self._to_merge(self._value(next(self._events), path, depth + 1), place)
                continue
            here = join_path(path, key)
            self._note(here, place)
            found[key] = self._value(next(self._events), here, depth + 1)
        for other in merged:
            for key, value in other.items():
                found.setdefault(key, value)
        return found

    def _to_merge(self, value: Any, place: TextPlace) -> list[Mapping[Any, Any]]:
        """Of several the first wins, as in YAML."""
        several = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in several):
            raise SpecTextError("<< takes a mapping, or a list of mappings", place)
        self._merged += sum(map(len, several))
        if self._merged > MAX_MERGED_KEYS:
            raise SpecTextError(f"<< copies more than {MAX_MERGED_KEYS} keys", place)
        return several

    def _scalar(self, event: yaml.ScalarEvent) -> tuple[str, Any]:
        """Its tag, as it was written or as YAML makes it out, and its value."""
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        self._check_tag(tag, _place(event.start_mark))
        if tag == MERGE:
            return tag, event.value
        if tag in _NUMBER_TAGS and len(event.value) > MAX_NUMBER_LENGTH:
            raise SpecTextError("it has too long a number", _place(event.start_mark))
        node = yaml.ScalarNode(tag, event.value)
        try:
            return tag, self._constructor.construct_object(node)
        except (ValueError, LookupError, ArithmeticError, AttributeError, yaml.YAMLError):  # `!!int x`, 2026-99-99
            place = _place(event.start_mark)
            raise SpecTextError(f"{event.value[:40]!r} is not what it looks like; put text in quotes", place) from None

    def _check_tag(self, tag: str | None, place: TextPlace | None) -> None:
        if tag is not None and tag not in _PLAIN_TAGS:
            short = tag.replace("tag:yaml.org,2002:", "!!")[:60]
            raise SpecTextError(f"the tag {short} cannot be used here", place)

    def _note(self, path: str, place: TextPlace | None) -> None:
        if place is not None:
            self.places.setdefault(path, place)
