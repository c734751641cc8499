"""The first look at a spec that came from outside: bounded in size and depth, and holding only what JSON can say.

YAML can hold more than JSON: dates, keys that are not text, one node in a thousand places, a list inside itself.
What passes here is a copy made of plain dicts, lists and scalars, so that the readers need not be afraid.
"""

import math
import re
from collections.abc import Mapping

from computepool.protocol.spec_errors import FieldProblem, Problems, SpecError
from computepool.protocol.units import short_repr

MAX_SPEC_BYTES = 256 * 1024
MAX_DEPTH = 16
MAX_INTEGER = 2**63 - 1

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_./-]{1,80}")


def join_path(path: str, key: object) -> str:
    """`resources` and `gpu` → `resources.gpu`; keys of any shape stay readable."""
    name = key if isinstance(key, str) and _PLAIN_KEY.fullmatch(key) else f"[{short_repr(key)}]"
    return f"{path}.{name}" if path else name


def clean_input(data: object, problems: Problems) -> dict[str, object]:
    """A copy of sound values; the others are left out and reported. Raises at once when the whole is unusable."""
    if not isinstance(data, Mapping):
        hint = "a spec is a mapping of keys such as `run` and `resources`"
        raise SpecError(
            [FieldProblem(field="spec", value=short_repr(data), message="the spec is not a mapping", hint=hint)]
        )
    return _Cleaner(problems).mapping("", data, 0)


def too_large(field: str = "spec") -> SpecError:
    hint = "send large data as files in `workdir` or as `inputs`"
    message = f"the spec is larger than {MAX_SPEC_BYTES // 1024} KiB"
    return SpecError([FieldProblem(field=field, message=message, hint=hint)])


class _Cleaner:
    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._bytes_left = MAX_SPEC_BYTES

    def mapping(self, path: str, data: Mapping[object, object], depth: int) -> dict[str, object]:
        self._descend(path, depth)
        result: dict[str, object] = {}
        for key, value in data.items():
            if not isinstance(key, str):
                hint = "put it in quotes; YAML reads words such as on, yes and no as true or false"
                self._problems.add(join_path(path, key), key, f"the key {short_repr(key)} is not text", hint)
                continue
            self._spend_text(key)
            where = join_path(path, key)
            if self._is_sound_text(where, key):
                result[key] = self._value(where, value, depth + 1)
        return result

    def _value(self, path: str, value: object, depth: int) -> object:
        """The value, or None in place of one that was reported."""
        if isinstance(value, Mapping):
            return self.mapping(path, value, depth)
        if isinstance(value, list | tuple):
            self._descend(path, depth)
            return [self._value(f"{path}[{index}]", item, depth + 1) for index, item in enumerate(value)]
        if isinstance(value, str):
            self._spend_text(value)
            # str(): a subclass could bring its own behaviour.
            return str(value) if self._is_sound_text(path, value) else None
        self._spend(1)
        return self._scalar(path, value)

    def _scalar(self, path: str, value: object) -> object:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            if abs(value) <= MAX_INTEGER:
                return value
            self._problems.add(path, value, f"{short_repr(value)} is too large a number", "it must fit in 64 bits")
        elif isinstance(value, float):
            if math.isfinite(value):
                return value
            self._problems.add(path, value, f"{short_repr(value)} is not a number", "write a finite number")
        else:
            kind = type(value).__name__
            self._problems.add(path, value, f"a {kind} cannot be used here", "if text was meant, put it in quotes")
        return None

    def _is_sound_text(self, path: str, text: str) -> bool:
        if "\0" in text:
            self._problems.add(path, text, "the text holds a NUL character", "remove it")
            return False
        try:
            text.encode()
        except UnicodeEncodeError:
            self._problems.add(path, text, "the text is not valid Unicode", "save the file as UTF-8")
            return False
        return True

    def _descend(self, path: str, depth: int) -> None:
        self._spend(2)
        if depth > MAX_DEPTH:
            message = f"the spec is nested deeper than {MAX_DEPTH} levels"
            raise SpecError([FieldProblem(field=path[:200], message=message, hint="flatten it")])

    def _spend_text(self, text: str) -> None:
        self._spend(len(text) + 2)

    def _spend(self, size_bytes: int) -> None:
        """Counts no more than the JSON would take, so that a spec within the limit always passes again."""
        self._bytes_left -= size_bytes
        if self._bytes_left < 0:
            raise too_large()
