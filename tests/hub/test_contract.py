"""Every operation of the OpenAPI document, called at a real hub with input that fits it and with input that does not.

What a hub answers is held against the document in every test that calls one (`support/contract.py`). Here the calls are
made from the document itself, so that none is left out.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from support.contract import Operation, document, is_wrong, operations
from support.engine import ADMIN, ALICE, BOB, play
from support.proofs import figure
from support.scripted_agent import add_agent

from computepool.hub.core.http import Role

EXAMPLES = figure(2, 40)
"""Of each operation: so many that fit, and so many that do not."""
TAKE_ALL = frozenset({"jobs_check"})
"""They say with 200 and `valid: false` what is wrong with a body, for an editor that shows it."""
ENDS = ("/auth/", "/sessions", "/ban", "DELETE")
"""What ends a session, a node or a job is asked when everything else was."""


def can_be_wrong(operation: Operation) -> bool:
    """It takes more than names in its path, which may be any text."""
    parameters = operation.described.get("parameters", ())
    plain = [parameter["in"] == "path" and parameter["schema"].keys() <= {"type", "title"} for parameter in parameters]
    return ("requestBody" in operation.described or not all(plain)) and not is_stream(operation)


def described() -> dict[str, Any]:
    """Without tokens, which the test brings itself."""
    paths = {
        path: {method: {**operation, "security": []} for method, operation in methods.items()}
        for path, methods in document()["paths"].items()
    }
    return {**document(), "info": {"title": "ComputePool", "version": "1"}, "paths": paths}


def cases_of(operation: Any, mode: GenerationMode) -> list[Any]:
    found: list[Any] = []

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def collect(case: Any) -> None:
        found.append(case)

    collect()
    return found


def calls(mode: GenerationMode) -> list[tuple[str, Any]]:
    """(operation id, case), those that end something last."""
    schema = schemathesis.openapi.from_dict(described())
    asked = {each.id for each in operations() if mode is GenerationMode.POSITIVE or can_be_wrong(each)}
    found = []
    for result in schema.get_all_operations():
        operation: Any = result
        operation_id = operation.ok().definition.raw["operationId"]
        if operation_id in asked:
            found += [(operation_id, case) for case in cases_of(operation.ok(), mode)]
    return sorted(found, key=lambda pair: any(part in f"{pair[1].method} {pair[1].path}" for part in ENDS))


def is_stream(operation: Operation) -> bool:
    return "text/event-stream" in operation.described["responses"].get("200", {}).get("content", {})


async def send(pool: Any, case: Any, ids: dict[str, str], token: str) -> Any:
    """None where the case cannot be written as HTTP."""
    options, url = case.as_transport_kwargs(base_url="http://hub.test"), case.path
    for name, value in (case.path_parameters or {}).items():
        url = url.replace(f"{{{name}}}", quote(str(ids.get(name, value)), safe=""))
    if "follow" in case.operation.query:
        options["params"] = {**(options.get("params") or {}), "follow": "false"}  # else it has no end
    body = {key: options[key] for key in ("json", "files") if options.get(key) is not None}
    if isinstance(options.get("data"), str | bytes):
        body["content"] = options["data"]
    headers = {name: value for name, value in (case.headers or {}).items() if name.lower() != "authorization"}
    headers["Authorization"] = f"Bearer {token}"
    if case.media_type is not None and "files" not in body:
        headers["Content-Type"] = case.media_type
    try:
        return await pool.client.request(
            case.method, f"http://hub.test{url}", params=options.get("params"), headers=headers, **body
        )
    except (UnicodeEncodeError, ValueError):
        return None


async def world(pool: Any) -> dict[str, str]:
    """Something of what paths name."""
    agent = await add_agent(pool, owner=BOB)
    done = await pool.submit(max_runtime="10m")
    work = await agent.take_offer()
    await agent.update(work, "running")
    await agent.finish(work)
    return {"job_id": done, "node_id": agent.node_id, "owner_id": ALICE, "name": "rates"}


async def admin_of(pool: Any) -> Callable[[], str]:
    """Gives tokens of an admin who has an account and a session, as people have."""
    account = {"email": "root@example.org", "password": "correct horse battery", "name": "Root"}
    made = (await pool.call("POST", "auth/register", account, user=None)).json()
    await pool.call("PUT", f"admin/users/{made['user_id']}/role", {"role": "admin"}, user=ADMIN)
    again = {"email": account["email"], "password": account["password"]}
    made = (await pool.call("POST", "auth/login", again, user=None)).json()
    headers = {"Authorization": f"Bearer {made['access_token']}"}
    (session,) = (await pool.call("GET", "sessions", user=None, headers=headers)).json()["items"]
    signer = pool.engine.token_signer
    return lambda: signer.access_token(made["user_id"], session["id"], Role.ADMIN, "token_1", pool.clock.now())


@pytest.mark.proof
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["fitting", "wrong"])
def test_every_operation_answers_as_the_document_says(sqlite_hub, mode):
    async def story(pool):
        ids, sign_in = await world(pool), await admin_of(pool)
        by_id = {operation.id: operation for operation in operations()}
        sent, problems = set(), []
        for number, (operation_id, case) in enumerate(calls(mode)):
            try:
                answer = await send(
                    pool, case, ids if number % 2 and mode is GenerationMode.POSITIVE else {}, sign_in()
                )
            except AssertionError as problem:  # of the hook that holds every answer against the document
                problems.append(f"{problem}\n    {case.as_curl_command()[:400]}")
                continue
            if answer is None:
                continue
            wrong = is_wrong(by_id[operation_id], answer.request)
            if wrong == (mode is GenerationMode.NEGATIVE):
                sent.add(operation_id)
            accepted = answer.is_success and not (operation_id in TAKE_ALL and answer.json()["valid"] is False)
            if answer.status_code == 500 or (wrong and accepted):
                problems.append(f"{operation_id}: {answer.status_code}\n    {case.as_curl_command()[:400]}")
        assert not problems, "\n".join(problems)
        wanted = {each.id for each in operations() if mode is GenerationMode.POSITIVE or can_be_wrong(each)}
        assert sent == wanted

    play(sqlite_hub, story)
