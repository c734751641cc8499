"""What pydantic found wrong with a value, in this house's words.

They go on after the name of the field: `since: is not a day, such as 2026-11-01`. What a validator of ours says is told
as it stands.
"""

from collections.abc import Mapping
from typing import Any

_DAY = "is not a day, such as 2026-11-01"
_TIME = "is not a time, such as 2026-11-01 or 2026-11-01T12:00:00Z"
_WHOLE = "is not a whole number"
_NUMBER = "is not a number"
_TABLE = "is not an object with fields"
_LIST = "is not a list"
_OTHERWISE = "is not what is expected here"

_PATTERNS = {
    r"^[A-Z]{2}$": "is not a country in two capital letters, such as IN",
    r"^[A-Za-z]{2}$": "is not a two-letter country code, such as IN",
    r"^[A-Za-z0-9][A-Za-z0-9._:=-]{0,63}$": "is not a letter or digit, and up to 63 more or . _ : = -",
    r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}$": "is not a letter or digit, and up to 39 more or spaces . _ -",
    r"^[a-zA-Z0-9_-]+$": "has more in it than letters, digits, _ and -",
    r"^[^\x00-\x1f\x7f]+$": "has a control character in it",
    r"^[^\x00]*$": "has a zero byte in it",
    r"^[ -~]*$": "has more in it than plain letters, digits and signs",
    r"^\d+(\.\d+)*$": "is not a version, such as 0.1",
    r"^sha256:[0-9a-f]{64}$": "is not sha256: and 64 hexadecimal digits",
}
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "json_invalid": "is not valid JSON: {error}",
    "string_type": "is not text",
    "string_unicode": "is not text in UTF-8",
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "finite_number": "is not a finite number",
    "greater_than": "has to be more than {gt}",
    "greater_than_equal": "has to be at least {ge}",
    "less_than": "has to be less than {lt}",
    "less_than_equal": "has to be at most {le}",
    "multiple_of": "is not a multiple of {multiple_of}",
    "decimal_max_digits": "has more than {max_digits} digits",
    "decimal_max_places": "has more than {decimal_places} decimals",
    "decimal_whole_digits": "has more than {whole_digits} digits before the point",
    "none_required": "has to be left out",
    # A bare number is taken for seconds, of which only some are a whole day: `2026` is no time that anybody meant.
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"), _DAY),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_object_invalid", "datetime_from_date_parsing"), _TIME
    ),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), _WHOLE),
    "int_parsing_size": "is too large a number",
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), _NUMBER),
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type", "mapping_type"), _TABLE),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), _LIST),
}


def words_for(problem: Mapping[str, Any]) -> str:
    """`problem` is one of a pydantic error's `errors()`."""
    kind: str = problem["type"]
    about: Mapping[str, Any] = problem.get("ctx") or {}
    if kind in ("value_error", "assertion_error"):
        return str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if kind in ("enum", "literal_error"):
        return _choice(str(about["expected"]))
    if kind in ("string_too_short", "too_short", "bytes_too_short"):
        return _short(about["min_length"], _things(kind))
    if kind in ("string_too_long", "too_long", "bytes_too_long"):
        return f"is too long: at most {_count(about['max_length'], _things(kind))}"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(str(about["pattern"]), _OTHERWISE)
    return _WORDS.get(kind, _OTHERWISE).format_map(about)


def _choice(expected: str) -> str:
    """Of `'a', 'b' or 'c'`."""
    return f"{'is none of' if ',' in expected else 'is not'} {expected.replace(chr(39), '')}"


def _things(kind: str) -> str:
    return "character" if kind.startswith("string") else "byte" if kind.startswith("bytes") else "item"


def _short(least: int, thing: str) -> str:
    return "is empty" if least == 1 else f"is too short: at least {_count(least, thing)}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
