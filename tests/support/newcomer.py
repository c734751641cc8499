"""A newcomer on a fresh machine: runs the commands of the README, as they are written there, and checks what they do.

    python3 newcomer.py CLONE

It needs only Python's standard library, so that it runs on a machine, or in a container, that has nothing else.
tests/e2e/test_fresh.py prepares both.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

LIMIT_SECONDS = 1800
USUAL_PORT = 8000


def main(clone: Path) -> None:
    readme = (clone / "README.md").read_text()
    up, run = (line.partition(" #")[0].strip() for line in blocks(readme, "sh")[0].splitlines())
    join = blocks(readme, "sh")[1].strip()
    if is_taken(USUAL_PORT):
        up += " --port 0"
    home = Path(os.environ["HOME"])
    with background(up, clone, home / "up.txt", until="machine  shared") as printed:
        check(output_of("./dev run true 2>&1", clone) == "", "the second command installs nothing again")
        check(output_of(run, clone) == "42\n", "the README's first job prints 42")
        seven = f"{run.partition(' -- ')[0]} -- sh -c 'exit 7' || echo $?"
        check(output_of(seven, clone) == "7\n", "the exit code is the job's")
        count_words(readme, clone, home / "job")
        second_machine(join, printed, clone, home / "second")
        check("passed" in output_of("./dev test tests/protocol", clone), "the tests pass")
    wait_for(lambda: not processes_of(clone), "Ctrl-C leaves no process")


def count_words(readme: str, clone: Path, folder: Path) -> None:
    """The job with files: its two files and its commands, with the output that the README shows."""
    folder.mkdir()
    (folder / "pool.yaml").write_text(blocks(readme, "yaml")[0])
    (folder / "count.py").write_text(blocks(readme, "python")[0])
    transcript = next(block for block in blocks(readme, "console") if "count.py" in block)
    commands = re.findall(r"^\$ (.*)", transcript, re.MULTILINE)
    # `computepool` is on the path inside `./dev run bash`, as the README says.
    printed = subprocess.run(
        [clone / "dev", "run", "bash", "-ec", "\n".join(commands)],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_SECONDS,
    ).stdout  # fmt: skip
    shown = re.findall(r"^\[\d\].*", transcript, re.MULTILINE)
    check(sorted(printed.splitlines()) == sorted(shown), "the slices print what the README shows")
    check(len(list(folder.glob("outputs/count-words-*/**/count.txt"))) == len(shown), "the outputs are fetched")


def second_machine(join: str, printed: Callable[[], str], clone: Path, home: Path) -> None:
    """The README's join line with the address, the token and the key that `up` printed, from another home."""
    home.mkdir()
    line = r"^  join +computepool join (\S+) --token (\S+) --owner-key (\S+)"
    address, token, key = re.findall(line, printed(), re.MULTILINE)[0]
    join = re.sub(r"cpk_\S+", key, re.sub(r"cpj_\S+", token, re.sub(r"https?://\S+", address, join)))
    if shutil.which("bwrap") is None:
        output_of(f"HOME={home} ./dev run computepool agent policy own.process true", clone)
    name = join.split("--name ")[1].split()[0]
    with background(join, clone, home / "join.txt", variables={"HOME": str(home)}):

        def is_online() -> bool:
            nodes = json.loads(output_of("./dev run computepool nodes --json", clone))["items"]
            return any((node["name"], node["state"]) == (name, "online") for node in nodes)

        wait_for(is_online, "the second machine is online")
        job = f"./dev run computepool run --node {name} -- echo there"
        check(output_of(job, clone) == "there\n", "a job runs on the second machine")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def output_of(command: str, folder: Path) -> str:
    """Standard output; standard error goes to ours."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        check=False, timeout=LIMIT_SECONDS,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"FAILED: `{command}` ended with {done.returncode}: {done.stdout[-3000:]}")
    return done.stdout


@contextlib.contextmanager
def background(
    command: str, folder: Path, log: Path, until: str = "", variables: Mapping[str, str] | None = None
) -> Iterator[Callable[[], str]]:
    """The command as in another terminal, with Ctrl-C at the end. Gives what it has printed so far."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=folder, env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def has_come_up() -> bool:
        if process.poll() is not None:
            sys.exit(f"FAILED: `{command}` ended; it printed:\n{log.read_text()}")
        return until in log.read_text()

    try:
        wait_for(has_come_up, f"`{command}` comes up")
        yield log.read_text
        process.send_signal(signal.SIGINT)
        check(process.wait(LIMIT_SECONDS) == 0, f"Ctrl-C ends `{command}`")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            sys.stdout.write(log.read_text())


def wait_for(condition: Callable[[], bool], what: str) -> None:
    for _ in range(5 * LIMIT_SECONDS):
        if held := condition():
            break
        time.sleep(0.2)
    check(held, what)


def check(is_true: bool, what: str) -> None:
    if not is_true:
        sys.exit(f"FAILED: {what}")
    sys.stdout.write(f"ok: {what}\n")
    sys.stdout.flush()


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def processes_of(clone: Path) -> list[str]:
    """Command lines with the clone's path in them, but for those that run this story."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command = place.read_bytes()
            if str(clone).encode() in command and Path(__file__).name.encode() not in command:
                found.append(command.decode(errors="replace"))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
