"""What a node tells of its owner's policy, and what the owner asks of the node through the hub.

The agent has the last word: it checks each request itself, and follows or refuses it.
"""

from datetime import datetime
from typing import Literal

from pydantic import Field

from computepool.protocol.model import Wire

POLICY_TEXT_LIMIT = 1_000
POLICY_SETTINGS_LIMIT = 1_000
PolicyValue = bool | int | float | str | tuple[str, ...]
OwnerRequestKind = Literal["policy", "pause"]


class PolicySetting(Wire):
    """One setting of the owner's policy, as it is now."""

    key: str = Field(max_length=200)
    """Such as `start.hours`."""
    value: PolicyValue
    default: PolicyValue | None = None
    """None where the default is another setting's value, as for one GPU."""
    meaning: str = Field(default="", max_length=POLICY_TEXT_LIMIT)
    editable: bool = False
    """It can be changed through the hub; else on the machine itself."""


class OwnerAnswer(Wire):
    """What became of the newest request of a kind."""

    kind: OwnerRequestKind
    number: int = Field(ge=0, lt=2**53)
    refused: str = Field(default="", max_length=POLICY_TEXT_LIMIT)
    """Why nothing was changed; empty where it was done."""


class PolicyReport(Wire):
    """The whole of the owner's policy, and whether the owner paused the machine: when a line is up, and at changes."""

    type: Literal["policy"] = "policy"
    settings: tuple[PolicySetting, ...] = Field(default=(), max_length=POLICY_SETTINGS_LIMIT)
    remote_edits: bool = False
    """Whether requests through the hub are followed."""
    problem: str = Field(default="", max_length=POLICY_TEXT_LIMIT)
    """Why the policy's file is not used, and an earlier one is."""
    paused: Literal["hub", "machine"] | None = None
    """Where the owner said so."""
    paused_until: datetime | None = None
    answers: tuple[OwnerAnswer, ...] = Field(default=(), max_length=10)


class OwnerRequest(Wire):
    """The owner asks for something through the hub. The agent does it or refuses it, and tells so in a `policy`."""

    type: Literal["owner_request"] = "owner_request"
    kind: OwnerRequestKind
    number: int = Field(ge=0, lt=2**53)
    """Grows; of each kind only the newest counts."""
    changes: dict[str, bool | str] = Field(default_factory=dict, max_length=20)
    """Of kind `policy`: settings and their new values, as the policy's file has them."""
    pause: bool = True
    """Of kind `pause`: begin one, or end one that was asked for through the hub."""
    for_seconds: float | None = Field(default=None, gt=0)
    """How long a pause lasts; None until it is ended."""
