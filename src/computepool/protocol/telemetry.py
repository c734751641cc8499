"""What an agent measures of its machine and of attempts: parts of the message `node`."""

from pydantic import Field

from computepool.protocol.capacity import Bytes
from computepool.protocol.model import Wire

USAGE_SAMPLES_LIMIT = 60
"""Samples of one attempt in one report."""
USAGE_ATTEMPTS_LIMIT = 200
"""Attempts with samples in one report. An agent with more takes turns."""
USAGE_AGE_LIMIT_SECONDS = 600.0
"""An agent keeps samples for so long while it has no line."""
RATE_LIMIT = 1e15
"""Of what is told for a second."""


class MachineLoad(Wire):
    """The whole machine as it is now; None for what its system does not tell. Rates are since the report before."""

    cpu: float | None = Field(default=None, ge=0, le=1)
    """Share of all cores that are busy."""
    memory_used_bytes: Bytes | None = None
    disk_used_bytes: Bytes | None = None
    """Of the disk that holds the agent's folder."""
    received_bytes_per_second: float | None = Field(default=None, ge=0, lt=RATE_LIMIT)
    sent_bytes_per_second: float | None = Field(default=None, ge=0, lt=RATE_LIMIT)


class UsageSample(Wire):
    """What one attempt used at one moment; None for what cannot be measured. Rates are since the sample before."""

    age_seconds: float = Field(ge=0, le=USAGE_AGE_LIMIT_SECONDS)
    """How long ago it was taken when the message was written: the hub dates it by its own clock."""
    cpus: float | None = Field(default=None, ge=0, le=100_000)
    """Cores in use."""
    memory_bytes: Bytes | None = None
    gpu: float | None = Field(default=None, ge=0, le=1)
    """Mean utilisation of the GPUs that the attempt was given."""
    gpu_memory_bytes: Bytes | None = None
    power_watts: float | None = Field(default=None, ge=0, lt=RATE_LIMIT)
    """Of these GPUs together."""
    network_bytes_per_second: float | None = Field(default=None, ge=0, lt=RATE_LIMIT)
