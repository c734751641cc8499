"""The hub's OpenAPI document: what FastAPI reads from the routes, and what only the hub knows of them.

FastAPI describes an error that this hub never sends. Here each operation gets those that it does send. Most follow from
facts: an operation with a token may answer 401 and 403, one with a body 413, one with an Idempotency-Key 409. What is
left, a route names as its `errors`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from fastapi import FastAPI

from computepool.hub.core.edge import TooBusyForStrangers, TooManyConnections, TooManyFailures, TooManyRequests
from computepool.hub.core.errors import (
    Forbidden,
    Invalid,
    NotFound,
    PoolError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from computepool.hub.core.http import Gate, GatedRoute, MissingScope, NoSuchTeam, RoleTooLow
from computepool.hub.core.idempotency import KeyReused
from computepool.protocol.errors import ErrorBody, ErrorCode
from computepool.protocol.model import SHOWN_AS

DESCRIPTION = """\
The API of a pool of idle GPUs. The CLI, the SDK and the web pages use nothing else.

**Tokens.** `Authorization: Bearer TOKEN`, with a personal access token or an access token of `auth/login`. `x-scope` is
the scope that a token needs for an operation, `x-visible` says whose objects it shows.

**Errors.** Every answer with a status of 400 or more is an `ErrorBody`. Match on its `code`. `Retry-After` says when to
try again, where that is known.

**Lists.** A list that grows answers with `items` and `next`. Send `next` as `cursor` to get the following page; `null`
means that this was the last. A cursor is opaque.

**Money.** Amounts end in `_micros`: millionths of a credit, as integers. In a pool without money, operations with
`x-money` answer 404 `money_off`, and fields with `x-money` are null.

**Changes.** Within `v1` operations, fields and values are only added. Ignore fields that you do not know.
"""
TAGS: Mapping[str, str] = {
    "admin": "For operators: the pool at a glance, the audit, and what needs a person.",
    "settings": "For operators: what can be changed while the hub runs, with its history.",
    "jobs": "Submit work, follow it, and fetch what it left behind.",
    "nodes": "The machines of a pool: join, price, drain, ban.",
    "artifacts": "Stored inputs and outputs, addressed by digest and sent in parts.",
    "shares": "Links by which everybody can see a job.",
    "storage": "What is stored for whom, for how long, and how to delete it.",
    "market": "Prices, offers and quotes.",
    "history": "How nodes, attempts and the pool did over time, and what happened to a job.",
    "events": "What happens, as it happens.",
    "wallet": "Credits: balances, entries, statements, and how a job's cost came about.",
    "payments": "Top-ups, saved cards, payout accounts, grants and refunds.",
    "cash-outs": "Earnings that are paid out.",
    "vouchers": "Codes that are worth credits.",
    "disputes": "Complaints about paid jobs, and the operator's reports.",
    "reputation": "The record of a node, and what its owner says against it.",
    "verification": "Results that are computed twice, canaries and accusations.",
    "limits": "How much one owner may run at once.",
    "accounts": "Sign in and out, tokens, sessions, users.",
    "teams": "Who shares a wallet, jobs, files and machines, and in which role.",
    "mail": "Mails that the hub sends.",
    "notices": "What the caller should know, read or unread.",
    "public": "What anybody may know of this pool.",
    "health": "For load balancers and monitoring.",
}
STATUS_NAMES: Mapping[int, str] = {
    400: "Bad request",
    401: "Not signed in",
    402: "Not paid for",
    403: "Not allowed",
    404: "Not found",
    408: "Too slow",
    409: "Not in this state",
    413: "Too large",
    415: "Not a media type that is read here",
    416: "Not a part of it",
    422: "Invalid",
    429: "Too many requests",
    431: "Head too large",
    500: "The hub made a mistake",
    503: "Not now",
    507: "Storage is full",
}
HEADERS: Mapping[int, Mapping[str, Any]] = {
    401: {"WWW-Authenticate": {"description": "Always `Bearer`.", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "After how many seconds to try again.", "schema": {"type": "integer"}}},
    503: {"Retry-After": {"description": "After how many seconds to try again.", "schema": {"type": "integer"}}},
}
CONDITIONAL_HEADERS: Mapping[str, Any] = {
    "ETag": {"description": "Send it as `If-None-Match` to ask whether it changed.", "schema": {"type": "string"}},
}
ANY_OPERATION: tuple[type[PoolError], ...] = (
    PoolError,
    TooManyRequests,
    TooManyFailures,
    TooManyConnections,
    TooBusyForStrangers,
    Unavailable,
)
COMMON: Mapping[int, list[ErrorCode]] = {
    400: ["bad_request"],
    401: sorted((Unauthenticated.code, *Unauthenticated.codes)),
    403: sorted((Forbidden.code, MissingScope.code, RoleTooLow.code)),
    404: [NotFound.code],
    409: [KeyReused.code],
    413: [TooLarge.code],
    422: [Invalid.code],
    429: sorted((TooManyRequests.code, TooManyFailures.code)),
    500: [PoolError.code],
    503: sorted({TooManyConnections.code, TooBusyForStrangers.code, Unavailable.code}),
}
"""What follows from facts alone."""


class Unreadable(PoolError):
    """A body that is not a text. FastAPI refuses it before a handler runs (`http_shell._tell_http_error`)."""

    status = 400
    code = "bad_request"


SENT, ANSWERED = "-Input", "-Output"
"""How pydantic ends the names of a schema that is not the same in requests and in answers."""
SCHEMA_REF = "#/components/schemas/{model}"


class DescribedApp(FastAPI):
    """`schemas` makes those that routes refer to and that no handler's signature has. `fields` and `parameters` say
    what those mean that have no text of their own, by name or by `Schema.name`."""

    def __init__(
        self,
        *,
        schemas: Callable[[str], Mapping[str, Any]] = lambda _: {},
        fields: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        tags = [{"name": name, "description": text} for name, text in TAGS.items()]
        super().__init__(description=DESCRIPTION, openapi_tags=tags, **options)
        self._schemas, self._fields, self._parameters = schemas, fields or {}, parameters or {}
        self._completed: dict[str, Any] | None = None

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        if document is not self._completed:
            self._complete(document)
            self._completed = document
        return document

    def _complete(self, document: dict[str, Any]) -> None:
        components = document.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        for foreign in ("HTTPValidationError", "ValidationError"):
            schemas.pop(foreign, None)
        schemas |= {**self._schemas(SCHEMA_REF), **_error_schemas()}
        shared: dict[str, Any] = {}
        used = set()
        for route in self.routes:
            if not isinstance(route, GatedRoute) or not route.include_in_schema or route.gate is None:
                continue
            for method in route.methods or ():
                operation = document["paths"][route.path_format][method.lower()]
                used |= set(operation.get("tags", ()))
                operation["responses"].pop("422", None)
                self._describe_parameters(operation)
                if route.gate.shared is not None:
                    operation["responses"]["200"]["headers"] = CONDITIONAL_HEADERS
                    operation["responses"]["304"] = {"description": "The copy with the `ETag` that was sent is good."}
                for status, codes in errors_of(route.gate, operation).items():
                    operation["responses"][str(status)] = _response(shared, status, codes)
        for name in list(schemas):
            schemas[name] = with_names(schemas[name], schemas, SCHEMA_REF)
        self._describe_fields(schemas)
        _rename(document, schemas)
        components["schemas"] = dict(sorted(schemas.items()))
        components["responses"] = dict(sorted(shared.items()))
        document["tags"] = [tag for tag in document["tags"] if tag["name"] in used]

    def _describe_fields(self, schemas: Mapping[str, Any]) -> None:
        for name, schema in schemas.items():
            for field, described in schema.get("properties", {}).items():
                text = self._fields.get(f"{name}.{field}") or self._fields.get(field)
                if text is not None:
                    described.setdefault("description", text)

    def _describe_parameters(self, operation: dict[str, Any]) -> None:
        for parameter in operation.get("parameters", ()):
            name = parameter["name"]
            text = self._parameters.get(f"{operation['operationId']}.{name}") or self._parameters.get(name)
            text = text or self._fields.get(name)
            if text is not None:
                parameter.setdefault("description", text)


def errors_of(gate: Gate, operation: Mapping[str, Any]) -> dict[int, list[ErrorCode]]:
    """By status, the codes of the errors that an operation may answer with."""
    parameters = operation.get("parameters", [])
    found = [*ANY_OPERATION, *gate.errors]
    if gate.scope is not None:
        found += [Unauthenticated, Forbidden, MissingScope, RoleTooLow]
    if "requestBody" in operation:
        found += [TooLarge, Invalid, Unreadable]
    if parameters or gate.strict_query:
        found.append(Invalid)
    if any(parameter["name"] == "team" and parameter["in"] == "query" for parameter in parameters):
        found.append(NoSuchTeam)
    if any(parameter["name"] == "Idempotency-Key" for parameter in parameters):
        found.append(KeyReused)
    by_status: dict[int, set[ErrorCode]] = {}
    for error in found:
        by_status.setdefault(error.status, set()).update((error.code, *vars(error).get("codes", ())))
    names_one = any(parameter["in"] == "path" and "enum" not in parameter["schema"] for parameter in parameters)
    if names_one:
        by_status.setdefault(NotFound.status, set()).add(NotFound.code)
    return {status: sorted(codes) for status, codes in sorted(by_status.items())}


def statuses_of_codes() -> dict[str, list[int]]:
    """By code, the statuses of the error classes that have it. Those are known whose modules are imported."""

    def walk(error: type[PoolError]) -> Iterator[type[PoolError]]:
        yield error
        for derived in error.__subclasses__():
            yield from walk(derived)

    found: dict[str, set[int]] = {}
    for error in walk(PoolError):
        for code in (error.code, *vars(error).get("codes", ())):
            found.setdefault(code, set()).add(error.status)
    return {code: sorted(statuses) for code, statuses in found.items()}


def with_names(schema: Any, named: dict[str, Any], reference: str) -> Any:
    """The schema with a reference wherever it has one in place that has a name; that goes to where names are."""
    if isinstance(schema, list):
        return [with_names(part, named, reference) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: with_names(part, named, reference) for key, part in schema.items()}
    name = made.pop(SHOWN_AS, None)
    if name is None:
        return made
    if named.setdefault(name, made) != made:  # in answers what has a default is always there
        name = f"{name}{SENT}"
        named.setdefault(name, made)
    return {"$ref": reference.format(model=name)}


def _rename(document: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Where answers and requests differ, pydantic writes `Gpu-Output` and `Gpu-Input`: no name in most languages. The
    answer is `Gpu`, and the request `GpuInput`."""
    names = {}
    for name in schemas:
        if name.endswith(SENT):
            names[name] = name.removesuffix(SENT) + "Input"
        elif name.endswith(ANSWERED):
            names[name] = name.removesuffix(ANSWERED)
    taken = sorted(set(names.values()) & schemas.keys())
    if taken:
        raise AssertionError(f"two schemas would be named {', '.join(taken)}")
    for old, new in names.items():
        schemas[new] = {**schemas.pop(old), "title": new}
    references = {SCHEMA_REF.format(model=old): SCHEMA_REF.format(model=new) for old, new in names.items()}
    _refer(document, references)


def _refer(part: Any, references: Mapping[str, str]) -> None:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                part[key] = references.get(value, value)
            else:
                _refer(value, references)
    elif isinstance(part, list):
        for value in part:
            _refer(value, references)


def _error_schemas() -> dict[str, Any]:
    made = ErrorBody.model_json_schema(ref_template=SCHEMA_REF, mode="validation")
    schemas = {**made.pop("$defs"), "ErrorBody": made}
    schemas["ErrorCode"] = {
        "type": "string",
        "enum": list(get_args(ErrorCode)),
        "description": "Every code there is. A newer hub may send others: then the status says what kind it is.",
    }
    code = schemas["ErrorDetail"]["properties"]["code"]
    schemas["ErrorDetail"]["properties"]["code"] = {
        "$ref": SCHEMA_REF.format(model="ErrorCode"),
        "description": code["description"],
    }
    return schemas


def _response(shared: dict[str, Any], status: int, codes: list[ErrorCode]) -> dict[str, Any]:
    """What most operations answer with a status is described once, for all of them."""
    quoted = ", ".join(f"`{code}`" for code in codes)
    response = {
        "description": f"{STATUS_NAMES[status]}: {quoted}.",
        "x-codes": codes,
        "content": {"application/json": {"schema": {"$ref": SCHEMA_REF.format(model="ErrorBody")}}},
    } | ({"headers": dict(HEADERS[status])} if status in HEADERS else {})
    if codes != COMMON.get(status):
        return response
    shared[f"Error{status}"] = response
    return {"$ref": f"#/components/responses/Error{status}"}
