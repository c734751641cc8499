"""Whether `setup` reaches the package indexes that this machine's tools are set up for, by the way that jobs have."""

import asyncio
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from computepool.agent.clock import Clock
from computepool.agent.egress import Resolver, find_pages
from computepool.agent.home import AgentHome
from computepool.agent.outside import Outside, find_outside
from computepool.agent.owner.policy_file import NAME, PolicyError, parse_policy
from computepool.agent.ports import offload_to_threads
from computepool.agent.web import way_out

from .model import Check, warn

INDEX_SECONDS = 15.0
NO_INDEX = "pip, uv and npm are not installed here, so `setup` can install nothing. Install python3-pip"


async def check_own_indexes(home: AgentHome, clock: Clock) -> list[Check]:
    resolver = Resolver()
    try:
        outside = await offload_to_threads(find_outside, clock, resolver.lookup, allowed=lambda: _allowed_by(home))
        return await check_indexes(outside, await offload_to_threads(find_pages, os.environ))
    finally:
        resolver.close()


async def check_indexes(outside: Outside, pages: Mapping[str, str]) -> list[Check]:
    """`pages` has one of each tool's index."""
    if not pages:
        return [warn("indexes", "no package index for `setup`", NO_INDEX)]
    return list(await asyncio.gather(*(_check_index(outside, tool, url) for tool, url in pages.items())))


async def _check_index(outside: Outside, tool: str, url: str) -> Check:
    import httpx

    name, host = f"{tool} index", urlsplit(url).hostname
    async with way_out(outside, outside.policy(internet=False), own=True) as (egress, client):
        try:
            async with asyncio.timeout(INDEX_SECONDS), client.stream("GET", url, follow_redirects=True) as answer:
                # The agent's own proxy says in these words that a target does not answer.
                status, why = answer.status_code, answer.reason_phrase
        except (httpx.HTTPError, TimeoutError) as error:
            status, why = 0, str(error) or type(error).__name__
        if egress.refusal is not None:
            return warn(name, f"`setup` may not use {host}: {egress.refusal.why}", egress.refusal.advice)
    if status in (0, 502, 504):
        hint = f"Check the index address in {tool}'s configuration, the network and any proxy (HTTPS_PROXY)"
        return warn(name, f"`setup` cannot reach {host}: {why}", hint)
    if status >= 400:
        return warn(name, f"{host} answers {status} to jobs", f"Check that it is {tool}'s index and needs no password")
    return Check(name, True, f"`setup` reaches {host}")


def _allowed_by(home: AgentHome) -> frozenset[str]:
    try:
        return frozenset(parse_policy((home.root / NAME).read_text()).network.indexes)
    except (OSError, PolicyError, UnicodeDecodeError):
        return frozenset()  # what is wrong with the policy is told by its own check
