"""Who the simulated nodes of one home are, at one hub: kept, so that the next start is the same nodes again.

simulated/<hub>/roster.json     keys and node ids of all of them, in one file
simulated/<hub>/work/           folders of their agents; new with every start
simulated/<hub>/simulate.lock   one process at a time
"""

import base64
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pydantic import BaseModel, ConfigDict, ValidationError

from computepool.agent.enrol import JoinFailed, join
from computepool.agent.home import (
    PRIVATE_FOLDER,
    AgentHome,
    HomeError,
    Identity,
    InstanceLock,
    NodeRecord,
    write_atomically,
)
from computepool.agent.removal import remove_tree
from computepool.agent.simulated.machines import SimulatedMachine

if TYPE_CHECKING:
    import httpx

FOLDER = "simulated"
ENROLLED_AT_ONCE = 4
BATCH = 25
"""Enrolled before it is written down: what is lost in between are nodes that nobody can go on with."""


class _Slot(BaseModel):
    model_config = ConfigDict(extra="ignore")

    sign_key: str
    seal_key: str
    node: NodeRecord | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore")

    slots: list[_Slot] = []


@dataclass(frozen=True)
class SlotHome(AgentHome):
    """An agent's folder whose keys and record are in the roster."""

    slot: _Slot

    def identity(self) -> Identity:
        return Identity(
            Ed25519PrivateKey.from_private_bytes(base64.b64decode(self.slot.sign_key)),
            X25519PrivateKey.from_private_bytes(base64.b64decode(self.slot.seal_key)),
        )

    def is_enrolled(self) -> bool:
        return self.slot.node is not None

    def node(self) -> NodeRecord:
        if self.slot.node is None:
            raise HomeError("this simulated node is not enrolled")
        return self.slot.node

    def save_node(self, node: NodeRecord) -> None:
        """In memory; the roster is written when it is saved. A hub's new key is announced again if that is lost."""
        self.slot.node = node


@dataclass(frozen=True)
class Member:
    """A machine, and the place of the agent that pretends to be it."""

    machine: SimulatedMachine
    home: SlotHome


class Roster:
    def __init__(self, home: Path, hub_id: str) -> None:
        self._folder = home / FOLDER / hub_id
        self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        self._path = self._folder / "roster.json"
        self._slots = self._load()

    def lock(self) -> InstanceLock:
        return InstanceLock(self._folder / "simulate.lock")

    def _load(self) -> list[_Slot]:
        try:
            return _File.model_validate_json(self._path.read_bytes()).slots
        except FileNotFoundError:
            return []
        except ValidationError as error:
            raise HomeError(
                f"{self._path} is damaged ({error.error_count()} faults). Remove it: other simulated nodes join then"
            ) from None

    def save(self) -> None:
        write_atomically(self._path, _File(slots=self._slots).model_dump_json().encode())

    @property
    def node_ids(self) -> list[str]:
        return [slot.node.node_id for slot in self._slots if slot.node is not None]

    def keep_only(self, node_ids: Iterable[str], hub_url: str, fingerprint: str | None = None) -> None:
        """Those that the hub still knows, under the address that it has now."""
        wanted = set(node_ids)
        kept = [slot for slot in self._slots if slot.node is not None and slot.node.node_id in wanted]
        for slot in kept:
            assert slot.node is not None
            slot.node = slot.node.changed(hub_url=hub_url, fingerprint=fingerprint)
        self._slots = kept
        self.save()

    def members(self, machines: Sequence[SimulatedMachine]) -> list[Member]:
        """As many as are enrolled: the first machines."""
        pairs = zip(machines, self._slots, strict=False)
        return [Member(machine, self._home(index, slot)) for index, (machine, slot) in enumerate(pairs)]

    def _home(self, index: int, slot: _Slot) -> SlotHome:
        return SlotHome(self._folder / "work" / f"{index:04}", slot)

    def clear_work(self) -> None:
        """What earlier runs left. Blocking."""
        remove_tree(self._folder / "work")

    def enrol(
        self,
        machines: Sequence[SimulatedMachine],
        hub_url: str,
        token: str,
        *,
        fingerprint: str | None = None,
        insecure: bool = False,
        agent_version: str,
        client: "httpx.Client",
        progress: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Those machines beyond the ones that are known, with one token of many uses. Blocking. Raises JoinFailed."""

        def one(machine: SimulatedMachine) -> _Slot:
            home = SlotHome(self._folder / "work" / f"{machine.index:04}", _new_slot())
            join(
                home,
                hub_url,
                token,
                fingerprint=fingerprint,
                insecure=insecure,
                capacity=machine.capacity,
                agent_version=agent_version,
                name=machine.name,
                country=machine.country,
                tags=machine.tags,
                client=client,
            )
            return home.slot

        missing = list(machines[len(self._slots) :])
        with ThreadPoolExecutor(ENROLLED_AT_ONCE, thread_name_prefix="enrol") as threads:
            for start in range(0, len(missing), BATCH):
                futures = [threads.submit(one, machine) for machine in missing[start : start + BATCH]]
                failures = [error for future in futures if (error := future.exception()) is not None]
                self._slots += [future.result() for future in futures if future.exception() is None]
                self.save()
                if failures:
                    raise failures[0]
                progress(len(self._slots))


def _new_slot() -> _Slot:
    identity = Identity.generate()
    sign_key, seal_key = (
        base64.b64encode(key.private_bytes_raw()).decode() for key in (identity.sign_key, identity.seal_key)
    )
    return _Slot(sign_key=sign_key, seal_key=seal_key)


__all__ = ["FOLDER", "JoinFailed", "Member", "Roster", "SlotHome"]
