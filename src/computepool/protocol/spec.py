"""The job spec: what a renter asks for.

`parse_spec` reads what a person wrote (every alias, every spelling of a size) and returns the one canonical `JobSpec`,
or raises `SpecError` with everything that is wrong. The wire form of a spec is itself a valid spec, so one reader and
one set of rules serves files, the CLI and the API.
"""

import hashlib
import json
from collections.abc import Mapping

from pydantic import Field

from computepool.protocol.foreign import read_foreign
from computepool.protocol.shell import Shell
from computepool.protocol.spec_aliases import ELSEWHERE, SPEC_ALIASES, SPEC_KEYS
from computepool.protocol.spec_errors import FieldProblem, Problems, SpecError
from computepool.protocol.spec_fields import (
    SLUG,
    choice,
    flag,
    image,
    label,
    matching,
    open_section,
    output_pattern,
    relative_path,
    script,
    whole_number,
)
from computepool.protocol.spec_input import MAX_SPEC_BYTES, clean_input, join_path, too_large
from computepool.protocol.spec_models import (
    Input,
    Optimize,
    Publish,
    Resources,
    SpecPart,
    Trust,
    Verify,
    Where,
)
from computepool.protocol.spec_sections import (
    read_checkpoint,
    read_env,
    read_inputs,
    read_links,
    read_publish,
    read_resources,
    read_run,
    read_secrets,
    read_verify,
    read_where,
)
from computepool.protocol.spec_support import not_supported_yet
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import (
    BadValueError,
    format_credits,
    format_duration,
    parse_credits,
    parse_duration,
    short_repr,
)

__all__ = [
    "FieldProblem",
    "Input",
    "JobSpec",
    "Optimize",
    "Publish",
    "Resources",
    "SpecError",
    "Trust",
    "Verify",
    "Where",
    "not_supported_yet",
    "parse_spec",
]

DEFAULT_MAX_RUNTIME_SECONDS = 86_400
"""A night's training ends by itself. What it costs is bounded by `budget`, and set aside hour by hour (ADR 0053)."""
MAX_RUNTIME_SECONDS = 30 * 86_400
MAX_SLICES = 10_000
MAX_RETRIES = 100
MIN_PRIORITY, MAX_PRIORITY = -100, 100


class JobSpec(SpecPart):
    """A job as the pool understands it. Made by `parse_spec`, which alone knows the rules across fields."""

    name: str | None = None
    resources: Resources = Resources()
    image: str | None = None
    workdir: str | None = None
    setup: str | None = None
    run: str | tuple[str, ...]
    """Text for a shell, or a program and its arguments."""
    env: dict[str, str] = Field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    checkpoint: str | None = None
    checkpoint_seconds: int | None = None
    """How often it is saved while the job runs; None for the pool's own period."""
    slices: int = Field(default=1, ge=1, le=MAX_SLICES)
    max_price_micros: int | None = Field(default=None, ge=0)
    """For one slice-hour, fee included."""
    max_runtime_seconds: int = Field(default=DEFAULT_MAX_RUNTIME_SECONDS, ge=1, le=MAX_RUNTIME_SECONDS)
    budget_micros: int | None = Field(default=None, ge=0)
    priority: int = Field(default=0, ge=MIN_PRIORITY, le=MAX_PRIORITY)
    preemptible: bool = False
    retries: int = Field(default=0, ge=0, le=MAX_RETRIES)
    optimize: Optimize = Optimize.BALANCED
    where: Where = Where()
    isolation: IsolationLevel | None = None
    """The least that is accepted; None leaves it to the pool."""
    inputs: dict[str, Input] = Field(default_factory=dict)
    notify: tuple[str, ...] = ()
    team: str | None = None
    network: bool = False
    deterministic: bool = False
    verify: Verify | None = None
    publish: Publish | None = None
    links: dict[str, str] = Field(default_factory=dict)
    """Absolute paths, and paths in the job's home, that lead into its working folder."""
    keep_going: bool = False
    """A line of `run` or `setup` that fails does not end it."""

    def argv(self) -> tuple[str, ...]:
        return ("sh", "-c", self.run) if isinstance(self.run, str) else self.run

    def setup_argv(self) -> tuple[str, ...]:
        return ("sh", "-c", self.setup) if self.setup else ()

    @property
    def _shell(self) -> Shell:
        return Shell.PLAIN if self.keep_going else Shell.STRICT

    @property
    def run_shell(self) -> Shell | None:
        return self._shell if isinstance(self.run, str) else None

    @property
    def setup_shell(self) -> Shell | None:
        return self._shell if self.setup else None

    def to_wire(self) -> dict[str, object]:
        """JSON-able, and itself a valid spec.

        None, empty and false are left out; other defaults are written, so that a later change of a default does not
        change a stored job. A new field must default to None, empty or false: then old digests stay what they were.
        """
        wire = self.model_dump(
            mode="json",
            exclude={
                *("resources", "inputs", "max_price_micros", "max_runtime_seconds", "budget_micros", "where"),
                "checkpoint_seconds",
            },
        )
        wire["resources"] = self.resources.to_wire()
        wire["where"] = _written(self.where.model_dump(mode="json"))
        wire["inputs"] = {path: source.to_wire() for path, source in self.inputs.items()}
        wire["max_runtime"] = format_duration(self.max_runtime_seconds)
        if self.checkpoint_seconds is not None:
            wire["checkpoint"] = {"path": self.checkpoint, "every": format_duration(self.checkpoint_seconds)}
        if self.max_price_micros is not None:
            wire["max_price"] = format_credits(self.max_price_micros)
        if self.budget_micros is not None:
            wire["budget"] = format_credits(self.budget_micros)
        if self.publish is not None:
            wire["publish"] = _written(self.publish.model_dump(mode="json"))
        return _written(wire)

    @classmethod
    def from_wire(cls, data: Mapping[str, object]) -> "JobSpec":
        """A spec that crossed a process obeys the same rules as one that a person wrote."""
        return parse_spec(data)

    def canonical_json(self) -> bytes:
        return json.dumps(self.to_wire(), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.canonical_json()).hexdigest()


def _written(wire: dict[str, object]) -> dict[str, object]:
    return {
        key: value for key, value in wire.items() if value is not None and value is not False and value not in ([], {})
    }


def parse_spec(data: Mapping[str, object], *, environ: Mapping[str, str] | None = None) -> JobSpec:
    """The canonical spec. `environ` is the caller's environment, for `env` entries without a value.

    Raises `SpecError` with all problems, and nothing else, whatever it is given.
    """
    problems = Problems()
    cleaned = clean_input(data, problems)
    foreign = read_foreign(cleaned, problems)
    if foreign is not None:
        cleaned, problems.origins = foreign.values, foreign.origins
    else:
        _check_headers(cleaned, problems)
    section = open_section(problems, "", cleaned, SPEC_KEYS, SPEC_ALIASES, ELSEWHERE)
    where, secrets = read_where(problems, section.get("where")), read_secrets(section)
    checkpoint, checkpoint_seconds = read_checkpoint(section)
    spec = JobSpec(
        name=section.read("name", label, None),
        resources=read_resources(problems, "resources", section.get("resources")),
        image=section.read("image", image, None),
        workdir=section.read("workdir", relative_path, None),
        setup=section.read("setup", script, None),
        run=read_run(section),
        env={**(foreign.system_env if foreign is not None else {}), **read_env(section, environ)},
        secrets=secrets,
        outputs=section.read_list("outputs", output_pattern),
        checkpoint=checkpoint,
        checkpoint_seconds=checkpoint_seconds,
        slices=section.read("slices", whole_number(1, MAX_SLICES), 1),
        max_price_micros=section.read("max_price", parse_credits, None),
        max_runtime_seconds=section.read("max_runtime", _runtime, DEFAULT_MAX_RUNTIME_SECONDS),
        budget_micros=section.read("budget", parse_credits, None),
        priority=section.read("priority", whole_number(MIN_PRIORITY, MAX_PRIORITY), 0),
        preemptible=section.read("preemptible", flag, False),
        retries=section.read("retries", whole_number(0, MAX_RETRIES), 0),
        optimize=section.read("optimize", choice(Optimize), Optimize.BALANCED),
        where=where,
        isolation=section.read("isolation", choice(IsolationLevel), None),
        inputs=read_inputs(section),
        notify=section.read_list("notify", matching(SLUG, "email or a webhook's name", "write [email]")),
        team=section.read("team", matching(SLUG, "the name of a team", "letters, digits and . _ -"), None),
        network=section.read("network", flag, False),
        deterministic=section.read("deterministic", flag, False),
        verify=read_verify(problems, section.get("verify")),
        publish=read_publish(problems, section.get("publish")),
        links=read_links(section),
        keep_going=section.read("keep_going", flag, False),
    )
    if spec.isolation is None and any(path.startswith("/") for path in spec.links):
        # A plain process sees the machine's own folders there.
        spec = spec.model_copy(update={"isolation": IsolationLevel.BUBBLEWRAP})
    _check_across_fields(spec, problems)
    problems.raise_if_any()
    if len(spec.canonical_json()) > MAX_SPEC_BYTES:
        raise too_large()
    return spec


def _check_headers(cleaned: dict[str, object], problems: Problems) -> None:
    """Keys that say what every job here is, as long as they say that."""
    kind = cleaned.pop("type", None)
    if kind is not None:
        problems.add("type", kind, "only tasks run here", "write type: task for a dstack file, or leave it out")
    count = cleaned.pop("nodes", None)
    if count is not None and (isinstance(count, bool) or count != 1):
        problems.add("nodes", count, "a job here runs on one machine", "for parallel parts write them as `slices`")


def _check_across_fields(spec: JobSpec, problems: Problems) -> None:
    if spec.secrets and spec.where.trust is Trust.ANY:
        problems.add(
            "secrets",
            list(spec.secrets),
            "secrets are not sent to nodes of strangers, who could read them",
            "add where: {trust: mine} or where: {trust: verified}",
        )
    for name in sorted(set(spec.secrets) & set(spec.env)):
        problems.add(f"env.{name}", name, f"{name} is also a secret", "keep one of the two")
    for path in spec.inputs:
        if spec.checkpoint is not None and _overlap(path, spec.checkpoint):
            message = f"{path} lies in the way of the checkpoint folder {spec.checkpoint}, which is replaced as a whole"
            problems.add(join_path("inputs", path), path, message, "give one of the two another path")
    absolute = [path for path in spec.links if path.startswith("/")]
    if absolute and spec.isolation is IsolationLevel.PROCESS:
        message = f"without a sandbox, {absolute[0]} would be the machine's own"
        problems.add("isolation", "process", message, "ask for bubblewrap, or leave it out")
    if spec.verify is not None and not spec.deterministic:
        hint = "add deterministic: true, if two runs give the same outputs, or leave verify out"
        problems.add("verify", {"replicas": spec.verify.replicas}, "verify needs deterministic: true", hint)


def _overlap(one: str, other: str) -> bool:
    """Whether one path lies in the other."""
    return f"{one}/".startswith(f"{other}/") or other.startswith(f"{one}/")


def _runtime(value: object) -> int:
    if value is False:
        raise BadValueError("it cannot be switched off", f"at most {format_duration(MAX_RUNTIME_SECONDS)}")
    seconds = parse_duration(value)
    if not 1 <= seconds <= MAX_RUNTIME_SECONDS:
        closest = format_duration(min(max(seconds, 1), MAX_RUNTIME_SECONDS))
        raise BadValueError(f"{short_repr(value)} is not from 1s to 30d", f"the nearest valid value is {closest}")
    return seconds
