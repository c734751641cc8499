"""How the hub examines a node's speed and memory: messages of one challenge, which is of one device.

    hub                                          agent
     │ benchmark_request(device)                   │
     │ ──────────────────────────────────────────► │  a process of its own starts
     │ ◄─────────────── benchmark_ready(backend)   │
     │ benchmark_task(seed, sizes)                 │  computes, and keeps every state in the device's memory
     │ ◄────────────────────── benchmark_filled    │
     │ benchmark_nonce                             │  reads all of it once
     │ ◄──────────────── benchmark_digests(root)   │
     │ benchmark_open(places)                      │
     │ ◄────────────────────── benchmark_reveal    │
     │ benchmark_over(words)                       │

None of it is a numbered command: what is lost is asked again another day. An agent that does not know it says nothing.
The times that count are the hub's. What it computes is in `challenge`.
"""

from typing import Annotated, Literal

from pydantic import Field

from computepool.protocol.capacity import Bytes
from computepool.protocol.challenge import LARGEST_SIZE, SYMBOLS
from computepool.protocol.model import Wire

CPU = "cpu"
"""The device that every node has; the others are its GPUs, by their ids."""
MOST_ROUNDS = 64
MOST_SEGMENTS = LARGEST_SIZE
MOST_OPENINGS = 32
BALLAST_LIMIT_BYTES = 1024**2
PATH_LIMIT = 32

ChallengeId = Annotated[str, Field(max_length=80, pattern=r"^[a-zA-Z0-9_-]+$")]
Seed = Annotated[bytes, Field(min_length=16, max_length=64)]
Hash = Annotated[bytes, Field(min_length=32, max_length=32)]
Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Figures(Wire):
    """What an agent measured by itself, and says; None for what could not be measured."""

    host_copy_bytes_per_second: Rate | None = None
    """From memory to memory."""
    device_copy_bytes_per_second: Rate | None = None
    """From memory to the device."""
    disk_write_bytes_per_second: Rate | None = None
    """With everything on the disk at the end."""
    disk_read_bytes_per_second: Rate | None = None
    """Perhaps from the system's cache, where that could not be emptied."""
    seconds: Rate = 0.0
    """That all of it took."""


# ── hub → agent ──────────────────────────────────────────────────────────────────────────────────────────────────────


class BenchmarkRequest(Wire):
    type: Literal["benchmark_request"] = "benchmark_request"
    challenge_id: ChallengeId
    device: str = Field(max_length=100)


class BenchmarkTask(Wire):
    type: Literal["benchmark_task"] = "benchmark_task"
    challenge_id: ChallengeId
    seed: Seed
    size: int = Field(ge=1, le=LARGEST_SIZE)
    rounds: int = Field(ge=1, le=MOST_ROUNDS)
    segments: int = Field(ge=1, le=MOST_SEGMENTS)

    @property
    def states(self) -> int:
        return self.rounds * self.segments


class BenchmarkNonce(Wire):
    type: Literal["benchmark_nonce"] = "benchmark_nonce"
    challenge_id: ChallengeId
    nonce: Seed


class Place(Wire):
    segment: int = Field(ge=0, lt=MOST_SEGMENTS)
    round: int = Field(ge=0, lt=MOST_ROUNDS)
    row: int = Field(ge=0, lt=LARGEST_SIZE)


class BenchmarkOpen(Wire):
    type: Literal["benchmark_open"] = "benchmark_open"
    challenge_id: ChallengeId
    places: tuple[Place, ...] = Field(max_length=MOST_OPENINGS)


class BenchmarkOver(Wire):
    type: Literal["benchmark_over"] = "benchmark_over"
    challenge_id: ChallengeId
    words: str = Field(default="", max_length=500)
    """What the hub makes of it, for the node's owner."""


class LineProbe(Wire):
    """Asks for an answer of so many bytes: how fast the line is."""

    type: Literal["line_probe"] = "line_probe"
    number: int
    ballast: bytes = Field(default=b"", max_length=BALLAST_LIMIT_BYTES)
    answer_bytes: int = Field(default=0, ge=0, le=BALLAST_LIMIT_BYTES)


BenchmarkFromHub = BenchmarkRequest | BenchmarkTask | BenchmarkNonce | BenchmarkOpen | BenchmarkOver | LineProbe

# ── agent → hub ──────────────────────────────────────────────────────────────────────────────────────────────────────


class BenchmarkReady(Wire):
    type: Literal["benchmark_ready"] = "benchmark_ready"
    challenge_id: ChallengeId
    backend: Literal["python", "numpy", "torch", "cupy"]
    gflops: Rate
    """About; the hub chooses the task by it. Who exaggerates gets more to compute."""
    room_bytes: Bytes
    """What it could fill."""
    figures: Figures = Figures()


class BenchmarkFilled(Wire):
    type: Literal["benchmark_filled"] = "benchmark_filled"
    challenge_id: ChallengeId
    seconds: Rate


class BenchmarkDigests(Wire):
    type: Literal["benchmark_digests"] = "benchmark_digests"
    challenge_id: ChallengeId
    root: Hash
    """Over the digests of all states, in order."""
    seconds: Rate


class Opening(Wire):
    """A row of a state, and of those before it in its segment; and what was committed about all rows of that state."""

    rows: tuple[Annotated[bytes, Field(max_length=LARGEST_SIZE)], ...] = Field(max_length=MOST_ROUNDS)
    digests: bytes = Field(max_length=LARGEST_SIZE * SYMBOLS)
    path: tuple[Hash, ...] = Field(max_length=PATH_LIMIT)


class BenchmarkReveal(Wire):
    type: Literal["benchmark_reveal"] = "benchmark_reveal"
    challenge_id: ChallengeId
    openings: tuple[Opening, ...] = Field(max_length=MOST_OPENINGS)


class BenchmarkDeclined(Wire):
    """Not now, or never: another program is needed, the owner is back, a job has come."""

    type: Literal["benchmark_declined"] = "benchmark_declined"
    challenge_id: ChallengeId
    reason: str = Field(max_length=300)
    retry: bool = True
    """False where trying again changes nothing until something is installed."""


class LineEcho(Wire):
    type: Literal["line_echo"] = "line_echo"
    number: int
    ballast: bytes = Field(default=b"", max_length=BALLAST_LIMIT_BYTES)


BenchmarkFromAgent = (
    BenchmarkReady | BenchmarkFilled | BenchmarkDigests | BenchmarkReveal | BenchmarkDeclined | LineEcho
)
