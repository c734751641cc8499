"""The OpenAPI document says what a program has to know, of every operation and every field."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from support.contract import document, operations, resolved
from support.error_classes import error_classes

import computepool.hub.app
from computepool.hub.core.money import MoneyOff
from computepool.hub.core.openapi import TAGS
from computepool.protocol.errors import ErrorCode
from computepool.protocol.spec import parse_spec
from computepool.protocol.spec_aliases import RESOURCE_ALIASES, RESOURCE_KEYS, SPEC_ALIASES, SPEC_KEYS, WHERE_KEYS

SOURCE = Path(computepool.hub.app.__file__).parent
SCHEMAS: dict[str, Any] = document()["components"]["schemas"]
NOT_TOLD = {
    "head_too_large": "the server refuses the head before there is a route",
    "too_slow": "the server gives up on a request before there is a route",
    "method_not_allowed": "an operation that the document has is allowed",
    "refused": "for a status that no code of the hub raises by itself",
    "ledger_key_taken": "a mistake of the hub itself, answered as 500 with its own code",
    "stale_lease": "told to agents, by a message",
    "unknown_node": "told to agents, by the poll",
    "output_altered": "told to agents, by a message",
    "upload_mismatch": "of URLs that the hub signs, where the store is its own disk",
    "upload_over": "of URLs that the hub signs, where the store is its own disk",
    "request_changed": "a mistake of the hub itself: the same key for another request to the processor",
}
"""Codes that no operation of the document has, and why."""


def answered(operation: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of its good answers."""
    for status, response in operation.described["responses"].items():
        for media_type, content in resolved(response).get("content", {}).items():
            if status < "400" and "schema" in content and media_type != "application/schema+json":
                yield status, content["schema"]


def walk(schema: Any, seen: set[str], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within one, each named one once."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in seen:
            return
        seen.add(name)
        place, schema = name, SCHEMAS[name]
    yield place, schema
    for name, below in schema.get("properties", {}).items():
        yield from walk(below, seen, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from walk(schema[key], seen, f"{place}[]")
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for choice in schema.get(key, ()):
            yield from walk(choice, seen, place)


def all_answers() -> Iterator[tuple[str, dict[str, Any]]]:
    seen: set[str] = set()
    for operation in operations():
        for _, schema in answered(operation):
            yield from walk(schema, seen, operation.id)


# ── names and texts ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_operation_has_a_name_of_its_area():
    names = [operation.id for operation in operations()]
    assert len(names) == len(set(names))
    for operation in operations():
        area = operation.described["tags"][0]
        assert re.fullmatch(rf"{area.replace('-', '_')}(_[a-z0-9]+)+", operation.id), operation.id
        assert area in TAGS


def test_every_operation_says_what_it_does():
    silent = [operation.id for operation in operations() if not operation.described.get("description")]
    assert silent == [], "write a docstring: one sentence for people who see only the name and this"


def test_every_field_and_parameter_says_what_it_means():
    fields = [
        f"{name}.{field}"
        for name, schema in SCHEMAS.items()
        for field, described in schema.get("properties", {}).items()
        if not described.get("description")
    ]
    parameters = [
        f"{operation.id}.{parameter['name']}"
        for operation in operations()
        for parameter in operation.described.get("parameters", ())
        if not parameter.get("description")
    ]
    assert fields + parameters == [], "write a text below the field, or a line in hub/api/glossary.py"


def test_no_schema_is_named_after_a_module():
    assert [name for name in SCHEMAS if "__" in name] == [], "two classes share a name"


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_free(schema: dict[str, Any]) -> bool:
    """Anything may be there."""
    shaped = {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"}
    if not shaped & schema.keys():
        return True
    if schema.get("type") == "array":
        return not (schema.get("items") or schema.get("prefixItems"))
    return schema.get("type") == "object" and not (
        schema.get("properties") or isinstance(schema.get("additionalProperties"), dict)
    )


def test_no_answer_has_a_field_that_may_be_anything():
    """A generated client would have `unknown` there."""
    assert [place for place, schema in all_answers() if is_free(schema)] == []


def test_every_good_answer_has_a_schema():
    for operation in operations():
        good = operation.described["responses"].get("200") or operation.described["responses"].get("201")
        assert "204" in operation.described["responses"] or good["content"], operation.id


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def raised_codes() -> set[str]:
    """Of every call that gives an error a code of its own."""
    names = {error.__name__ for error in error_classes()}
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names:
                found |= {
                    str(keyword.value.value)
                    for keyword in node.keywords
                    if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
                }
    return found


def test_codes_are_those_of_the_error_classes():
    declared = {code for error in error_classes() for code in (error.code, *error.codes)}
    assert raised_codes() <= declared, "name it as one of the `codes` of its class"
    by_status = {"bad_request", "method_not_allowed", "refused"}  # of errors that are no class: http_shell.CODES
    assert set(get_args(ErrorCode)) == declared | by_status
    assert SCHEMAS["ErrorCode"]["enum"] == sorted(get_args(ErrorCode))


def told_codes() -> set[str]:
    return {
        code
        for operation in operations()
        for response in operation.described["responses"].values()
        for code in resolved(response).get("x-codes", ())
    }


def test_every_code_is_told_by_an_operation_or_has_a_reason():
    assert told_codes() | NOT_TOLD.keys() == set(get_args(ErrorCode))
    assert not told_codes() & NOT_TOLD.keys()


def test_every_error_is_an_error_body():
    for operation in operations():
        for status, response in operation.described["responses"].items():
            if status >= "400":
                schema = resolved(response)["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorBody"}, operation.id


def test_operations_about_money_are_marked():
    for operation in operations():
        codes = resolved(operation.described["responses"].get("404", {})).get("x-codes", [])
        assert not operation.described.get("x-money") or MoneyOff.code in codes, operation.id


@pytest.mark.parametrize("status", ["429", "503"])
def test_whoever_has_to_wait_is_told_how_long(status):
    for operation in operations():
        assert "Retry-After" in resolved(operation.described["responses"][status])["headers"]


# ── the written spec ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_spec_has_every_key_and_alias_in_its_schema():
    written, resources = SCHEMAS["WrittenSpec"]["properties"], SCHEMAS["WrittenResources"]["properties"]
    assert set(SPEC_KEYS) | set(SPEC_ALIASES) <= written.keys()
    assert set(RESOURCE_KEYS) | set(RESOURCE_ALIASES) <= resources.keys()
    assert set(WHERE_KEYS) == SCHEMAS["WrittenWhere"]["properties"].keys()
    assert set(SPEC_KEYS) == SCHEMAS["WireSpec"]["properties"].keys()


def test_examples_of_the_spec_are_specs():
    for example in SCHEMAS["WrittenSpec"]["examples"]:
        parse_spec(example)
