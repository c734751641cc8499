"""What a program or a page has to know of this hub before anybody signs in."""

from typing import Annotated, Literal

from fastapi import APIRouter

from computepool.hub.accounts.browser_cookie import BrowserCookie
from computepool.hub.accounts.passwords import PASSWORD_LEAST_CHARACTERS, PASSWORD_MOST_CHARACTERS
from computepool.hub.accounts.tables import NAME_LIMIT, TOKEN_NAME_LIMIT
from computepool.hub.api.account_views import TOKEN_DAYS_DEFAULT, TOKEN_DAYS_MOST
from computepool.hub.api.job_logs import LOG_PIECE_BYTES
from computepool.hub.api.jobs import PAGE_LIMIT, SPEC_LIMIT_BYTES
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.uploads import BUNDLE_LIMIT_BYTES
from computepool.hub.core.idempotency import KEY_LIMIT
from computepool.hub.core.money import MONEY, priced_routes
from computepool.hub.core.websocket_tokens import SUBPROTOCOL
from computepool.hub.engine import Engine
from computepool.hub.jobs.views import SHOWN_SLICES_LIMIT
from computepool.protocol.model import Wire
from computepool.protocol.spec import MAX_SLICES


class SignInOptions(Wire):
    registration: Literal["open", "closed"]
    """Whether people may make themselves an account."""
    methods: list[Literal["password", "link", "device"]]
    providers: list[str]
    """Names of other identity providers that one may sign in with. None yet."""
    browser_cookie: bool
    """Whether a page at the hub's public address may keep its session in a cookie: `browser: true` at sign-in."""


class UploadLimits(Wire):
    artifact_bytes: int
    """The largest artifact."""
    bundle_bytes: int
    """The largest bundle that is sent along with a job."""
    part_bytes: int
    """Announced artifacts are uploaded in parts of this size."""


class ConfigLimits(Wire):
    slices: int
    spec_bytes: int
    log_piece_bytes: int
    """The most that one answer of `jobs/{job_id}/logs` has."""
    page_items: int
    """The most jobs in one page."""
    shown_slices: int
    """The most slices in one answer about a job."""
    password_min_characters: int
    password_max_characters: int
    name_characters: int
    token_name_characters: int
    token_days: int
    """For which a personal token lives where nobody says otherwise."""
    token_days_max: int
    idempotency_key_characters: int


class ConfigFeatures(Wire):
    top_ups: bool
    """Credits can be bought: the hub has a payment processor."""
    direct_storage: bool
    """Artifacts are uploaded to, and downloaded from, a bucket at another origin than the hub's."""


class ConfigView(Wire):
    public_url: str | None
    sign_in: SignInOptions
    money: bool
    """Whether work on other people's nodes is paid for here."""
    currency: Annotated[str | None, MONEY]
    """The currency of credits, as three small letters; null without money."""
    credit_value: Annotated[str | None, MONEY]
    """What one credit is worth in that currency, as a decimal number; null without money."""
    mail: bool
    """Whether the hub sends mails."""
    uploads: UploadLimits
    limits: ConfigLimits
    features: ConfigFeatures
    websocket_subprotocol: str
    """Offered by browsers beside `bearer.TOKEN` when they open a WebSocket."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["public"])

    @routes.get("/config", visible="public", shared_seconds=60)
    async def config() -> ConfigView:
        """How one signs in here, what the pool does, and the limits of what it takes."""
        settings = context.settings
        money = settings.money == "on"
        return ConfigView(
            public_url=settings.public_url,
            sign_in=SignInOptions(
                registration=settings.registration,
                methods=["password", "link", "device"],
                providers=[],
                browser_cookie=BrowserCookie(settings).is_possible,
            ),
            money=money,
            currency=settings.currency,
            credit_value=str(settings.credit_value),
            mail=settings.smtp_url is not None,
            uploads=UploadLimits(
                artifact_bytes=settings.upload_limit_bytes, bundle_bytes=BUNDLE_LIMIT_BYTES, part_bytes=PART_BYTES
            ),
            limits=ConfigLimits(
                slices=MAX_SLICES,
                spec_bytes=SPEC_LIMIT_BYTES,
                log_piece_bytes=LOG_PIECE_BYTES,
                page_items=PAGE_LIMIT,
                shown_slices=SHOWN_SLICES_LIMIT,
                password_min_characters=PASSWORD_LEAST_CHARACTERS,
                password_max_characters=PASSWORD_MOST_CHARACTERS,
                name_characters=NAME_LIMIT,
                token_name_characters=TOKEN_NAME_LIMIT,
                token_days=TOKEN_DAYS_DEFAULT,
                token_days_max=TOKEN_DAYS_MOST,
                idempotency_key_characters=KEY_LIMIT,
            ),
            features=ConfigFeatures(
                top_ups=money and settings.stripe_secret_key is not None, direct_storage=engine.store.origin is not None
            ),
            websocket_subprotocol=SUBPROTOCOL,
        )

    return routes.router
