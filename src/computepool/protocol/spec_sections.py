"""The parts of a spec that are more than one value: resources, where, env, inputs, run, verify, publish."""

import re
from collections.abc import Callable, Mapping

from computepool.protocol.gpus import parse_gpu
from computepool.protocol.output_paths import find_path_problem
from computepool.protocol.spec_aliases import (
    ELSEWHERE,
    RESOURCE_ALIASES,
    RESOURCE_KEYS,
    WHERE_KEYS,
)
from computepool.protocol.spec_errors import Problems
from computepool.protocol.spec_fields import (
    ARTIFACT_ID,
    MAX_ARGUMENT_BYTES,
    MODEL_NAME,
    NODE_ID,
    SLUG,
    TAG,
    Section,
    choice,
    country,
    env_name,
    matching,
    named_path,
    open_section,
    relative_path,
    scalar_text,
    script,
    share,
    whole_number,
)
from computepool.protocol.spec_input import join_path
from computepool.protocol.spec_models import (
    MAX_REPLICAS,
    MIN_REPLICAS,
    Input,
    Publish,
    Resources,
    Trust,
    Verify,
    Where,
)
from computepool.protocol.units import (
    MIB,
    BadValueError,
    Number,
    Range,
    parse_cpu_range,
    parse_duration,
    parse_size_range,
    short_repr,
)

MAX_ENV_ENTRIES = 1000
MAX_INPUTS = 1000
MAX_ARGV_ITEMS = 10_000
MIN_SIZE_BYTES = MIB

_INPUT_HINT = "write a stored artifact (artifact_…) or {url: https://…, sha256: …}"
_LOCAL_FILE_HINT = "local files travel with `workdir`, or are uploaded by `computepool run`; " + _INPUT_HINT
_DIGEST = re.compile(r"(?:sha256[:=])?([0-9a-fA-F]{64})")


def read_resources(problems: Problems, path: str, data: object) -> Resources:
    section = open_section(problems, path, data, RESOURCE_KEYS, RESOURCE_ALIASES, ELSEWHERE)
    gpu = section.read("gpu", parse_gpu, None)
    default = Resources()
    return Resources(
        cpus=section.read("cpus", lambda value: _floor(value, parse_cpu_range(value), default.cpus), default.cpus),
        memory=section.read("memory", lambda value: _size(value, default.memory), default.memory),
        disk=section.read("disk", lambda value: _size(value, default.disk), default.disk),
        gpu=gpu,
    )


def _floor(value: object, asked: Range[Number], default: Range[Number]) -> Range[Number]:
    """`8` is exactly so much, `8..` at least. `..8` leaves its beginning open; something must be reserved all the
    same."""
    if asked.maximum is None:
        is_open = isinstance(value, str) and value.strip().endswith(("..", "+"))
        return asked if is_open else asked.model_copy(update={"maximum": asked.minimum})
    if asked.minimum:
        return asked
    return asked.model_copy(update={"minimum": min(default.minimum, asked.maximum)})


def _size(value: object, default: Range[int]) -> Range[int]:
    # dstack writes a disk as {size: 100GB..}.
    value = value["size"] if isinstance(value, Mapping) and set(value) == {"size"} else value
    size = _floor(value, parse_size_range(value), default)
    if size.minimum < MIN_SIZE_BYTES:
        raise BadValueError(f"{short_repr(value)} is less than 1MB", "the nearest valid value is 1MB")
    return size


def read_where(problems: Problems, data: object) -> Where:
    section = open_section(problems, "where", data, WHERE_KEYS)
    return Where(
        country=tuple(sorted(section.read_list("country", country, most=250))),
        trust=section.read("trust", choice(Trust), Trust.ANY),
        tags=tuple(
            sorted(section.read_list("tags", matching(TAG, "a tag", "letters, digits and . _ : = -, up to 64")))
        ),
        min_reliability=section.read("min_reliability", share, None),
        node=section.read(
            "node", matching(NODE_ID, "the id of a node", "`computepool nodes` lists ids (node_…)"), None
        ),
    )


# ── run ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_run(section: Section) -> str | tuple[str, ...]:
    value = section.get("run")
    if value is None:
        hint = "write what to run, such as `run: python train.py`"
        section.problems.add("run", None, "there is nothing to run", hint)
        return ""
    field = section.field("run")
    if not isinstance(value, list):
        return section.attempt(field, value, script, "")
    if not value or len(value) > MAX_ARGV_ITEMS:
        section.problems.add(field, value, f"{len(value)} items; write 1 to {MAX_ARGV_ITEMS}")
        return ""
    words = [section.attempt(f"{field}[{index}]", item, scalar_text, "?") for index, item in enumerate(value)]
    if field == "commands":
        # As in dstack: line by line, and the first that fails ends the job.
        return section.attempt(field, "\n".join(["set -e", *words]), script, "")
    if not words[0].strip():
        section.problems.add(f"{field}[0]", value[0], "the program's name is empty", "such as [python, train.py]")
    return tuple(words)


# ── env ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_env(section: Section, environ: Mapping[str, str] | None) -> dict[str, str]:
    value, field = section.get("env"), section.field("env")
    if value is None:
        return {}
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Mapping | list):
        section.problems.add(field, value, f"{short_repr(value)} is neither a mapping nor a list", "write {EPOCHS: 3}")
        return {}
    if len(value) > MAX_ENV_ENTRIES:
        section.problems.add(field, value, f"{len(value)} entries; at most {MAX_ENV_ENTRIES} are allowed")
        return {}
    if isinstance(value, Mapping):
        entries = [(join_path(field, name), name, given) for name, given in value.items()]
    else:
        entries = [_env_item(f"{field}[{index}]", item) for index, item in enumerate(value)]
    env: dict[str, str] = {}
    for where, name, given in entries:
        read = section.attempt(where, name, env_name, None)
        if read is None:
            continue
        if read in env:
            section.problems.add(where, name, f"{read} is given twice", "keep one of the two")
        env[read] = _env_value(section, where, read, given, environ)
    return env


def _env_item(where: str, item: object) -> tuple[str, object, object]:
    """`A=1`, or `A` alone for the caller's value."""
    if not isinstance(item, str):
        return where, item, None
    name, equals, given = item.partition("=")
    return where, name.strip(), given if equals else None


def _env_value(section: Section, where: str, name: str, given: object, environ: Mapping[str, str] | None) -> str:
    if given is None:
        given = (environ or {}).get(name)
    if given is None:
        hint = f"`export {name}=…` before submitting, or write {name}: value"
        section.problems.add(where, None, f"{name} has no value, and is not set where the job is submitted", hint)
        return ""
    if isinstance(given, str) and not _is_clean(given):
        section.problems.add_hidden(where, f"the value of {name} is not valid text", "it must be UTF-8 without NUL")
        return ""
    if isinstance(given, str) and len(name) + 1 + len(given.encode()) > MAX_ARGUMENT_BYTES:
        hint = "put it in a file in `workdir`"
        section.problems.add_hidden(where, f"{name} is longer than {MAX_ARGUMENT_BYTES} bytes", hint)
        return ""
    return section.attempt(where, given, scalar_text, "")


def _is_clean(value: str) -> bool:
    """The caller's environment did not pass the first look; it may hold bytes that are no text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def read_secrets(section: Section) -> tuple[str, ...]:
    value, field = section.get("secrets"), section.field("secrets")
    if not isinstance(value, Mapping):
        return tuple(sorted(section.read_list("secrets", env_name)))
    names = []
    for written, given in value.items():
        where = join_path(field, written)
        name = section.attempt(where, written, env_name, "")
        if name and given is not None:
            hint = f"keep it out of the file: `computepool secret set {name}`, then write secrets: [{name}]"
            section.problems.add_hidden(where, "a secret's value does not belong in a spec", hint)
        names.append(name)
    return tuple(sorted(names))


# ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_inputs(section: Section) -> dict[str, Input]:
    value, field = section.get("inputs"), section.field("inputs")
    if value is None:
        return {}
    if isinstance(value, list) and field == "files":
        entries = [_file_item(f"{field}[{index}]", item) for index, item in enumerate(value)]
    elif isinstance(value, Mapping):
        entries = [(join_path(field, path), path, source) for path, source in value.items()]
    else:
        section.problems.add(
            field, value, f"{short_repr(value)} is not a mapping", "write {data/train.csv: artifact_…}"
        )
        return {}
    if len(entries) > MAX_INPUTS:
        section.problems.add(field, value, f"{len(entries)} inputs; at most {MAX_INPUTS} are allowed")
        return {}
    inputs: dict[str, Input] = {}
    for where, path, source in entries:
        target = section.attempt(where, path, _file_path, None)
        read = section.attempt(where, source, _source, None)
        if target is None or read is None:
            continue
        if target in inputs:
            section.problems.add(where, path, f"{target} is given twice", "keep one of the two")
        inputs[target] = read
    _check_overlaps(section, field, inputs)
    return inputs


def _check_overlaps(section: Section, field: str, inputs: Mapping[str, Input]) -> None:
    for path in inputs:
        parts = path.split("/")
        above = next((p for end in range(1, len(parts)) if (p := "/".join(parts[:end])) in inputs), None)
        if above is not None:
            message = f"{above} is an input too, a file: nothing can lie below it"
            section.problems.add(join_path(field, path), path, message, "give one of the two another path")


def _file_path(value: object) -> str:
    """Of something that a node puts into the job's folder."""
    path = named_path(value)
    problem = find_path_problem(path)
    if problem is not None:
        raise BadValueError(f"{short_repr(path)} {problem}", "choose another name")
    return path


def _file_item(where: str, item: object) -> tuple[str, object, object]:
    """dstack's `source:path`."""
    if isinstance(item, str) and (match := re.fullmatch(r"(artifact_[^:]*|https://.*):([^:]+)", item)):
        return where, match[2], match[1]
    return where, "file", item


def _source(value: object) -> Input:
    if isinstance(value, Mapping):
        return _source_mapping(value)
    if isinstance(value, str) and ARTIFACT_ID.fullmatch(value):
        return Input(artifact_id=value)
    if isinstance(value, str) and value.lower().startswith(("https:", "http:")):
        url, _, digest = value.partition("#")
        return _url(url, digest)
    hint = _LOCAL_FILE_HINT if isinstance(value, str) else _INPUT_HINT
    raise BadValueError(f"{short_repr(value)} is neither a stored artifact nor a URL", hint)


def _source_mapping(value: Mapping[str, object]) -> Input:
    unknown = [key for key in value if key not in ("url", "sha256", "digest")]
    if unknown or "url" not in value:
        raise BadValueError(
            f"{short_repr(unknown[0])} is not known here" if unknown else "there is no url", _INPUT_HINT
        )
    return _url(value["url"], value.get("sha256", value.get("digest")))


def _url(url: object, digest: object) -> Input:
    if (
        not isinstance(url, str)
        or not re.fullmatch(r"https://[^\s/@#?]+(?:[/?][^\s#]*)?", url)
        or not url.isprintable()
    ):
        raise BadValueError(
            f"{short_repr(url)} is not an https URL", "write https://host/path, without user and password"
        )
    if not re.match(r"https://(\[[^]]*\]|[^/?:]*)(:443)?([/?]|$)", url):
        raise BadValueError(f"{short_repr(url)} names a port, and nodes fetch from 443 only", "leave the port out")
    match = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if match is None:
        hint = "write {url: …, sha256: …} with the 64 hex digits that `sha256sum FILE` prints"
        raise BadValueError(f"{short_repr(url)} has no SHA-256 digest, so nobody could tell what was downloaded", hint)
    return Input(url=url, sha256=match[1].lower())


# ── links ──────────────────────────────────────────────────────────────────────────────────────────────────────────


MAX_LINKS = 100
SYSTEM_FOLDERS = (
    "bin",
    "boot",
    "dev",
    "etc",
    "job",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "usr",
)
"""The sandbox makes them, so nothing of a job's can be put there."""


def read_links(section: Section) -> dict[str, str]:
    value = section.get("links")
    if value is None:
        return {}
    if not isinstance(value, Mapping) or len(value) > MAX_LINKS:
        section.problems.add("links", value, f"that is no mapping of at most {MAX_LINKS} paths", "write {/data: data}")
        return {}
    links: dict[str, str] = {}
    for path, place in value.items():
        where = join_path("links", path)
        target = section.attempt(where, path, _linked_path, None)
        read = section.attempt(where, place, relative_path, None)
        if target is not None and read is not None:
            links[target] = read
    for path in links:
        if any(path.startswith(f"{above}/") for above in links):
            message = "it lies inside of another link, whose folder it would have to be in"
            section.problems.add(join_path("links", path), path, message, "put it into that folder")
    return links


def _linked_path(value: object) -> str:
    """`/data` or `~/data`."""
    path = str(value).rstrip("/")
    inside = path.removeprefix("~").lstrip("/")
    if not path.startswith(("/", "~/")) or find_path_problem(inside) is not None:
        raise BadValueError(f"{short_repr(value)} is neither an absolute path nor one in ~/", "write it like /data")
    if path.startswith("/") and (inside.partition("/")[0] in SYSTEM_FOLDERS or inside in ("tmp", "var")):
        raise BadValueError(f"{short_repr(path)} belongs to the sandbox", "choose another path, such as /data")
    return path


# ── verify, publish ──────────────────────────────────────────────────────────────────────────────────────────────────


MIN_CHECKPOINT_SECONDS, MAX_CHECKPOINT_SECONDS = 10, 24 * 3600


def read_checkpoint(section: Section) -> tuple[str | None, int | None]:
    """A folder, or a folder and how often it is saved: `{path: ckpt, every: 10m}`."""
    value = section.get("checkpoint")
    if not isinstance(value, Mapping):
        return section.read("checkpoint", _file_path, None), None
    part = open_section(section.problems, "checkpoint", value, ("path", "every"))
    if part.get("path") is None:
        section.problems.add("checkpoint.path", None, "it is missing", "name the folder, such as ckpt")
    return part.read("path", _file_path, None), part.read("every", _period, None)


def _period(value: object) -> int:
    seconds = parse_duration(value)
    if not MIN_CHECKPOINT_SECONDS <= seconds <= MAX_CHECKPOINT_SECONDS:
        raise BadValueError(f"{short_repr(value)} is not from 10s to 24h", "such as 5m, which is the default")
    return seconds


def read_verify(problems: Problems, data: object) -> Verify | None:
    if data is None:
        return None
    section = open_section(problems, "verify", data, ("replicas",))
    return Verify(replicas=section.read("replicas", whole_number(MIN_REPLICAS, MAX_REPLICAS), MIN_REPLICAS))


def read_publish(problems: Problems, data: object) -> Publish | None:
    if data is None:
        return None
    section = open_section(problems, "publish", data, ("model", "license"))
    name: Callable[[object], str] = matching(MODEL_NAME, "the name of a model", "write owner/name, such as alice/mnist")
    model = section.read("model", name, "")
    if section.get("model") is None:
        problems.add("publish.model", None, "it is missing", "write owner/name, such as alice/mnist")
    return Publish(
        model=model, license=section.read("license", matching(SLUG, "a license", "such as mit or apache-2.0"), None)
    )
