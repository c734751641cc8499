"""`run --dry-run`: what the pool would make of a job, without submitting it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.errors import clean
from computepool.cli.inputs import KEYS, STAND_IN
from computepool.cli.options import print_json
from computepool.cli.request import Request

if TYPE_CHECKING:
    from computepool.client.pool import Pool
    from computepool.protocol.spec import JobSpec


def show_dry_run(pool: "Pool", request: Request, *, signed_by: str | None, as_json: bool) -> int:
    """The exit code: 0 if the job could be submitted."""
    from computepool.cli.request import notes_of

    spec = _without_files_here(request)
    check = pool.market.check(_as_written(request, spec))
    told = {(one["code"], one["field"]) for one in check["warnings"]}
    more = [note.model_dump() for note in notes_of(request) if (note.code, note.field) not in told]
    more += [
        {"code": "workdir_is_local", "field": "workdir", "message": f"There is no {path}, which the file sends along."}
        for path in request.missing
    ]
    # `run` sends the folder itself: the hub's warning is for programs that call the API.
    others = [one for one in check["warnings"] if one["code"] != "workdir_is_local"]
    check["warnings"] = [*more, *others]
    quote = pool.market.quote(spec, signed_by=signed_by)
    allowed = bool(check["valid"] and quote["actions"]["submit"]["allowed"] and not request.missing)
    if as_json:
        print_json({"submitted": False, "allowed": allowed, "check": check, "quote": quote})
        return 0 if allowed else 1
    _show_price(quote)
    _show_begin(quote)
    _show_notes("Errors", [(one["field"], one["message"]) for one in check["errors"]])
    _show_notes("Warnings", [(one["field"], one["message"]) for one in check["warnings"]])
    _show_notes("Defaults", [(f"{one['field']}: {one['value'] or '-'}", one["why"]) for one in check["defaults"]])
    if check["yaml"] is not None:
        click.echo("Spec")
        for line in check["yaml"].splitlines():
            click.echo(f"  {clean(line)}")
    reason = quote["actions"]["submit"]["reason"]
    if reason is None:
        reason = f"there is no {request.missing[0]}" if request.missing else "this was a dry run"
    click.echo(f"Not submitted: {clean(reason)}")
    return 0 if allowed else 1


def _show_price(quote: Mapping[str, Any]) -> None:
    from computepool.cli.display import in_credits

    if quote["cost"]:
        click.echo("Price")
        for line in quote["cost"]:
            click.echo(f"  {clean(line['label'])}: {in_credits(line['micros'])}")


def _show_begin(quote: Mapping[str, Any]) -> None:
    begin = quote["begin"]
    click.echo("Start")
    click.echo(f"  {clean(quote['start'] or begin['reason'] or 'It can start now.')}")
    if quote["start"] is None and quote["summary"] != begin["reason"]:
        click.echo(f"  {clean(quote['summary'])}")
    for gate in quote["gates"]:
        click.echo(f"  {gate['removed']} of {quote['nodes_total']} nodes: {clean(gate['detail'])}")
    for words in quote["suggestions"]:
        click.echo(f"  try: {clean(words)}")


def _show_notes(title: str, notes: list[tuple[str | None, str]]) -> None:
    if notes:
        click.echo(title)
        for name, words in notes:
            click.echo(f"  {f'{clean(name)}: ' if name else ''}{clean(words)}")


def _as_written(request: Request, spec: "JobSpec") -> Mapping[str, object]:
    """What was typed, where it says the same by itself: of the canonical form nobody can tell what was a default."""
    from computepool.protocol.spec import SpecError, parse_spec

    written = {key: _elsewhere(value) if key in KEYS else value for key, value in request.written.items()}
    try:
        return written if parse_spec(written) == spec else spec.to_wire()
    except SpecError:
        return spec.to_wire()


def _elsewhere(inputs: object) -> object:
    """Inputs without those that are files of this machine."""
    if not isinstance(inputs, Mapping):
        return inputs
    return {path: source for path, source in inputs.items() if not str(source).startswith(STAND_IN)}


def _without_files_here(request: Request) -> "JobSpec":
    """Files of this machine are uploaded when the job is submitted, and not for a look."""
    kept = {path: source for path, source in request.spec.inputs.items() if path not in request.inputs}
    return request.spec.model_copy(update={"inputs": kept})
