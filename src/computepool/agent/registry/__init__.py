"""Container images from registries. Owns: names of images, the registry protocol (OCI distribution), what a manifest
may say, the check of every digest, and the archive that an engine is given.

Uses: the agent's way out, under the rules of jobs, and the cache of inputs. Never: credentials of the owner, or an
engine's own pull.
"""

from .names import ImageName, read_name
from .pulling import Puller

__all__ = ["ImageName", "Puller", "read_name"]
