"""An artifact is kept as objects of at most PART_BYTES, so that a broken transfer begins again at a part, not at zero.

Every part that is put is bound to its own SHA-256: of a single part that is the artifact's, of several it is announced.
"""

from computepool.protocol.messages import UPLOAD_PART_BYTES as PART_BYTES

__all__ = [
    "PART_BYTES",
    "artifact_folder",
    "checkpoints_folder",
    "count_parts",
    "outputs_folder",
    "part_key",
    "size_of_part",
]


def count_parts(size_bytes: int) -> int:
    """None of an empty artifact: there is nothing to put or to get."""
    return -(-size_bytes // PART_BYTES)


def size_of_part(size_bytes: int, part: int) -> int:
    return min(PART_BYTES, size_bytes - part * PART_BYTES)


def outputs_folder(attempt_id: str) -> str:
    """An attempt's outputs lie together, so that one question tells which of them are there."""
    return f"outputs/{attempt_id}/"


def checkpoints_folder(job_id: str) -> str:
    return f"checkpoints/{job_id}/"


def artifact_folder(artifact_id: str, *, attempt_id: str | None = None, job_id: str | None = None) -> str:
    if attempt_id:
        return f"{outputs_folder(attempt_id)}{artifact_id}/"
    return f"{checkpoints_folder(job_id)}{artifact_id}/" if job_id else f"artifacts/{artifact_id}/"


def part_key(folder: str, part: int) -> str:
    return f"{folder}{part:06d}"
