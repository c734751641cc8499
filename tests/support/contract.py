"""Holds every answer that a test gets from a hub against the OpenAPI document, and every message of a stream against
its schema."""

import functools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import jsonschema_rs
from support.seen_codes import note_answer

DOCUMENT = Path(__file__).resolve().parents[1] / "snapshots" / "openapi.json"
MESSAGES = DOCUMENT.with_name("event-messages.json")
TYPED_STREAMS = re.compile(r"/api/v1/(events|public/events|jobs/[^/]+/stream[?](.*&)?frames=changes)\b")


class Operation(NamedTuple):
    method: str
    path: str
    pattern: re.Pattern[str]
    described: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.described["operationId"])


@functools.cache
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return found


@functools.cache
def operations() -> tuple[Operation, ...]:
    """Those with fewer parameters in their paths first: `/nodes/join-tokens` is not a node."""
    found = []
    for path, methods in document()["paths"].items():
        pattern = re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/")))
        found += [Operation(method.upper(), path, pattern, described) for method, described in methods.items()]
    return tuple(sorted(found, key=lambda operation: operation.path.count("{")))


def operation_of(method: str, path: str) -> Operation | None:
    for operation in operations():
        if operation.method == method and operation.pattern.fullmatch(path):
            return operation
    return None


def resolved(described: dict[str, Any]) -> dict[str, Any]:
    """With a reference followed."""
    if "$ref" not in described:
        return described
    found: Any = document()
    for part in described["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return resolved(found)


async def check_answer(response: httpx.Response) -> None:
    """For an httpx client's hooks. Raises where an answer is not what the document promises."""
    await note_answer(response)
    operation = operation_of(response.request.method, response.request.url.path)
    if operation is None or response.status_code == 405:
        return
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return  # it has no end
    await response.aread()
    problem = find_problem(operation, response)
    assert problem is None, f"{operation.method} {operation.path}: {problem}"


def find_problem(operation: Operation, response: httpx.Response) -> str | None:
    status = str(response.status_code)
    if status not in operation.described["responses"]:
        hint = "name the error at the route, as one of its `errors`"
        return f"answered {status}, which openapi.json does not know: {hint}. {response.text[:300]}"
    answer = resolved(operation.described["responses"][status])
    if not answer.get("content"):
        return f"answered {response.text[:80]!r}, and openapi.json knows of no content" if response.content else None
    media_type = response.headers.get("content-type", "").partition(";")[0]
    if media_type not in answer["content"]:
        return f"answered {media_type!r}; openapi.json has {', '.join(answer['content'])}"
    if media_type != "application/json":
        return None
    errors = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in _validator(operation.id, status).iter_errors(response.json())
    ]
    if errors:
        return f"answered {status} with a body that does not fit openapi.json: {'; '.join(errors)[:800]}"
    return _undocumented_code(answer, response.json())


def _undocumented_code(answer: dict[str, Any], body: Any) -> str | None:
    code = body["error"]["code"] if "x-codes" in answer else None
    if code is None or code in answer["x-codes"]:
        return None
    return f"answered with the code {code}, which openapi.json does not have there ({', '.join(answer['x-codes'])})"


@functools.cache
def _validator(operation_id: str, status: str) -> Any:
    operation = next(each for each in operations() if each.id == operation_id)
    schema = resolved(operation.described["responses"][status])["content"]["application/json"].get("schema", {})
    return jsonschema_rs.Draft202012Validator({**schema, "components": document()["components"]})


def check_message(path: str, message: dict[str, Any]) -> None:
    """Raises where a message of a stream is not what the schemas promise. `path`: with its query."""
    if not TYPED_STREAMS.match(path):
        return
    validator = _message_validators().get(message["type"])
    assert validator is not None, f"{path}: the type {message['type']} is not in event-messages.json"
    errors = [f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in validator.iter_errors(message)]
    assert not errors, f"{path}: {message['type']} does not fit event-messages.json: {'; '.join(errors)[:800]}"


@functools.cache
def _message_validators() -> dict[str, Any]:
    schemas = json.loads(MESSAGES.read_text())["from_hub"].values()
    return {schema["properties"]["type"]["const"]: jsonschema_rs.Draft202012Validator(schema) for schema in schemas}
