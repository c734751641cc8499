"""The agent of this machine, as the CLI handles it: where it lives, and running it in the foreground."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from computepool.cli.errors import CliError, clean, tell
from computepool.cli.options import chosen_home

if TYPE_CHECKING:
    from computepool.agent.home import AgentHome, NodeRecord
    from computepool.agent.own_jobs import OwnJobs

AGENT_FOLDER = "agent"
UNWANTED = 78
"""As sysexits' EX_CONFIG: the hub sent this node away, and coming back makes no sense."""


def agent_home() -> "AgentHome":
    try:
        from computepool.agent.home import AgentHome
    except ImportError as error:
        raise CliError(
            f"The agent does not run on this system ({error}).",
            "It runs on Linux and macOS; on Windows inside WSL 2: install ComputePool there, and call this there.",
        ) from None
    return AgentHome(chosen_home() / AGENT_FOLDER)


def own_jobs_here(*, from_up: bool = False) -> "OwnJobs":
    """Whoever has the CLI in this home is the owner of its agent: jobs that it signed are the owner's own."""
    from computepool.agent.own_jobs import OwnJobs
    from computepool.client.config import ConfigError
    from computepool.client.signing_key import ensure_signing_key
    from computepool.protocol.own_job import key_text

    try:
        key = key_text(ensure_signing_key(chosen_home()).public_key())
    except (ConfigError, OSError) as error:
        tell(f"The CLI's own key is not used: {error}", fg="yellow")
        key = None
    return OwnJobs(home_key=key, from_up=from_up)


def run_agent_here(
    home: "AgentHome", *, while_stdin_open: bool = False, as_service: bool = False, from_up: bool = False
) -> int:
    """Until it is drained or stopped. As a service it logs to its file alone, and SIGTERM stops it at once: who shuts
    a machine down does not wait for a job of hours."""
    from computepool.agent.link.handshake import Dismissed
    from computepool.agent.logsetup import log_folder, log_to
    from computepool.agent.main import run_agent

    home.prepare()
    log_to(None if as_service else sys.stderr, folder=log_folder(home.root))
    _refuse_exposed(home.node())
    if while_stdin_open:
        threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        on_ready = _stop_on_sigterm if as_service else None
        asyncio.run(run_agent(home, on_ready=on_ready, own_jobs=own_jobs_here(from_up=from_up)))
    except Dismissed as error:
        logging.getLogger("computepool.agent").error("agent.dismissed", extra={"reason": str(error)})
        raise CliError(
            f"The hub does not want this node: {error}", "Ask the pool's owner, or join again.", UNWANTED
        ) from None
    return 0


def _refuse_exposed(node: "NodeRecord") -> None:
    """Those who joined before --insecure was asked for are told as well: jobs would be sent in the clear."""
    from computepool.protocol.addresses import insecure_message, is_exposed

    if is_exposed(node.hub_url) and not node.insecure:
        message = f"{insecure_message(node.hub_url)}."
        logging.getLogger("computepool.agent").error("agent.insecure", extra={"reason": message})
        raise CliError(
            message,
            f"Run the join line of the pool's https:// address; this machine stays the node {clean(node.name)}. Or "
            "accept plain HTTP for good: computepool agent start --insecure",
            UNWANTED,
        )


async def _stop_on_sigterm(_: object) -> None:
    """The same way as Ctrl-C, instead of draining."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: os.kill(os.getpid(), signal.SIGINT))


def end_with_parent() -> None:
    """Whoever started us holds the other end: when it goes, however it goes, this ends, and so do we."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def measure_here(home: "AgentHome", *, from_up: bool = False) -> Any:
    from computepool.agent.main import measure

    return run_async(measure(home, own_jobs_here(from_up=from_up)))


def run_async(work: "Coroutine[Any, Any, Any]") -> Any:
    return asyncio.run(work)


def tell_isolation(capacity: Any) -> None:
    """What strangers' work would run in here; where that is nothing, how to change it."""
    from computepool.agent.sandbox import how_to_get_bubblewrap

    if any(level != "process" for level in capacity.isolation):
        return
    if "process" in capacity.isolation:
        tell("Not isolated: this machine runs only your own jobs, as plain processes.", fg="yellow")
        tell("  Your own jobs are those that your CLI signed.", dim=True)
    else:
        tell("No sandbox: this machine runs nothing yet.", fg="yellow")
        tell("  Allow your own jobs without a sandbox: computepool agent policy own.process true", dim=True)
    if missing := how_to_get_bubblewrap():
        tell(f"  {missing}", dim=True)
