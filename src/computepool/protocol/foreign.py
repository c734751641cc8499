"""Whose file it is, and what it says in our keys."""

from collections.abc import Mapping
from typing import Any

from computepool.protocol import foreign_dstack, foreign_skypilot
from computepool.protocol.foreign_keys import ForeignKey, LocalPart, Note, System, Translation
from computepool.protocol.spec_errors import Problems

__all__ = ["TABLES", "ForeignKey", "LocalPart", "Note", "System", "Translation", "read_foreign", "system_of"]

TABLES: Mapping[System, Mapping[str, ForeignKey]] = {
    System.DSTACK: foreign_dstack.KEYS,
    System.SKYPILOT: foreign_skypilot.KEYS,
}


def system_of(data: object) -> System | None:
    """None for a spec of our own."""
    if not isinstance(data, Mapping):
        return None
    if data.get("type") == "task":
        return System.DSTACK
    resources = data.get("resources")
    if any(mark in data for mark in foreign_skypilot.MARKS):
        return System.SKYPILOT
    if isinstance(resources, Mapping) and any(mark in resources for mark in foreign_skypilot.RESOURCE_MARKS):
        return System.SKYPILOT
    return None


def read_foreign(data: Mapping[str, Any], problems: Problems | None = None) -> Translation | None:
    """A file of another system in our keys; None for a spec of our own. What cannot be read is added to `problems`."""
    system = system_of(data)
    if system is None:
        return None
    read = foreign_dstack.translate if system is System.DSTACK else foreign_skypilot.translate
    translation = read(data, problems if problems is not None else Problems())
    if translation.local:
        translation.values.setdefault("workdir", ".")
    if translation.links:
        translation.values["links"] = translation.links
    if "network" not in translation.values:
        translation.values["network"] = True
        words = f"`network` is on, because {system} gives its jobs the internet. Add `network: false` to turn it off."
        translation.note("other_systems_key", "network", words)
    return translation
