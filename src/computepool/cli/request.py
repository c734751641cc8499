"""From what was typed to what is submitted: the spec, and the files that go along."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from computepool.cli.errors import CliError
from computepool.cli.inputs import LocalFiles, not_packed

if TYPE_CHECKING:
    from computepool.client.bundle import Bundle
    from computepool.protocol.foreign import Translation
    from computepool.protocol.spec import JobSpec
    from computepool.protocol.spec_review import SpecWarning

SPEC_SUFFIXES = (".yaml", ".yml")
DEFAULT_SPEC = "pool.yaml"
INTERPRETERS = {".py": "python3", ".sh": "bash", ".js": "node", ".rb": "ruby", ".pl": "perl", ".R": "Rscript"}

STDIN_INPUT = ".computepool-stdin"
"""The input that has what was piped into the CLI."""
WITH_STDIN = ("sh", "-c", f'exec "$0" "$@" < {STDIN_INPUT}')

Form = Literal["spec", "script", "command"]


@dataclass(frozen=True)
class Typed:
    """The three forms of `run`, told apart."""

    form: Form
    target: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """What the flags of `run` say; None and empty mean that the spec decides."""

    gpu: str | None = None
    cpus: str | None = None
    memory: str | None = None
    disk: str | None = None
    image: str | None = None
    setup: str | None = None
    checkpoint: str | None = None
    max_price: str | None = None
    max_runtime: str | None = None
    slices: int | None = None
    retries: int | None = None
    priority: int | None = None
    team: str | None = None
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    name: str | None = None
    network: bool = False
    workdir: Path | None = None
    isolation: str | None = None
    mine: bool = False
    node: str | None = None
    tags: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """`KEY=VALUE`, for keys that have no flag."""


@dataclass(frozen=True)
class Request:
    spec: "JobSpec"
    folder: Path | None = None
    """Packed and sent along."""
    files: tuple[tuple[Path, str], ...] = field(default=())
    """Or only these, each with its name in the bundle."""
    parts: tuple[tuple[Path, str], ...] = ()
    """Or these files and folders, each with its place in the bundle: what a file of another system sends."""
    inputs: Mapping[str, Path] = field(default_factory=dict)
    """Uploaded first, each for its path in the job's folder."""
    written: Mapping[str, object] = field(default_factory=dict)
    """What the file and the flags say, before defaults are filled in."""
    notes: "tuple[SpecWarning, ...]" = ()
    """What was made of a script's own metadata."""

    @property
    def command(self) -> str:
        if isinstance(self.spec.run, str):
            return self.spec.run
        reads_stdin = self.spec.run[: len(WITH_STDIN)] == WITH_STDIN
        return shlex.join(self.spec.run[len(WITH_STDIN) :]) + " < stdin" if reads_stdin else shlex.join(self.spec.run)

    @property
    def missing(self) -> list[Path]:
        """What it would send and is not there."""
        return [path for path, _ in self.parts if not path.exists()]

    def pack(self, target: Path) -> "Bundle | None":
        from computepool.client.bundle import pack, pack_files, pack_parts, result_folders

        if self.parts:
            for path in self.missing:
                raise CliError(
                    f"There is no {path}, which the spec file sends.", "Create it, or change the spec file.", 2
                )
            top = next((path for path, place in self.parts if place == "."), None)
            excludes = not_packed(tuple(self.spec.inputs), top) if top is not None else ()
            return pack_parts(self.parts, target, extra_excludes=excludes)
        if self.folder is not None:
            excludes = not_packed(tuple(self.spec.inputs), self.folder)
            results = result_folders(self.spec.outputs)
            return pack(self.folder, target, extra_excludes=excludes, result_folders=results)
        return pack_files(self.files, target) if self.files else None


def tell_form(words: Sequence[str], *, after_dashes: bool) -> Typed:
    """`words` is what is left after the options."""
    if not words:
        if not after_dashes and Path(DEFAULT_SPEC).is_file():
            return Typed("spec", DEFAULT_SPEC)
        raise click.UsageError("Nothing to run was given. Give a script, a spec file, or -- and a command.")
    target, arguments = words[0], tuple(words[1:])
    if after_dashes:
        return Typed("command", target, arguments)
    if target.endswith(SPEC_SUFFIXES):
        return Typed("spec", target, arguments)
    if Path(target).is_file():
        return Typed("script", target, arguments)
    if target.endswith(tuple(INTERPRETERS)):
        raise CliError(
            f"There is no file {target}.", "Give its path relative to the current folder, or the full path.", 2
        )
    raise click.UsageError(f"There is no file {target!r}. To run a command: computepool run -- {shlex.join(words)}")


def build_request(
    typed: Typed, options: Options, environ: Mapping[str, str] = os.environ, *, stdin: Path | None = None
) -> Request:
    """Raises `SpecError` with every problem of the spec. `stdin` is what a command or script gets as standard input."""
    from computepool.protocol.spec import parse_spec

    files: tuple[tuple[Path, str], ...] = ()
    parts: tuple[tuple[Path, str], ...] = ()
    local = LocalFiles()
    folder = options.workdir
    if folder is not None and not folder.is_dir():
        raise CliError(f"The workdir {folder} is not a folder.", "Name a folder, such as --workdir .", 2)
    if typed.form == "spec":
        written, wire, folder, parts = _from_file(Path(typed.target), local, folder, environ)
    elif typed.form == "script":
        words, files = _script(Path(typed.target), typed.arguments, folder)
        wire = {"run": words, "name": Path(typed.target).stem}
    else:
        wire = {"run": [typed.target, *typed.arguments]}
    if folder is not None and typed.form != "spec":
        wire["workdir"] = "."
    if stdin is not None and typed.form != "spec":
        wire.setdefault("name", Path(typed.target).name)
        wire["run"] = [*WITH_STDIN, *cast("list[str]", wire["run"])]
        wire["inputs"] = local.take_typed([f"{STDIN_INPUT}={stdin}"])
    if options.inputs:
        wire["inputs"] = {**cast("dict[str, object]", wire.get("inputs", {})), **local.take_typed(options.inputs)}
    merged = _overlay(wire, options, environ)
    notes: tuple[SpecWarning, ...] = ()
    if typed.form == "spec":
        written = _overlay(written, options, environ)
    else:
        if typed.form == "script":
            merged, notes = _with_metadata(Path(typed.target), merged)
        written = merged
    request = parse_spec(merged)
    for _, name in files:
        if name in request.inputs:
            raise CliError(f"{name} is both the script and an input.", "Give the input another path.", 2)
    inputs = local.of(request)
    return Request(request, None if parts else folder, files, parts, inputs, written, notes)


def _with_metadata(script: Path, spec: dict[str, Any]) -> "tuple[dict[str, Any], tuple[SpecWarning, ...]]":
    if script.suffix != ".py":
        return spec, ()
    from computepool.cli.script_metadata import metadata_of

    metadata = metadata_of(script)
    return (spec, ()) if metadata is None else metadata.added_to(spec)


def _from_file(
    path: Path, local: LocalFiles, folder: Path | None, environ: Mapping[str, str]
) -> tuple[Any, dict[str, Any], Path | None, tuple[tuple[Path, str], ...]]:
    """What is written there, its canonical form, and what is sent along: a folder, or parts."""
    from computepool.protocol.foreign import read_foreign
    from computepool.protocol.spec import parse_spec

    written = _read_spec(path)
    foreign = read_foreign(written)
    if foreign is not None:
        wire = parse_spec(written, environ=environ).to_wire()
        return written, wire, folder, _parts(foreign, path.parent, folder)
    written = local.take_from(written, path.parent)
    spec = parse_spec(written, environ=environ)
    if folder is None and spec.workdir is not None:
        folder = path.parent / spec.workdir
        if not folder.is_dir():
            raise CliError(
                f"The workdir {folder} of {path} is not a folder.", "The path is relative to the spec file.", 2
            )
    return written, spec.to_wire(), folder, ()


def _parts(foreign: "Translation", beside: Path, folder: Path | None) -> tuple[tuple[Path, str], ...]:
    """What a file of another system sends. SkyPilot's paths are relative to the caller, dstack's to the file."""
    from computepool.protocol.foreign import System

    base = Path() if foreign.system is System.SKYPILOT else beside
    found = [(base / Path(part.source).expanduser(), part.place) for part in foreign.local]
    if folder is not None:
        found = [(folder, "."), *((path, place) for path, place in found if place != ".")]
    return tuple(found)


def _read_spec(path: Path) -> Any:
    from computepool.protocol.spec_text import MAX_TEXT_BYTES, SpecTextError, read_yaml

    try:
        if path.stat().st_size > MAX_TEXT_BYTES:
            raise CliError(
                f"{path} is larger than a spec can be.", "Send files with `workdir` or `inputs`, not in the spec.", 2
            )
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CliError(
            f"There is no file {path}.", "Give its path relative to the current folder, or the full path.", 2
        ) from None
    except UnicodeDecodeError:
        raise CliError(f"{path} is not text in UTF-8.", "A spec is a YAML file.", 2) from None
    try:
        return read_yaml(text).value
    except SpecTextError as error:
        where = f", line {error.place.line}, column {error.place.column}" if error.place is not None else ""
        raise CliError(f"{path}{where}: {error.message}.", "The file is not valid YAML.", 2) from None


def _script(
    script: Path, arguments: Sequence[str], folder: Path | None
) -> tuple[list[str], tuple[tuple[Path, str], ...]]:
    """The command, and the file when it travels alone."""
    files: tuple[tuple[Path, str], ...] = ()
    if folder is None:
        name, files = script.name, ((script, script.name),)
    else:
        inside = script.resolve()
        root = folder.resolve()
        if not inside.is_relative_to(root):
            raise CliError(f"{script} is not inside the workdir {folder}.", "Choose a --workdir that contains it.", 2)
        name = inside.relative_to(root).as_posix()
    interpreter = INTERPRETERS.get(script.suffix)
    if interpreter is not None:
        return [interpreter, name, *arguments], files
    if not os.access(script, os.X_OK):
        hint = f"Name an interpreter: computepool run --workdir {script.parent} -- INTERPRETER {name}; or chmod +x it."
        raise CliError(f"{script} is not executable, and its extension does not name an interpreter.", hint, 2)
    return [f"./{name}", *arguments], files


def _overlay(wire: dict[str, Any], options: Options, environ: Mapping[str, str]) -> dict[str, Any]:
    """Flags over the file, in the canonical form, so that no alias has to be known here."""
    merged = dict(wire)
    resources = {key: getattr(options, key) for key in ("gpu", "cpus", "memory", "disk")}
    merged["resources"] = {**merged.get("resources", {}), **{k: v for k, v in resources.items() if v is not None}}
    plain = (
        "image",
        "setup",
        "checkpoint",
        "max_price",
        "max_runtime",
        "slices",
        "retries",
        "priority",
        "team",
        "name",
        "isolation",
    )
    merged |= {key: value for key in plain if (value := getattr(options, key)) is not None}
    if options.network:
        merged["network"] = True
    if options.env:
        merged["env"] = {**merged.get("env", {}), **_environment(options.env, environ)}
    for key in ("secrets", "outputs"):
        if added := getattr(options, key):
            merged[key] = list(dict.fromkeys([*merged.get(key, ()), *added]))
    where: dict[str, object] = dict(merged.get("where", {}))
    where |= {"trust": "mine"} if options.mine else {}
    where |= {"node": options.node} if options.node else {}
    where |= {"tags": list(options.tags)} if options.tags else {}
    where |= {"country": list(options.countries)} if options.countries else {}
    if where:
        merged["where"] = where
    for pair in options.settings:
        _set(merged, pair)
    return merged


def _set(merged: dict[str, Any], pair: str) -> None:
    """What `--set KEY=VALUE` says; the value is read as in a spec file."""
    from computepool.protocol.spec_text import SpecTextError, read_yaml

    name, equals, text = pair.partition("=")
    if not name or not equals:
        raise CliError(f"--set {pair} is not KEY=VALUE.", "Such as --set budget=200 or --set verify.replicas=2", 2)
    try:
        value = read_yaml(text).value
    except SpecTextError as error:
        raise CliError(f"--set {name}: {error.message}.", "The value is read as YAML.", 2) from None
    outer, dot, inner = name.partition(".")
    if dot:
        before = merged.get(outer)
        merged[outer] = {**(before if isinstance(before, Mapping) else {}), inner: value}
    else:
        merged[outer] = value


def _environment(pairs: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            if name not in environ:
                raise CliError(f"--env {name}: {name} is not set here.", f"Give its value: --env {name}=VALUE", 2)
            value = environ[name]
        found[name] = value
    return found


def notes_of(request: Request) -> "list[SpecWarning]":
    """What a person should see of a job before it is sent."""
    from computepool.protocol.spec_review import PLAN_CODES, warnings_of

    found = [note for note in warnings_of(request.written, request.spec) if note.code in PLAN_CODES]
    return [*request.notes, *found]
