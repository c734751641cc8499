"""What people and programs can call and set: commands, routes, settings, the owner's policy."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
from pydantic import BaseModel

from tools.doc_parts.layout import table


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with the words that call it."""
    from computepool.cli.app import cli

    def walk(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield words, command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from walk(f"{words} {name}", below)

    return walk("computepool", cli)


def command_table() -> str:
    from computepool.cli.node_price import NODE_HELP
    from computepool.cli.options import JOB_HELP, ONE_JOB_HELP

    rows = []
    for words, command in commands():
        pieces = command.collect_usage_pieces(click.Context(command))
        usage = " ".join([words, *(piece for piece in pieces if piece != "[OPTIONS]")])
        shared = {"home", "as_json", "help"}
        if any(one.name == "url" for one in command.params):
            shared |= {"url", "insecure"}
        options = [
            f"`{'`, `'.join(one.opts)}`"
            for one in command.params
            if isinstance(one, click.Option) and not one.hidden and one.name not in shared
        ]
        first = (command.help or "").strip().split("\n\n")[0]
        for explained in (JOB_HELP, ONE_JOB_HELP, NODE_HELP):
            first = first.replace(explained, "").strip()
        rows.append((f"`{usage}`", first, " · ".join(options)))
    return table(("command", "does", "options"), rows)


NOT_DESCRIBED = {
    "/": "The web app.",
    "/docs": "This API, to read in a browser.",
    "/device": "Where a person confirms the code of `computepool login`.",
    "/api/v1/agent/link": "An agent's line, over a WebSocket.",
    "/api/v1/agent/poll": "The same line, by long poll.",
    "/api/v1/jobs/{job_id}/stream": "The job and its log, live.",
    "/api/v1/events": "What happens to what is yours; jobs and logs on request: [live events](guides/events.md).",
    "/api/v1/public/events": "The pool's size, load and prices: when they change, at most once a second.",
    "/api/v1/blobs/{key:path}": "A part of an artifact, where the store is the hub's own disk.",
}
"""Routes of which the OpenAPI document does not say it."""


def route_table() -> str:
    return asyncio.run(_route_table())


async def _route_table() -> str:
    from computepool.hub.app import create_app
    from computepool.hub.commands import migrate
    from computepool.hub.core.route_table import route_table as declared
    from computepool.hub.core.settings import Settings
    from computepool.hub.opening import open_engine

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            home=Path(folder), database_url=f"sqlite:///{folder}/pool.db", storage_url=f"file://{folder}/artifacts"
        )
        migrate(settings)
        engine = await open_engine(settings)
        try:
            app = create_app(engine)
        finally:
            engine.context.db.close()
    described = app.openapi()["paths"]
    rows = []
    for entry in declared(app):
        if entry.method == "HEAD":
            continue
        told = described.get(entry.path, {}).get(entry.method.lower(), {})
        text = (told.get("description") or NOT_DESCRIBED.get(entry.path) or told.get("summary", "")).split("\n\n")[0]
        scope = f"`{entry.scope}`" if entry.scope else ""
        rows.append((f"`{entry.method} {entry.path}`", entry.visible, scope, text))
    return table(("route", "visible", "scope", "does"), rows)


def error_table() -> str:
    """Every code, with the statuses that it comes with and the operations of the document that have it."""
    import computepool.hub.app
    import computepool.hub.serving.http_connection  # noqa: F401  with the app, every error class there is
    from computepool.hub.core.openapi import statuses_of_codes
    from computepool.protocol.errors import ErrorCode

    statuses = {"method_not_allowed": [405]} | statuses_of_codes()
    rows: dict[str, list[str]] = {}
    for code in get_args(ErrorCode):
        status = ", ".join(str(status) for status in statuses.get(code, [])) or "any other"
        rows.setdefault(status, []).append(f"`{code}`")
    return table(("status", "codes"), [(status, ", ".join(codes)) for status, codes in sorted(rows.items())])


def setting_table() -> str:
    from computepool.hub.core.settings import Settings
    from computepool.hub.core.variables import PREFIX

    rows = []
    for name, info in Settings.documented().items():
        default = "`~/.computepool`" if isinstance(info.default, Path) else f"`{info.default}`"
        rows.append((f"`{PREFIX}{name.upper()}`", "" if info.default is None else default, info.description))
    return table(("variable", "default", "what it is"), rows)


def policy_table() -> str:
    from computepool.agent.owner.policy import Conditions, GpuRules
    from computepool.agent.owner.policy_file import expected_of, sections, settings_of

    rows = []
    parts: list[tuple[str, type[BaseModel]]] = [*sections(), ('gpu."ID"', GpuRules)]
    for name, model in parts:
        for key, field, default in settings_of(model):
            if model is GpuRules and key in Conditions.model_fields:
                continue
            place = f"[{name}] {key}" if name else key
            rows.append((f"`{place}`", f"`{default}`", field.description, expected_of(field)))
    return table(("setting", "default", "meaning", "format"), rows)


def policy_unknowns() -> str:
    from computepool.agent.owner.readings import UNKNOWN_RULES

    rows = [(name.replace("_", " "), rule, why) for name, (rule, why) in UNKNOWN_RULES.items()]
    return table(("what cannot be read", "is treated", "because"), rows)
