"""The command line that submits the same job as a spec: `computepool run …`."""

import json
import shlex
from collections.abc import Iterable, Iterator

from computepool.protocol.spec import JobSpec
from computepool.protocol.spec_models import Input, Trust

PLAIN = (
    "name",
    "image",
    "setup",
    "slices",
    "retries",
    "priority",
    "max_price",
    "max_runtime",
    "isolation",
    "workdir",
)
"""Keys whose flag has their name, and takes their value as it is."""
WITHOUT_FLAG = (
    "budget",
    "preemptible",
    "optimize",
    "notify",
    "team",
    "deterministic",
    "verify",
    "publish",
    "links",
    "keep_going",
)


def command_of(spec: JobSpec) -> str:
    """Quoted for a POSIX shell. `run` as text becomes `sh -c`, which is what the pool does with it."""
    return shlex.join(["computepool", "run", *_flags(spec), "--", *spec.argv()])


def _flags(spec: JobSpec) -> Iterator[str]:
    wire, default = spec.to_wire(), JobSpec(run="true").to_wire()
    yield from _resource_flags(spec, _mapping(wire, "resources"), _mapping(default, "resources"))
    set_plainly = isinstance(wire.get("checkpoint"), str)
    for key in (*PLAIN, *(("checkpoint",) if set_plainly else ())):
        if wire.get(key) != default.get(key):
            yield from (f"--{key.replace('_', '-')}", str(wire[key]))
    yield from _repeated("--env", [f"{name}={value}" for name, value in spec.env.items()])
    yield from _repeated("--secret", spec.secrets)
    yield from _repeated("--output", spec.outputs)
    yield from _repeated("--input", [f"{path}={_source(source)}" for path, source in spec.inputs.items()])
    yield from _where_flags(spec)
    if spec.network:
        yield "--network"
    for key in (*WITHOUT_FLAG, *(() if set_plainly else ("checkpoint",))):
        if wire.get(key) != default.get(key):
            yield from ("--set", f"{key}={_value(wire[key])}")


def _resource_flags(spec: JobSpec, asked: dict[str, object], usual: dict[str, object]) -> Iterator[str]:
    if spec.resources.gpu is not None:
        yield from ("--gpu", str(spec.resources.gpu))
    for key in ("cpus", "memory", "disk"):
        if asked[key] != usual[key]:
            yield from (f"--{key}", str(asked[key]))


def _repeated(flag: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (flag, value)


def _where_flags(spec: JobSpec) -> Iterator[str]:
    where = spec.where
    if where.trust is Trust.MINE:
        yield "--mine"
    if where.node is not None:
        yield from ("--node", where.node)
    yield from _repeated("--tag", where.tags)
    yield from _repeated("--country", where.country)
    if where.trust is Trust.VERIFIED:
        yield from ("--set", f"where.trust={where.trust}")
    if where.min_reliability is not None:
        yield from ("--set", f"where.min_reliability={where.min_reliability}")


def _source(source: Input) -> str:
    return source.artifact_id if source.artifact_id is not None else f"{source.url}#sha256:{source.sha256}"


def _value(value: object) -> str:
    """As YAML reads it: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _mapping(wire: dict[str, object], key: str) -> dict[str, object]:
    value = wire[key]
    assert isinstance(value, dict)
    return value
