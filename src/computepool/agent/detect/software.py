"""Versions of the engines, runtimes and toolkits that jobs depend on."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from computepool.agent.detect.tools import ROOT, find_tool, run_tool
from computepool.protocol.capacity import Software
from computepool.protocol.versions import (
    BUBBLEWRAP,
    CRUN,
    DOCKER,
    NVIDIA_TOOLKIT,
    PODMAN,
    RUNC,
    RUNSC,
    version_text,
)

_SECONDS = 5.0
_ASKED: Mapping[str, Sequence[Sequence[str]]] = {
    DOCKER: [["docker", "--version"]],
    PODMAN: [["podman", "--version"]],
    RUNSC: [["runsc", "--version"]],
    RUNC: [["runc", "--version"]],
    CRUN: [["crun", "--version"]],
    BUBBLEWRAP: [["bwrap", "--version"]],
    NVIDIA_TOOLKIT: [["nvidia-ctk", "--version"], ["nvidia-container-cli", "--version"]],
}


def find_software(root: Path = ROOT) -> tuple[Software, ...]:
    """Those that are installed. One that does not tell its version is named without one."""
    with ThreadPoolExecutor(max_workers=len(_ASKED), thread_name_prefix="version") as pool:
        answers = pool.map(lambda commands: _answer(commands, root), _ASKED.values())
        return tuple(
            Software(name=name, version=version_text(answer)[:60])
            for name, answer in zip(_ASKED, answers, strict=True)
            if answer is not None
        )


def look_again(known: Sequence[Software], root: Path = ROOT) -> tuple[Software, ...]:
    """What is installed now, with what else was known: the drivers'."""
    return (*find_software(root), *(one for one in known if one.name not in _ASKED))


def as_engines_say(found: Sequence[Software], engines: Sequence[Mapping[str, str]]) -> tuple[Software, ...]:
    """A program tells its own version; the engine that jobs run in, and its runtime, may be others.

    Of several engines the first one's word counts: jobs run there.
    """
    said: dict[str, str] = {}
    for parts in reversed(engines):
        said |= {name: version for name, text in parts.items() if (version := version_text(text)[:60])}
    kept = [Software(name=one.name, version=said.pop(one.name, one.version)) for one in found]
    return (*kept, *(Software(name=name, version=version) for name, version in said.items()))


def _answer(commands: Sequence[Sequence[str]], root: Path) -> str | None:
    for command in commands:
        if (answer := run_tool(command, root=root, seconds=_SECONDS)) is not None:
            return answer
    return "" if any(find_tool(command[0], root) for command in commands) else None
