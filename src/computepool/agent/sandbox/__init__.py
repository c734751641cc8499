"""Where jobs run. Owns: starting, limiting, freezing and ending a command in a sandbox, and proving that it holds.

Uses: the kernel, bubblewrap, control groups, container engines. Never: the hub, the job spec, money, or the network.
"""

from .available import available_sandboxes, how_to_get_bubblewrap
from .bubblewrap import BubblewrapSandbox
from .containers import ContainerSandbox, EngineImages, FoundEngine, find_engines, how_to_get_containers, look_again
from .interface import (
    Command,
    Exit,
    FolderUnreachable,
    Limits,
    Offload,
    Process,
    Reason,
    Sandbox,
    SandboxError,
    SelfTest,
)
from .process import ProcessSandbox
from .selftest import find_fault, self_test

__all__ = [
    "BubblewrapSandbox",
    "Command",
    "ContainerSandbox",
    "EngineImages",
    "Exit",
    "FolderUnreachable",
    "FoundEngine",
    "Limits",
    "Offload",
    "Process",
    "ProcessSandbox",
    "Reason",
    "Sandbox",
    "SandboxError",
    "SelfTest",
    "available_sandboxes",
    "find_engines",
    "find_fault",
    "how_to_get_bubblewrap",
    "how_to_get_containers",
    "look_again",
    "self_test",
]
