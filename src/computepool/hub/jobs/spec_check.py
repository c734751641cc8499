"""A spec that somebody is still writing: what the pool would make of it, and what is wrong with it, where."""

from collections.abc import Collection
from typing import Annotated, Any, Literal

from computepool.hub.core.errors import Invalid, TooLarge
from computepool.hub.jobs.errors import BadSpec, NotSupportedYet
from computepool.hub.jobs.submission import check_spec
from computepool.hub.market.known_cards import unknown_names
from computepool.protocol.errors import FieldError
from computepool.protocol.model import Documented, ShownAs
from computepool.protocol.spec import JobSpec
from computepool.protocol.spec_command import command_of
from computepool.protocol.spec_review import FilledDefault, SpecWarning, defaults_of, warnings_of
from computepool.protocol.spec_text import MAX_TEXT_BYTES, SpecText, SpecTextError, read_json, read_yaml, write_yaml
from computepool.protocol.written_spec import WireSpec

JSON = "application/json"
YAML = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain")
"""JSON is YAML too, so text of no named kind is read as that."""

ProblemCode = Literal["bad_text", "bad_spec", "not_supported_yet"]


class SpecProblem(FieldError):
    """One thing that is wrong with a spec."""

    code: ProblemCode
    """bad_text: neither YAML nor JSON. bad_spec: a field is wrong. not_supported_yet: valid, and this pool cannot do
    it."""
    line: int | None = None
    """Where it is written, counted from 1; null where it is not written, and for JSON that can be read."""
    column: int | None = None
    """The same, in its line."""


class SpecCheck(Documented):
    """What the pool makes of a spec."""

    valid: bool
    """Whether a job can be made of it."""
    spec: Annotated[dict[str, Any], ShownAs(WireSpec)] | None
    """The canonical form, with every default that counts; null if it is not valid."""
    yaml: str | None
    """The same as YAML text."""
    command: str | None
    """The command line that submits the same job, quoted for a shell."""
    defaults: list[FilledDefault]
    """What the spec left out, and what is taken instead."""
    warnings: list[SpecWarning]
    """What is valid, and probably not meant."""
    errors: list[SpecProblem]
    """What is wrong; empty if it is valid."""


def read_text(raw: bytes, media_type: str | None) -> SpecText:
    """A body as plain values. Raises SpecTextError for bad text, and Invalid or TooLarge for what is none."""
    kind = (media_type or "").partition(";")[0].strip().lower()
    if kind not in ("", JSON, *YAML):
        raise Invalid(f"A spec cannot be sent as {kind[:60]}.", hint=f"Send it as {JSON}, {YAML[0]} or text/plain.")
    if len(raw) > MAX_TEXT_BYTES:
        raise TooLarge(f"A job spec has at most {MAX_TEXT_BYTES} bytes.")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Invalid("The spec is not text in UTF-8.", hint="Send YAML or JSON.") from None
    return read_json(text) if kind == JSON else read_yaml(text)


def read_asked(raw: bytes, media_type: str | None, cards: Collection[str]) -> tuple[JobSpec, bool]:
    """The spec that a quote is asked for, and whether it says what to run: prices do not depend on it. Raises BadSpec,
    NotSupportedYet, Invalid, TooLarge."""
    try:
        data = read_text(raw, media_type or JSON).value
    except SpecTextError as error:
        raise BadSpec([FieldError(field="(body)", message=error.message, hint="Send JSON or YAML.")]) from None
    says = not isinstance(data, dict) or any(data.get(key) is not None for key in ("run", "commands"))
    return check_spec(data if says else {**data, "run": "true"}, cards), says


def check_text(raw: bytes, media_type: str | None, cards: Collection[str], *, money: bool) -> SpecCheck:
    """Never refuses a spec for what is in it: that is the answer. Raises Invalid or TooLarge for what is no text."""
    try:
        text = read_text(raw, media_type)
    except SpecTextError as error:
        line, column = (error.place.line, error.place.column) if error.place is not None else (None, None)
        hint = "Indent with spaces, and put text with : or # in quotes." if "json" not in (media_type or "") else None
        return _wrong([_problem("bad_text", FieldError(field="", message=error.message, hint=hint), line, column)])
    try:
        spec = check_spec(text.value, cards)
    except (BadSpec, NotSupportedYet) as error:
        code: ProblemCode = "bad_spec" if isinstance(error, BadSpec) else "not_supported_yet"
        return _wrong([_placed(code, each, text) for each in error.fields or ()])
    return _right(spec, text.value, cards, money=money)


def _right(spec: JobSpec, written: dict[str, Any], cards: Collection[str], *, money: bool) -> SpecCheck:
    wire = spec.to_wire()
    return SpecCheck(
        valid=True,
        spec=wire,
        yaml=write_yaml(wire),
        command=command_of(spec),
        defaults=defaults_of(written, spec, money=money),
        warnings=[*_about_gpu_names(spec, cards), *warnings_of(written, spec, money=money)],
        errors=[],
    )


def _about_gpu_names(spec: JobSpec, cards: Collection[str]) -> list[SpecWarning]:
    unknown = unknown_names(spec.resources.gpu, cards) if spec.resources.gpu is not None else []
    return [
        SpecWarning(
            code="unknown_gpu",
            field="resources.gpu",
            message=f"{name} is not a GPU that this pool knows; the job gets one of the others.",
        )
        for name in unknown
    ]


def _wrong(errors: list[SpecProblem]) -> SpecCheck:
    return SpecCheck(valid=False, spec=None, yaml=None, command=None, defaults=[], warnings=[], errors=errors)


def _placed(code: ProblemCode, error: FieldError, text: SpecText) -> SpecProblem:
    place = text.place_of(error.field)
    return _problem(code, error, *((place.line, place.column) if place is not None else (None, None)))


def _problem(code: ProblemCode, error: FieldError, line: int | None, column: int | None) -> SpecProblem:
    return SpecProblem(code=code, line=line, column=column, **error.model_dump())
