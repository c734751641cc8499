"""The environment a job gets: what its spec gives it, and a few defaults. Nothing of the agent's own."""

from collections.abc import Mapping

# They would choose GPUs, or code to load, behind the sandbox's back.
STRIPPED_PREFIXES = ("LD_", "DYLD_", "NVIDIA_", "COMPUTEPOOL_RUN")

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def job_environment(given: Mapping[str, str], *, home: str, tmp: str) -> dict[str, str]:
    defaults = {"PATH": PATH, "HOME": home, "TMPDIR": tmp, "LANG": "C.UTF-8"}
    return defaults | welcome(given)


def welcome(given: Mapping[str, str]) -> dict[str, str]:
    """What of it a job may be given."""
    return {name: value for name, value in given.items() if _is_welcome(name, value)}


def _is_welcome(name: str, value: str) -> bool:
    expressible = name and "=" not in name and "\0" not in name + value
    return bool(expressible) and not name.startswith(STRIPPED_PREFIXES)
