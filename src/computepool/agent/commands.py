"""The commands of one attempt, `setup` and then the job's own: taking their output, keeping their time, awaiting them.

They share the attempt's time limit, its log and its way out, and their usage is counted together.
"""

import asyncio
import contextlib
import logging
import os
import signal
from datetime import datetime
from pathlib import Path

from computepool.agent import environments
from computepool.agent.attempt import Attempt, EndMode, EndRequest
from computepool.agent.disk import has_no_room_left
from computepool.agent.egress import Egress
from computepool.agent.environment_keys import key_of
from computepool.agent.faults import AttemptOver, FaultPlace, at, is_within_grant, plain
from computepool.agent.journal import Ended
from computepool.agent.logs import LogIntake
from computepool.agent.placement import ENVIRONMENT, WORK, job_environment, limits_of
from computepool.agent.preparing import Prepared, interruptible, raise_if_ending
from computepool.agent.sandbox import find_fault
from computepool.agent.sandbox.interface import Command, Exit, Limits, Process, Sandbox, SandboxBroken
from computepool.agent.sandbox.space import folder_bytes
from computepool.agent.shells import in_shell
from computepool.agent.trees import Uncountable, open_folder
from computepool.agent.workshop import Workshop
from computepool.protocol.exit_words import KILLED, exit_words
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import about_bytes, format_bytes

log = logging.getLogger(__name__)

TURN_SECONDS = 1800.0
"""How long `setup` waits for another attempt that builds the same environment; how long that takes, its job decides."""
STARTS = 2
"""Times that a command is tried to be started, if the sandbox works for a command of the agent's own."""
PIPE_PATIENCE_SECONDS = 1.0
"""After the command and all it started are gone, how long to wait for the end of its output."""
TIME_MARGIN_SECONDS = 0.05
NEAR_LIMIT = 0.9
"""A job that was killed with so much of its memory in use was killed for its memory."""

_REASONS = {
    "exited": (EndReason.EXITED, ""),
    "memory": (EndReason.MEMORY, ""),
    "disk": (EndReason.DISK, ""),
    "pids": (EndReason.EXITED, "the job had more processes at once than it may"),
    "killed": (EndReason.EXITED, "the job was ended from outside"),
    "engine_lost": (EndReason.SANDBOX, ""),
    "not_runnable": (EndReason.START_FAILED, ""),
}


class Commands:
    def __init__(self, shop: Workshop, attempt: Attempt, sandbox: Sandbox, folder: Path, prepared: Prepared) -> None:
        self._shop = shop
        self._attempt = attempt
        self._sandbox = sandbox
        self._folder = folder
        self._image_digest = prepared.image_digest
        self._started_at: datetime | None = None
        self._finished_at: datetime | None = None
        self._running_seconds = 0.0
        self._shown: dict[str, Path] = {}
        self._ways_out: list[Egress] = []
        self._setup_seconds = 0.0
        self._cpu_seconds = 0.0
        self._peak_memory_bytes = 0
        self._last: Exit | None = None
        self._complaint = ""
        self._in_setup = False
        self._has_run = False
        if sandbox.level is not IsolationLevel.PROCESS:
            attempt.network_bytes = self._count_network

    async def set_up(self) -> bool:
        """Build the environment, or take the one that was built from the same before. Whether the job may go on."""
        shop, attempt = self._shop, self._attempt
        async with at(FaultPlace.SETUP, attempt):
            (self._folder / ENVIRONMENT).mkdir(exist_ok=True)
            await shop.offload(self._sandbox.adopt, self._folder)
            trusted = attempt.owner.trusted
            key = await shop.offload(key_of, attempt.manifest, self._folder, self._image_digest, trusted=trusted)
            place = shop.environments.place(self._sandbox, key)
        async with contextlib.AsyncExitStack() as turn:
            # A twin's setup may take long: a stop is not kept waiting for it, and it is not waited for all day.
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    await interruptible(attempt, lambda: turn.enter_async_context(shop.environments.turn(key)))
            except TimeoutError:
                attempt.say("setup: another job still builds the same environment; building it here too")
                place = None
            if place is not None and await self._is_at_hand(place):
                attempt.say("setup: found the environment of an earlier job, skipped")
                return True
            async with at(FaultPlace.SETUP, attempt):
                before = await shop.offload(environments.look, self._folder)
                attempt.room_bytes = await shop.offload(environments.room_at, self._folder)
            self._in_setup = True
            argv = environments.set_up_argv(in_shell(attempt.manifest.setup, attempt.manifest.setup_shell))
            await self._execute(argv, internet=attempt.manifest.network, wants_out=True)
            self._setup_seconds = attempt.ran_seconds(shop.clock.monotonic())
            if self._last is None or self._last.code != 0 or attempt.ending is not None:
                return False
            self._in_setup = False
            if place is not None:
                async with at(FaultPlace.SETUP, attempt):
                    await self._keep(place, before)
            attempt.room_bytes = 0 if ENVIRONMENT in self._shown else await self._environment_bytes()
        return True

    async def _environment_bytes(self) -> int:
        """Of one that stays in the job's folder."""
        root = open_folder(self._folder / ENVIRONMENT)
        try:
            return await folder_bytes(root, enough=self._attempt.room_bytes)
        except Uncountable:
            return self._attempt.room_bytes
        finally:
            os.close(root)

    async def _keep(self, place: Path, before: object) -> None:
        if await self._shop.offload(environments.look, self._folder) != before:
            self._attempt.say("setup changed more than its environment, so it will run again the next time")
            return
        # In use before it is there: the caches may be tidied at any moment.
        self._show(place)
        try:
            await self._shop.offload(environments.keep, self._folder, place)
        except Exception as error:
            # The job has it all the same, as its setup left it.
            self._hide()
            log.warning("environment.not_kept", extra={"attempt_id": self._attempt.id, "reason": repr(error)})
            self._attempt.say("the environment cannot be kept, so setup will run again the next time")

    async def _is_at_hand(self, place: Path) -> bool:
        """If so, it is shown, and stays for as long as the job runs."""
        self._show(place)
        if await self._shop.offload(_use, place):
            return True
        self._hide()
        return False

    def _show(self, place: Path) -> None:
        self._shown[ENVIRONMENT] = place
        self._shop.environments.use(place)

    def _hide(self) -> None:
        self._shop.environments.let_go(self._shown.pop(ENVIRONMENT))

    async def run(self) -> None:
        manifest = self._attempt.manifest
        argv = in_shell(manifest.argv, manifest.run_shell)
        argv = environments.entered_argv(argv) if manifest.setup else argv
        await self._execute(argv, internet=manifest.network, wants_out=manifest.network)

    async def close(self) -> None:
        for egress in self._ways_out:
            await egress.close()
        if ENVIRONMENT in self._shown:
            self._hide()
            await self._shop.tidy_caches()

    # ── one command ──

    async def _execute(self, argv: tuple[str, ...], *, internet: bool, wants_out: bool) -> None:
        """Run it to its end. One that cannot be started is tried once more, so that a moment's trouble is nobody's."""
        attempt, trouble, command = self._attempt, "", None
        for _ in range(STARTS):
            if attempt.rest.reasons:
                await interruptible(attempt, attempt.rest.until_awake)
            raise_if_ending(attempt)
            if command is None:
                async with at(FaultPlace.START, attempt):
                    command = self._command(argv, self._open_way(internet) if wants_out else None)
            trouble = await self._try(command)
            if not trouble:
                return
            raise_if_ending(attempt)
            fault = await find_fault(self._sandbox, command)
            if fault is not None:
                log.warning("sandbox.broken", extra={"attempt_id": attempt.id, "reason": fault})
                raise AttemptOver(EndReason.SANDBOX, trouble)
        where = "in setup: " if self._in_setup else ""
        raise AttemptOver(EndReason.START_FAILED, f"{where}{trouble}")

    async def _try(self, command: Command) -> str:
        """Why it did not run, or nothing if it did."""
        attempt = self._attempt
        try:
            process = await self._sandbox.start(command)
        except SandboxBroken as error:
            raise AttemptOver(EndReason.SANDBOX, str(error)) from error
        except Exception as error:
            return str(error) or type(error).__name__
        try:
            async with at(FaultPlace.RUN, attempt):
                await self._supervise(process)
        except AttemptOver:
            # Whatever went wrong on this side, no command goes on that nobody looks after.
            await self._end(process)
            raise
        finally:
            attempt.rest.end()
        if self._last is not None and self._last.reason == "start_failed" and attempt.ending is None:
            return self._complaint or "the sandbox ended before the command ran"
        return ""

    async def _end(self, process: Process) -> None:
        """As far as the sandbox can."""
        try:
            await process.stop(0)
        except Exception as error:
            log.warning("command.lost", extra={"attempt_id": self._attempt.id, "reason": repr(error)})
        self._has_run = True
        self._note_time()

    def _open_way(self, internet: bool) -> Egress | None:
        """A plain process has the host's own network: there is nothing to open."""
        if self._sandbox.level is IsolationLevel.PROCESS:
            return None
        if self._shop.outside is None:
            raise AttemptOver(EndReason.DECLINED, "this node gives jobs no way out")
        egress = self._shop.outside.open(
            internet=internet, own=self._attempt.own, tell=self._attempt.say, may_pass=self._has_lease
        )
        self._ways_out.append(egress)
        return egress

    def _count_network(self) -> int:
        return sum(egress.bytes_in + egress.bytes_out for egress in self._ways_out)

    def _has_lease(self) -> bool:
        """Even if the machine slept: what comes after the lease never gets out."""
        return self._attempt.has_lease(self._shop.clock.monotonic())

    def _command(self, argv: tuple[str, ...], egress: Egress | None) -> Command:
        manifest, shop = self._attempt.manifest, self._shop
        variables = job_environment(manifest, self._sandbox, self._folder)
        if manifest.setup:
            inside = self._sandbox.path_inside(self._folder, ENVIRONMENT)
            variables = environments.environment_variables(inside) | variables
        if self._sandbox.level is IsolationLevel.PROCESS and shop.outside is not None:
            variables = {**shop.outside.mirrors, **variables}
        if egress is not None and shop.outside is not None:
            variables = shop.outside.variables(variables, with_image=manifest.image is not None)
        return Command(
            argv=argv,
            env=variables,
            folder=self._folder,
            limits=self._limits,
            cwd=WORK,
            devices=shop.devices_for(manifest.grant.gpus),
            gpus=manifest.grant.gpus,
            shown=dict(self._shown),
            links={path: f"{WORK}/{place}" for path, place in manifest.links.items() if path.startswith("/")},
            image=self._image_digest,
            egress=egress.serve if egress is not None else None,
        )

    async def _supervise(self, process: Process) -> None:
        shop, attempt = self._shop, self._attempt
        if self._started_at is None:
            self._started_at, attempt.started_monotonic = shop.hub_time.now(), shop.clock.monotonic()
            shop.tell(attempt, "running", self._sandbox.level, self._image_digest)
        await attempt.rest.begin(process)
        intake = LogIntake(
            shop.open_output(process), attempt.spool, attempt.log, shop.clock, lambda error: _disk_full(attempt, error)
        )
        intake.start()
        stops: list[asyncio.Task[None]] = []

        def end(request: EndRequest) -> None:
            stops.append(asyncio.ensure_future(process.stop(request.grace_seconds)))

        attempt.on_end_request = end
        if attempt.ending is not None:
            end(attempt.ending)
        timer = _Timer(shop, attempt)
        try:
            exited = await process.wait()
        finally:
            timer.cancel()
            attempt.on_end_request = None
        self._note_time()
        if stops:
            await asyncio.gather(*stops)
        await intake.finish(PIPE_PATIENCE_SECONDS)
        self._last, self._complaint = exited, process.complaint
        self._has_run |= exited.ran
        self._cpu_seconds += exited.cpu_seconds
        self._peak_memory_bytes = max(self._peak_memory_bytes, exited.peak_memory_bytes)

    def _note_time(self) -> None:
        shop = self._shop
        self._running_seconds, self._finished_at = (
            self._attempt.ran_seconds(shop.clock.monotonic()),
            shop.hub_time.now(),
        )

    # ── how it all ended ──

    @property
    def left_by_itself(self) -> bool:
        """The last command was not killed, whatever it was asked before."""
        return self._last is not None and self._last.ran and self._last.code != 128 + signal.SIGKILL

    async def ended(self) -> Ended:
        """By its last command."""
        attempt, exited = self._attempt, self._last
        attempt.command_over_at = self._shop.clock.monotonic()
        if exited is None:
            raise AssertionError("no command has run")
        reason, detail = self._why(exited)
        if not exited.ran:
            return await self.ended_by(AttemptOver(reason, detail))
        if reason is EndReason.EXITED and exited.code != 0 and has_no_room_left(str(self._folder)):
            reason, detail = EndReason.NODE_DISK, "the node's disk is full"
        if reason is EndReason.EXITED and not await is_within_grant(attempt):
            # It left before anybody looked, maybe with a file that was cut and nobody missed.
            reason, detail = EndReason.DISK, self._disk_words()
        if reason is EndReason.NODE_DISK and not await is_within_grant(attempt, attempt.spool.stored_bytes):
            reason, detail = EndReason.DISK, f"{self._disk_words()}; its log counts, because the node's disk is full"
        elif reason is EndReason.NODE_DISK and self._shop.is_filled_by_logs(str(self._folder)):
            reason, detail = EndReason.UNREACHABLE, "the node's disk was full with the logs of jobs"
        return await self._ended(exited.code, reason, detail)

    async def ended_by(self, over: AttemptOver) -> Ended:
        """By something else than a command's own end. What ran before is counted all the same."""
        if self._has_run:
            self._attempt.command_over_at = self._shop.clock.monotonic()
        if over.reason is not EndReason.EXITED:
            return await self._ended(None, over.reason, over.detail)
        if not self._has_run:
            return await self._ended(None, EndReason.START_FAILED, over.detail)
        return await self._ended(128 + signal.SIGKILL, over.reason, over.detail)

    async def _ended(self, exit_code: int | None, reason: EndReason, detail: str) -> Ended:
        shop, attempt = self._shop, self._attempt
        attempt.rest.is_over()
        sealed = await shop.offload(attempt.spool.seal) if attempt.spool.has_tail else attempt.spool.seal()
        attempt.log.flush()
        return Ended(
            exit_code=exit_code,
            reason=reason,
            detail=plain(detail),
            isolation=self._sandbox.level if self._has_run else None,
            running_seconds=self._running_seconds if self._has_run else 0.0,
            cpu_seconds=self._cpu_seconds,
            peak_memory_bytes=self._peak_memory_bytes,
            setup_seconds=self._setup_seconds,
            suspended_seconds=attempt.rest.seconds,
            network_bytes=self._count_network(),
            # Between the command's end and this moment nothing ran.
            power_capped_seconds=min(attempt.power_capped_seconds(shop.clock.monotonic()), self._running_seconds),
            image_digest=self._image_digest,
            started_at=self._started_at if self._has_run else None,
            finished_at=self._finished_at or shop.hub_time.now(),
            log=sealed,
        )

    def _why(self, exited: Exit) -> tuple[EndReason, str]:
        # A command that left by itself while it was about to be stopped was stopped: its result is not whole.
        ending = self._attempt.ending
        if ending is not None:
            return ending.reason, ending.detail
        reason, detail = _REASONS[exited.reason]
        detail = exited.detail or detail
        limit = self._attempt.manifest.grant.memory_bytes
        if reason is EndReason.EXITED and exited.code == KILLED and exited.reason == "exited":
            # Not every engine tells that the kernel ended it for its memory.
            if exited.peak_memory_bytes >= limit * NEAR_LIMIT:
                reason = EndReason.MEMORY
            else:
                detail = (
                    f"by itself or by the kernel; its memory was {about_bytes(exited.peak_memory_bytes)} of"
                    f" {about_bytes(limit)} when it was last looked at, so it was memory only if that grew within a"
                    " moment"
                )
        if reason is EndReason.MEMORY:
            detail = (
                f"limit {about_bytes(limit)}, peak {about_bytes(exited.peak_memory_bytes)}: ask for more"
                f" with resources.memory (--memory {format_bytes(2 * limit)})"
            )
        elif reason is EndReason.DISK:
            detail = self._disk_words()
        if self._in_setup:
            words = exit_words(exited.code)
            failed = f"setup failed with exit code {exited.code}{f' ({words})' if words else ''}"
            detail = f"in setup: {detail}" if detail else failed
        return reason, detail

    def _disk_words(self) -> str:
        if self._in_setup:
            return f"setup wrote more than {about_bytes(self._limits.disk_bytes)}, the most that this node has for it"
        limit = self._attempt.manifest.grant.disk_bytes
        return (
            f"limit {about_bytes(limit)}, with all that the job was sent and wrote: ask for more with resources.disk"
            f" (--disk {format_bytes(2 * limit)})"
        )

    @property
    def _limits(self) -> Limits:
        return limits_of(self._attempt.manifest.grant, self._attempt.room_bytes)


def _use(place: Path) -> bool:
    """Whether it is there; if so, it was used just now."""
    try:
        os.utime(place)
    except OSError:
        return False
    return True


class _Timer:
    """Ends an attempt when it has run for as long as it may. The time in which it rested does not count."""

    def __init__(self, shop: Workshop, attempt: Attempt) -> None:
        self._shop = shop
        self._attempt = attempt
        self._handle: asyncio.TimerHandle | None = None
        self._look()

    def _look(self) -> None:
        attempt = self._attempt
        left = attempt.manifest.max_runtime_seconds - attempt.ran_seconds(self._shop.clock.monotonic())
        if left > 0:
            self._handle = asyncio.get_running_loop().call_later(max(left, TIME_MARGIN_SECONDS), self._look)
        else:
            attempt.request_end(out_of_time(attempt))

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


def out_of_time(attempt: Attempt) -> EndRequest:
    limit = attempt.manifest.max_runtime_seconds
    return EndRequest(EndMode.FINISH, EndReason.RUNTIME, f"the job ran longer than its {limit:g} s", grace_seconds=5.0)


def _disk_full(attempt: Attempt, error: OSError) -> None:
    log.warning("attempt.disk_full", extra={"attempt_id": attempt.id, "reason": str(error)})
    attempt.request_end(EndRequest(EndMode.FINISH, EndReason.NODE_DISK, f"the node's disk: {error.strerror}"))
