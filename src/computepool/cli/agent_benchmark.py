"""How fast this machine is, for its owner. Needs no hub."""

from typing import TYPE_CHECKING, Any

import click

from computepool.cli.errors import CliError, tell
from computepool.cli.machine import agent_home, run_async
from computepool.cli.options import home_option, json_option, print_json

if TYPE_CHECKING:
    from computepool.agent.benchmark.local import LocalResult


@click.command(epilog="Example: computepool agent benchmark --json")
@click.option("--force", is_flag=True, help="Measure while the agent runs jobs: both will be slower.")
@json_option
@home_option
def benchmark(force: bool, as_json: bool) -> None:
    """Measure the processor, memory and disk of this machine, and its GPUs if PyTorch or CuPy is installed."""
    home = agent_home()
    if not force:
        _refuse_while_working(home)
    results = run_async(_measure_all(home))
    if as_json:
        print_json({"devices": [one.as_json() for one in results]})
    else:
        _print(results)


def _refuse_while_working(home: Any) -> None:
    from computepool.agent.control import AgentNotRunning, ask_agent

    try:
        status = ask_agent(home.socket_path, "status")
    except AgentNotRunning:
        return
    if status.get("attempts"):
        raise CliError(
            "The agent runs a job now: it would be slowed down, and the figures would be wrong.",
            "Wait for it, or give --force.",
        )


async def _measure_all(home: Any) -> "list[LocalResult]":
    from computepool.agent.benchmark.local import measure_cpu, measure_gpu
    from computepool.agent.detect import detect
    from computepool.agent.ports import offload_to_threads

    # The disk that jobs would work on, also before there is an agent's folder on it.
    folder = next(one for one in (home.root, *home.root.parents) if one.is_dir())
    hardware = await offload_to_threads(detect, folder)
    results = [await measure_cpu(hardware.cpu_model, folder)]
    for gpu in hardware.gpus:
        results.append(await measure_gpu(gpu, hardware.gpus, folder))  # noqa: PERF401 - one after the other
    return results


def _print(results: "list[LocalResult]") -> None:
    from computepool.cli.display import print_table

    rows = [row for one in results for row in _rows(one)]
    print_table(("device", "measured", "result", "time"), rows)
    for one in results:
        if one.trouble:
            tell(f"{one.name} was not measured: {one.trouble}.", fg="yellow")
        if one.backend == "python":
            tell("Computed in plain Python, far below what this processor can: pip install numpy.", fg="yellow")


def _rows(one: "LocalResult") -> list[tuple[str, str, str, str]]:
    from computepool.cli.display import duration, size

    rows = []
    if one.gflops is not None:
        took = duration(one.compute_seconds or 0)
        rows.append((one.name, f"matrix product ({one.backend})", _gflops(one.gflops), took))
    if one.filled_bytes is not None:
        rows.append((one.name, "memory filled and read back", size(one.filled_bytes), duration(one.read_seconds or 0)))
    for key, label in (
        ("device_copy_bytes_per_second", "its memory, copied"),
        ("host_copy_bytes_per_second", "memory, copied"),
        ("disk_write_bytes_per_second", "disk, written"),
        ("disk_read_bytes_per_second", "disk, read"),
    ):
        if one.figures.get(key):
            rows.append((one.name, label, f"{size(one.figures[key])}/s", ""))
    return rows


def _gflops(value: float) -> str:
    return f"{value:,.1f} GFLOP/s" if value >= 1 else f"{value:.3f} GFLOP/s"
