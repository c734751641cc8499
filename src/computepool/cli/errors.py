"""How a failure is told: one red line that says what is wrong, one dim line that says what to do, and an exit code."""

import json
import os
from collections.abc import Sequence

import click

FAILED = 1
USAGE = 2
POOL_COULD_NOT = 75
"""As sysexits' EX_TEMPFAIL: not the job's fault; trying again may help."""
POOL_IS_BUSY = (429, 502, 503, 504)
"""Answers of a hub that is there, and cannot do it now."""
NOT_SIGNED_IN = 77
INTERRUPTED = 130
READER_GONE = 141
"""As a shell reports SIGPIPE."""
TYPED = ("computepool ", "echo ")
"""What a hint begins with that is to be typed as it stands."""


class CliError(Exception):
    """Something that the CLI itself has to refuse."""

    def __init__(self, message: str, hint: str | None = None, code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = code


def clean(text: object) -> str:
    """One line without control characters: names and messages come from strangers, and terminals obey."""
    return "".join(char if char.isprintable() else " " for char in str(text))


def is_dumb() -> bool:
    """Whether the terminal shows text and newlines only, as those of editors do."""
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")


def use_color() -> bool | None:
    """None lets click look at the stream itself."""
    return False if os.environ.get("NO_COLOR") or is_dumb() else None


def is_json() -> bool:
    """Whether this call was asked for JSON, so that its errors are JSON too."""
    context = click.get_current_context(silent=True)
    return context is not None and bool((context.find_root().obj or {}).get("json"))


def tell(text: str, **style: object) -> None:
    """A line for the person, beside the job's own output."""
    text = "\n".join(map(clean, text.split("\n")))
    click.secho(text, err=True, color=use_color(), **style)  # type: ignore[arg-type]  # click's own style names


def tell_error(message: str, hint: str | None = None) -> None:
    tell(f"error: {clean(message)}", fg="red")
    if hint:
        tell(f"  {hint_line(hint)}", dim=True)


def hint_line(hint: str) -> str:
    """A hint begins with a large letter, or with what is to be typed. Those of single values are parts of a sentence,
    which can follow a semicolon."""
    text = clean(hint)
    if text.startswith(TYPED):
        return text
    question, mark, rest = text.partition("? ")
    return "".join(part[:1].upper() + part[1:] for part in (question, mark, rest))


def report(error: Exception, *, as_json: bool | None = None) -> int:
    """Tell it; the exit code."""
    if is_json() if as_json is None else as_json:
        click.echo(json.dumps(_document_of(error)), err=True)
        return error.exit_code if isinstance(error, click.ClickException) else exit_code_of(error)
    if isinstance(error, click.ClickException):
        return _report_usage(error)
    if isinstance(error, OSError) and not _is_ours(error):
        tell_error(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
        return FAILED
    if not _is_ours(error):
        tell_error(
            f"This is a fault of computepool itself: {type(error).__name__}: {error}",
            "COMPUTEPOOL_DEBUG=1 shows where. Please report it with that.",
        )
        return FAILED
    if problems := _problems_of(error):
        return _report_fields(error, problems)
    tell_error(str(getattr(error, "message", None) or error), getattr(error, "hint", None) or _hint_for(error))
    return exit_code_of(error)


def not_utf8(arguments: Sequence[str]) -> CliError | None:
    """The first argument that cannot be sent. Only when it was tried: a path may well be any bytes."""
    for one in arguments:
        shown = os.fsencode(one).decode(errors="backslashreplace")
        if shown != one:
            return CliError(f"{shown} is not text in UTF-8.", "Type it again, in a terminal that writes UTF-8.", USAGE)
    return None


def exit_code_of(error: Exception) -> int:
    own = getattr(error, "exit_code", None)
    if isinstance(own, int):
        return own
    if _problems_of(error):
        return USAGE
    # By name: a command that failed before it needed the client does not load it now.
    if type(error).__name__ == "HubUnreachable" or getattr(error, "status", 0) in POOL_IS_BUSY:
        return POOL_COULD_NOT
    return NOT_SIGNED_IN if type(error).__name__ == "NotSignedIn" else FAILED


def _problems_of(error: Exception) -> list[object]:
    """The wrong fields of a refused job spec."""
    if not _is_ours(error):
        return []
    return list(getattr(error, "problems", None) or getattr(error, "fields", None) or ())


def _document_of(error: Exception) -> dict[str, object]:
    """As the hub's own errors are: `{"error": {"code", "message", "hint"?, "fields"?}}`."""
    problems = _problems_of(error)
    if isinstance(error, click.ClickException):
        code, message, hint = "usage", error.format_message(), None
    elif not _is_ours(error):
        code, message, hint = "os_error" if isinstance(error, OSError) else "internal", str(error), None
    else:
        code = getattr(error, "code", None) or ("bad_spec" if problems else "refused")
        message = str(getattr(error, "message", None) or ("The job spec is refused." if problems else error))
        hint = getattr(error, "hint", None) or _hint_for(error)
    document: dict[str, object] = {"code": code, "message": clean(message)}
    if hint:
        document["hint"] = hint_line(hint)
    if problems:
        names = ("field", "message", "value", "hint")
        document["fields"] = [
            {name: clean(value) for name in names if (value := getattr(problem, name, None)) is not None}
            for problem in problems
        ]
    return {"error": document}


def _is_ours(error: Exception) -> bool:
    return any(kind.__module__.startswith("computepool.") for kind in type(error).__mro__)


def _hint_for(error: Exception) -> str | None:
    return "Sign in: computepool login URL" if type(error).__name__ == "NotSignedIn" else None


def _report_usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    hint = None
    if isinstance(error, click.UsageError) and context is not None:
        hint = f"See: {context.command_path} --help"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True, color=use_color())
        return USAGE
    if _is_amount_below_zero(error, context):
        tell_error("An amount of credits cannot be below zero.", "Write it like 40 or 0.25.")
        return USAGE
    tell_error(error.format_message(), hint)
    return error.exit_code


def _is_amount_below_zero(error: click.ClickException, context: click.Context | None) -> bool:
    """`-1` looks like an option, of which only the first letter is told: here it is one of the command's amounts."""
    if not isinstance(error, click.NoSuchOption) or context is None or error.option_name[1:2] not in "0123456789.":
        return False
    return any(isinstance(one, click.Argument) and one.name == "credits" for one in context.command.params)


def _report_fields(error: Exception, problems: list[object]) -> int:
    """Each wrong field with what to write instead. `problems` are protocol or client errors, alike in their names."""
    from_hub = getattr(error, "message", None)
    count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    tell(f"error: {clean(from_hub or f'The job spec has {count}:')}", fg="red")
    for problem in problems:
        field, message = getattr(problem, "field", ""), getattr(problem, "message", "")
        value, hint = getattr(problem, "value", None), getattr(problem, "hint", None)
        is_shown = value not in (None, "None") and str(value).strip() and str(value) not in str(message)
        shown = f" [{clean(value)}]" if is_shown else ""
        if not from_hub or str(message) not in from_hub:
            tell(f"  {clean(field)}: {clean(message)}{shown}")
        if hint:
            tell(f"    {hint_line(hint)}", dim=True)
    hint = getattr(error, "hint", None)
    if hint:
        tell(f"  {hint_line(hint)}", dim=True)
    return USAGE
