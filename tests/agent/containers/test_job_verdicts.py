"""No job input yields a host verdict: generated jobs and images on a real agent with each container engine."""

import asyncio
import io
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.agents import Running, running_agent
from support.containers import ContainerBench
from support.fake_hub import FakeHub
from support.job_cases import Where, check_verdicts
from support.proofs import figure

from computepool.agent.sandbox.containers import Engine
from computepool.protocol.receipt import EndReason

BUSYBOX = ["cat", "chmod", "head", "kill", "ln", "mkdir", "mkfifo", "mv", "printf", "rm", "seq", "sh", "sleep"]
BUSYBOX += ["tr", "truncate"]
FOLDERS = ("job", "tmp", "etc", "proc", "dev", "sys", "var", "run")


@dataclass(frozen=True)
class HostileImage:
    changes: tuple[str, ...] = ()
    """As in a Dockerfile."""
    files: Mapping[str, bytes | str | None] = field(default_factory=dict)
    """By path its content; text is where a link leads, None a folder."""
    has_programs: bool = True


IMAGES = {
    "plain": HostileImage(),
    "volume-root": HostileImage(("VOLUME /",)),
    "volume-job": HostileImage(("VOLUME /job", "VOLUME /job/work")),
    "volume-proc": HostileImage(("VOLUME /proc", "VOLUME /dev")),
    "volume-program": HostileImage(("VOLUME /bin",)),
    "volume-odd": HostileImage(('VOLUME ["/a b", "/c,d", "/e:f", "relative"]',)),
    "job-is-a-file": HostileImage(files={"job": b"x"}),
    "job-is-a-link": HostileImage(files={"job": "/etc"}),
    "tmp-is-a-file": HostileImage(files={"tmp": b"x"}),
    "etc-is-a-link": HostileImage(files={"etc": "/proc/1"}),
    "init-is-a-folder": HostileImage(files={"computepool-init": None, "computepool-door": None}),
    "shell-is-a-folder": HostileImage(files={"bin/sh": None}),
    "empty": HostileImage(has_programs=False),
    "user": HostileImage(("USER nobody:none", "WORKDIR /nowhere/at/all")),
    "entry": HostileImage(('ENTRYPOINT ["/nowhere"]', 'CMD ["x"]')),
    "environment": HostileImage(("ENV PATH=/nowhere", "ENV LD_PRELOAD=/x.so", "ENV HOME=")),
}


class HostileImages:
    """The images, as if they had been pulled: each is made when it is first asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._made: dict[str, str] = {}

    async def ensure(self, name: str, digest: str | None, progress: Callable[[str], None], *, own: bool) -> str:
        if name not in self._made:
            image = IMAGES[name]
            query = {"fromSrc": "-", "changes": list(image.changes)}
            said = await self._engine.ask("POST", "/images/create", query=query, content=_root(image))
            self._made[name] = str(said["status"])
        return self._made[name]


def _root(image: HostileImage) -> bytes:
    busybox = Path("/bin/busybox").read_bytes()
    entries: dict[str, bytes | str | None] = dict.fromkeys(FOLDERS)
    if image.has_programs:
        entries |= {"bin/busybox": busybox} | {f"bin/{name}": "/bin/busybox" for name in BUSYBOX}
    entries |= image.files
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for path, what in entries.items():
            entry = tarfile.TarInfo(path)
            entry.mode = 0o755
            if isinstance(what, bytes):
                entry.size = len(what)
                tar.addfile(entry, io.BytesIO(what))
            else:
                entry.type, entry.linkname = (tarfile.DIRTYPE, "") if what is None else (tarfile.SYMTYPE, what)
                tar.addfile(entry)
    return content.getvalue()


ROW_2 = {"volume-root", "job-is-a-file"}
"""Images with which a node was blamed before."""


@pytest.mark.engine("busybox")
@pytest.mark.parametrize("kind", ["docker@docker-engine"])
def test_image_that_cannot_be_started_is_told_from_a_broken_engine(
    tmp_path: Path, bench: Callable[[str], ContainerBench], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    made = bench(kind.partition("@")[0])
    sandbox, images = made.container_sandbox, HostileImages(made.engine())

    async def reasons(hub: FakeHub, running: Running) -> set[EndReason]:
        told = [
            hub.offer(running.node, "sh", "-c", "exit 3", image=name, isolation=sandbox.level, own=True)
            for name in sorted(ROW_2)
        ]
        await hub.until(lambda: all(attempt_id in hub.receipts for attempt_id in told))
        return {hub.receipts[attempt_id].reason for attempt_id in told}

    async def story() -> None:
        async with FakeHub() as hub, running_agent(hub, tmp_path, sandboxes=[sandbox], images=images) as running:
            assert await reasons(hub, running) == {EndReason.START_FAILED}
            create = Engine.create

            async def create_none(self: Engine, name: str, spec: Any) -> str:
                return await create(self, name, spec | {"Image": "sha256:" + "0" * 64})

            monkeypatch.setattr(Engine, "create", create_none)
            assert await reasons(hub, running) == {EndReason.SANDBOX}

    asyncio.run(story())


@pytest.mark.proof
@pytest.mark.engine("busybox")
@pytest.mark.parametrize("kind", ["docker@docker-engine", "gvisor@docker-engine", "podman@podman-engine"])
def test_no_job_in_a_container_is_the_hosts_fault(
    tmp_path: Path, bench: Callable[[str], ContainerBench], kind: str
) -> None:
    name = kind.partition("@")[0]
    made = bench(name)
    sandbox = made.container_sandbox
    where = Where(name, images=tuple(IMAGES))
    images = HostileImages(made.engine())
    changes: dict[str, Any] = {"own": True, "isolation": sandbox.level}
    asyncio.run(check_verdicts(tmp_path, range(figure(10, 1_000)), lambda _: sandbox, where, images=images, **changes))
