"""A real agent whose host changed it: it claims 4,096 cores, and either begins nothing or declines everything.

A program of its own, with the arguments of the CLI; $LAZY_AGENT is `idle` or `declines`.
"""

import asyncio
import os
from typing import Any

from computepool.agent import main as agent_main
from computepool.agent import runner, supervisor
from computepool.agent.attempt import Attempt
from computepool.agent.workshop import Workshop
from computepool.cli import main

CLAIMED = {"cpus": 4096.0, "memory_bytes": 2**50, "disk_bytes": 2**50}

_offer: Any = vars(agent_main)["_offer"]


def claim(*args: Any) -> Any:
    return _offer(*args).model_copy(update=CLAIMED)


async def idle(shop: Workshop, attempt: Attempt) -> None:
    """It keeps its lease by heartbeats, and nothing else happens."""
    await asyncio.Event().wait()


async def decline(shop: Workshop, attempt: Attempt) -> None:
    await runner.decline(shop, attempt, "not today")


if __name__ == "__main__":
    setattr(agent_main, "_offer", claim)  # noqa: B010 (it is not exported)
    setattr(supervisor, "run_attempt", idle if os.environ["LAZY_AGENT"] == "idle" else decline)  # noqa: B010
    setattr(Attempt, "is_preparing", False)  # noqa: B010 (a property)
    main()
