"""The text of `.env.example`, so that the documented settings are the real ones."""

from pathlib import Path

from computepool.hub.core.settings import Settings
from computepool.hub.core.variables import PREFIX

S3_EXAMPLE = [
    "# With s3://bucket: the keys, and if needed the session token, the region, and the address of a store that is not",
    "# Amazon's. Agents and clients must reach that address too.",
    "#AWS_ACCESS_KEY_ID=",
    "#AWS_SECRET_ACCESS_KEY=",
    "#AWS_SESSION_TOKEN=",
    "#AWS_REGION=us-east-1",
    "#AWS_ENDPOINT_URL=",
    "",
]


def env_example() -> str:
    """The text of `.env.example`, so that the documented settings are the real ones."""
    lines = ["# Settings of a ComputePool hub. Everything has a default: an empty file is a working hub.", ""]
    for name, info in Settings.documented().items():
        lines += [f"# {info.description}", f"#{PREFIX}{name.upper()}={_example(info.default)}", ""]
        if name == "storage_url":
            lines += S3_EXAMPLE
    return "\n".join(lines)


def _example(default: object) -> str:
    if default is None:
        return ""
    return "~/.computepool" if isinstance(default, Path) else str(default)
