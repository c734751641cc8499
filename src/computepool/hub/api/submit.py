"""What a page asks while somebody writes a job. Quotes are in `offers.py`."""

from fastapi import APIRouter, Request

from computepool.hub.api.jobs import SPEC_BODY, SPEC_LIMIT_BYTES
from computepool.hub.core.errors import TooLarge
from computepool.hub.core.http import Scope
from computepool.hub.core.money import priced_routes
from computepool.hub.engine import Engine
from computepool.hub.jobs.spec_check import YAML, SpecCheck, check_text

TEXT_BODY = {
    "required": True,
    "description": "A spec as JSON, or as YAML text.",
    "content": {
        **SPEC_BODY["content"],
        **{kind: {"schema": {"type": "string"}} for kind in (YAML[0], "text/plain")},
    },
}


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["jobs"])
    money = context.settings.money == "on"

    @routes.post(
        "/jobs/check",
        visible="own",
        scope=Scope.JOBS_READ,
        body_limit_bytes=SPEC_LIMIT_BYTES,
        openapi_extra={"requestBody": TEXT_BODY},
        errors=[TooLarge],
    )
    async def check_job(request: Request) -> SpecCheck:
        """What the pool makes of a spec, and what is wrong with it, field by field. Nothing is stored.

        A spec that is not valid is answered with 200, `valid: false` and `errors`, which have a line and a column where
        the text is YAML.
        """
        raw, cards = await request.body(), engine.card_names()
        return await context.offload(check_text, raw, request.headers.get("content-type"), cards, money=money)

    return routes.router
