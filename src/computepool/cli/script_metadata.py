"""The inline metadata of Python scripts (PEP 723): what a script needs, written in comments at its top."""

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from computepool.cli.errors import CliError, clean
from computepool.protocol.spec_review import SpecWarning

MAX_SCRIPT_BYTES = 1024 * 1024
"""Of a larger file nothing is read: nobody writes such a script by hand."""
IMAGES_OF_PYTHON = (13, 12, 14, 11, 10, 9, 8)
"""Minor versions of Python 3, in the order in which one is proposed."""
_BLOCK = re.compile(r"^# /// script[ \t]*\n((?:#(?:| .*)\n)*?)# ///[ \t]*$", re.MULTILINE)
_OPENING = re.compile(r"^# /// script[ \t]*$", re.MULTILINE)
_CLAUSE = re.compile(r"(~=|==|!=|<=|>=|<|>)\s*(\d+(?:\.\d+){0,2})(\.\*)?")
_FIRST, _LAST = (0, 0, 0), (99, 0, 0)

Version = tuple[int, int, int]
Clause = tuple[bool, Version, Version]
"""Whether it excludes, and from which version to below which one."""


@dataclass(frozen=True)
class ScriptMetadata:
    script: str
    dependencies: tuple[str, ...]
    requires_python: str | None
    clauses: tuple[Clause, ...]
    has_tool_settings: bool

    def added_to(self, spec: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[SpecWarning, ...]]:
        """The spec with a `setup` that installs what the script needs, and what to say of it. A given `setup`, or for
        the Python a given `image`, counts instead."""
        merged, notes = dict(spec), []
        if merged.get("setup") is not None:
            if self.dependencies or self.clauses:
                message = f"The metadata in {self.script} is ignored: `setup` is given."
                notes.append(SpecWarning(code="dropped_key", field="setup", message=message))
            return merged, tuple(notes)
        lines = []
        if self.clauses and merged.get("image") is not None:
            message = f"`requires-python` in {self.script} is not checked: `image` is given."
            notes.append(SpecWarning(code="dropped_key", field="image", message=message))
        elif self.clauses:
            lines.append(self._check_python())
            message = f"{self.script} requires Python {self.requires_python}: a node with another one ends the job"
            message += f"; to bring one along: {hint}." if (hint := self._image_option()) else "."
            notes.append(SpecWarning(code="other_systems_key", field="setup", message=message))
        if self.dependencies:
            install = f"pip install --quiet {shlex.join(self.dependencies)}"
            lines.append(install)
            message = f"`dependencies` in {self.script} is read as `setup: {install}`."
            notes.append(SpecWarning(code="other_systems_key", field="setup", message=message))
        if self.has_tool_settings:
            message = f"`[tool]` in {self.script} is ignored: pip installs, from the index of the node."
            notes.append(SpecWarning(code="dropped_key", field="setup", message=message))
        if lines:
            merged["setup"] = "\n".join(lines)
        return merged, tuple(notes)

    def accepts(self, version: Version) -> bool:
        return all((low <= version < high) != excludes for excludes, low, high in self.clauses)

    def _image_option(self) -> str:
        minor = next((minor for minor in IMAGES_OF_PYTHON if self.accepts((3, minor, 98))), None)
        if minor is not None:
            return f"--image python:3.{minor}"
        # Of an exact version there is an image too.
        exact = next((low for _, low, high in self.clauses if self.accepts(low) and low != _FIRST), None)
        return f"--image python:{'.'.join(map(str, exact))}" if exact is not None else ""

    def _check_python(self) -> str:
        """A line of shell that fails where the Python is another one."""
        hint = f" Submit it with {option}." if (option := self._image_option()) else ""
        words = f"{clean(self.script)} requires Python {self.requires_python}, and this is Python "
        code = (
            "import sys\n"
            f"if not all((a <= sys.version_info[:3] < b) != no for no, a, b in {self.clauses!r}):\n"
            f"    sys.exit({words!r} + sys.version.split()[0] + '.' + {hint!r})"
        )
        return f"python3 -c {shlex.quote(code)}"


def metadata_of(script: Path) -> ScriptMetadata | None:
    """What a Python script says of itself; None where it says nothing. Raises CliError if it cannot be understood."""
    if script.suffix != ".py" or script.stat().st_size > MAX_SCRIPT_BYTES:
        return None
    try:
        text = script.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return None
    return read_metadata(text, script.name)


def read_metadata(text: str, name: str) -> ScriptMetadata | None:
    openings = list(_OPENING.finditer(text))
    if not openings:
        return None
    first = _line_at(text, openings[0].start())
    match = _BLOCK.search(text)
    if match is None or match.start() != openings[0].start():
        raise _bad(name, first, "the block that begins here has no end", "End it with a line `# ///`.")
    if len(openings) > 1:
        line = _line_at(text, openings[1].start())
        raise _bad(name, line, "there is a second `script` block", "Keep one of them.")
    content = "\n".join(line[2:] for line in match[1].splitlines())
    try:
        found = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = re.search(r"line (\d+)", message)
        line = first + (int(place[1]) if place else len(content.splitlines()))
        raise _bad(name, line, f"it is not TOML: {message.partition(' (at ')[0]}", _SHAPE) from None
    dependencies, requires = found.get("dependencies", []), found.get("requires-python")
    if not isinstance(dependencies, list):
        raise _bad(name, _line_of(content, "dependencies", first), "`dependencies` is not a list", _SHAPE)
    for dependency in dependencies:
        # Also what pip would take for one of its options.
        if not isinstance(dependency, str) or not re.match(r"[A-Za-z0-9]", dependency) or "\n" in dependency:
            line = _line_of(content, str(dependency), first)
            raise _bad(name, line, f"{dependency!r} is not a dependency", _SHAPE)
    return ScriptMetadata(
        script=name,
        dependencies=tuple(dependencies),
        requires_python=requires,
        clauses=_read_clauses(requires, name, _line_of(content, "requires-python", first)),
        has_tool_settings="tool" in found,
    )


_SHAPE = 'Such as: dependencies = ["requests>=2", "rich"] and requires-python = ">=3.11".'


def _read_clauses(requires: object, name: str, line: int) -> tuple[Clause, ...]:
    if requires is None:
        return ()
    parts = [part.strip() for part in requires.split(",") if part.strip()] if isinstance(requires, str) else []
    matches = [_CLAUSE.fullmatch(part) for part in parts]
    clauses = [_clause(match[1], match[2], wild=bool(match[3])) for match in matches if match is not None]
    found = [clause for clause in clauses if clause is not None]
    if not parts or len(found) != len(parts):
        message = f"`requires-python` {str(requires)[:60]!r} names no versions of Python"
        raise _bad(name, line, message, 'Such as ">=3.11", ">=3.10,<3.13", "~=3.12" or "==3.12.*".')
    return tuple(found)


def _clause(sign: str, text: str, *, wild: bool) -> Clause | None:
    numbers = tuple(int(part) for part in text.split("."))
    low = _padded(numbers)
    if wild:
        return (sign == "!=", low, _padded(_next(numbers))) if sign in ("==", "!=") else None
    after = (low[0], low[1], low[2] + 1)
    match sign:
        case "~=":
            return (False, low, _padded(_next(numbers[:-1]))) if len(numbers) > 1 else None
        case "==" | "!=":
            return sign == "!=", low, after
        case ">=" | ">":
            return False, low if sign == ">=" else after, _LAST
        case _:
            return False, _FIRST, low if sign == "<" else after


def _next(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return (*numbers[:-1], numbers[-1] + 1)


def _padded(numbers: tuple[int, ...]) -> Version:
    first, second, third = (*numbers, 0, 0)[:3]
    return first, second, third


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _line_of(content: str, word: str, first: int) -> int:
    """Where it is written, counted from 1 in the script; the block's first line if nowhere."""
    lines = content.splitlines()
    return next((first + number for number, line in enumerate(lines, start=1) if word in line), first)


def _bad(name: str, line: int, message: str, hint: str) -> CliError:
    return CliError(f"{name}, line {line}: {message}.", hint, 2)
