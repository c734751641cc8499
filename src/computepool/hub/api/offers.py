"""What the fleet is asked before a job exists: quotes and offers."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from computepool.hub.api.jobs import SPEC_LIMIT_BYTES
from computepool.hub.api.submit import TEXT_BODY
from computepool.hub.artifacts.charges import price_of
from computepool.hub.core.errors import Invalid, PoolError, TooLarge
from computepool.hub.core.http import Caller, MissingScope, NoSuchTeam, Scope, owner_for
from computepool.hub.core.money import MoneyOff, priced_routes
from computepool.hub.engine import Engine
from computepool.hub.jobs.errors import BadInputs, BadSpec, NotSupportedYet
from computepool.hub.jobs.spec_check import read_asked
from computepool.hub.jobs.submission import Request as JobRequest
from computepool.hub.jobs.submission import find_inputs, prepare
from computepool.hub.scheduling.offer_filters import FIELDS, FILTER_CHARACTERS, PARAMETERS, BadFilter
from computepool.hub.scheduling.offer_forms import OfferFilters, describe_filters
from computepool.hub.scheduling.offer_views import OfferPage
from computepool.hub.scheduling.offers import page_of
from computepool.hub.scheduling.quotes import Asked, Quote, quote

PAGE_LIMIT = 200


def router(engine: Engine) -> APIRouter:
    context, book = engine.context, engine.book
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["market"])
    priced = context.settings.money == "on"

    @routes.get("/market/offers", visible="public", shared_seconds=1, errors=[BadFilter, MoneyOff])
    async def offers(
        parameters: Annotated[dict[str, str | None], Depends(_plain_parameters())],
        filter: Annotated[str, Query(max_length=FILTER_CHARACTERS)] = "",
        order: Annotated[str, Query(max_length=100)] = "",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
        cursor: Annotated[str | None, Query(max_length=20_000)] = None,
    ) -> OfferPage:
        """Nodes that take work now, with their prices: `?filter=gpu=rtx-4090 reliability>0.9 price<40&order=price`, or
        the same as `?gpu=rtx-4090&min_reliability=0.9&max_price=40`. `market/filters` lists both.

        The cheapest come first if no order is named; without money, the most reliable.
        """
        return await context.offload(
            page_of,
            await engine.offers.offers(),
            filter,
            order,
            cursor,
            limit,
            priced=priced,
            parameters=parameters,
        )

    @routes.get("/market/filters", visible="public", shared_seconds=5)
    async def filters() -> OfferFilters:
        """By what offers can be filtered and ordered, with the values that offers have now: what a form needs."""
        return await context.offload(describe_filters, await engine.offers.offers(), priced=priced)

    @routes.post(
        "/market/quote",
        visible="own",
        scope=Scope.JOBS_READ,
        body_limit_bytes=SPEC_LIMIT_BYTES,
        openapi_extra={"requestBody": TEXT_BODY},
        errors=[BadSpec, NotSupportedYet, NoSuchTeam, TooLarge],
    )
    async def market_quote(
        request: Request, caller: Caller, signed_by: Annotated[str | None, Query(max_length=80)] = None
    ) -> Quote:
        """What a job would cost now and at most, where, and whether it could begin now. The body is its spec, with or
        without `run`; nothing is stored.

        `signed_by` is the id of the key that will sign it: the caller's own nodes may take only such jobs for theirs.
        """
        raw, cards = await request.body(), engine.card_names()
        spec, says_run = await context.offload(read_asked, raw, request.headers.get("content-type"), cards)
        refusal: PoolError | None = None if says_run else Invalid("The spec does not say yet what to run.")
        if Scope.JOBS_WRITE not in caller.scopes:
            refusal = MissingScope(Scope.JOBS_WRITE, is_possible=True)
        owner_id = owner_for(caller, spec.team)
        inputs: dict[str, Any] | None = None
        try:
            inputs = await context.db.read(find_inputs, spec, owner_id) if spec.inputs else None
        except BadInputs as error:
            refusal, spec = refusal or error, spec.model_copy(update={"inputs": {}})
        job, brief, _ = prepare(context, JobRequest(caller, None, "", owner_id=owner_id), spec, None, inputs)
        brief = replace(brief, requirements=replace(brief.requirements, signed_by=signed_by))
        try:
            await engine.check_submit(job, brief)
        except PoolError as error:
            refusal = refusal or error
        settings = context.settings  # as they are now: an admin changes them while the hub runs
        asked = Asked(spec, brief, settings.platform_fee_bps, price_of(settings), refusal)
        return await quote(engine.scheduler, book, asked, context.now(), context.clock.monotonic())

    return routes.router


def _plain_parameters() -> Callable[..., Awaitable[dict[str, str | None]]]:
    """A dependency that takes each plain parameter of the filters, as people write it."""

    async def read(**given: str | None) -> dict[str, str | None]:
        return given

    def described(name: str) -> Any:
        field, sign = PARAMETERS[name]
        text = f"`{field}{sign}`: {FIELDS[field].meaning}"
        return Annotated[str | None, Query(max_length=100, description=text)]

    taken = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=described(name)) for name in PARAMETERS]
    read.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    return read
