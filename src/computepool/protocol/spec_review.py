"""What the author of a valid spec should know: the defaults that were filled in, and what is probably not meant."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from computepool.protocol.capacity import SIMULATED
from computepool.protocol.foreign import Translation, read_foreign
from computepool.protocol.manifest import CHECKPOINT_SECONDS
from computepool.protocol.model import Documented
from computepool.protocol.spec import JobSpec
from computepool.protocol.spec_aliases import RESOURCE_ALIASES, SPEC_ALIASES
from computepool.protocol.spec_input import join_path
from computepool.protocol.spec_models import Trust
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import format_duration, format_range, spell_credits

LONG_SECONDS = 4 * 3600
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|(?:API|ACCESS|PRIVATE|SECRET)_?KEY)(?:$|_)"
)

_SECRET_VALUE = re.compile(
    r"hf_[A-Za-z0-9]{16,}|gh[opusr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|AKIA[A-Z0-9]{12,}"
    r"|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,}|cpp?_[A-Za-z0-9]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    re.DOTALL,
)
"""Tokens of services that mark theirs."""
_INDEXES = (
    r"\b(?:pip3?|uv) (?:\S+ )*?(?:install|sync|add)\b|\buvx\b|\buv run\b|\bnpm (?:ci|i|install)\b|\bnpx\b"
    r"|\bcargo install\b"
)
_INTERNET = (
    r"\b(?:curl|wget|aria2c)\b|\bgit clone\b|\bhuggingface-cli\b|\bhf download\b|\bapt(?:-get)? (?:\S+ )*?install\b"
    r"|\bconda (?:create|install)\b|\b(?:aws s3|gsutil|gcloud|rclone)\b|\bfrom_pretrained\(|\bload_dataset\(|\bwandb\b"
    r"|\bollama pull\b|\bhttps?://(?!localhost|127\.|0\.0\.0\.0)"
)
_NEEDS_INTERNET = re.compile(f"{_INDEXES}|{_INTERNET}")
_SETUP_NEEDS_INTERNET = re.compile(_INTERNET)
"""`setup` reaches package indexes by itself."""
_NEEDS_ROOT = re.compile(r"\bsudo\b|\bapt(?:-get)? (?:\S+ )*?install\b|\b(?:yum|dnf|apk) (?:install|add)\b")

WarningCode = Literal[
    "deterministic_with_network", "dropped_key", "image_may_change", "long_without_checkpoint", "needs_network",
    "needs_root", "nothing_kept", "only_own_nodes", "other_systems_key", "paid_for_each_replica",
    "preemptible_without_checkpoint", "range_gets_minimum", "secret_in_env", "simulated", "slices_alike",
    "unknown_gpu", "workdir_is_local",
]  # fmt: skip
PLAN_CODES: frozenset[WarningCode] = frozenset(
    {"dropped_key", "needs_network", "needs_root", "other_systems_key", "range_gets_minimum", "secret_in_env"}
)
"""What a person should see before the job is sent, also without asking for every remark."""


class FilledDefault(Documented):
    """A field that the spec left out."""

    field: str
    """The key of the spec, such as `resources.memory`."""
    value: str | None
    """What is taken instead, as a spec writes it; null where the pool decides."""
    why: str
    """What that means, in a sentence."""


class SpecWarning(Documented):
    """Valid, and probably not what was meant, or worth knowing before the job runs."""

    code: WarningCode
    """The same word for the same finding."""
    message: str
    """What to know or to change, in a sentence or two."""
    field: str | None
    """The key of the spec that it is about."""


def defaults_of(written: Mapping[str, object], spec: JobSpec, *, money: bool = True) -> list[FilledDefault]:
    """`written` is what `spec` was read from. Without money nothing is said of prices."""
    given = _given(written)
    wire = spec.to_wire()
    resources: dict[str, str] = wire["resources"]  # type: ignore[assignment]
    share = "the node's GPUs" if spec.resources.gpu is not None else "the node's cores"
    by_share = f"At least so much: on its node a slice gets as much as its share of {share}."
    open_to = dict.fromkeys(spec.resources.by_share, by_share)
    rows: list[tuple[str, str | None, str]] = [
        ("resources.cpus", resources["cpus"], open_to.get("cpus", "Each slice gets one core.")),
        ("resources.memory", resources["memory"], open_to.get("memory", "A slice that uses more is stopped.")),
        ("resources.disk", resources["disk"], open_to.get("disk", "A slice that writes more is stopped.")),
        ("max_runtime", str(wire["max_runtime"]), "An attempt that runs longer is stopped; `setup` counts."),
        ("slices", str(spec.slices), "The job runs once; more slices run in parallel."),
        ("retries", str(spec.retries), "A failure of the command itself is final. Lost nodes are retried anyway."),
        ("priority", str(spec.priority), "The order among your own jobs."),
        ("optimize", str(spec.optimize), "Nodes are chosen by price, speed and reliability together."),
        ("where.trust", str(spec.where.trust), "Other people's nodes may run it, and their owners can read its data."),
        ("isolation", None, f"At least {IsolationLevel.BUBBLEWRAP} on other people's nodes; any level on your own."),
        ("network", "false", "`run` cannot reach the internet; `setup` can reach package indexes."),
    ]
    if not money:
        rows[7] = ("optimize", str(spec.optimize), "Nodes are chosen by speed and reliability together.")
    else:
        ceiling = "The ceiling of a slice-hour is set at submission: a quarter over the price quoted then."
        rows.append(("max_price", None, ceiling))
    if spec.checkpoint is not None and spec.checkpoint_seconds is None:
        every = format_duration(int(CHECKPOINT_SECONDS))
        rows.append(("checkpoint.every", every, "The checkpoint folder is saved so often while the job runs."))
    return [FilledDefault(field=name, value=value, why=why) for name, value, why in rows if name not in given]


def warnings_of(written: Mapping[str, object], spec: JobSpec, *, money: bool = True) -> list[SpecWarning]:
    """`written` is what `spec` was read from. Without money nothing is said of prices."""
    is_long = "max_runtime" in _given(written) and spec.max_runtime_seconds > LONG_SECONDS
    foreign = read_foreign(written)
    notes = _about_keys(written) if foreign is None else _about_file(foreign)
    counts = _about_gpu_range(written if foreign is None else foreign.values)
    about_work = _about_work(spec, lines_of(spec, foreign), is_long)
    found = [*notes, *counts, *_about_needs(spec), *about_work, *_about_env(spec), *_about_trust(spec, money)]
    return [SpecWarning(code=code, field=name, message=message) for code, name, message in found]


Finding = tuple[WarningCode, str, str]


def _about_keys(written: Mapping[str, object]) -> Iterator[Finding]:
    resources = written.get("resources")
    inner = resources if isinstance(resources, Mapping) else {}
    for place, keys, aliases in (("", written, SPEC_ALIASES), ("resources", inner, RESOURCE_ALIASES)):
        for key in keys:
            if key in aliases:
                name = join_path(place, key)
                yield "other_systems_key", name, f"`{name}` is read as `{join_path(place, aliases[key])}`."


def _about_file(foreign: Translation) -> Iterator[Finding]:
    for note in foreign.notes:
        yield note.code, note.field, note.message
    for part in foreign.local:
        if part.place != ".":
            message = f"{part.source} is a file of the machine that submits; `computepool run` sends it along."
            yield "workdir_is_local", part.field, message


_COUNTS = re.compile(r"(?:^|:)\s*([0-9]*\s*\.\.\s*[0-9]*|[0-9]+\+)\s*(?=:|$)")


def _about_gpu_range(written: Mapping[str, object]) -> Iterator[Finding]:
    resources = written.get("resources")
    gpu = resources.get("gpu") if isinstance(resources, Mapping) else None
    counts = gpu.get("count") if isinstance(gpu, Mapping) else gpu
    if isinstance(counts, str) and (match := _COUNTS.search(counts)) and match[1].replace(" ", "") != "..":
        message = f"Of the range of {match[1].strip()} GPUs a slice gets the lower end, never more."
        yield "range_gets_minimum", "resources.gpu", message


def _about_needs(spec: JobSpec) -> Iterator[Finding]:
    for name in ("cpus", "memory", "disk"):
        asked = getattr(spec.resources, name)
        if asked.maximum not in (None, asked.minimum):
            message = f"Of the range {format_range(asked, str)} a slice gets the lower end, never more."
            if name != "cpus":
                message = "Of a range a slice gets the lower end, never more."
            yield "range_gets_minimum", f"resources.{name}", message
    if spec.image is not None and "@sha256:" not in spec.image:
        name = spec.image.rpartition("/")[2]
        if ":" not in name or name.endswith(":latest"):
            message = (
                f"{spec.image} has no fixed version, so it may be another image next week. Name a tag or a digest."
            )
            yield "image_may_change", "image", message
    if SIMULATED in spec.where.tags:
        yield "simulated", "where.tags", "Simulated nodes have no real hardware: they only pretend to run the job."
    if spec.isolation is IsolationLevel.PROCESS:
        message = "`process` is no isolation. Only your own nodes accept it; others use bubblewrap or more."
        yield "only_own_nodes", "isolation", message


def lines_of(spec: JobSpec, foreign: Translation | None) -> str:
    """What the author wrote as `run`, without what was put before it."""
    text = spec.run if isinstance(spec.run, str) else " ".join(spec.run)
    prelude = foreign.prelude if foreign is not None else []
    return "\n".join(line for line in text.splitlines() if line not in prelude)


def _about_work(spec: JobSpec, text: str, is_long: bool) -> Iterator[Finding]:
    if not spec.network:
        for name, lines, needs in (("run", text, _NEEDS_INTERNET), ("setup", spec.setup or "", _SETUP_NEEDS_INTERNET)):
            if match := needs.search(lines):
                words = f"`{match[0]}` in `{name}` needs the internet, and the network is off: add network: true."
                yield "needs_network", name, words
    for name, lines in (("run", text), ("setup", spec.setup or "")):
        if match := _NEEDS_ROOT.search(lines):
            words = f"`{match[0]}` in `{name}` needs root, and jobs are not root: choose an `image` that has it."
            yield "needs_root", name, words
    if spec.workdir is not None:
        message = (
            "`workdir` is a folder of the machine that submits. Send it as the job's bundle; the CLI does so itself."
        )
        yield "workdir_is_local", "workdir", message
    if not spec.outputs and "COMPUTEPOOL_OUTPUT" not in text and spec.checkpoint is None:
        message = "There are no `outputs`. Besides the log, only files under $COMPUTEPOOL_OUTPUT are kept."
        yield "nothing_kept", "outputs", message
    if spec.slices > 1 and "COMPUTEPOOL_SLICE" not in text and spec.workdir is None:
        message = f"All {spec.slices} slices do the same work unless the program reads COMPUTEPOOL_SLICE."
        yield "slices_alike", "slices", message
    if spec.checkpoint is None and spec.preemptible:
        message = (
            "A preemptible job may lose its node at any time, and without `checkpoint` it starts from the beginning."
        )
        yield "preemptible_without_checkpoint", "checkpoint", message
    elif spec.checkpoint is None and is_long:
        message = (
            "An attempt that is interrupted after hours starts from the beginning. Save progress with `checkpoint`."
        )
        yield "long_without_checkpoint", "checkpoint", message
    if spec.deterministic and spec.network:
        message = (
            "What comes from the internet may differ between two runs, and different results count against a node."
        )
        yield "deterministic_with_network", "network", message


def _about_env(spec: JobSpec) -> Iterator[Finding]:
    for name, value in spec.env.items():
        if _SECRET_VALUE.fullmatch(value.strip()):
            message = (
                f"The value of {name} looks like a token. It is stored with the job, and the owner of the node can read"
                " it: use one that can do little, and revoke it afterwards."
            )
        elif spec.where.trust is not Trust.MINE and _SECRET_NAME.search(name.upper()):
            message = f"{name} looks like a secret, and the owner of the node can read it. Add where: {{trust: mine}}."
        else:
            continue
        yield "secret_in_env", join_path("env", name), message


def _about_trust(spec: JobSpec, money: bool) -> Iterator[Finding]:
    if money and spec.verify is not None:
        count = spec.verify.replicas
        message = f"Each slice runs on {count} nodes of different owners, and each of them is paid."
        if spec.budget_micros is not None:
            message += f" The budget of {spell_credits(spec.budget_micros)} is for all of them."
        yield "paid_for_each_replica", "verify", message


def _given(written: Mapping[str, object]) -> set[str]:
    """The canonical fields that were written, with a dot where they are inside another."""
    foreign = read_foreign(written)
    written = written if foreign is None else foreign.values
    found = {SPEC_ALIASES.get(key, key) for key, value in written.items() if value is not None}
    resources, where, checkpoint = (written.get(key) for key in ("resources", "where", "checkpoint"))
    if isinstance(resources, Mapping):
        given = [key for key, value in resources.items() if value is not None]
        found |= {f"resources.{RESOURCE_ALIASES.get(key, key)}" for key in given}
    if isinstance(where, Mapping):
        found |= {f"where.{key}" for key, value in where.items() if value is not None}
    if isinstance(checkpoint, Mapping):
        found |= {f"checkpoint.{key}" for key in checkpoint}
    return found
