"""A stranger's image is fetched by the host's engine, from the host's own network: its registry must be public."""

import asyncio
from ipaddress import ip_address

import pytest

from computepool.agent.clock import SystemClock
from computepool.agent.egress import Refused
from computepool.agent.outside import Outside, registry_of


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("python:3.12-slim", (None, 0)),
        ("pytorch/pytorch:2.4", (None, 0)),
        ("registry.example/team/model:1", ("registry.example", 443)),
        ("registry.example:8443/model@sha256:0", ("registry.example", 8443)),
        ("localhost/x", ("localhost", 443)),
        ("localhost:5000/x", ("localhost", 5000)),
        ("192.168.1.1:80/x", ("192.168.1.1", 80)),
    ],
)
def test_registry_is_what_an_images_name_begins_with(image, expected):
    assert registry_of(image) == expected


@pytest.mark.parametrize(
    ("image", "welcome"),
    [
        ("python:3.12-slim", True),
        ("registry.example/model", True),
        ("127.0.0.1:80/owners/private", False),
        ("127.0.0.1:5000/owners/private", False),
        ("localhost:5000/x", False),
        ("192.168.1.1:80/x", False),
        ("169.254.169.254/latest", False),
        ("router.lan/x", False),
        ("inside.example/x", False),
        ("registry.example:22/x", False),
    ],
)
def test_strangers_images_never_come_from_the_network_around(image, welcome):
    async def lookup(host, port):
        return [ip_address("10.0.0.5" if host == "inside.example" else "93.184.216.34")]

    async def check():
        await Outside(clock=SystemClock(), lookup=lookup).check_registry(image)

    if welcome:
        asyncio.run(check())
    else:
        with pytest.raises(Refused):
            asyncio.run(check())
