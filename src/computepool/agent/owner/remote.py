"""What the owner asks for through the hub: hours and idle rules, and a pause. The machine has the last word.

A hub may lie. So only the settings in `EDITABLE` can be changed by it; a pause that was made on this machine cannot be
ended or shortened by it; and `remote_edits = false` in the policy refuses everything. Each request is dealt with once,
also if its answer is lost, so that it never undoes what the owner changed here afterwards.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from computepool.agent.home import write_atomically
from computepool.agent.outgoing import Outgoing
from computepool.agent.owner.policy import GpuRules, Policy
from computepool.agent.owner.policy_file import PolicyError, PolicyFile, changed, parse_policy, sections, toml_value
from computepool.agent.owner.watch import OwnerWatch
from computepool.protocol.owner_requests import (
    POLICY_TEXT_LIMIT,
    OwnerAnswer,
    OwnerRequest,
    PolicyReport,
    PolicySetting,
    PolicyValue,
)

log = logging.getLogger(__name__)

NAME = "hub_requests.json"
EDITABLE = frozenset({"start.hours", "start.after_idle", "start.during_full_screen", "start.typing_over_ssh"})
"""When nobody uses the machine. All else is changed on the machine itself."""
NOT_ALLOWED = "remote_edits is false in this machine's policy.toml"
LOCAL_PAUSE = "it was paused on the machine itself: computepool agent resume ends that"


class RequestRefused(Exception):
    """Why nothing was changed, for people."""


class _Dealt(BaseModel):
    """The newest request of each kind that was dealt with."""

    model_config = ConfigDict(extra="ignore")

    answers: dict[str, OwnerAnswer] = Field(default_factory=dict)


class RemoteOwner:
    """All methods block briefly on the disk."""

    def __init__(self, folder: Path, watch: OwnerWatch, outgoing: Outgoing) -> None:
        self._path = folder / NAME
        self._watch = watch
        self._outgoing = outgoing
        self._dealt = self._load()
        self._told: tuple[object, PolicyReport] | None = None
        """On which line, and what."""

    def tick(self, line: object) -> None:
        """Tell the hub the policy: once on each line, and whenever it has changed. `line` is another for each."""
        told = (line, self.report())
        if line is not None and self._outgoing.open and told != self._told:
            self._told = told
            self._outgoing.put(told[1])

    def report(self) -> PolicyReport:
        policy, paused = self._watch.policy, self._watch.paused_by
        return PolicyReport(
            settings=tuple(settings_of_policy(policy)),
            remote_edits=policy.remote_edits,
            problem=self._watch.policy_file.problem[:POLICY_TEXT_LIMIT],
            paused=paused,
            paused_until=self._watch.paused_until,
            answers=tuple(self._dealt.answers.values()),
        )

    def handle(self, request: OwnerRequest) -> None:
        """Do it, or refuse it; and tell the hub how things are then."""
        known = self._dealt.answers.get(request.kind)
        if known is None or request.number > known.number:
            refused = ""
            try:
                self._do(request)
            except (RequestRefused, PolicyError, ValueError, OSError) as error:
                refused = str(error) or type(error).__name__
            log.info("owner.request", extra={"kind": request.kind, "number": request.number, "refused": refused})
            answer = OwnerAnswer(kind=request.kind, number=request.number, refused=refused[:POLICY_TEXT_LIMIT])
            self._dealt.answers[request.kind] = answer
            write_atomically(self._path, self._dealt.model_dump_json().encode())
        self._outgoing.put(self.report())

    def _do(self, request: OwnerRequest) -> None:
        if not self._watch.policy.remote_edits:
            raise RequestRefused(NOT_ALLOWED)
        if request.kind == "pause":
            self._pause(request)
            return
        if not request.changes:
            raise RequestRefused("the request names no setting")
        forbidden = sorted(set(request.changes) - EDITABLE)
        if forbidden:
            raise RequestRefused(f"{', '.join(forbidden)} can be changed only on the machine itself, in policy.toml")
        write_settings(self._watch.policy_file, request.changes)
        self._watch.look_again()

    def _pause(self, request: OwnerRequest) -> None:
        by = self._watch.paused_by
        if request.pause:
            if by != "machine":  # which may last longer
                self._watch.pause(request.for_seconds, by_hub=True)
        elif by == "machine":
            raise RequestRefused(LOCAL_PAUSE)
        elif by == "hub":
            self._watch.resume()

    def _load(self) -> _Dealt:
        try:
            return _Dealt.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return _Dealt()


def settings_of_policy(policy: Policy) -> Iterator[PolicySetting]:
    values, defaults = policy.model_dump(mode="json"), Policy().model_dump(mode="json")
    for section, model in sections():
        place, usual = (values[section], defaults[section]) if section else (values, defaults)
        prefix = f"{section}." if section else ""
        for key, field in model.model_fields.items():
            if field.description is not None:
                yield _setting(f"{prefix}{key}", place[key], usual[key], field.description)
    for gpu_id, rules in policy.gpu.items():
        for key, field in GpuRules.model_fields.items():
            if key in rules.model_fields_set and field.description is not None:
                yield _setting(f"gpu.{gpu_id}.{key}", values["gpu"][gpu_id][key], None, field.description)


def _setting(key: str, value: Any, default: Any, meaning: str) -> PolicySetting:
    return PolicySetting(
        key=key[:200],
        value=_shown(value),
        default=None if default is None else _shown(default),
        meaning=meaning[:POLICY_TEXT_LIMIT],
        editable=key in EDITABLE,
    )


def _shown(value: Any) -> PolicyValue:
    if isinstance(value, list):
        return tuple(str(one)[:200] for one in value[:100])
    return value if isinstance(value, bool | int | float) else str(value)[:POLICY_TEXT_LIMIT]


# ── writing, with the owner's own comments left where they are ────────────────────────────────────────────────────────


def write_settings(file: PolicyFile, changes: Mapping[str, Any]) -> None:
    """Change these settings of the file and nothing else. Raises PolicyError, OSError."""
    file.refresh()
    if file.problem:
        raise PolicyError(file.problem)
    wanted = file.policy
    for key, value in changes.items():
        wanted = changed(wanted, key, value)
    text = file.path.read_text() if file.path.exists() else ""
    for key in changes:
        text = _edited(text, key, _at(wanted, key))
    try:
        is_same = parse_policy(text) == wanted
    except PolicyError:
        is_same = False
    if is_same:
        write_atomically(file.path, text.encode())
        file.refresh()
    else:
        file.write(wanted)  # the whole file anew, with every explanation


def _at(policy: Policy, key: str) -> Any:
    section, _, name = key.partition(".")
    return policy.model_dump(mode="json")[section][name]


def _edited(text: str, key: str, value: Any) -> str:
    """The line of a setting replaced, or added to its table."""
    section, _, name = key.partition(".")
    line = f"{name} = {toml_value(value)}"
    lines = text.splitlines()
    head = next((place for place, one in enumerate(lines) if one.split("#")[0].strip() == f"[{section}]"), None)
    if head is None:
        return "\n".join([*lines, "", f"[{section}]", line]) + "\n"
    end = next((place for place in range(head + 1, len(lines)) if lines[place].lstrip().startswith("[")), len(lines))
    own = re.compile(rf"\s*(#\s*)?{re.escape(name)}\s*=")
    found = [place for place in range(head + 1, end) if own.match(lines[place])]
    in_use = [place for place in found if not lines[place].lstrip().startswith("#")]
    if in_use or found:
        place = (in_use or found)[0]
        comment = re.search(r"\s#[^\"']*$", lines[place]) if in_use else None
        lines[place] = line + (comment[0] if comment else "")
    else:
        lines.insert(head + 1, line)
    return "\n".join(lines) + "\n"
