"""Everything that the probes found out about one sandbox, in a form that another process can print."""

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from computepool.agent.sandbox import Sandbox, available_sandboxes

from .abuse import BY_NAME, run_abuses
from .host import SECRET, secrets_of
from .run import Answers, run_inside, run_through_proxy


@dataclass(frozen=True)
class Report:
    """`reached` are probes and abuses: whether they got what they wanted, and what they saw."""

    has_egress: bool
    reached: Answers

    @classmethod
    def read(cls, text: str) -> "Report":
        told = json.loads(text)
        return cls(
            told["has_egress"], {name: (bool(one), str(other)) for name, (one, other) in told["reached"].items()}
        )


async def report_of(sandbox: Sandbox, state: Path, *, abuses: bool = True) -> Report:
    os.environ["AGENT_SECRET"] = SECRET  # what an agent has in its environment, jobs must not inherit
    try:
        with secrets_of(state, sandbox.attempts_folder) as facts:
            reached = await run_inside(sandbox, facts)
            if sandbox.has_egress:
                reached |= await run_through_proxy(sandbox, facts)
    finally:
        del os.environ["AGENT_SECRET"]
    outcomes = await run_abuses(sandbox) if abuses else {}
    for name, outcome in outcomes.items():
        ended = outcome.exit
        detail = f"{ended.reason}, code {ended.code}, {ended.cpu_seconds:.2f} s: {outcome.output[-200:]}"
        reached[name] = (not BY_NAME[name].held(outcome), detail)
    return Report(sandbox.has_egress, reached)


async def main(state: Path) -> None:
    """For whoever runs this as another user: bubblewrap, as that user has it."""
    sandboxes = available_sandboxes(state)
    report = await report_of(sandboxes[0], state)
    for sandbox in sandboxes:
        await sandbox.close()
    sys.stdout.write(json.dumps(asdict(report)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
