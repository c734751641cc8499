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
from benchmarks.measure import Data, Options, Table, megabytes, summary_ms
from benchmarks.pool import Agent, Hub, running_hub
from benchmarks.processes import Child, python, scratch, wait_until, weigh
from computepool.agent.control import ask_agent
from computepool.agent.sandbox import BubblewrapSandbox, Command, ContainerSandbox, Limits, Sandbox
from computepool.agent.sandbox.containers import Engine
from computepool.agent.sandbox.running import readable

IDLE_SECONDS = 120.0
SETTLE_SECONDS = 15.0
ROOMY = Limits(cpus=1.0, memory_bytes=256 << 20, pids=200, disk_bytes=64 << 20)
BURST_MEGABYTES_PER_SECOND = 50
BURST_SECONDS = 10
BURST = f"""
import sys, time
line = b"x" * 999 + b"\\n"
began = time.monotonic()
for second in range(%d):
    for _ in range({BURST_MEGABYTES_PER_SECOND * 10}):
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
        found: Data = {"idle": _idle(folder / "idle", options)}
        found["overhead"] = asyncio.run(_overhead(folder / "overhead", options.samples(5, 40)))
        found["burst"] = _burst(folder / "burst", options.figure(1, BURST_SECONDS))
        found["pause"] = _pause(folder / "pause", options.samples(2, 20))
        found["simulated"] = _simulated(folder / "simulated", options.figure(50, 1000))
    return found


# ── at rest ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _idle(folder: Path, options: Options) -> Data:
    seconds = 5.0 if options.quick else IDLE_SECONDS
    with running_hub(folder / "hub") as hub, counting_line(hub.port) as line:
        agent = Agent(hub, folder / "agent", url=f"http://127.0.0.1:{line.port}")
        try:
            if not options.quick:  # the hub examines a newcomer, which is work
                wait_until(lambda: _is_examined(hub), "the examination", hub.child, agent.child, every=1.0)
            time.sleep(1.0 if options.quick else SETTLE_SECONDS)
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
        found["docker"] = await _docker(folder, state, max(3, count // 2))
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
        for _ in range(2):
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


def _burst(folder: Path, seconds: int) -> Data:
    expected = seconds * BURST_MEGABYTES_PER_SECOND * 1_000_000
    with running_hub(folder / "hub") as hub:
        agent = Agent(hub, folder / "agent")
        try:
            began = time.monotonic()
            job = hub.client.submit(["python3", "-c", BURST % seconds], memory="256MB", disk="64MB")
            peak = 0
            process = psutil.Process(agent.child.pid)
            while not (view := hub.client.get(f"jobs/{job}"))["finished_at"]:
                peak = max(peak, process.memory_info().rss)
                time.sleep(0.05)
            attempt = view["slices"][0]["attempts"][0]
            return {
                "seconds": seconds,
                "expected_bytes": expected,
                "log_bytes": attempt["log_bytes"],
                "state": view["state"],
                "arrived_after_seconds": round(time.monotonic() - began, 1),
                "agent_peak_rss_bytes": max(peak, _high_water(agent.child.pid)),
            }
        finally:
            agent.stop()


def _high_water(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


# ── the owner comes back ─────────────────────────────────────────────────────────────────────────────────────────────


def _pause(folder: Path, count: int) -> Data:
    """From the owner's wish on the agent's socket to the job's last step."""
    with running_hub(folder / "hub") as hub:
        agent = Agent(hub, folder / "agent")
        sock = agent.home.socket_path
        try:
            hub.client.submit(["python3", "-c", COUNT], memory="128MB", disk="64MB")
            beat = wait_for_beat(agent)
            samples = []
            for _ in range(count):
                asked = time.monotonic()
                ask_agent(sock, "pause")
                time.sleep(STILL_SECONDS)
                last = float(beat.read_text())
                samples.append(max(0.0, last - asked))
                ask_agent(sock, "resume")
                time.sleep(0.5)
            return summary_ms(samples)
        finally:
            agent.stop()


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


def _simulated(folder: Path, count: int) -> Data:
    with running_hub(folder / "hub") as hub:
        # Servers: their owners never pause them, so that all of them are online at one moment.
        words = ("simulate", "--nodes", str(count), "--profile", "servers", "--home", folder / "home")
        variables = {"COMPUTEPOOL_URL": hub.url, "COMPUTEPOOL_TOKEN": hub.token}
        crowd = Child(python("-P", "-m", "computepool", *words), folder / "simulate.log", environment=variables)
        try:
            online = wait_until(lambda: hub.nodes_online() >= count, f"{count} simulated nodes", hub.child, crowd)
            before = {child: _cpu_seconds(child) for child in (crowd.pid, hub.child.pid)}
            time.sleep(20.0)
            spent = {child: (_cpu_seconds(child) - used) / 20.0 for child, used in before.items()}
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
    idle, burst, crowd = data["idle"], data["burst"], data["simulated"]
    rest = [
        ["memory (RSS)", megabytes(idle["weight"]["rss_bytes"]), _below(idle["weight"]["rss_bytes"], 70e6, "70 MB")],
        ["memory (PSS)", megabytes(idle["weight"]["pss_bytes"]), ""],
        ["of one core", f"{idle['cpu_percent']:.2f} %", _below(idle["cpu_percent"], 0.3, "0.3 %")],
        ["traffic", f"{idle['bytes_per_second']:.0f} B/s", _below(idle["bytes_per_second"], 1000, "1 kB/s")],
    ]
    flood = [
        ["arrived", f"{burst['log_bytes'] / 1e6:.0f} of {burst['expected_bytes'] / 1e6:.0f} MB",
         "whole ✓" if burst["log_bytes"] == burst["expected_bytes"] else "✗"],
        ["all of it at the hub after", f"{burst['arrived_after_seconds']:.1f} s", ""],
        ["agent at most (RSS)", megabytes(burst["agent_peak_rss_bytes"]),
         _below(burst["agent_peak_rss_bytes"], 150e6, "150 MB")],
    ]  # fmt: skip
    pause = data["pause"]
    many = [
        ["all online after", f"{crowd['online_after_seconds']:.1f} s"],
        ["still online 20 s later", f"{crowd['still_online']:,}"],
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
        Table(
            f"A job that logs {BURST_MEGABYTES_PER_SECOND} MB/s for {burst['seconds']} s",
            ("", "measured", "target"),
            flood,
        ),
        Table(
            "The owner says pause",
            ("", "p50", "p95", "most", "target"),
            [["until the job stands still", *(f"{pause[f'{key}_ms']:.0f} ms" for key in ("p50", "p95", "max")),
              _below(pause["max_ms"], 200, "200 ms")]],
        ),
        Table(f"{crowd['nodes']:,} simulated nodes in one process", ("", "measured"), many),
    ]  # fmt: skip


def _engine_row(name: str, found: Any, limit_ms: float) -> list[str]:
    if "untested" in found:
        return [name, "untested", found["untested"], "", ""]
    pairs = [f"{found[kind]['p50_ms']:.1f} / {found[kind]['p95_ms']:.1f}" for kind in ("bare", "sandbox")]
    overhead = found["overhead_p50_ms"]
    return [name, *pairs, f"{overhead:.1f} ms", _below(overhead, limit_ms, f"{limit_ms:g} ms")]


def _below(value: float, limit: float, words: str) -> str:
    return f"< {words} {'✓' if value < limit else '✗'}"
