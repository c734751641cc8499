"""Jobs that a renter might send to make a node fail: generated specs, scripts, file trees, names and images.

`make_case` draws one. `check_verdicts` sends many to a real agent, and looks at the verdict that the hub would give
each. A case that the spec check refuses is drawn again: it never reaches a node.
"""

import asyncio
import io
import random
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.agents import Running, running_agent
from support.fake_hub import FakeHub, Line
from support.hostile_archives import all_hostile
from support.outer_world import outer_world

from computepool.agent.images import Images
from computepool.agent.sandbox import Sandbox
from computepool.hub.gateway.reports import OWNER_REASONS
from computepool.hub.jobs.policy import ending_of
from computepool.protocol.checkpoint_list import find_list_problem
from computepool.protocol.limits import OUTPUT_FILES_LIMIT
from computepool.protocol.manifest import BundleRef, Grant, InputRef, Saved, SavedFile
from computepool.protocol.messages import CheckpointSaved
from computepool.protocol.output_paths import find_path_problem
from computepool.protocol.spec import JobSpec, SpecError, parse_spec
from computepool.protocol.states import Verdict

AT_ONCE = 6
CASES_OF_EVERY_RUN = (*range(100), 743)
"""In bubblewrap. The last one finds a planted bug that the first hundred do not (agent/test_verdict_mutants.py)."""
CASES_PER_AGENT = 500
WORK, OUTPUT, CHECKPOINT, ENVIRONMENT = '"."', '"$COMPUTEPOOL_OUTPUT"', '"$COMPUTEPOOL_CHECKPOINT"', '"${HOME:?}/env"'
FOLDERS = (WORK, OUTPUT, CHECKPOINT, ENVIRONMENT, '"${HOME:?}"', '"${HOME:?}/tmp"')
EXIT_CODES = (0, 0, 0, 1, 2, 85, 125, 126, 127, 128, 137, 139, 143, 255)
THEMES: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "anything": (FOLDERS, EXIT_CODES),
    "checkpoint": ((CHECKPOINT,), (85,)),
    "outputs": ((OUTPUT, WORK), (0,)),
}
"""What a job spoils, and how it ends: the folders that the agent reads when it has ended in one of these ways."""
NO_PYTHON = {"PATH": "/job/work/no-python:/usr/bin:/bin"}
"""With this and a bundle that has such a folder, `setup` makes no virtual environment, which takes most of its time."""


WEB = {
    "is at home": "https://127.0.0.1/secret",
    "has no name": "https://router.lan/",
    "never answers": "https://never.example/",
}
WEB_DIGEST = "sha256:" + 64 * "0"
FETCH_SECONDS = 2.0
"""Of the agent under test, for an https input that never comes."""


@dataclass(frozen=True)
class Where:
    """What the cases are for."""

    name: str
    images: tuple[str, ...] = ()
    has_python: bool = True


@dataclass
class Case:
    seed: str
    spec: JobSpec
    bundle: bytes | None = None
    inputs: dict[str, bytes] = field(default_factory=dict)
    saved: dict[str, bytes] = field(default_factory=dict)
    checkpoint_seconds: float = 300.0
    stop_after: float | None = None
    from_web: str | None = None
    """How an https input behaves that it names beside the others."""
    runtime_seconds: float = 60.0

    def __str__(self) -> str:
        spec = {key: value for key, value in self.spec.to_wire().items() if key not in {"name"}}
        parts = [f"bundle of {len(self.bundle)} bytes" if self.bundle is not None else ""]
        parts += [
            f"inputs {sorted(self.inputs)}" if self.inputs else "",
            f"saved {sorted(self.saved)}" if self.saved else "",
        ]
        parts += [f"an https input that {self.from_web}" if self.from_web is not None else ""]
        parts += [f"at most {self.runtime_seconds} s"]
        parts += [f"stopped after {self.stop_after} s" if self.stop_after is not None else ""]
        return f"case {self.seed}: {spec} {'; '.join(filter(None, parts))}"


@dataclass(frozen=True)
class Outcome:
    case: Case
    verdict: Verdict
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.verdict} ({self.reason}: {self.detail})\n    {self.case}"


def make_case(seed: str, where: Where) -> Case:
    rng = random.Random(seed)
    while True:
        case = _draw(rng, seed, where)
        if case is not None:
            return case


def _draw(rng: random.Random, seed: str, where: Where) -> Case | None:
    image = rng.choice(where.images) if where.images and rng.random() < 0.6 else None
    theme = rng.choice(list(THEMES))
    has_setup = rng.random() < 0.25
    quick_setup = has_setup and rng.random() < 0.9
    draft: dict[str, Any] = {
        "name": "case",
        "image": image,
        "run": _run(rng, where, image, theme),
        "setup": _script(rng, where, image, (ENVIRONMENT, ENVIRONMENT, WORK), (0, 0, 0, 1)) if has_setup else None,
        "env": _environment(rng) | (NO_PYTHON if quick_setup and image is None else {}),
        "outputs": rng.sample(["**", "*", "[", "out/**", "d/" * 40, "**/x", "*.txt", "?" * 200], rng.randrange(3)),
        "checkpoint": rng.choice([None, None, "ckpt", "a/b/c", "c" * 255, "/".join(["e" * 200] * 5), "x" * 300]),
        "resources": {
            "cpus": rng.choice([0.1, 0.5]),
            "memory": rng.choice(["1MB", "4MB", "64MB", "64MB", "256MB", "256MB"]),
            "disk": rng.choice(["1MB", "8MB", "64MB", "64MB"]),
        },
    }
    try:
        spec = parse_spec({key: value for key, value in draft.items() if value is not None})
    except SpecError:
        return None
    case = Case(seed, spec)
    if quick_setup or rng.random() < 0.3:
        case.bundle = _bundle(rng, with_folder=quick_setup)
    if rng.random() < 0.15:
        case.inputs = {_path(rng): rng.randbytes(rng.randrange(3000)) for _ in range(rng.randrange(1, 4))}
    if rng.random() < 0.15:
        case.saved = _saved(rng)
    if rng.random() < 0.1:
        case.checkpoint_seconds = 0.05
    if rng.random() < 0.05:
        case.stop_after = rng.choice([0.0, 0.01, 0.05, 0.2])
    if rng.random() < 0.05:
        # The owner's own, as in containers here, may wait for as long as they like.
        case.from_web = rng.choice(list(WEB)[: 2 if where.images else 3])
    if rng.random() < 0.1:
        case.runtime_seconds = rng.choice([0.01, 0.2, 1.0])
    return case


# ── what it does ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _run(rng: random.Random, where: Where, image: str | None, theme: str) -> str | list[str]:
    if rng.random() < 0.1:
        odd = [["no-such-program"], ["/"], ["."], ["sh", "-c", "exit 3", ""], ["/job/work"], ["true"] * 5000, ["sh\t"]]
        odd += [["./" + "x" * 300], ["echo", "\x7f\u202e"], ["sh", "-c", "x" * 100_000], ["-c"], ["é" * 200], ["../sh"]]
        return rng.choice(odd)
    return _script(rng, where, image, *THEMES[theme])


def _script(
    rng: random.Random, where: Where, image: str | None, folders: tuple[str, ...], codes: tuple[int, ...]
) -> str:
    lines = [_damage(rng, where, image, rng.choice(folders)) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.2:
        lines.append(_rudeness(rng))
    return "\n".join([*lines, f"exit {rng.choice(codes)}"])


def _damage(rng: random.Random, where: Where, image: str | None, folder: str) -> str:
    """To one folder. What cannot be done is passed over."""
    name, other = _quoted(rng), _quoted(rng)
    nowhere = rng.choice(["/", "/etc", "..", "/proc/self/root", "/job"])
    # More than a checkpoint may have; each output is an upload of its own.
    files, long_names = (1_100, 800) if folder == CHECKPOINT else (20, 5)
    return rng.choice(
        [
            f"true > {folder}/{name}",
            f"mkdir -p {folder}/{name}/{other}; true > {folder}/{name}/{other}/f",
            _dig(rng, folder, with_python=image is None and where.has_python),
            f"for i in $(seq {files}); do true > {folder}/$i; done",
            f"x=$(printf %0200d 0 | tr 0 '\"'); for i in $(seq {long_names}); do true > {folder}/$i$x; done",
            f"ln -s {nowhere} {folder}/{name}",
            f"ln -s {name} {folder}/{name}",
            f"mkfifo {folder}/{name}",
            f"true > {folder}/{name}; ln {folder}/{name} {folder}/{other}",
            f"chmod {rng.choice(['000', '111', '1777', '6777'])} {folder}",
            f"mkdir {folder}/{name}; chmod 000 {folder}/{name}",
            f"true > {folder}/{name}; chmod 000 {folder}/{name}",
            f"rm -rf {folder}",
            f"rm -rf {folder}; true > {folder}",
            f"rm -rf {folder}; ln -s {nowhere} {folder}",
            f"mv {folder} {rng.choice(FOLDERS)}/{name}",
            f"truncate -s {rng.choice(['1M', '1G', '8E'])} {folder}/{name}",
            f"head -c {rng.choice([1000, 2_000_000])} /dev/zero > {folder}/{name}",
            f"x=$(printf %0200d 0); for i in $(seq {long_names}); do mkdir -p {folder}/$x/$x/$x/$x/$i$x; done",
            f"touch -d @{rng.choice([-(1 << 40), 0, 1 << 40])} {folder}; ln -s /proc/self/fd {folder}/{name}",
        ]
    )


def _rudeness(rng: random.Random) -> str:
    """To whoever runs it."""
    actions = [
        r"printf '\377\000\033[2J\n'; head -c 100000 /dev/zero",
        "exec >&- 2>&-",
        "sleep 3 &",
        "kill -9 $$",
        "trap '' TERM",
        f"ulimit -{rng.choice('fnv')} 10",
        "rm -rf ../*",
        "kill -9 -1",
        "rm -rf /job/* /job/.*",
        f"head -c {rng.choice([1_000_000, 8_000_000])} /dev/zero",
        'i=3; while [ $i -lt 200 ]; do eval "exec $i</dev/null" || break; i=$((i+1)); done',
        "for i in $(seq 30); do sleep 3600 & done",
        f"sleep {rng.choice([0.05, 0.2, 0.6])}",
        "chmod 000 /job",
    ]
    return rng.choice(actions)


def _dig(rng: random.Random, folder: str, *, with_python: bool) -> str:
    if not with_python:
        return f"mkdir -p {folder}/{'/'.join(['d'] * rng.choice([10, 70, 200]))}"
    depth, name = rng.choice([70, 300, 1200, 4000]), rng.choice(["d", "d", "x" * 200])
    program = (
        f'import os, sys; os.chdir(sys.argv[1]); [(os.mkdir("{name}"), os.chdir("{name}")) for _ in range({depth})]'
    )
    return f'/usr/bin/python3 -c \'{program}; open("f", "w").close()\' {folder}'


def _environment(rng: random.Random) -> dict[str, str]:
    odd = {
        "LD_PRELOAD": "/nowhere.so",
        "HOME": "/nowhere",
        "COMPUTEPOOL_ENV": "/",
        "COMPUTEPOOL_OUTPUT": "",
        "LONG": "x" * 100_000,
        "ODD": "\u202e\t'\"$()",
        "TMPDIR": "/nowhere",
        "PYTHONHOME": "/nowhere",
        "LANG": "xx",
        "IFS": "/",
    }
    return {name: odd[name] for name in rng.sample(sorted(odd), rng.choice([0, 0, 0, 1, 2]))}


# ── names and trees ──────────────────────────────────────────────────────────────────────────────────────────────────


def _name(rng: random.Random) -> bytes:
    odd = [
        b"-rf", b"\n", b"x" * 255, "é".encode() * 127, b"...", b" ", b"\\", b"'\"$(id)", b"\xff\xfe", b"\xed\xa0\x80",
        "\u202etxt".encode(), b".size", b"env", b"work", b"output", b"f\r\x1b[2J", b"*", b"~", b"\x01", b"a:b",
    ]  # fmt: skip
    if rng.random() < 0.7:
        return rng.choice(odd)
    return bytes(byte for byte in rng.randbytes(rng.randrange(1, 255)) if byte not in b"/\0") or b"x"


def _quoted(rng: random.Random) -> str:
    return "\"$(printf '" + "".join(f"\\{byte:03o}" for byte in _name(rng)) + "')\""


def _path(rng: random.Random) -> str:
    """One that the spec takes."""
    while True:
        names = [_name(rng).decode(errors="replace") for _ in range(rng.choice([1, 1, 2, 5]))]
        path = rng.choice(["/".join(names), "/".join(["d"] * rng.choice([3, 60, 500])), "x" * 255, "ckpt", "work"])
        if find_path_problem(path) is None:
            return path


def _bundle(rng: random.Random, *, with_folder: bool) -> bytes:
    if not with_folder and rng.random() < 0.2:
        return rng.choice(
            [*(one.content for one in all_hostile() if one.content), b"", b"no archive", rng.randbytes(500)]
        )
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.GNU_FORMAT) as archive:
        if with_folder:
            _add(archive, "no-python/python3", b"#!/bin/sh\nexit 1\n", mode=0o755)
        for _ in range(rng.randrange(4)):
            name = _name(rng).decode(errors="surrogateescape")
            kind = rng.randrange(6)
            if kind == 0:
                _add(archive, "/".join(["d"] * rng.choice([5, 30, 62, 62, 62, 64])) + f"/{name}", b"x")
            elif kind == 1:
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = (
                    tarfile.SYMTYPE,
                    rng.choice(["ckpt", "no/where", ".."]),
                )
                archive.addfile(entry)
            elif kind == 2:
                _add(archive, rng.choice(["ckpt", "a/b", "requirements.txt", "work"]), b"x" * rng.randrange(9))
            else:
                _add(archive, name, rng.randbytes(rng.choice([0, 10, 100_000])), mode=rng.choice([0, 0o644, 0o6777]))
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _saved(rng: random.Random) -> dict[str, bytes]:
    """A checkpoint that the hub would have taken."""
    while True:
        found = {_path(rng): rng.randbytes(rng.randrange(100)) for _ in range(rng.choice([1, 2, 30]))}
        if find_list_problem([SavedFile(path=path, digest="", size_bytes=0) for path in found]) is None:
            return found


# ── on an agent ──────────────────────────────────────────────────────────────────────────────────────────────────────


class JudgingHub(FakeHub):
    """Takes no checkpoint that the real hub would refuse."""

    def _hear_checkpoint(self, line: Line, message: CheckpointSaved) -> None:
        self.checkpoint_problem = find_list_problem(message.files)
        super()._hear_checkpoint(line, message)


async def check_verdicts(
    folder: Path,
    numbers: Sequence[int],
    make_sandbox: Callable[[Path], Sandbox],
    where: Where,
    *,
    images: Images | None = None,
    **changes: Any,
) -> None:
    """No case with one of these numbers ends as anybody's fault but the renter's. `changes` are of each manifest."""
    for start in range(0, len(numbers), CASES_PER_AGENT):
        cases = [make_case(f"{where.name}-{number}", where) for number in numbers[start : start + CASES_PER_AGENT]]
        place = folder / str(start)
        place.mkdir()
        hub = JudgingHub()
        async with hub, outer_world() as world:
            sandbox = make_sandbox(place / "state")
            try:
                agent = running_agent(hub, place, sandboxes=[sandbox], outside=world.outside(), images=images)
                async with agent as running:
                    running.agent._shop.fetch_seconds = FETCH_SECONDS
                    outcomes = await run_cases(hub, running, cases, **changes)
            finally:
                await sandbox.close()
        blamed = [one for one in outcomes if one.verdict not in {Verdict.OK, Verdict.RENTER}]
        assert not blamed, "\n".join(str(one)[:3000] for one in blamed)


async def run_cases(hub: JudgingHub, running: Running, cases: Sequence[Case], **changes: object) -> list[Outcome]:
    """How the hub would judge each, all of them on one agent."""
    room = asyncio.Semaphore(AT_ONCE)

    async def run(case: Case) -> Outcome:
        async with room:
            return await _run_case(hub, running, case, changes)

    outcomes = await asyncio.gather(*(run(case) for case in cases))
    assert not running.task.done(), "the agent ended"
    return list(outcomes)


async def _run_case(hub: JudgingHub, running: Running, case: Case, changes: dict[str, object]) -> Outcome:
    spec, downloads = case.spec, dict[str, tuple[str, ...]]()

    def keep(content: bytes) -> BundleRef:
        ref, places = hub.bundle(content)
        downloads.update(places)
        return ref

    fields: dict[str, object] = {
        "env": spec.env,
        "outputs": spec.outputs,
        "checkpoint": spec.checkpoint,
        "checkpoint_seconds": case.checkpoint_seconds,
        "image": spec.image,
        "setup": ("sh", "-c", spec.setup) if spec.setup else (),
        "renter": "user_1",
        "max_runtime_seconds": case.runtime_seconds,
        "grant": Grant(
            cpus=spec.resources.cpus.minimum,
            memory_bytes=spec.resources.memory.minimum,
            disk_bytes=spec.resources.disk.minimum,
        ),
        "bundle": keep(case.bundle) if case.bundle is not None else None,
        "inputs": tuple(
            InputRef(path=path, digest=(ref := keep(content)).digest, size_bytes=ref.size_bytes)
            for path, content in case.inputs.items()
        )
        + ((InputRef(path="from-web", digest=WEB_DIGEST, url=WEB[case.from_web]),) if case.from_web else ()),
        "saved": Saved(
            number=1,
            files=tuple(
                SavedFile(path=path, digest=(ref := keep(content)).digest, size_bytes=ref.size_bytes)
                for path, content in case.saved.items()
            ),
        )
        if case.saved
        else None,
    }
    attempt_id = hub.offer(running.node, *spec.argv(), downloads=downloads, **fields, **changes)
    if case.stop_after is not None:
        await asyncio.sleep(case.stop_after)
        hub.stop(running.node, attempt_id, grace_seconds=0.1)
    await hub.until(lambda: attempt_id in hub.receipts or attempt_id in hub.gone or running.task.done())
    return _judge(hub, case, attempt_id)


def _judge(hub: JudgingHub, case: Case, attempt_id: str) -> Outcome:
    if attempt_id not in hub.receipts:
        told = hub.gone[attempt_id].reason if attempt_id in hub.gone else "the agent ended"
        return Outcome(case, Verdict.OWNER if told in OWNER_REASONS else Verdict.HOST, "gone", told)
    receipt = hub.receipts[attempt_id]
    ending = ending_of(receipt.reason, receipt.exit_code, receipt.detail)
    names = [one.path for one in receipt.outputs if find_path_problem(one.path) is not None]
    if names or len(receipt.outputs) > OUTPUT_FILES_LIMIT:
        return Outcome(case, Verdict.HOST, "outputs_missing", f"the hub does not take {names}")
    return Outcome(case, ending.verdict, ending.reason, ending.detail)
