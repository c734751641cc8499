"""The settings of the hub's edge: its HTTPS, and limits; `core/edge.py` and `serving.py` keep them."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated

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
            description="Jobs that one account may watch live at once; the CLI asks in intervals where no more are "
            "granted.",
        ),
    ] = 100
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

    @property
    def proxy_networks(self) -> tuple[IpNetwork, ...]:
        return _parse_networks(self.trusted_proxies or "")


def _parse_networks(text: str) -> tuple[IpNetwork, ...]:
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
