"""What an agent costs its host: at rest, on top of each engine, under a flood of log, and when the owner comes back."""

import asyncio
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.bystander import counting_line
from benchmarks.engines import private_docker
from benchmarks.measure import Data, Options, Table, measured, megabytes, summary_ms, untested_table
from benchmarks.pool import Agent, Hub, running_hub, running_pool
from benchmarks.processes import Child, python, scratch, wait_until, weigh
from computepool.agent.control import ask_agent
from computepool.agent.sandbox import BubblewrapSandbox, Command, ContainerSandbox, Limits, Sandbox
from computepool.agent.sandbox.containers import Engine
from computepool.agent.sandbox.running import readable

IDLE_SECONDS = 120.0
SETTLE_SECONDS = 15.0
WATCHED_SECONDS = 20.0
ROOMY = Limits(cpus=1.0, memory_bytes=256 << 20, pids=200, disk_bytes=64 << 20)
BURST_MEGABYTES_PER_SECOND = 50
BURST_SECONDS = 10
BURST = """
import sys, time
line = b"x" * 999 + b"\\n"
began = time.monotonic()
for second in range({seconds}):
    for _ in range({megabytes_per_second} * 10):
        sys.stdout.buffer.write(line * 100)
    time.sleep(max(0, began + second + 1 - time.monotonic()))
"""
COUNT = """
import os, time
while True:
    with open("next", "w") as file:
        file.write(str(time.monotonic()))
    os.replace("next", "beat")
    time.sleep(0.002)
"""
STILL_SECONDS = 1.5


def run(options: Options) -> Data:
    with scratch() as folder:
        with_jobs = measured(lambda: _with_jobs(folder / "jobs", options))
        return {
            "idle": _idle(folder / "idle", options),
            "overhead": asyncio.run(_overhead(folder / "overhead", options.samples(1, 40))),
            "burst": with_jobs.get("burst", with_jobs),
            "pause": with_jobs.get("pause", with_jobs),
            "simulated": _simulated(folder / "simulated", options),
        }


def _with_jobs(folder: Path, options: Options) -> Data:
    with running_pool(folder) as (hub, agent):
        rate = options.figure(1, BURST_MEGABYTES_PER_SECOND)
        return {
            "burst": _burst(hub, agent, options.figure(1, BURST_SECONDS), rate),
            "pause": _pause(hub, agent, options.samples(1, 20), options.figure(0.2, STILL_SECONDS)),
        }


# ── at rest ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _idle(folder: Path, options: Options) -> Data:
    seconds = options.figure(0.1, IDLE_SECONDS)
    with running_hub(folder / "hub") as hub, counting_line(hub.port) as line:
        agent = Agent(hub, folder / "agent", url=f"http://127.0.0.1:{line.port}", takes_jobs=False)
        try:
            # The hub examines a newcomer, which is work. A quick run asks, and does not wait.
            wait_until(lambda: _is_examined(hub) or options.quick, "the examination", hub.child, agent.child, every=1.0)
            time.sleep(options.figure(0.1, SETTLE_SECONDS))
            before, carried = _cpu_seconds(agent.child.pid), line.bytes
            time.sleep(seconds)
            spent = _cpu_seconds(agent.child.pid) - before
            return {
                "seconds": seconds,
                "weight": weigh(agent.child.pid),
                "cpu_percent": round(100 * spent / seconds, 4),
                "bytes_per_second": round((line.bytes - carried) / seconds, 1),
            }
        finally:
            agent.stop()


def _is_examined(hub: Hub) -> bool:
    return hub.client.get("nodes")["items"][0]["benchmark"]["measured_at"] is not None


def _cpu_seconds(pid: int) -> float:
    """Of the process and of what it started and waited for: a tool that is asked now and then counts too."""
    used = psutil.Process(pid).cpu_times()
    return used.user + used.system + used.children_user + used.children_system


# ── on top of the engines ────────────────────────────────────────────────────────────────────────────────────────────


async def _overhead(folder: Path, count: int) -> Data:
    found: Data = {}
    with _open_folder() as state:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            found["bubblewrap"] = {"untested": "bubblewrap is not installed"}
        else:
            bare = [bwrap, "--ro-bind", "/", "/", "--unshare-all", "--dev", "/dev", "--proc", "/proc", "/bin/true"]
            sandbox: Sandbox = BubblewrapSandbox(state / "bubblewrap", bwrap=bwrap)
            found["bubblewrap"] = await _compared(sandbox, lambda: _bare(bare), count)
        found["docker"] = await _docker(folder, state, max(1, count // 2))
    return found


async def _docker(folder: Path, state: Path, count: int) -> Data:
    with private_docker(folder) as (socket, trouble):
        if trouble is not None:
            return {"untested": trouble}
        engine = Engine(socket)
        facts = await engine.facts()
        sandbox = ContainerSandbox(state / "docker", engine=engine, facts=facts)
        # The same thing by hand: the sandbox's own empty image with the host's programs, and no limits at all.
        await _once(sandbox)
        image = (await asyncio.to_thread(_output_of, "docker", "-H", f"unix://{socket}", "images", "-q")).split()[0]
        usr = [word for name in ("usr", "bin", "lib", "lib64") for word in _shown(name)]
        bare = ["docker", "-H", f"unix://{socket}", "run", "--rm", "--network", "none", *usr, image, "/bin/true"]
        return await _compared(sandbox, lambda: _bare(bare), count)


def _output_of(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _shown(name: str) -> list[str]:
    return ["-v", f"/{name}:/{name}:ro"] if Path("/", name).exists() else []


async def _compared(sandbox: Sandbox, bare: Callable[[], Awaitable[None]], count: int) -> Data:
    """Taking turns, so that what else the machine does meets both."""
    ours, theirs = [], []
    try:
        for _ in range(min(2, count)):
            await _once(sandbox)
            await bare()
        for _ in range(count):
            theirs.append(await _timed(bare))
            ours.append(await _timed(lambda: _once(sandbox)))
    finally:
        await sandbox.close()
    overhead = statistics.median(ours) - statistics.median(theirs)
    return {"bare": summary_ms(theirs), "sandbox": summary_ms(ours), "overhead_p50_ms": round(1000 * overhead, 2)}


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def _bare(words: list[str]) -> None:
    process = await asyncio.create_subprocess_exec(*words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if code := await process.wait():
        raise RuntimeError(f"{' '.join(words)} ended with {code}")


async def _once(sandbox: Sandbox) -> None:
    folder = Path(tempfile.mkdtemp(dir=sandbox.attempts_folder))
    (folder / "work").mkdir()
    sandbox.adopt(folder)
    process = await sandbox.start(Command(argv=("/bin/true",), env={}, folder=folder, limits=ROOMY))
    await readable(process.output_fd)
    ended = await process.wait()
    os.close(process.output_fd)
    shutil.rmtree(folder)
    if ended.code:
        raise RuntimeError(f"/bin/true ended with {ended}")


@contextlib.contextmanager
def _open_folder() -> Iterator[Path]:
    """Jobs run as other users, who must be able to come here."""
    folder = Path(tempfile.mkdtemp(prefix="computepool-bench-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ── a flood of log ───────────────────────────────────────────────────────────────────────────────────────────────────


def _burst(hub: Hub, agent: Agent, seconds: int, megabytes_per_second: int) -> Data:
    script = BURST.format(seconds=seconds, megabytes_per_second=megabytes_per_second)
    began = time.monotonic()
    job = hub.client.submit(["python3", "-c", script], memory="256MB", disk="64MB")
    peak = 0
    process = psutil.Process(agent.child.pid)
    while not (view := hub.client.get(f"jobs/{job}"))["finished_at"]:
        peak = max(peak, process.memory_info().rss)
        time.sleep(0.05)
    attempt = view["slices"][0]["attempts"][0]
    return {
        "seconds": seconds,
        "expected_bytes": seconds * megabytes_per_second * 1_000_000,
        "log_bytes": attempt["log_bytes"],
        "state": view["state"],
        "arrived_after_seconds": round(time.monotonic() - began, 1),
        "agent_peak_rss_bytes": max(peak, _high_water(agent.child.pid)),
    }


def _high_water(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


# ── the owner comes back ─────────────────────────────────────────────────────────────────────────────────────────────


def _pause(hub: Hub, agent: Agent, count: int, still_seconds: float) -> Data:
    """From the owner's wish on the agent's socket to the job's last step."""
    sock = agent.home.socket_path
    job = hub.client.submit(["python3", "-c", COUNT], memory="128MB", disk="64MB")
    beat = wait_for_beat(agent)
    samples = []
    for _ in range(count):
        asked = time.monotonic()
        ask_agent(sock, "pause")
        time.sleep(still_seconds)
        last = float(beat.read_text())
        samples.append(max(0.0, last - asked))
        ask_agent(sock, "resume")
        time.sleep(still_seconds / 3)
    hub.client.cancel(job)  # an agent that is told to end waits for its jobs
    return summary_ms(samples)


def wait_for_beat(agent: Agent) -> Path:
    """The file in the job's folder that tells when it last did something."""

    def found() -> list[Path]:
        for place in agent.attempts_folders():
            if beats := list(place.glob("attempt_*/work/beat")):
                return beats
        return []

    wait_until(lambda: bool(found()), "the job", agent.child, every=0.02)
    return found()[0]


# ── many nodes in one process ────────────────────────────────────────────────────────────────────────────────────────


def _simulated(folder: Path, options: Options) -> Data:
    count, seconds = options.figure(3, 1000), options.figure(0.1, WATCHED_SECONDS)
    with running_hub(folder / "hub") as hub:
        # Servers: their owners never pause them, so that all of them are online at one moment.
        words = ("simulate", "--nodes", str(count), "--profile", "servers", "--home", folder / "home")
        variables = {"COMPUTEPOOL_URL": hub.url, "COMPUTEPOOL_TOKEN": hub.token}
        crowd = Child(python("-P", "-m", "computepool", *words), folder / "simulate.log", environment=variables)
        try:
            online = wait_until(lambda: hub.nodes_online() >= count, f"{count} simulated nodes", hub.child, crowd)
            before = {child: _cpu_seconds(child) for child in (crowd.pid, hub.child.pid)}
            time.sleep(seconds)
            spent = {child: (_cpu_seconds(child) - used) / seconds for child, used in before.items()}
            return {
                "nodes": count,
                "online_after_seconds": round(online, 1),
                "still_online": hub.nodes_online(),
                "process": weigh(crowd.pid),
                "process_cpu_percent": round(100 * spent[crowd.pid], 1),
                "hub": weigh(hub.child.pid),
                "hub_cpu_percent": round(100 * spent[hub.child.pid], 1),
            }
        finally:
            crowd.stop()


# ── shown ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(data: Data) -> list[Table]:
    idle, crowd = data["idle"], data["simulated"]
    rest = [
        ["memory (RSS)", megabytes(idle["weight"]["rss_bytes"]), _below(idle["weight"]["rss_bytes"], 70e6, "70 MB")],
        ["memory (PSS)", megabytes(idle["weight"]["pss_bytes"]), ""],
        ["of one core", f"{idle['cpu_percent']:.2f} %", _below(idle["cpu_percent"], 0.3, "0.3 %")],
        ["traffic", f"{idle['bytes_per_second']:.0f} B/s", _below(idle["bytes_per_second"], 1000, "1 kB/s")],
    ]
    many = [
        ["all online after", f"{crowd['online_after_seconds']:.1f} s"],
        [f"still online {WATCHED_SECONDS:g} s later", f"{crowd['still_online']:,}"],
        [
            "their process",
            f"{megabytes(crowd['process']['rss_bytes'])}, {crowd['process_cpu_percent']:.0f} % of a core",
        ],
        ["the hub", f"{megabytes(crowd['hub']['rss_bytes'])}, {crowd['hub_cpu_percent']:.0f} % of a core"],
    ]
    return [
        Table("At rest", ("", "measured", "target"), rest, f"Examined, connected, no job, {idle['seconds']:.0f} s."),
        Table(
            "On top of the bare engine",
            ("engine", "bare p50 / p95 (ms)", "sandbox p50 / p95 (ms)", "overhead p50", "target"),
            [_engine_row(name, data["overhead"][name], limit) for name, limit in (("bubblewrap", 15), ("docker", 50))],
            "`/bin/true`, taking turns: started by hand without limits, and by the agent's sandbox with all of them.",
        ),
        _burst_table(data["burst"]),
        _pause_table("The owner says pause", data["pause"]),
        Table(f"{crowd['nodes']:,} simulated nodes in one process", ("", "measured"), many),
    ]


def _burst_table(burst: Data) -> Table:
    if "untested" in burst:
        return untested_table("A job that logs much", burst)
    logged, expected = burst["log_bytes"], burst["expected_bytes"]
    peak = burst["agent_peak_rss_bytes"]
    rows = [
        ["arrived", f"{logged / 1e6:.0f} of {expected / 1e6:.0f} MB", "whole ✓" if logged == expected else "✗"],
        ["all of it at the hub after", f"{burst['arrived_after_seconds']:.1f} s", ""],
        ["agent at most (RSS)", megabytes(peak), _below(peak, 150e6, "150 MB")],
    ]
    rate = expected / 1e6 / burst["seconds"]
    return Table(f"A job that logs {rate:.0f} MB/s for {burst['seconds']} s", ("", "measured", "target"), rows)


def _pause_table(title: str, pause: Data) -> Table:
    if "untested" in pause:
        return untested_table(title, pause)
    figures = [f"{pause[f'{key}_ms']:.0f} ms" for key in ("p50", "p95", "max")]
    row = ["until the job stands still", *figures, _below(pause["max_ms"], 200, "200 ms")]
    return Table(title, ("", "p50", "p95", "most", "target"), [row])


def _engine_row(name: str, found: Any, limit_ms: float) -> list[str]:
    if "untested" in found:
        return [name, "untested", found["untested"], "", ""]
    pairs = [f"{found[kind]['p50_ms']:.1f} / {found[kind]['p95_ms']:.1f}" for kind in ("bare", "sandbox")]
    overhead = found["overhead_p50_ms"]
    return [name, *pairs, f"{overhead:.1f} ms", _below(overhead, limit_ms, f"{limit_ms:g} ms")]


def _below(value: float, limit: float, words: str) -> str:
    return f"< {words} {'✓' if value < limit else '✗'}"
