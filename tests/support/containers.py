"""One way to run a command in a container of a private engine, for tests."""

import asyncio
from pathlib import Path
from typing import Any

from support.private_engines import PrivateEngine
from support.sandboxes import Bench
from support.waiting import patience

from computepool.agent.sandbox.containers import ContainerSandbox, Engine, EngineFacts

# Podman takes a second to tell them.
_facts: dict[Path, EngineFacts] = {}


class ContainerBench(Bench):
    """A bench whose sandbox is a private engine's."""

    def __init__(self, sandbox: ContainerSandbox, private: PrivateEngine, facts: EngineFacts) -> None:
        super().__init__(sandbox)
        self.container_sandbox = sandbox
        self.private = private
        self.facts = facts

    @classmethod
    def make(cls, state: Path, private: PrivateEngine, *, gvisor: bool = False, **more: Any) -> "ContainerBench":
        facts = _facts.get(private.socket) or asyncio.run(facts_of(private))
        _facts[private.socket] = facts
        sandbox = ContainerSandbox(state, engine=Engine(private.socket), facts=facts, gvisor=gvisor, **more)
        return cls(sandbox, private, facts)

    @property
    def is_gvisor(self) -> bool:
        return self.sandbox.level == "gvisor"

    def engine(self) -> Engine:
        """Another client of the same engine."""
        return Engine(self.private.socket)


async def until_no_container(engine: Engine, labels: dict[str, str]) -> None:
    """Wait until the engine has removed every container with these labels."""
    async with asyncio.timeout(patience()):
        while await engine.list_containers(labels):  # noqa: ASYNC110 - the engine tells nobody
            await asyncio.sleep(0.05)


async def facts_of(private: PrivateEngine) -> EngineFacts:
    return await Engine(private.socket).facts()
