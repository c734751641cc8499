"""What many commands share: which hub, which home, JSON."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from computepool.client.pool import Pool

F = TypeVar("F", bound=Callable[..., Any])
JOIN_TOKEN_VARIABLE = "COMPUTEPOOL_JOIN_TOKEN"
JOB_HELP = "JOB is an id, the beginning of one, a name (the newest job that has it), or `last`."
ONE_JOB_HELP = "JOB is an id, the beginning of one, a name that only one job has, or `last`."


def _keep(ctx: click.Context, param: click.Parameter, value: str | bool | None) -> None:
    if value:
        ctx.meta[f"computepool.{param.name}"] = value


def home_option(function: F) -> F:
    return click.option(
        "--home",
        metavar="DIR",
        callback=_keep,
        expose_value=False,
        help="Folder for state and sign-in. [COMPUTEPOOL_HOME]",
    )(function)


def insecure_option(function: F) -> F:
    return click.option(
        "--insecure", is_flag=True, callback=_keep, expose_value=False, help="Allow plain HTTP to another machine."
    )(function)


def pool_options(function: F) -> F:
    """`--home`, `--url` and `--insecure`, of which the first two may also stand before the command."""
    url = click.option(
        "--url", metavar="URL", callback=_keep, expose_value=False, help="The hub to talk to. [COMPUTEPOOL_URL]"
    )
    return home_option(url(insecure_option(function)))


def _note_json(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    if value:
        ctx.find_root().ensure_object(dict)["json"] = True
    return value


def json_option(function: F) -> F:
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        is_eager=True,
        callback=_note_json,
        help="Print JSON. Errors are JSON too, on standard error.",
    )(function)


def raw_option(function: F) -> F:
    return click.option("--raw", is_flag=True, help="Send every byte of the log, also to a terminal.")(function)


def chosen_home() -> Path:
    from computepool.client.config import home_folder

    return home_folder(_meta("home"))


def typed_home() -> str | None:
    """The home folder that was named in this call, and not by the environment."""
    return _meta("home")


def open_pool(**options: Any) -> "Pool":
    """The hub that this command talks to. Close it."""
    from computepool.client.pool import Pool

    return Pool(_meta("url"), None, _meta("home"), insecure=is_insecure(), **options)


def is_insecure() -> bool:
    """Whether --insecure was given."""
    return bool(_meta("insecure"))


def _meta(name: str) -> str | None:
    value: str | None = click.get_current_context().meta.get(f"computepool.{name}")
    return value


def print_json(document: object, *, lines: bool = False) -> None:
    from computepool.cli.terminal import UNSEEN

    text = json.dumps(document, indent=None if lines else 2, ensure_ascii=False, default=str)
    # JSON escapes only some of what a terminal would obey.
    click.echo(re.sub(f"[{UNSEEN}\ud800-\udfff]", _escaped, text))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
