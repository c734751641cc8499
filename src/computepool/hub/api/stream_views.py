"""Messages of streams that show jobs as the API does, and the JSON Schema of everything that streams carry.

The hub writes these from rendered parts (`hub/jobs/stream.py`): the classes only describe them.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from computepool.hub.core.openapi import with_names
from computepool.hub.jobs.views import SliceView, StoredSpec, StreamedJob
from computepool.protocol.events import (
    EVENTS_VERSION,
    EventMessage,
    HelloMessage,
    LogMessage,
    NodeLoadMessage,
    ReaderMessage,
    RefusedMessage,
    StartOverMessage,
    Told,
    WalletMessage,
    WatchEndedMessage,
    WhyMessage,
)
from computepool.protocol.public_events import MapMessage, PublicMessage


class SlicesMessage(Told):
    """A job that you watch, and those slices of your window that changed: all of them the first time."""

    type: Literal["slices"] = "slices"
    first: bool
    """It shows the whole window: forget what you had of this job."""
    job: StreamedJob
    """As `GET /jobs/{job_id}` shows it, without `spec` and `slices`."""
    spec: StoredSpec | None = None
    """The first time: it does not change."""
    slices: list[SliceView]
    """As `GET /jobs/{job_id}` shows them."""


class JobEndMessage(Told):
    """The last frame of `WS /api/v1/jobs/{job_id}/stream`: the job is final, and all that was asked for was sent."""

    type: Literal["end"] = "end"
    job: StreamedJob
    """As in `slices`."""


HubMessage = Annotated[
    HelloMessage
    | EventMessage
    | StartOverMessage
    | WalletMessage
    | NodeLoadMessage
    | WhyMessage
    | SlicesMessage
    | LogMessage
    | WatchEndedMessage
    | RefusedMessage,
    Field(discriminator="type"),
]
JobStreamMessage = Annotated[SlicesMessage | LogMessage | JobEndMessage, Field(discriminator="type")]
"""Of `WS /api/v1/jobs/{job_id}/stream?frames=changes`."""


def schemas() -> dict[str, Any]:
    """Of everything that streams carry."""
    kinds: dict[str, Any] = {
        "hub": HubMessage,
        "reader": ReaderMessage,
        "public": PublicMessage | MapMessage,
        "job_stream": JobStreamMessage,
    }
    return {"version": EVENTS_VERSION} | {name: schema_of(kind, sent=name == "reader") for name, kind in kinds.items()}


def schema_of(kind: Any, *, sent: bool = False) -> dict[str, Any]:
    """`sent`: by the reader."""
    schema = TypeAdapter(kind).json_schema(mode="validation" if sent else "serialization")
    named: dict[str, Any] = {}
    for name, described in schema.pop("$defs", {}).items():
        named[name] = with_names(described, named, DEFINITION)
    schema = with_names(schema, named, DEFINITION)
    return {**schema, "$defs": dict(sorted(named.items()))} if named else schema


DEFINITION = "#/$defs/{model}"
