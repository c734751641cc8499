"""Readers of single fields. Each takes a value of any kind and returns the canonical one, or raises `BadValueError`."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from computepool.protocol.countries import COUNTRIES, COUNTRY_SLIPS
from computepool.protocol.spec_errors import Problems
from computepool.protocol.spec_input import join_path
from computepool.protocol.units import BadValueError, nearest, short_repr

MAX_NAME_CHARS = 128
MAX_PATH_CHARS = 1024
MAX_LIST_ITEMS = 100
MAX_ARGUMENT_BYTES = 128 * 1024 - 1
"""Linux takes no longer single argument or environment entry."""
REFUSED_ENV_PREFIXES = ("NVIDIA_", "LD_", "COMPUTEPOOL_")
"""They steer the sandbox and the loader, not the program."""

ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=-]{0,63}")
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
NODE_ID = re.compile(r"node_[0-9a-z]{1,64}")
ARTIFACT_ID = re.compile(r"artifact_[0-9a-z]{1,64}")
IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:/-]*(?:@sha256:[0-9a-f]{64})?")

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class Section:
    """One mapping of a spec: its canonical keys, and under which path each was written."""

    def __init__(self, problems: Problems, path: str, values: Mapping[str, object], written: Mapping[str, str]) -> None:
        self.problems = problems
        self.path = path
        self._values = dict(values)
        self._written = dict(written)

    def field(self, key: str) -> str:
        return self._written.get(key) or join_path(self.path, key)

    def get(self, key: str) -> object:
        return self._values.get(key)

    def read(self, key: str, reader: Callable[[object], T], default: T) -> T:
        value = self._values.get(key)
        if value is None:
            return default
        return self.attempt(self.field(key), value, reader, default)

    def read_list(self, key: str, reader: Callable[[object], T], most: int = MAX_LIST_ITEMS) -> tuple[T, ...]:
        """A list, or a single item; each wrong one is reported under its own index."""
        value = self._values.get(key)
        if value is None:
            return ()
        if isinstance(value, Mapping):
            self.problems.add(self.field(key), value, "a list is needed, not a mapping", "write it like [a, b]")
            return ()
        if not isinstance(value, list):
            return tuple(item for item in [self.attempt(self.field(key), value, reader, None)] if item is not None)
        if len(value) > most:
            self.problems.add(self.field(key), value, f"{len(value)} items; at most {most} are allowed")
            return ()
        read = [self.attempt(f"{self.field(key)}[{index}]", item, reader, None) for index, item in enumerate(value)]
        return tuple(dict.fromkeys(item for item in read if item is not None))

    def attempt(self, field: str, value: object, reader: Callable[[object], T], default: T) -> T:
        try:
            return reader(value)
        except BadValueError as bad:
            self.problems.add(field, value, bad.message, bad.hint)
            return default


def open_section(
    problems: Problems,
    path: str,
    data: object,
    known: Iterable[str],
    aliases: Mapping[str, str] | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> Section:
    """Sorts the keys of a mapping into known, aliased and unknown ones; reports the unknown and the doubled."""
    known, aliases = tuple(known), aliases or {}
    values: dict[str, object] = {}
    written: dict[str, str] = {}
    if data is not None and not isinstance(data, Mapping):
        problems.add(path, data, f"{short_repr(data)} is not a mapping", f"its keys are {', '.join(known)}")
        data = None
    for key, value in (data or {}).items():
        field = join_path(path, key)
        canonical = key if key in known else aliases.get(key)
        if canonical is None:
            problems.add(
                field, value, f"the key {short_repr(key)} is not known here", _hint(key, known, aliases, elsewhere)
            )
        elif canonical in values:
            problems.add(field, value, f"{written[canonical]} says the same", "keep one of the two")
        else:
            values[canonical], written[canonical] = value, field
    return Section(problems, path, values, written)


def _hint(key: str, known: tuple[str, ...], aliases: Mapping[str, str], elsewhere: Mapping[str, str] | None) -> str:
    if elsewhere and key in elsewhere:
        return elsewhere[key]
    meant = nearest(key, (*known, *aliases))
    return f"did you mean {meant!r}?" if meant else f"the keys are {', '.join(known)}"


# ── scalars ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    meant = {"true": "true", "yes": "true", "on": "true", "1": "true", "false": "false", "no": "false", "0": "false"}
    word = meant.get(str(value).lower()) if isinstance(value, str | int) else None
    hint = f"write {word}, without quotes" if word else "write true or false"
    raise BadValueError(f"{short_repr(value)} is neither true nor false", hint)


def whole_number(least: int, most: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value.strip()) else value
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int):
            raise BadValueError(f"{short_repr(value)} is not a whole number", f"write one from {least} to {most}")
        if not least <= number <= most:
            closest = min(max(number, least), most)
            raise BadValueError(
                f"{short_repr(value)} is not from {least} to {most}", f"the nearest valid value is {closest}"
            )
        return number

    return read


def share(value: object) -> float:
    """A number from 0 to 1."""
    number = float(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadValueError(f"{short_repr(value)} is not a number", "write one from 0 to 1, such as 0.9")
    if not 0 <= number <= 1:
        closest = min(max(number, 0), 1)
        hint = (
            f"{number:g} percent is {number / 100:g}" if 1 < number <= 100 else f"the nearest valid value is {closest}"
        )
        raise BadValueError(f"{short_repr(value)} is not from 0 to 1", hint)
    return float(number)


def choice(options: type[E]) -> Callable[[object], E]:
    def read(value: object) -> E:
        words = [str(option) for option in options]
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in words:
            return options(word)
        meant = nearest(word, words)
        hint = f"did you mean {meant!r}?" if meant else "write one of these"
        raise BadValueError(f"{short_repr(value)} is not one of {', '.join(words)}", hint)

    return read


def text(value: object) -> str:
    if not isinstance(value, str):
        raise BadValueError(f"{short_repr(value)} is not text", "put it in quotes")
    if not value.strip():
        raise BadValueError("it is empty", "write something, or leave it out")
    return value


def label(value: object) -> str:
    """A name for people: one printable line."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    name = text(value).strip()
    if len(name) > MAX_NAME_CHARS:
        raise BadValueError(f"{len(name)} characters; at most {MAX_NAME_CHARS}", f"shorten it, e.g. to {name[:24]!r}")
    if not name.isprintable():
        raise BadValueError(f"{short_repr(name)} has characters that cannot be printed", "write it as one plain line")
    return name


def script(value: object) -> str:
    """Lines for a shell."""
    return argument(text(value))


def argument(value: str) -> str:
    size = len(value.encode())
    if size > MAX_ARGUMENT_BYTES:
        raise BadValueError(
            f"{size} bytes; at most {MAX_ARGUMENT_BYTES} fit in one argument", "put it in a file in `workdir`"
        )
    return value


def scalar_text(value: object) -> str:
    """Text; a number counts as its digits. True and false do not: YAML makes them of yes, on and no as well."""
    if isinstance(value, str):
        return argument(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadValueError(f"{short_repr(value)} is not text", "put it in quotes, exactly as the program should see it")


def matching(pattern: re.Pattern[str], kind: str, hint: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if isinstance(value, str) and pattern.fullmatch(value.strip()):
            return value.strip()
        raise BadValueError(f"{short_repr(value)} is not {kind}", hint)

    return read


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def env_name(value: object) -> str:
    if not isinstance(value, str) or not ENV_NAME.fullmatch(value) or len(value) > MAX_NAME_CHARS:
        suggestion = re.sub(r"[^A-Za-z0-9_]+", "_", value.strip())[:MAX_NAME_CHARS] if isinstance(value, str) else ""
        hint = (
            f"the nearest is {suggestion}"
            if ENV_NAME.fullmatch(suggestion)
            else "letters, digits and _, such as EPOCHS"
        )
        raise BadValueError(f"{short_repr(value)} is not the name of an environment variable", hint)
    for prefix in REFUSED_ENV_PREFIXES:
        if value.upper().startswith(prefix):
            raise BadValueError(
                f"{value} may not be set: names with {prefix} belong to the node", "choose another name"
            )
    return value


def country(value: object) -> str:
    if value is False:
        # The well-known YAML trap.
        raise BadValueError("false is not a country", 'for Norway write "NO" in quotes: YAML reads NO as false')
    code = value.strip().upper() if isinstance(value, str) else ""
    if code in COUNTRIES:
        return code
    meant = COUNTRY_SLIPS.get(code) or nearest_country(code)
    suggestion = f"did you mean {meant}? " if meant else ""
    hint = f"{suggestion}write two letters of ISO 3166, such as IN or DE"
    raise BadValueError(f"{short_repr(value)} is not a country", hint)


def nearest_country(code: str) -> str | None:
    return code[:2] if len(code) == 3 and code[:2] in COUNTRIES else None


def image(value: object) -> str:
    if isinstance(value, str) and len(value) <= 512 and IMAGE.fullmatch(value.strip()):
        return value.strip()
    raise BadValueError(f"{short_repr(value)} is not the name of an image", "write it like python:3.12-slim")


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def relative_path(value: object) -> str:
    """A path inside the job's folder, with forward slashes and nothing superfluous; `.` is the folder itself."""
    path = text(value).strip()
    if len(path) > MAX_PATH_CHARS:
        raise BadValueError(f"{len(path)} characters; a path has at most {MAX_PATH_CHARS}", "shorten it")
    if not path.isprintable():
        raise BadValueError(f"{short_repr(path)} has characters that cannot be printed", "rename it")
    if "\\" in path:
        raise BadValueError(f"{short_repr(path)} has backslashes", f"write {path.replace(chr(92), '/')[:60]}")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    inside = "/".join(part for part in parts if part not in ("..", "~")) or "."
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        hint = f"the nearest valid path is {re.sub(r'^[A-Za-z]:/?', '', inside)[:60] or '.'}"
        raise BadValueError(f"{short_repr(path)} is not relative to the job's folder", hint)
    if ".." in parts:
        raise BadValueError(f"{short_repr(path)} leaves the job's folder", f"the nearest valid path is {inside[:60]}")
    return inside


def named_path(value: object) -> str:
    path = relative_path(value)
    if path == ".":
        raise BadValueError(
            f"{short_repr(value)} is the job's folder itself", "name something in it, such as data/train.csv"
        )
    return path


def output_pattern(value: object) -> str:
    """A glob. A folder written with a slash at its end means all that is in it."""
    path = relative_path(value)
    if path == ".":
        return "**"
    return f"{path}/**" if str(value).rstrip().endswith("/") else path
