"""Completion in a shell: commands and options by click, ids and names of jobs and nodes by the hub."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from computepool.client.pool import Pool

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_COMPUTEPOOL_COMPLETE"
PATIENCE_SECONDS = 1.0
"""Somebody waits with a finger on the Tab key."""
JOBS_OFFERED = 50
_PLAIN = re.compile(r"[\w.@:+-]+")
"""A name that no shell takes apart."""


class JobParam(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.3
    """A job as people tell it: completes to the ids and names of the newest ones."""

    name = "job"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        found = {"last": "the newest job"}
        try:
            with ctx.scope(cleanup=False), _hub() as pool:
                for job in pool.jobs(limit=JOBS_OFFERED, mine=True):
                    found[job.id] = f"{job.name} {job.state}".strip()
                    if _PLAIN.fullmatch(job.name):
                        found.setdefault(job.name, f"the newest with this name, {job.state}")
        except Exception:
            return []  # an error would be written into the line that is being typed
        return [CompletionItem(text, help=about) for text, about in found.items() if text.startswith(incomplete)]


class NodeParam(click.ParamType):  # type: ignore[type-arg]
    """A machine of one's own: completes to names and ids."""

    name = "node"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        try:
            with ctx.scope(cleanup=False), _hub() as pool:
                found = {text: node.state for node in pool.nodes() for text in (node.name, node.id)}
        except Exception:
            return []
        return [CompletionItem(text, help=about) for text, about in found.items() if text.startswith(incomplete)]


JOB, NODE = JobParam(), NodeParam()


def _hub() -> "Pool":
    from computepool.cli.options import open_pool

    return open_pool(patience_seconds=PATIENCE_SECONDS)


@click.command(
    epilog="Example: computepool completion bash >> ~/.bashrc · computepool completion fish > "
    "~/.config/fish/completions/computepool.fish"
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print the script that makes a shell complete commands, options, jobs and machines.

    Without SHELL it is for the one that $SHELL names. Bash has to be 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    from computepool.cli.app import cli
    from computepool.cli.errors import USAGE, CliError

    name = shell or Path(os.environ.get("SHELL", "")).name
    found = get_completion_class(name)
    if found is None or name not in SHELLS:
        raise CliError(f"There is no completion for the shell {name!r}.", f"Use one of {', '.join(SHELLS)}.", USAGE)
    made = found(cli, {}, "computepool", VARIABLE)
    click.echo(made.source_template % made.source_vars())
