"""The agent's side of an examination: starts the process that measures, passes questions and answers on, ends it.

It is ended when the hub is done, when it takes too long, and as soon as the machine is wanted for something else.
"""

import asyncio
import base64
import json
import logging
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from computepool.protocol.benchmark import (
    CPU,
    BenchmarkDeclined,
    BenchmarkDigests,
    BenchmarkFilled,
    BenchmarkFromHub,
    BenchmarkNonce,
    BenchmarkOpen,
    BenchmarkOver,
    BenchmarkReady,
    BenchmarkRequest,
    BenchmarkReveal,
    BenchmarkTask,
    LineEcho,
    LineProbe,
)
from computepool.protocol.capacity import Gpu
from computepool.protocol.model import Wire

log = logging.getLogger(__name__)

LONGEST_SECONDS = 300.0
"""From the request to the end of one device's examination."""
LOOK_SECONDS = 0.25
"""How soon a job or the owner has the machine back."""
ANSWER_LIMIT_BYTES = 8 * 1024**2
COMMAND = (sys.executable, "-m", "computepool.agent.benchmark")
Question = BenchmarkTask | BenchmarkNonce | BenchmarkOpen


_ANSWERS: dict[str, type[Wire]] = {
    "ready": BenchmarkReady,
    "filled": BenchmarkFilled,
    "digests": BenchmarkDigests,
    "reveal": BenchmarkReveal,
}


class WorkerGone(Exception):
    """The process that measures ended without an answer."""


def environment_for(gpu: Gpu | None, gpus: Sequence[Gpu] = ()) -> dict[str, str]:
    """Of the process: it sees the one GPU that is measured, and no other."""
    shown = dict(os.environ)
    hidden = "-1"
    shown["CUDA_VISIBLE_DEVICES"] = gpu.id if gpu is not None and gpu.vendor == "nvidia" else hidden
    if gpu is not None and gpu.vendor == "amd":
        # ROCm counts its own cards; those of the capacity are in the order of their addresses, as ROCm's are.
        amd = [one.id for one in gpus if one.vendor == "amd"]
        shown["ROCR_VISIBLE_DEVICES"] = str(amd.index(gpu.id)) if gpu.id in amd else hidden
        del shown["CUDA_VISIBLE_DEVICES"]
    return shown


def _understood(line: bytes) -> dict[str, Any]:
    """What it loads may write into anything: a line that is no answer is the end of it."""
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("is") not in {*_ANSWERS, "failed"}:
        raise WorkerGone("the process that measures gave no answer that is one")
    return found


class WorkerProcess:
    """`python -m computepool.agent.benchmark`, asked one question at a time."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, environment: Mapping[str, str]) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment),
            limit=ANSWER_LIMIT_BYTES,
            start_new_session=True,
        )

    async def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Raises WorkerGone."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
        except (OSError, ValueError) as error:
            raise WorkerGone(f"the process that measures failed: {error}") from None
        if not line:
            raise WorkerGone(f"the process that measures ended by itself ({await process.wait()})")
        return _understood(line)

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()


class BenchmarkDesk:
    def __init__(
        self,
        *,
        say: Callable[[Wire], None],
        why_not: Callable[[], str | None],
        gpus: Sequence[Gpu],
        folder: Path,
        start: Callable[[Any], None],
        command: Sequence[str] = COMMAND,
    ) -> None:
        """`why_not` tells what the machine is wanted for instead; `start` runs a coroutine beside everything else."""
        self._say = say
        self._why_not = why_not
        self._gpus = {gpu.id: gpu for gpu in gpus}
        self._folder = folder
        self._start = start
        self._command = command
        self._challenge_id = ""
        self._questions: asyncio.Queue[Question] = asyncio.Queue()
        self._enough = asyncio.Event()
        self._next: BenchmarkRequest | None = None

    @property
    def is_busy(self) -> bool:
        return bool(self._challenge_id)

    def handle(self, message: BenchmarkFromHub) -> None:
        if isinstance(message, LineProbe):
            # Random: a line that compresses would seem faster than it is.
            self._say(LineEcho(number=message.number, ballast=secrets.token_bytes(message.answer_bytes)))
        elif isinstance(message, BenchmarkRequest):
            self._begin(message)
        elif message.challenge_id != self._challenge_id:
            log.debug("benchmark.stale", extra={"type": message.type})
        elif isinstance(message, BenchmarkOver):
            log.info("benchmark.over", extra={"words": message.words})
            self._enough.set()
        else:
            self._questions.put_nowait(message)

    def _begin(self, request: BenchmarkRequest) -> None:
        if self.is_busy:
            # The hub asks one thing at a time: it has given the one before up, or its process is just ending.
            self._next = request
            self._enough.set()
            return
        why = self._why_not()
        if why is not None:
            self._say(BenchmarkDeclined(challenge_id=request.challenge_id, reason=why))
        elif request.device != CPU and request.device not in self._gpus:
            reason = "this node has no such GPU"
            self._say(BenchmarkDeclined(challenge_id=request.challenge_id, reason=reason, retry=False))
        else:
            self._challenge_id = request.challenge_id
            self._questions, self._enough = asyncio.Queue(), asyncio.Event()
            self._start(self._serve(request))

    async def _serve(self, request: BenchmarkRequest) -> None:
        worker = WorkerProcess(self._command)
        watching = asyncio.ensure_future(self._until_wanted())
        working = asyncio.ensure_future(self._work(worker, request))
        enough = asyncio.ensure_future(self._enough.wait())
        try:
            done, _ = await asyncio.wait(
                [watching, working, enough], timeout=LONGEST_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if working in done:
                working.result()
            elif watching in done:
                self._decline(watching.result())
            elif not done:
                self._decline("it took too long")
        except (WorkerGone, OSError, ValueError) as error:
            # ValueError: an answer that is none. The process is ours, but what it loads is not.
            self._decline(str(error))
        finally:
            for task in (watching, working, enough):
                task.cancel()
            await asyncio.gather(watching, working, enough, return_exceptions=True)
            await worker.close()
            self._challenge_id = ""
        if self._next is not None:
            request, self._next = self._next, None
            self._begin(request)

    async def _until_wanted(self) -> str:
        while True:
            why = self._why_not()
            if why is not None:
                return why
            await asyncio.sleep(LOOK_SECONDS)

    async def _work(self, worker: WorkerProcess, request: BenchmarkRequest) -> None:
        gpu = self._gpus.get(request.device)
        await worker.start(environment_for(gpu, list(self._gpus.values())))
        begin = {"do": "begin", "device": "gpu" if gpu is not None else "cpu", "folder": str(self._folder)}
        if not self._pass_on(await worker.ask(begin)):
            return
        while self._pass_on(await worker.ask(_for_worker(await self._questions.get()))):
            pass

    def _pass_on(self, answer: dict[str, Any]) -> bool:
        """False when there is nothing more to ask."""
        if answer["is"] == "failed":
            self._decline(str(answer["reason"]), retry=bool(answer["retry"]))
            return False
        self._say(_for_hub(self._challenge_id, answer))
        return True

    def _decline(self, reason: str, *, retry: bool = True) -> None:
        log.info("benchmark.declined", extra={"reason": reason})
        self._say(BenchmarkDeclined(challenge_id=self._challenge_id, reason=reason[:300], retry=retry))


def _for_worker(question: Question) -> dict[str, Any]:
    match question:
        case BenchmarkTask():
            sizes = {"size": question.size, "rounds": question.rounds, "segments": question.segments}
            return {"do": "fill", "seed": base64.b64encode(question.seed).decode(), **sizes}
        case BenchmarkNonce():
            return {"do": "digest", "nonce": base64.b64encode(question.nonce).decode()}
        case BenchmarkOpen():
            return {"do": "open", "places": [[one.segment, one.round, one.row] for one in question.places]}


def _for_hub(challenge_id: str, answer: dict[str, Any]) -> Wire:
    kind = _ANSWERS[answer["is"]]
    fields = {name: value for name, value in answer.items() if name != "is"}
    return kind.model_validate_json(json.dumps({"challenge_id": challenge_id, **fields}))
