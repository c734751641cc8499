"""`policy.toml`: read with care, written with its explanations.

A broken file never leaves the machine unprotected: the last policy that could be read stays, across restarts too, and
the trouble is told. If there never was one, strangers are turned away until the file is mended.
"""

import contextlib
import json
import stat
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from computepool.agent.home import write_atomically
from computepool.agent.owner.policy import GpuRules, Policy, Section, Welcome
from computepool.agent.owner.values import Expected
from computepool.protocol.problem_words import words_for
from computepool.protocol.units import nearest, short_repr

NAME = "policy.toml"
LAST_GOOD_NAME = "policy.last-good.toml"
FILE_LIMIT_BYTES = 1024 * 1024
WRAPPED_COLUMNS = 100

HEADER = """\
What this machine's owner allows. Read again within seconds when it is saved.
A line that begins with # is the default; remove the # to change it.
"""


class PolicyError(ValueError):
    """A policy that cannot be used: each line says where, what is wrong, and what to write."""


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_policy(text: str) -> Policy:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"not valid TOML: {error}") from None
    return policy_of(values)


def policy_of(values: Mapping[str, Any]) -> Policy:
    try:
        return Policy.model_validate(values)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        raise PolicyError("\n".join(dict.fromkeys(_told(one) for one in found))) from None


def _told(error: ErrorDetails) -> str:
    # Types and validators leave words of their own at the end of the path; keys of the file are what is wanted.
    path = [str(part) for part in error["loc"]]
    section, field, keys = _find(path)
    where = ".".join(keys) or "the file"
    if error["type"] == "extra_forbidden" and section is not None:
        meant = nearest(keys[-1], section.model_fields)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(section.model_fields)}"
        return f"{where}: no such setting; {hint}"
    problem = words_for(error)
    if error["type"] in {"model_type", "dict_type"}:
        return f"{where}: {short_repr(error['input'])} is not a table; write [{where}], and its settings below"
    if field is None:
        return f"{where}: {problem}"
    expected = expected_of(field)
    if error["type"] == "value_error" and ";" in problem:
        return f"{where}: {problem}"
    if error["type"] != "value_error":
        problem = f"{short_repr(error['input'])} is wrong"
    return f"{where}: {problem}; expected {expected}" if expected else f"{where}: {problem}"


def _find(path: list[str]) -> tuple[type[BaseModel] | None, FieldInfo | None, list[str]]:
    """The section and the field that an error's path leads to, and the keys of the file on the way."""
    section: type[BaseModel] = Policy
    for index, key in enumerate(path):
        field = section.model_fields.get(key)
        if key == "gpu" and section is Policy and len(path) > index + 1:
            below = path[index + 2 :]
            inner = GpuRules.model_fields.get(below[0]) if below else None
            return GpuRules, inner, path[: index + 3]
        if field is None:
            return section, None, path[: index + 1]
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            section = field.annotation
            continue
        return section, field, path[: index + 1]
    return section, None, path


def expected_of(field: FieldInfo) -> str:
    for one in field.metadata:
        if isinstance(one, Expected):
            return one.words
    annotation = field.annotation
    if isinstance(annotation, type) and hasattr(annotation, "__members__"):
        return "one of " + ", ".join(f'"{one}"' for one in annotation if one != "process")
    words = [str(word) for word in get_args(annotation)]
    return "one of " + ", ".join(f'"{word}"' for word in words) if words else "text"


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def settings_of(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, str]]:
    """Each setting of a section: its key, its field, and its default as it is written."""
    shown = model().model_dump(mode="json")
    for key, field in model.model_fields.items():
        if field.description is not None:
            yield key, field, toml_value(shown[key])


def sections() -> Iterator[tuple[str, type[Section]]]:
    """The tables of the file, in its order; the first has no name."""
    yield "", Policy
    for key, field in Policy.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield key, field.annotation


def toml_of(policy: Policy) -> str:
    """The whole file, with explanations. `parse_policy` gives the same policy back."""
    lines = [*_comment(HEADER), ""]
    values = policy.model_dump(mode="json")
    for name, model in sections():
        lines += _table(f"[{name}]" if name else "", model, values[name] if name else values)
    lines += _comment(
        "One GPU by its id, as `computepool agent status --json` shows it. What is not written is as above:\n"
        '[gpu."GPU-…"]\nshare = false'
    )
    for gpu_id, rules in policy.gpu.items():
        lines += ["", f"[gpu.{json.dumps(gpu_id)}]"]
        shown = rules.model_dump(mode="json")
        lines += [f"{key} = {toml_value(shown[key])}" for key in GpuRules.model_fields if key in rules.model_fields_set]
    return "\n".join(lines) + "\n"


def _table(head: str, model: type[Section], values: Mapping[str, Any]) -> list[str]:
    lines = _comment(" ".join((model.__doc__ or "").split())) if head and model.__doc__ else []
    if head:
        lines.append(head)
    for key, field, default in settings_of(model):
        lines += _comment(field.description or "")
        value = toml_value(values[key])
        lines.append(f"{key} = {value}" if value != default else f"#{key} = {value}")
    return [*lines, ""]


def _comment(text: str) -> list[str]:
    lines = []
    for line in text.strip().splitlines():
        lines += textwrap.wrap(line.strip(), WRAPPED_COLUMNS) or [""]
    return [f"# {line}".rstrip() for line in lines]


def toml_value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case list():
            return f"[{', '.join(toml_value(one) for one in value)}]"
    # A JSON string is a TOML string, but for one character.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def changed(policy: Policy, key: str, value: object) -> Policy:
    """The policy with one setting changed: `start.after_idle`, or `gpu.ID.share`. Raises PolicyError."""
    values = policy.model_dump(mode="json")
    values["gpu"] = {
        gpu_id: {name: shown for name, shown in values["gpu"][gpu_id].items() if name in rules.model_fields_set}
        for gpu_id, rules in policy.gpu.items()
    }
    section, _, name = key.rpartition(".")
    place: Any = values
    if section.startswith("gpu."):
        place = values["gpu"].setdefault(section.removeprefix("gpu."), {})
    elif section:
        place = values.get(section)
        if not isinstance(place, dict):
            meant = nearest(section, [name for name, _ in sections() if name])
            raise PolicyError(f"{key}: no such setting" + (f"; did you mean {meant}?" if meant else ""))
    place[name] = value
    return policy_of(values)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class PolicyFile:
    """The policy in an agent's folder, as it is now. All methods block briefly on the disk."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._last_good = folder / LAST_GOOD_NAME
        self._mark: tuple[int, int, int] | str | None = "unread"
        self.policy = Policy()
        self.problem = ""
        """What is wrong with the file; while there is something, an earlier policy holds."""

    def refresh(self) -> bool:
        """Read it again if it has changed. Whether anything is different now. Never raises."""
        mark = self._marked()
        if mark == self._mark:
            return False
        first, self._mark = self._mark == "unread", mark
        before = (self.policy, self.problem)
        try:
            self.policy = self._read()
            self.problem = ""
        except (PolicyError, OSError) as error:
            self.problem = f"{self.path.name} is not used: {error}"
            if first:
                self.policy = self._remembered()
        else:
            self._remember()
        return first or before != (self.policy, self.problem)

    def write(self, policy: Policy) -> None:
        """Save it, with every explanation. Raises OSError."""
        write_atomically(self.path, toml_of(policy).encode())
        self.refresh()

    def write_default_if_missing(self) -> None:
        if not self.path.exists():
            self.write(Policy())

    def _marked(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> Policy:
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise PolicyError("not a file")
            with self.path.open("rb") as file:
                data = file.read(FILE_LIMIT_BYTES + 1)
        except FileNotFoundError:
            return Policy()
        if len(data) > FILE_LIMIT_BYTES:
            raise PolicyError(f"larger than {FILE_LIMIT_BYTES} bytes")
        try:
            return parse_policy(data.decode())
        except UnicodeDecodeError:
            raise PolicyError("not text in UTF-8") from None

    def _remember(self) -> None:
        """Without it, a restart with a broken file would forget what its owner forbade."""
        # Not being able to is no reason not to follow the policy.
        with contextlib.suppress(OSError):
            data = toml_of(self.policy).encode()
            if not self._last_good.exists() or self._last_good.read_bytes() != data:
                write_atomically(self._last_good, data)

    def _remembered(self) -> Policy:
        try:
            return parse_policy(self._last_good.read_text())
        except (OSError, ValueError):
            self.problem += "; no earlier one is known, so that strangers' work is turned away"
            return Policy(welcome=Welcome(strangers=False))
