"""A stand-in for an agent, run as a process of its own: it starts a job, says so, and waits to be killed.

python agent_story.py STATE LEVEL SOFT MARK [DELAY]: with a delay it says so that many milliseconds into the start.
"""

import asyncio
import sys
from pathlib import Path

from computepool.agent.sandbox import Command, Limits, available_sandboxes

SCRIPT = "(setsid sh -c 'trap \"\" TERM HUP; sleep {mark} & sleep {mark}' > /dev/null 2>&1 &); sleep {mark}"


async def story(state: Path, level: str, soft: bool, mark: str, delay_milliseconds: float | None) -> None:
    sandbox = next(one for one in available_sandboxes(state, use_cgroups=not soft) if one.level == level)
    folder = sandbox.attempts_folder / f"story-{mark}"
    (folder / "work").mkdir(parents=True)
    limits = Limits(cpus=1, memory_bytes=256 << 20, pids=50, disk_bytes=1 << 24)
    argv = ["/bin/sh", "-c", SCRIPT.format(mark=mark)]
    start = asyncio.create_task(sandbox.start(Command(argv=argv, env={}, folder=folder, limits=limits)))
    if delay_milliseconds is None:
        process = await start
        sys.stdout.write(f"{process.pid}\n")
    else:
        await asyncio.sleep(delay_milliseconds / 1000)
        sys.stdout.write("0\n")
    sys.stdout.flush()
    await asyncio.sleep(3600)


if __name__ == "__main__":
    _, state, level, soft, mark, *delay = sys.argv
    asyncio.run(story(Path(state), level, soft == "soft", mark, float(delay[0]) if delay else None))
