"""Holds every answer that a test gets from a hub against the OpenAPI document, and every message of a stream against
its schema."""

import contextlib
import functools
import itertools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

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
    validator = _validator(json.dumps(answer["content"][media_type].get("schema", {})))
    errors = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in validator.iter_errors(response.json())
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
def _validator(schema: str) -> Any:
    """Of a schema as JSON text: many answers share one, that of errors above all."""
    described = json.loads(schema)
    schemas = document()["components"]["schemas"]
    reached = {name: schemas[name] for name in _reached(described, set())}
    return jsonschema_rs.Draft202012Validator({**described, "components": {"schemas": reached}}, validate_formats=True)


def _reached(schema: Any, found: set[str]) -> set[str]:
    """The names of all schemas that one refers to: the whole document takes long to compile."""
    if isinstance(schema, list):
        for part in schema:
            _reached(part, found)
    elif isinstance(schema, dict):
        name = str(schema.get("$ref", "")).removeprefix("#/components/schemas/")
        if name and name not in found:
            found.add(name)
            _reached(document()["components"]["schemas"][name], found)
        for part in schema.values():
            _reached(part, found)
    return found


def is_wrong(operation: Operation, request: httpx.Request) -> bool:
    """Whether a request, as it was sent, breaks the document. Outside of a body everything is text: `true` or a list
    of one in place of a text is no mistake there. A body that is not JSON is not judged."""
    raw_path = request.url.raw_path.decode().partition("?")[0]
    path = zip(operation.path.split("/"), raw_path.split("/"), strict=True)
    given = {
        "query": request.url.params.multi_items(),
        "path": [(name.strip("{}"), unquote(value)) for name, value in path if name.startswith("{")],
        "header": request.headers.multi_items(),
    }
    declared = [resolved(parameter) for parameter in operation.described.get("parameters", ())]
    if {name for name, _ in given["query"]} - {each["name"] for each in declared if each["in"] == "query"}:
        return True
    for parameter in declared:
        where, called = parameter["in"], parameter["name"]
        values = [value for name, value in given.get(where, ()) if name.lower() == called.lower()]
        if not (_fits(parameter["schema"], values) if values else not parameter.get("required")):
            return True
    return _is_wrong_body(operation.described.get("requestBody"), request)


def _fits(schema: dict[str, Any], values: list[str]) -> bool:
    """Whether some reading of a parameter's texts is what its schema says."""
    validator = _validator(json.dumps(schema))
    readings = [_readings(value) for value in values]
    alone = readings[0] if len(values) == 1 else []
    return any(validator.is_valid(value) for value in (*alone, *map(list, itertools.product(*readings))))


def _readings(text: str) -> list[Any]:
    found: list[Any] = [text]
    with contextlib.suppress(ValueError):
        found.append(int(text) if text.lstrip("-").isdecimal() else float(text))
    if text.lower() in ("true", "1", "yes", "on", "t", "y", "false", "0", "no", "off", "f", "n"):
        found.append(text.lower() in ("true", "1", "yes", "on", "t", "y"))
    return found


def _is_wrong_body(described: dict[str, Any] | None, request: httpx.Request) -> bool:
    if described is None:
        return False
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return bool(described.get("required"))
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if media_type not in described["content"]:
        return True
    if media_type != "application/json":
        return False
    try:
        body = json.loads(request.content)
    except ValueError:
        return True
    return not _validator(json.dumps(described["content"][media_type]["schema"])).is_valid(body)


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
