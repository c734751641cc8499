"""Strangers' jobs in containers: Docker or podman with runc or crun, and Docker with gVisor where it knows it."""

import asyncio
import contextlib
import hashlib
import itertools
import logging
import os
import posixpath
import secrets
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from computepool.agent.sandbox.environment import job_environment
from computepool.agent.sandbox.identity import NobodyElse, OwnUser, instance_of
from computepool.agent.sandbox.interface import EGRESS_PORT, Command, Offload, Process, SandboxBroken, SandboxError
from computepool.agent.sandbox.layout import ETC_OWN, ETC_PREFIX, JOB_FOLDER, JOB_UID, build_etc, problem_with_command
from computepool.agent.sandbox.lookup import NOT_EXECUTABLE, NOT_FOUND, Problem, in_words, names_of
from computepool.agent.sandbox.netns import listen_in
from computepool.agent.sandbox.watchdog import Watchdog
from computepool.agent.trees import open_folder
from computepool.protocol.states import IsolationLevel

from .door import find_door
from .empty_image import ensure_empty_image
from .engine import Engine, EngineError, EngineFacts, EngineRefused, Json
from .holder import Lifeline
from .images import engine_name
from .output import STDOUT, Pump
from .process import ContainerProcess
from .profile import seccomp_profile
from .spec import ATTEMPT, INSTANCE, MARK, RUN, Host, Image, User, container_spec, profile_text
from .tunnel import Tunnel
from .usage import find_group

log = logging.getLogger(__name__)

USERS_FOLDER = f"{ETC_PREFIX}users"
# What waits in the network of a job until its way out is there. Not `cat`, which would need an input.
HOLD = "while :; do sleep 3600; done"
SAY_AND_EXIT = 'printf "computepool: %s: %s\\n" "$1" "$2"; exit "$0"'
# The engine has a pipe for each stream, and what comes through both has lost its order.
IN_ORDER, IN_ORDER_AND_STAY = 'exec "$@" 2>&1', '"$@" 2>&1; exit "$?"'
# An engine's first process must pass signals on and bury the dead; these are small and need no library.
INITS = ("docker-init", "tini-static", "catatonit")
INIT_FOLDERS = ("/usr/libexec/podman", "/usr/lib/podman", "/usr/libexec/docker", "/usr/lib/docker/cli-plugins")


def find_init() -> Path | None:
    search = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/bin", "/usr/sbin", *INIT_FOLDERS])
    found = next((path for name in INITS if (path := shutil.which(name, path=search))), None)
    return Path(found).resolve() if found else None


def new_run(state: Path) -> str:
    """A name for one run of the agent."""
    return f"{instance_of(state)}.{secrets.token_hex(4)}"


class ContainerSandbox:
    takes_images = True
    soft_limits = False

    def __init__(
        self,
        state: Path,
        *,
        engine: Engine,
        facts: EngineFacts,
        gvisor: bool = False,
        offload: Offload = asyncio.to_thread,
        read_only: Sequence[Path] = (),
        hidden: Sequence[Path] = (),
        init: Path | None = None,
        run: str | None = None,
    ) -> None:
        """`run` is the same for all sandboxes of one run of an agent: see `new_run`."""
        self.level = IsolationLevel.GVISOR if gvisor else IsolationLevel.CONTAINER
        self.engine = engine
        self.facts = facts
        self._instance = instance_of(state)
        is_root = os.geteuid() == 0
        turn = 2 if gvisor else 1
        self._identity = NobodyElse(state, self._instance, turn=turn) if is_root else OwnUser(state)
        self._identity.prepare()
        self._offload = offload
        self.attempts_folder = self._identity.base / "attempts"
        self.attempts_folder.mkdir(exist_ok=True)
        self.attempts_folder.chmod(0o711)
        self._users = self._identity.base / USERS_FOLDER
        self._users.mkdir(exist_ok=True, mode=0o755)
        runtime = facts.gvisor_runtime if gvisor else None
        if gvisor and not runtime:
            raise SandboxError(f"{facts.kind} {facts.version} knows no runtime runsc")
        self._host = Host(
            facts=facts,
            runtime=runtime,
            init=init or find_init(),
            etc=build_etc(self._identity.base),
            seccomp=self._seccomp(),
            read_only=tuple(read_only),
            hidden=(state, self._identity.base, *hidden),
            door=self._door(),
        )
        # gVisor has a network of its own inside, and that of another user's engine is not ours to enter.
        self._enters_networks = is_root and not gvisor
        self._why_no_egress = ""
        # Of this run of the agent: an old lifeline must not end what a new agent starts.
        self._agents_run = run or new_run(state)
        # One that came back has other containers than the one that went, which may still have some running.
        self._run = f"{self._agents_run}.{self.level}.{secrets.token_hex(2)}"
        self._lifeline = Lifeline(engine.path, f"{RUN}={self._run}", offload)
        self._numbers = itertools.count(1)
        self._removals: set[asyncio.Task[None]] = set()
        self._empty: str | None = None

    @property
    def cgroup_version(self) -> int:
        return self.facts.cgroup_version

    @property
    def has_egress(self) -> bool:
        """Where its network cannot be entered, a program of ours listens inside; it needs an init that buries it."""
        can_be_opened = self._enters_networks or (self._host.door is not None and self._host.init is not None)
        return can_be_opened and not self._why_no_egress

    def give_up_egress(self, why: str) -> None:
        log.warning("sandbox.no_way_out", extra={"level": self.level.value, "why": why})
        self._why_no_egress = why

    def adopt(self, folder: Path) -> None:
        self._identity.adopt(folder)

    def path_inside(self, folder: Path, relative: str) -> str:
        del folder
        return f"{JOB_FOLDER}/{relative}".rstrip("/")

    async def start(self, command: Command) -> Process:
        if command.egress is not None and not self.has_egress:
            why = self._why_no_egress or "the engine has no init program, or this machine is of an unusual kind"
            raise SandboxBroken(f"a job at level {self.level} cannot have the network here: {why}")
        self._identity.must_reach((command.folder, *command.shown.values()))
        try:
            return await self._start(command)
        except OSError as error:
            raise SandboxError(f"the container did not start: {error}") from error

    async def _start(self, command: Command) -> Process:
        image = await self._image(command)
        user = self._user(command.folder)
        argv, problem = self._argv(command)
        self._lifeline.ensure()
        mark = f"{self._run}.{next(self._numbers)}"
        labels = {INSTANCE: self._instance, RUN: self._run, ATTEMPT: command.folder.name, MARK: mark}
        with contextlib.ExitStack() as failed:
            network, with_door = "none", command.egress is not None and not self._enters_networks
            if command.egress is not None and not with_door:
                network = await self._network_with_way_out(command, user, labels, failed)
            spec = container_spec(
                command, argv, host=self._host, image=image, user=user, labels=labels, network=network,
                with_door=with_door,
            )  # fmt: skip
            container = await self._create(f"computepool-{mark}", spec, failed)
            # With a door inside, the errors are what it says, and the job's own go with its output.
            streams, only = (("stdout",), STDOUT) if with_door else (("stdout", "stderr"), None)
            pump = Pump(*await self.engine.attach(container, streams), only)
            failed.callback(os.close, pump.output_fd)
            failed.callback(pump.close)
            tunnel = await self._tunnel(command, container, failed) if with_door else None
            root = open_folder(command.folder)
            failed.callback(os.close, root)
            await self._start_container(container)
            pid = await self.engine.first_pid(container)
            # From here on all of it goes with the end of the command, but the output, which its reader closes.
            failed.pop_all()
            helpers = [network.removeprefix("container:")] if network != "none" else []
            return self._running(command, container, pid, pump, root, helpers, problem, tunnel)

    async def _tunnel(self, command: Command, container: str, failed: contextlib.ExitStack) -> Tunnel:
        assert command.egress is not None
        tunnel = Tunnel(*await self.engine.attach(container, ("stdin", "stderr")), command.egress)
        failed.callback(tunnel.close)
        return tunnel

    def _running(
        self,
        command: Command,
        container: str,
        pid: int,
        pump: Pump,
        root: int,
        helpers: list[str],
        problem: str,
        tunnel: Tunnel | None,
    ) -> ContainerProcess:
        group = find_group(pid, container) if pid else None

        def over() -> None:
            if tunnel is not None:
                tunnel.close()
            os.close(root)
            self._remove_later(container, *helpers)

        return ContainerProcess(
            engine=self.engine,
            container=container,
            pid=pid,
            output_fd=pump.output_fd,
            group=group,
            watchdog=Watchdog(root=root, limits=command.limits, pids=group.pids if group else list, soft=False),
            counts_at_end=self._host.is_gvisor,
            problem=self._why_not(command, container, problem),
            over=over,
        )

    async def _create(self, name: str, spec: Json, failed: contextlib.ExitStack) -> str:
        # By its name: an engine that did not answer in time may make it all the same.
        failed.callback(self._remove_later, name)
        try:
            return await self.engine.create(name, spec)
        except EngineRefused as error:
            raise SandboxError(f"{self.facts.kind} did not make the container: {error}") from error

    async def _start_container(self, container: str) -> None:
        try:
            await self.engine.start(container)
        except EngineRefused as error:
            raise SandboxError(f"{self.facts.kind} did not start the container: {error}") from error

    async def _image(self, command: Command) -> Image:
        if command.image is None:
            return Image(await self._ensure_empty())
        found = await self._find_image(command.image)
        if found is None:
            raise SandboxBroken(f"the image {command.image} is not on this node any more")
        return Image.read(found)

    async def _ensure_empty(self) -> str:
        if self._empty is None:
            self._empty = await ensure_empty_image(self.engine)
        return self._empty

    async def empty_image(self) -> str | None:
        return await self._ensure_empty() if self._host.init is not None else None

    async def _find_image(self, image: str) -> Json | None:
        """By the digest under which a job brought it, or by its id or name in the engine."""
        brought = await self.engine.find_image(engine_name(image)) if image.startswith("sha256:") else None
        return brought or await self.engine.find_image(image)

    def _argv(self, command: Command) -> tuple[list[str], str]:
        """What to run, and what is wrong with what was asked for, as far as that can be known before."""
        argv = list(command.argv)
        if command.image is not None:
            return argv, ""
        environment = job_environment(command.env, home=JOB_FOLDER, tmp="/tmp")  # noqa: S108 - the container's own
        problem = problem_with_command(
            argv[0],
            cwd=self.path_inside(command.folder, command.cwd),
            search_path=environment["PATH"],
            folder=command.folder,
            read_only=self._host.read_only,
            shown=command.shown,
        )
        if problem:
            code, message = problem
            argv = ["/bin/sh", "-c", SAY_AND_EXIT, str(code), argv[0], message]
        else:
            # Without an init the shell stays: a first process that has no handler is deaf to SIGTERM.
            argv = ["/bin/sh", "-c", IN_ORDER if self._host.init else IN_ORDER_AND_STAY, "sh", *argv]
        return argv, in_words(problem, command.argv[0])

    def _why_not(self, command: Command, container: str, known: str) -> Callable[[], Awaitable[str]]:
        async def ask() -> str:
            if known or command.image is None:
                return known
            return await self._missing_in_image(command, container)

        return ask

    async def _missing_in_image(self, command: Command, container: str) -> str:
        """Asked only after an exit with 126 or 127: is there such a file in the image at all?"""
        try:
            environment = (await self.engine.inspect(container))["Config"].get("Env") or []
            search = next((str(line)[5:] for line in environment if str(line).startswith("PATH=")), "/usr/bin:/bin")
            cwd = self.path_inside(command.folder, command.cwd)
            for name in names_of(command.argv[0], search):
                inside = posixpath.normpath(name if name.startswith("/") else f"{cwd}/{name}")
                if inside.startswith(f"{JOB_FOLDER}/"):
                    if problem := _problem_in_folder(command.folder, inside.removeprefix(f"{JOB_FOLDER}/")):
                        return in_words(problem, command.argv[0])
                elif await self.engine.has_file(container, inside):
                    return ""
        except EngineError:
            return ""
        return in_words(NOT_FOUND, command.argv[0])

    async def _network_with_way_out(
        self, command: Command, user: User, labels: dict[str, str], failed: contextlib.ExitStack
    ) -> str:
        """A network in which the agent listens before the job is there: that of a container that does nothing else."""
        assert command.egress is not None
        waiting = Command(argv=(), env={}, folder=command.folder, limits=command.limits, cwd="")
        empty = Image(await self._ensure_empty())
        argv = ["/bin/sh", "-c", HOLD]
        spec = container_spec(waiting, argv, host=self._host, image=empty, user=user, labels=labels)
        name = f"computepool-{labels[MARK]}-network"
        holder = await self._create(name, spec, failed)
        await self._start_container(holder)
        pid = await self.engine.first_pid(holder)
        listener = await self._offload(lambda: listen_in(pid, EGRESS_PORT, raise_loopback=True))
        command.egress(listener)
        return f"container:{holder}"

    def _user(self, folder: Path) -> User:
        uid = self._identity.uid_for(folder)
        number, gid = (uid, uid) if uid is not None else (os.getuid(), os.getgid())
        return User(number, gid, self._named(number, gid, "passwd"), self._named(number, gid, "group"))

    def _named(self, uid: int, gid: int, name: str) -> Path:
        """Our /etc knows the job's user under the number that it has in bubblewrap; here it has another."""
        file = self._users / f"{uid}.{name}"
        if not file.exists():
            self._users.mkdir(exist_ok=True, mode=0o755)
            number = f"{uid}:{gid}" if name == "passwd" else f"{gid}"
            known = f"{JOB_UID}:{JOB_UID}" if name == "passwd" else f"{JOB_UID}"
            fresh = file.with_suffix(f".{secrets.token_hex(4)}")
            fresh.write_text(ETC_OWN[name].replace(f"job:x:{known}:", f"job:x:{number}:"))
            fresh.chmod(0o644)
            fresh.rename(file)
        return file

    def _seccomp(self) -> str:
        """Docker takes the profile itself, podman's service the name of a file with it."""
        text = profile_text(seccomp_profile())
        if self.facts.kind == "docker":
            return text
        return str(self._kept("seccomp", text.encode(), 0o644, ".json"))

    def _door(self) -> Path | None:
        """Copied, because what comes out of a package cannot be run, or lies where nobody else may read it."""
        found = find_door()
        return self._kept("door", found.read_bytes(), 0o755) if found is not None else None

    def _kept(self, name: str, content: bytes, mode: int, suffix: str = "") -> Path:
        """A file of ours for engines, under the digest of what is in it."""
        file = self._users / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
        if not file.exists():
            fresh = file.with_suffix(f".{secrets.token_hex(4)}")
            fresh.write_bytes(content)
            fresh.chmod(mode)
            fresh.rename(file)
        return file

    def _remove_later(self, *containers: str) -> None:
        """One after the other: podman keeps a container as long as another needs its network."""
        task = asyncio.create_task(self._remove(containers))
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)

    async def _remove(self, containers: Sequence[str]) -> None:
        for container in containers:
            try:
                await self.engine.remove(container)
            except EngineError as error:
                log.warning("container.left", extra={"container": container[:12], "why": str(error)})

    async def _remove_all(self, found: Sequence[Json]) -> None:
        """In two rounds, for those that others of them need."""
        left = [str(one["Id"]) for one in found]
        for _ in range(2):
            refused = []
            for container in left:
                try:
                    await self.engine.remove(container)
                except EngineRefused:
                    refused.append(container)
            left = refused
        if left:
            raise EngineError(f"{len(left)} containers could not be removed")

    async def sweep(self) -> list[str]:
        """Containers of earlier runs of this agent, by their label; nobody else's."""
        self._identity.take_over()
        try:
            found = await self.engine.list_containers({INSTANCE: self._instance})
            old = [one for one in found if self._is_left_over(one.get("Labels") or {})]
            await self._remove_all(old)
        except EngineError as error:
            log.warning("containers.not_swept", extra={"why": str(error)})
            return [f"containers of earlier jobs may be left: {error}"]
        return [f"container of attempt {one['Labels'].get(ATTEMPT, 'unknown')}: {one.get('State')}" for one in old]

    def _is_left_over(self, labels: Mapping[str, str]) -> bool:
        is_ours = labels.get(INSTANCE) == self._instance
        return is_ours and not str(labels.get(RUN)).startswith(f"{self._agents_run}.")

    async def close(self) -> None:
        # What another event loop left undone is found by its label.
        loop = asyncio.get_running_loop()
        if pending := [task for task in self._removals if task.get_loop() is loop and not task.done()]:
            await asyncio.wait(pending)
        try:
            await self._remove_all(await self.engine.list_containers({RUN: self._run}))
            gone = True
        except EngineError:
            gone = False
        await self._lifeline.close(all_removed=gone)
        self._identity.tidy()


def _problem_in_folder(folder: Path, relative: str) -> Problem | None:
    """With a file of the job's own that an image could not run. Its links are not followed: they lead elsewhere."""
    try:
        mode = (folder / relative).lstat().st_mode
    except OSError:
        return NOT_FOUND
    return None if mode & 0o111 else NOT_EXECUTABLE
