"""`up`: a hub in this process, an agent in a child process, and both ended together.

The agent is a process of its own because it must not share the hub's fate in the other direction: a hub that is busy
does not slow the agent's heartbeats, and a job's trouble does not touch the hub. It holds one end of a pipe, so that it
ends with us, however we end.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import click

from computepool.cli.account import signing_key_text
from computepool.cli.demo import LOG, NODES, Demo
from computepool.cli.errors import CliError, clean, tell, tell_error
from computepool.cli.hub import bind, database_trouble, hub_commands, hub_settings, url_at
from computepool.cli.machine import AGENT_FOLDER, UNWANTED, tell_isolation
from computepool.cli.options import JOIN_TOKEN_VARIABLE
from computepool.protocol.addresses import is_exposed, is_loopback, join_line, with_fingerprint

STOP_SECONDS = 20.0
"""For the agent to end what runs, and to tell the hub."""
LINE_SECONDS = 20.0
RESTART_SECONDS = (1.0, 30.0)
WILDCARDS = frozenset({"0.0.0.0", "::"})


@dataclass
class Up:
    home: Path
    host: str
    port: int
    share: bool
    verbose: bool
    demo: bool = False
    insecure: bool = False
    _certificate: Any = None
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _agent: asyncio.subprocess.Process | None = None
    _agent_began: bool = False
    _agent_variables: dict[str, str] = field(default_factory=dict)
    _simulated: Demo | None = None

    def run(self) -> int:
        commands, settings = hub_commands(), hub_settings()
        with _only_one(self.home):
            self._certificate = None if self.insecure else commands.certificate_of(settings, self.host)
            listener = bind(commands, self.host, self.port)
            self.port = listener.getsockname()[1]
            self._configure_log()
            try:
                with database_trouble():
                    commands.migrate(settings)
                    return int(commands.run(self._run(commands, settings, listener)))
            finally:
                listener.close()

    # ── the hub ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _run(self, commands: Any, settings: Any, listener: socket.socket) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled)
        with commands.locked(settings) as lock:
            prepared = await commands.prepare(settings, self._saved_token())
            self._sign_in(prepared)
            await self._serve(commands, settings, listener, prepared, lock)
        return 0

    async def _serve(self, commands: Any, settings: Any, listener: socket.socket, prepared: Any, lock: Any) -> None:
        ready, stop_hub = asyncio.Event(), asyncio.Event()
        hub = asyncio.create_task(
            commands.run_server(
                settings, [listener], ready=ready.set, stop=stop_hub, lock=lock, certificate=self._certificate
            )
        )
        keeper: asyncio.Task[None] | None = None
        try:
            if await _first(ready, hub):
                self._print_panel(prepared, settings.public_url, commands.own_address)
                if self.share:
                    keeper = asyncio.create_task(self._keep_agent(prepared.own_join_token))
                if self.demo:
                    self._simulated = Demo(self.home, verbose=self.verbose)
                    await self._simulated.start()
                await _first(self._stop, hub)
        finally:
            # The nodes first: they have something to tell the hub.
            if self._simulated is not None:
                await self._simulated.stop()
            if keeper is not None:
                keeper.cancel()
                await asyncio.gather(keeper, return_exceptions=True)
            await self._stop_agent()
            stop_hub.set()
            await hub

    def _signalled(self) -> None:
        if self._stop.is_set():
            if self._agent is not None and self._agent.returncode is None:
                self._agent.kill()
            if self._simulated is not None:
                self._simulated.kill()
            return
        tell("\nStopping …", dim=True)
        self._stop.set()

    @property
    def url(self) -> str:
        """As this machine reaches it."""
        return self._url_at("127.0.0.1" if self.host in WILDCARDS else self.host)

    @property
    def address(self) -> str:
        """The same with the fingerprint that this machine's own CLI and agent pin. Whatever names the certificate
        has, this is its hub."""
        return with_fingerprint(self.url, self.fingerprint)

    @property
    def fingerprint(self) -> str | None:
        return self._certificate.fingerprint if self._certificate is not None else None

    def _url_at(self, host: str) -> str:
        return url_at(host, self.port, https=self._certificate is not None)

    def _configure_log(self) -> None:
        from computepool.hub.core.logging import configure_logging

        if self.verbose:
            configure_logging()
            return
        # The log is for later; the terminal is for the person. It stays open as long as the process.
        configure_logging(file=_open_log(self.home / "hub.log"))

    # ── this machine's CLI ───────────────────────────────────────────────────────────────────────────────────────────

    def _saved_token(self) -> str | None:
        from computepool.client.config import load_credentials

        saved = load_credentials(self.home)
        return saved.token if saved is not None else None

    def _sign_in(self, prepared: Any) -> None:
        from computepool.client.config import Credentials, load_credentials, save_credentials

        before = load_credentials(self.home)
        insecure = is_exposed(self.url)
        save_credentials(self.home, Credentials(self.url, prepared.cli_token, self.fingerprint, insecure))
        if before is None or before.token == prepared.cli_token:
            return
        was = f"was signed in to {clean(before.url)}"
        if prepared.dismissed is not None:
            was = f"was signed in as {clean(prepared.dismissed)}, who is no admin of this pool any more"
        now = f"now it is signed in to this pool as {clean(prepared.cli_email)}"
        tell(f"note: the CLI in {self.home} {was}; {now}.", fg="yellow")

    # ── the agent ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _keep_agent(self, join_token: str) -> None:
        """Start it, and start it again when it dies without being asked to."""
        wait, longest = RESTART_SECONDS
        while True:
            arguments = await self._agent_arguments(join_token)
            if arguments is None:
                return
            code = await self._run_agent(arguments)
            if code in (0, UNWANTED):
                tell("The agent has stopped; the hub goes on. Again: computepool agent start", fg="yellow")
                return
            tell(f"The agent ended unexpectedly ({code}); it starts again in {wait:g} s. {self._agent_log_hint()}")
            await asyncio.sleep(wait)
            wait = min(wait * 2, longest)

    async def _agent_arguments(self, join_token: str) -> list[str] | None:
        from computepool.agent.home import AgentHome

        home = AgentHome(self.home / AGENT_FOLDER)
        common = ["--home", str(self.home), "--while-stdin-open", "--from-up"]
        if not home.is_enrolled():
            # Everybody on the machine can read a command line, and nobody else the variables of a process.
            self._agent_variables = {JOIN_TOKEN_VARIABLE: join_token}
            return ["join", self.address, *(["--insecure"] if is_exposed(self.address) else []), *common]
        node = home.node()
        hub_id = await asyncio.to_thread(self._hub_id)
        if node.hub_id != hub_id:
            tell_error(
                f"This machine is a node of another pool already ({node.hub_url}), so it is not shared with this one.",
                f"Use another --home, or remove {home.root} to give up that membership.",
            )
            return None
        here = {"hub_url": self.url, "fingerprint": self.fingerprint, "insecure": is_exposed(self.url)}
        if here != node.model_dump(include=set(here)):
            # The same hub on another port than last time, or with a certificate where it had none.
            home.save_node(node.changed(**here))
        return ["agent", "start", *common]

    def _hub_id(self) -> str:
        from computepool.client.pool import Pool

        with Pool(self.address, None, self.home, insecure=self.insecure) as pool:
            return pool.hub_id()

    async def _run_agent(self, arguments: list[str]) -> int:
        log = None if self.verbose else _open_log(self.home / "agent.log")
        try:
            self._agent = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "computepool", *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._agent_variables},
                # Ctrl-C in the terminal is ours to pass on, once the hub is told to wait.
                start_new_session=True,
            )
        finally:
            if log is not None:
                log.close()
        greeting = asyncio.create_task(self._greet_agent())
        try:
            return await self._agent.wait()
        finally:
            greeting.cancel()

    async def _greet_agent(self) -> None:
        """Say what this machine shares, once the agent has its line."""
        from computepool.agent.control import AgentNotRunning, ask_agent
        from computepool.agent.home import AgentHome
        from computepool.client.models import NodeCapacity

        path = AgentHome(self.home / AGENT_FOLDER).socket_path
        until = asyncio.get_running_loop().time() + LINE_SECONDS
        while asyncio.get_running_loop().time() < until:
            with contextlib.suppress(AgentNotRunning):
                status = await asyncio.to_thread(ask_agent, path, "status")
                if status.get("link"):
                    if not self._agent_began:
                        self._agent_began = True
                        self._print_share(NodeCapacity.model_validate(status["capacity"]))
                    return
            await asyncio.sleep(0.1)
        tell(f"The agent has no line to the hub yet. {self._agent_log_hint()}", fg="yellow")

    def _agent_log_hint(self) -> str:
        return "" if self.verbose else f"See {self.home / 'agent.log'}"

    async def _stop_agent(self) -> None:
        agent = self._agent
        if agent is None or agent.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            agent.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await agent.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                agent.kill()
            await agent.wait()

    # ── what is printed ──────────────────────────────────────────────────────────────────────────────────────────────

    def _print_panel(self, prepared: Any, public_url: str | None, own_address: Callable[[], str]) -> None:
        reachable = not is_loopback(self.host)
        outside = public_url or self._url_at(own_address() if self.host in WILDCARDS else self.host)
        pin = self._certificate.pin if self._certificate is not None else None
        click.secho("ComputePool is up", bold=True)
        click.echo(f"  web      {outside if reachable else self.url}")
        click.echo(f"  sign in  {self.url}{prepared.sign_in_path}  (once, as {clean(prepared.email)})")
        click.echo(f"  CLI      signed in as {clean(prepared.cli_email)}: computepool run -- python3 -c 'print(6*7)'")
        click.echo(
            f"  join     {join_line(with_fingerprint(outside, pin), prepared.join_token, signing_key_text(self.home))}"
        )
        click.secho("           (one machine, within an hour; the next: computepool node join-token)", dim=True)
        if not reachable:
            click.secho("           (other machines reach this pool when it is started with --host 0.0.0.0)", dim=True)
        if pin is not None:
            self._print_certificate()
        click.echo(f"  home     {self.home}")
        if not self.share:
            click.echo("  machine  not shared (--no-agent)")
        if self.demo:
            click.echo(f"  demo     {NODES} simulated nodes and sample jobs: nothing of them is real")
            if not self.verbose:
                click.secho(f"           (they run only jobs tagged simulated; their log: {self.home / LOG})", dim=True)
        sys.stdout.flush()

    def _print_certificate(self) -> None:
        """What a browser says of a certificate that no authority signed, and how to see that it is the right one."""
        shown = self._certificate.fingerprint.removeprefix("sha256:")
        click.echo("  HTTPS    with a certificate that this pool made itself. A browser warns: it is not signed by an")
        click.echo("           authority that the browser knows (unknown issuer, ERR_CERT_AUTHORITY_INVALID). Before")
        click.echo("           you accept it, compare its SHA-256 fingerprint: the browser shows one of these two.")
        click.echo(f"           public key   {shown}")
        click.echo(f"           certificate  {self._certificate.sha256}")
        click.secho("           (join and login compare the public key by themselves: it is in the address)", dim=True)

    def _print_share(self, capacity: Any) -> None:
        from computepool.cli.display import cpus, size
        from computepool.cli.nodes import isolation_text

        gpus = "".join(f", {clean(gpu.name)}" for gpu in capacity.gpus)
        level = isolation_text(capacity.isolation, soft_limits=capacity.soft_limits)
        click.echo(f"  machine  shared: {cpus(capacity.cpus)}, {size(capacity.memory_bytes)}{gpus} · {level}")
        click.secho("  Ctrl-C stops it all.", dim=True)
        sys.stdout.flush()
        tell_isolation(capacity)


async def _first(event: asyncio.Event, hub: "asyncio.Task[None]") -> bool:
    """Wait for the event; False, or its error, when the hub ended before."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({waiting, hub}, return_when=asyncio.FIRST_COMPLETED)
        if hub.done():
            hub.result()
        return event.is_set()
    finally:
        waiting.cancel()


@contextlib.contextmanager
def _only_one(home: Path) -> Iterator[None]:
    """One `up` in a home; the kernel lets go of the lock when we die, however we die."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(home / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            raise CliError(
                f"A pool is already up in {home}" + (f" (process {holder})." if holder else "."),
                "Use it, or start another with --home DIR --port N.",
            ) from None
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open_log(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "a", buffering=1)
