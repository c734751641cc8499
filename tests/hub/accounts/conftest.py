"""Accounts are tried on databases that have their schema: made once, then copied."""

import pytest


@pytest.fixture
def database_url(hub_url: str) -> str:
    return hub_url
