"""What is wrong with a value is said in this house's words, whoever found it."""

import json
import re
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core._pydantic_core import list_all_errors

from computepool.protocol.problem_words import words_for

OPENAPI = Path(__file__).resolve().parents[1] / "snapshots" / "openapi.json"
THEIRS = re.compile(r"[Ii]nput|should|valid d|parse|None|[{}]|^[A-Z]")


class Thing(BaseModel):
    model_config = {"extra": "forbid"}
    name: str


def told(kind: Any, value: object) -> str:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return words_for(caught.value.errors(include_url=False)[0])


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (date, "abc", "is not a day, such as 2026-11-01"),
        (date, "2026", "is not a day, such as 2026-11-01"),
        (date, "2026-11-01T12:00:00Z", "is not a day, such as 2026-11-01"),
        (datetime, "abc", "is not a time, such as 2026-11-01 or 2026-11-01T12:00:00Z"),
        (int, "many", "is not a whole number"),
        (int, 1.5, "is not a whole number"),
        (Annotated[int, Field(ge=1)], 0, "has to be at least 1"),
        (Annotated[int, Field(le=9)], 10, "has to be at most 9"),
        (Literal["on", "off"], "maybe", "is not on or off"),
        (Literal["a", "b", "c"], "d", "is none of a, b or c"),
        (Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], "  ", "is empty"),
        (Annotated[str, Field(min_length=3)], "x", "is too short: at least 3 characters"),
        (Annotated[str, Field(max_length=1)], "xy", "is too long: at most 1 character"),
        (Annotated[list[int], Field(max_length=2)], [1, 2, 3], "is too long: at most 2 items"),
        (Annotated[str, Field(pattern=r"^[A-Z]{2}$")], "india", "is not a country in two capital letters, such as IN"),
        (Thing, {}, "is missing"),
        (Thing, {"name": "a", "colour": "red"}, "is not known here"),
        (Thing, 5, "is not an object with fields"),
        (str, 5, "is not text"),
        (bool, "perhaps", "is neither true nor false"),
    ],
)
def test_a_wrong_value_is_told_in_our_words(kind, value, words):
    assert told(kind, value) == words


def test_what_a_validator_of_ours_says_is_told_as_it_stands():
    problem = {"type": "value_error", "msg": "Value error, expected file:///path or s3://bucket"}
    assert words_for(problem) == "expected file:///path or s3://bucket"


@pytest.mark.parametrize("one", list_all_errors(), ids=lambda one: one["type"])
def test_no_kind_of_problem_is_told_in_words_of_the_library(one):
    if one["type"] in ("value_error", "assertion_error"):
        return
    words = words_for({"type": one["type"], "msg": one["message_template_python"], "ctx": one.get("example_context")})
    assert not THEIRS.search(words), words


def test_every_pattern_of_the_api_is_told_in_words():
    patterns = set(re.findall(r'"pattern": ("[^"]*")', OPENAPI.read_text()))
    assert patterns
    for pattern in patterns:
        words = words_for({"type": "string_pattern_mismatch", "msg": "", "ctx": {"pattern": json.loads(pattern)}})
        assert "expected here" not in words, pattern
