"""A job spec as JSON Schema: what a person may write, and what the API shows of a stored job.

These classes describe; `spec.py:parse_spec` is what reads. Tests compare the two
(`tests/protocol/test_written_spec.py`): what `parse_spec` takes fits `WrittenSpec`, and what `JobSpec.to_wire` gives
fits `WireSpec`.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import models_json_schema
from pydantic_core import CoreSchema

from computepool.protocol.gpus import MAX_GPU_COUNT
from computepool.protocol.model import Documented, docstrings_of
from computepool.protocol.spec import MAX_PRIORITY, MAX_RETRIES, MAX_SLICES, MIN_PRIORITY
from computepool.protocol.spec_fields import MAX_NAME_CHARS
from computepool.protocol.spec_models import Optimize, Publish, Trust, Verify
from computepool.protocol.states import IsolationLevel

Amount = Annotated[int | float | str, Field(examples=[40, "0.25"])]
Size = Annotated[int | float | str, Field(examples=["16GB", "512MB", "24GB..", "16GB..32GB"])]
Duration = Annotated[int | str, Field(examples=["90s", "15m", "2h", "1h30m", "1d", 3600])]
Cores = Annotated[int | float | str, Field(examples=[8, "8+", "4..8", 0.5])]
Text = int | float | str


class _Written(Documented):
    model_config = ConfigDict(extra="forbid")


class WrittenGpuChoice(_Written):
    """Another model that will do as well."""

    name: str | int | None = None
    """The model."""
    memory: Size | None = None
    """Of each card."""


class WrittenGpu(_Written):
    """Whole GPUs, all alike."""

    name: str | int | list[str] | None = Field(default=None, examples=["rtx-4090", "A100"])
    """The model, as people write it; of several in a list, any."""
    memory: Size | None = None
    """Of each card: `24GB..` for at least so much."""
    count: Annotated[int, Field(ge=0, le=MAX_GPU_COUNT)] | str | None = None
    """How many cards; default 1. Of a range such as `1..2` a slice gets the lower end."""
    alternatives: list[WrittenGpuChoice] | None = None
    """Other models that will do, in the same number."""


class WrittenDisk(_Written):
    """As dstack writes a disk."""

    size: Size
    """The same as the size alone."""


class WrittenResources(_Written):
    """What one slice needs. `8` is exactly 8; `8..` is at least 8, and more where its share of the node is more; of
    `4..8` it gets 4. What is left out is its share of the node."""

    cpus: Cores | None = None
    """Cores of one slice: `8`, `8+`, `0.5`; default 1, or its share with a GPU."""
    memory: Size | None = None
    """`16GB`, `512MB`; default at least 1GB. Powers of two; a bare number is gigabytes."""
    disk: Size | WrittenDisk | None = None
    """What one slice may write; default at least 1GB."""
    gpu: (
        Annotated[int | str, Field(examples=["rtx-4090:2", "24GB..", "A100:80GB:1", 2])]
        | WrittenGpu
        | dict[str, int | float | None]
        | list[str | int | WrittenGpu]
        | None
    ) = None
    """Whole GPUs: `24GB..`, `rtx-4090`, `rtx-4090:2`, `A100:80GB:1`, `nvidia`; or `{name, memory, count}`. Of several,
    as in `[A100, L4]` or `{A100: 1, L4: 1}`, any will do."""
    cpu: Cores | None = None
    """The same as `cpus`."""
    disk_size: Size | None = None
    """The same as `disk`, as SkyPilot writes it."""
    gpus: int | str | WrittenGpu | dict[str, int | float | None] | list[str | int | WrittenGpu] | None = None
    """The same as `gpu`."""
    accelerators: int | str | WrittenGpu | dict[str, int | float | None] | list[str | int | WrittenGpu] | None = None
    """The same as `gpu`, as SkyPilot writes it."""
    max_hourly_cost: Amount | None = None
    """The same as `max_price` of the spec, as SkyPilot writes it."""
    use_spot: bool | None = None
    """The same as `preemptible` of the spec, as SkyPilot writes it."""
    image_id: Annotated[str, Field(examples=["docker:python:3.12-slim"])] | None = None
    """The same as `image` of the spec, as SkyPilot writes it, with `docker:` before it."""


class WrittenWhere(_Written):
    """On which nodes a job may run."""

    country: str | list[str] | None = Field(default=None, examples=[["IN", "DE"]])
    """Any of these countries, as two letters."""
    trust: Trust | None = None
    """Whose nodes: `mine`, `verified`, `any`; default `any`."""
    tags: str | list[str] | None = None
    """Nodes that have all of these tags."""
    min_reliability: Annotated[float, Field(ge=0, le=1)] | None = None
    """Nodes that are at least so reliable, from 0 to 1, by the 5 % lower bound."""
    node: str | None = None
    """This node alone, by its id."""


class WrittenInput(_Written):
    """A file that a node fetches from the internet."""

    url: str
    """An https address, without a port."""
    sha256: str | None = None
    """The digest of what it gives, as 64 hexadecimal digits."""
    digest: str | None = None
    """The same as `sha256`."""


class WrittenCheckpoint(_Written):
    path: str
    """The folder."""
    every: Duration | None = None
    """How often it is saved, from 10s to 24h; default 5m."""


class WrittenSpec(_Written):
    """A job, as people write it. Only `run` is needed. Keys of dstack and SkyPilot are understood."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"run": "python train.py", "resources": {"gpu": "24GB..", "memory": "16GB"}, "outputs": ["out/"]},
                {"run": ["python", "-c", "print(6*7)"], "max_runtime": "10m"},
            ]
        }
    )

    name: Annotated[str, Field(max_length=MAX_NAME_CHARS)] | int | None = None
    """What the job is called."""
    resources: WrittenResources | None = None
    """What one slice needs."""
    image: Annotated[str, Field(examples=["python:3.12-slim"])] | None = None
    """Container image to run in."""
    workdir: str | None = None
    """Folder that is sent along, relative to the file; `.gitignore` holds."""
    setup: str | None = None
    """Runs before `run`, to install things."""
    run: str | list[Text] | None = None
    """Text for bash, or sh where there is none, which ends at the first line that fails; or a list: a program and its
    arguments. The only key that is needed."""
    env: dict[str, Text | None] | list[str] | str | None = None
    """Variables of the job; a name without a value takes the caller's."""
    secrets: list[str] | str | dict[str, None] | None = None
    """Stored secrets that the job gets."""
    outputs: list[str] | str | None = None
    """Globs of files to keep, below the folder where the command runs."""
    checkpoint: str | WrittenCheckpoint | None = None
    """Folder that is saved and restored; or `{path: ckpt, every: 10m}`; default every 5m."""
    slices: Annotated[int, Field(ge=1, le=MAX_SLICES)] | None = None
    """Parallel parts, up to 10,000; default 1."""
    max_price: Amount | None = None
    """The most that a slice-hour may cost, in credits; default: a quarter more than was quoted."""
    max_runtime: Duration | None = None
    """Of one attempt: `90s`, `2h`, up to 30d; default 24h."""
    budget: Amount | None = None
    """Credits for the whole job."""
    priority: Annotated[int, Field(ge=MIN_PRIORITY, le=MAX_PRIORITY)] | None = None
    """From -100 to 100, among your own jobs; higher goes first; default 0."""
    preemptible: bool | None = None
    """Costs less, and may lose its slot to other jobs, with a grace to save its checkpoint."""
    retries: Annotated[int, Field(ge=0, le=MAX_RETRIES)] | None = None
    """Retries after failures of the job itself; default 0."""
    optimize: Optimize | None = None
    """What to save: `cost`, `speed` (time) or `balanced`; default `balanced`."""
    where: WrittenWhere | None = None
    """On which nodes it may run."""
    isolation: IsolationLevel | None = None
    """The least that is accepted: `process`, `bubblewrap`, `container`, `gvisor`."""
    inputs: dict[str, str | WrittenInput] | None = Field(default=None, examples=[{"data/train.csv": "artifact_01"}])
    """Files from stored artifacts or URLs, by the path where the job finds them."""
    notify: list[str] | str | None = Field(default=None, examples=[["email"]])
    """Who is told at the end."""
    team: str | None = None
    """Whose job it is."""
    network: bool | None = None
    """Whether `run` reaches the internet."""
    deterministic: bool | None = None
    """Two runs give the same outputs."""
    verify: Verify | None = None
    """Run it on several nodes and compare."""
    publish: Publish | None = None
    """Make a model of the outputs."""

    links: dict[str, str] | None = Field(default=None, examples=[{"/data": "data"}])
    """Absolute paths and paths in `~/`, each leading to a path in the folder where the command runs."""
    keep_going: bool | None = None
    """A line of `run` or `setup` that fails does not end it: the last line's exit code counts."""

    commands: str | list[Text] | None = None
    """The same as `run`, as dstack writes it: line by line, and the first that fails ends the job."""
    envs: dict[str, Text | None] | list[str] | str | None = None
    """The same as `env`, as SkyPilot writes it."""
    max_hourly_cost: Amount | None = None
    """The same as `max_price`, as SkyPilot writes it."""
    max_duration: Duration | None = None
    """The same as `max_runtime`, as dstack writes it."""
    file_mounts: dict[str, str | WrittenInput] | None = None
    """The same as `inputs`, as SkyPilot writes it."""
    files: list[str] | dict[str, str | WrittenInput] | None = Field(default=None, examples=[["artifact_01:data.csv"]])
    """The same as `inputs`, as dstack writes it: `source:path`."""
    type: Literal["task"] | None = None
    """dstack's kind of file. Only tasks run here."""
    nodes: Literal[1] | None = None
    """How many machines. A job runs on one; parallel parts are `slices`."""
    num_nodes: Literal[1] | None = None
    """The same as `nodes`, as SkyPilot writes it."""


class _OnWire(Documented):
    """Says of a key what the written form says of it."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        meanings = docstrings_of(globals()[cls.__name__.replace("Wire", "Written")])
        for name, described in handler.resolve_ref_schema(schema)["properties"].items():
            described.setdefault("description", meanings[name])
        return schema


class WireGpuChoice(_OnWire):
    """Another model that will do as well."""

    name: str | None = None
    memory: str | None = None


class WireGpu(_OnWire):
    """Whole GPUs, all alike."""

    count: int = Field(ge=1, le=MAX_GPU_COUNT)
    name: str | None = None
    memory: str | None = None
    alternatives: list[WireGpuChoice] = Field(default_factory=list)


class WireResources(_OnWire):
    """What one slice needs: `8` is exactly 8, `8..` at least, `..8` at most."""

    cpus: str
    memory: str
    disk: str
    gpu: WireGpu | None = None


class WireWhere(_OnWire):
    """On which nodes a job may run."""

    country: list[str] = Field(default_factory=list)
    trust: Trust
    tags: list[str] = Field(default_factory=list)
    min_reliability: float | None = None
    node: str | None = None


class WireInput(_OnWire):
    """A file that a node fetches from the internet."""

    url: str
    sha256: str


class WireCheckpoint(_OnWire):
    path: str
    every: str


class WireSpec(_OnWire):
    """A job as the pool understands it, with every default that counts. Itself a valid spec. What is empty or false is
    left out."""

    name: str | None = None
    resources: WireResources
    image: str | None = None
    workdir: str | None = None
    setup: str | None = None
    run: str | list[str]
    env: dict[str, str] = Field(default_factory=dict)
    secrets: list[str] = Field(default_factory=list)
    outputs: list[str] = Field(default_factory=list)
    checkpoint: str | WireCheckpoint | None = None
    slices: int = Field(ge=1, le=MAX_SLICES)
    max_price: str | None = None
    max_runtime: str
    budget: str | None = None
    priority: int = Field(ge=MIN_PRIORITY, le=MAX_PRIORITY)
    preemptible: bool = False
    retries: int = Field(ge=0, le=MAX_RETRIES)
    optimize: Optimize
    where: WireWhere
    isolation: IsolationLevel | None = None
    inputs: dict[str, str | WireInput] = Field(default_factory=dict)
    notify: list[str] = Field(default_factory=list)
    team: str | None = None
    network: bool = False
    deterministic: bool = False
    verify: Verify | None = None
    publish: Publish | None = None
    links: dict[str, str] = Field(default_factory=dict)
    keep_going: bool = False


def written_spec_schemas(ref_template: str) -> dict[str, Any]:
    """`WrittenSpec` and what it is made of, by name, for a document that refers to it."""
    schemas: dict[str, Any] = models_json_schema([(WrittenSpec, "validation")], ref_template=ref_template)[1]["$defs"]
    return schemas
