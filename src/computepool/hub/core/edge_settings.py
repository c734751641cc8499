"""The settings of the hub's edge: its HTTPS, and limits; `core/edge.py` and `serving.py` keep them."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from computepool.hub.core.tls_settings import TlsSettings

IpNetwork = IPv4Network | IPv6Network


class EdgeSettings(TlsSettings):
    trusted_proxies: Annotated[
        str | None,
        Field(
            description="Addresses or networks of the proxies in front of the hub, with commas between them, such as "
            "`127.0.0.1, 10.0.0.0/8`. From these, `X-Forwarded-For` and `X-Forwarded-Proto` are believed. Unset: from "
            "nobody, so limits by address count everything behind a proxy as one."
        ),
    ] = None
    cors_origins: Annotated[
        str | None,
        Field(
            description="Origins of web apps elsewhere that may call the API from a browser, with commas between them, "
            "such as `https://app.example.org`. They use bearer tokens, never cookies. Unset: none."
        ),
    ] = None
    limit_connections: Annotated[int, Field(ge=10, description="Connections that the hub keeps open at once.")] = 20_000
    limit_connections_per_address: Annotated[
        int,
        Field(
            ge=1,
            description="Of these, from one address of IPv4 or network (/64) of IPv6. Every agent keeps one, or two "
            "without WebSockets; a trusted proxy may have more.",
        ),
    ] = 4_000
    limit_requests_per_address: Annotated[
        int,
        Field(
            ge=1,
            description="Requests a second from one address, on average over ten seconds. More are answered 429 with "
            "`Retry-After`. Messages over open WebSockets do not count.",
        ),
    ] = 600
    limit_requests_per_account: Annotated[
        int, Field(ge=1, description="The same for all requests with tokens of one account.")
    ] = 300
    limit_streams_per_account: Annotated[
        int,
        Field(
            ge=1,
            description="Live streams, of events and of jobs, that one account may have open; without signing in, one "
            "address. The CLI asks in intervals where no more are granted.",
        ),
    ] = 100
    limit_new_links: Annotated[
        int,
        Field(
            ge=1,
            description="Links of agents that have not proven yet which node they are. More wait for up to 8 seconds, "
            "then they are answered 503 with `Retry-After`, and agents try again.",
        ),
    ] = 1_000
    limit_new_links_per_address: Annotated[
        int, Field(ge=1, description="Of these, from one address of IPv4 or network (/64) of IPv6.")
    ] = 250
    limit_registrations_per_address: Annotated[
        int,
        Field(
            ge=1,
            description="New accounts in an hour from one address of IPv4 or network (/64) of IPv6. More are answered "
            "429 with `Retry-After`.",
        ),
    ] = 10
    limit_head_seconds: Annotated[
        float, Field(ge=1, le=600, description="Seconds in which the head of a request has to arrive.")
    ] = 15.0
    limit_stall_seconds: Annotated[
        float,
        Field(
            ge=1,
            le=3600,
            description="A request's body, or the reader of an answer, that moves less than 16 KiB in so many seconds "
            "is cut off.",
        ),
    ] = 60.0

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                _parse_networks(value)
            except ValueError as error:
                raise ValueError(f"expected addresses or networks such as 127.0.0.1, 10.0.0.0/8: {error}") from None
        return value

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, value: str | None) -> str | None:
        for origin in _split(value):
            parts = urlsplit(origin)
            if (
                parts.scheme not in ("http", "https")
                or not parts.netloc
                or origin != f"{parts.scheme}://{parts.netloc}"
            ):
                raise ValueError(f"{origin[:80]!r} is not an origin such as https://app.example.org, without a path")
        return value

    @property
    def allowed_origins(self) -> frozenset[str]:
        return frozenset(_split(self.cors_origins))

    @property
    def proxy_networks(self) -> tuple[IpNetwork, ...]:
        return _parse_networks(self.trusted_proxies or "")


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _parse_networks(text: str) -> tuple[IpNetwork, ...]:
    return tuple(ip_network(part) for part in _split(text))
