"""Jobs in containers. Owns: the client of the engines' API, what a container is made of, and its life and end.

Uses: a Docker or podman that the owner has installed. Never: another container than its own, an engine's settings.
"""

from .engine import Engine, EngineError, EngineFacts, EngineGone, EngineRefused
from .find import FoundEngine, find_engines, how_to_get_containers, look_again
from .images import EngineImages, StoredImage
from .sandbox import ContainerSandbox

__all__ = [
    "ContainerSandbox",
    "Engine",
    "EngineError",
    "EngineFacts",
    "EngineGone",
    "EngineImages",
    "EngineRefused",
    "FoundEngine",
    "StoredImage",
    "find_engines",
    "how_to_get_containers",
    "look_again",
]
