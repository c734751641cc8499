"""What the CLI calls to run a hub. Each function is one command, or one step of `up`."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import structlog

from computepool.hub.access import AdminAccess, KeyNotHeard, announce_key, list_keys, make_admin, rotate_key
from computepool.hub.accounts.background import load_directory
from computepool.hub.accounts.bootstrap import sign_in_this_machine
from computepool.hub.app import create_app
from computepool.hub.backup import BackupError, BackupInfo, RestoreInfo, backup, restore
from computepool.hub.certificates import ServerCertificate, certificate_for, own_address, renewed
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.db import OutcomeUnknown, open_database
from computepool.hub.core.edge import Edge
from computepool.hub.core.logging import configure_logging
from computepool.hub.core.records import HUB_ACTOR
from computepool.hub.core.settings import Settings, SettingsError, load_settings
from computepool.hub.doctor import Check, doctor
from computepool.hub.engine import Engine
from computepool.hub.lock import AlreadyRunning, DatabaseLock, LockLost, lock_database
from computepool.hub.loop import calm_collector, connections_within, run
from computepool.hub.nodes import service as nodes
from computepool.hub.opening import open_engine, prepare_home
from computepool.hub.schema import SchemaError
from computepool.hub.schema import migrate as migrate_schema
from computepool.hub.secret_key import NEW_SECRET_VARIABLE, rotate_secret
from computepool.hub.serving.server import EdgeServer

__all__ = [
    "NEW_SECRET_VARIABLE",
    "AdminAccess",
    "AlreadyRunning",
    "BackupError",
    "BackupInfo",
    "Check",
    "KeyNotHeard",
    "LockLost",
    "Prepared",
    "RestoreInfo",
    "SchemaError",
    "announce_key",
    "backup",
    "bind",
    "certificate_of",
    "doctor",
    "list_keys",
    "load_settings",
    "locked",
    "make_admin",
    "migrate",
    "own_address",
    "prepare",
    "restore",
    "rotate_key",
    "rotate_secret",
    "run",
    "run_server",
    "serve",
]

log = structlog.get_logger()

CERTIFICATE_LOOK_SECONDS = 3600.0
OWN_TOKEN_LIFETIME = timedelta(minutes=10)
PRINTED_TOKEN_LIFETIME = timedelta(hours=1)


@dataclass(frozen=True)
class Prepared:
    """What `up` shows and keeps after it made everything ready."""

    admin_id: str
    cli_token: str
    is_new_token: bool
    sign_in_path: str
    """Good for one sign-in in a browser."""
    email: str
    """Whom it signs in."""
    cli_email: str
    """Whose the CLI's token is."""
    dismissed: str | None
    """Whom the CLI was signed in as until now, if they are no admin any more."""
    own_join_token: str
    """For the machine that the hub runs on."""
    join_token: str
    """For the line that is printed for another machine: good once, for an hour."""


def migrate(settings: Settings) -> str:
    """Bring the schema up to date; the revision that it has now."""
    with locked(settings):
        db = open_database(settings.effective_database_url)
        try:
            return migrate_schema(db.engine)
        finally:
            db.close()


@contextmanager
def locked(settings: Settings) -> Iterator[DatabaseLock]:
    """Be the only hub on the database. Raises AlreadyRunning."""
    prepare_home(settings)
    lock = lock_database(settings)
    try:
        yield lock
    finally:
        lock.close()


async def prepare(settings: Settings, saved_token: str | None) -> Prepared:
    """The first steps of `up`: an admin, this machine signed in, and a token to join with. The schema is up to date."""
    engine = await open_engine(settings)
    context = engine.context
    try:
        await load_directory(context, engine.directory)
        local = await sign_in_this_machine(context, engine.directory, saved_token)
        own = await _new_join_token(engine, local.user_id, 1, OWN_TOKEN_LIFETIME)
        others = await _new_join_token(engine, local.user_id, 1, PRINTED_TOKEN_LIFETIME)
        return Prepared(
            admin_id=local.user_id,
            cli_token=local.token,
            is_new_token=local.is_new_token,
            sign_in_path=f"/#sign-in={local.sign_in_token}",
            email=local.email,
            cli_email=local.cli_email,
            dismissed=local.dismissed,
            own_join_token=own,
            join_token=others,
        )
    finally:
        context.db.close()


async def run_server(
    settings: Settings,
    sockets: list[socket.socket],
    *,
    ready: Callable[[], None],
    stop: asyncio.Event,
    lock: DatabaseLock | None = None,
    certificate: ServerCertificate | None = None,
) -> None:
    """Serve on sockets that are bound already, until `stop` is set. Calls `ready` once requests are answered.

    HTTPS with the certificate, or plain HTTP without.

    Raises LockLost when `lock` is, after it stopped: a hub that may not be alone must not go on. Nor must one that does
    not know what is true: that raises OutcomeUnknown.
    """
    engine = await open_engine(settings)
    loop, doubts = asyncio.get_running_loop(), list[OutcomeUnknown]()

    def end_in_doubt(doubt: OutcomeUnknown) -> None:
        doubts.append(doubt)
        loop.call_soon_threadsafe(stop.set)

    engine.context.db.on_doubt = end_in_doubt
    pin = certificate.pin if certificate is not None else None
    server = EdgeServer(create_app(engine, pin), _edge(settings, loop), settings)
    renewing: asyncio.Task[None] | None = None
    if certificate is not None:
        # A context of our own: uvicorn's would allow older ciphers, and cannot be given another certificate.
        server.config.load()
        server.config.ssl = certificate.context()
        renewing = asyncio.create_task(_renew(certificate, settings, server.config.ssl))
    watching = asyncio.create_task(_stop_when_lost(lock, stop)) if lock is not None else None
    try:
        with calm_collector():
            await server.serve_until(stop, sockets, ready, engine.say_goodbye)
        if watching is not None and watching.done():
            raise watching.result()
        if doubts:
            raise doubts[0]
    finally:
        beside = [task for task in (watching, renewing) if task is not None]
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        engine.context.db.close()


def _edge(settings: Settings, loop: asyncio.AbstractEventLoop) -> Edge:
    connections = connections_within(settings.limit_connections)
    if connections < settings.limit_connections:
        log.info(
            "hub.few_descriptors",
            connections=connections,
            wanted=settings.limit_connections,
            hint="Raise the hard limit on open files: ulimit -Hn, or LimitNOFILE= of a systemd unit",
        )
    return Edge.of(settings.model_copy(update={"limit_connections": connections}), loop.time)


async def _stop_when_lost(lock: DatabaseLock, stop: asyncio.Event) -> LockLost:
    lost = await lock.lost()
    log.error("hub.lock_lost", reason=str(lost))
    stop.set()
    return lost


async def _renew(certificate: ServerCertificate, settings: Settings, context: ssl.SSLContext) -> None:
    """Connections that are open stay as they are; the next ones see the new certificate."""
    while True:
        await asyncio.sleep(CERTIFICATE_LOOK_SECONDS)
        try:
            found = await asyncio.to_thread(renewed, certificate, settings.home, SystemClock().now())
            if found != certificate:
                found.load_into(context)
                log.info("hub.certificate_renewed", not_after=found.not_after.isoformat(), key=found.fingerprint)
                certificate = found
        except (SettingsError, OSError) as error:
            log.error("hub.certificate_unusable", reason=str(error))


def certificate_of(settings: Settings, host: str) -> ServerCertificate | None:
    """What a hub that listens on `host` serves HTTPS with; None where it speaks plain HTTP. Raises SettingsError."""
    prepare_home(settings)
    return certificate_for(settings, host, SystemClock().now())


def bind(host: str, port: int) -> socket.socket:
    """Bound before anything else happens, so that a port in use is told at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol left at 0 asyncio does not turn Nagle off, and an answer in two writes takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


async def serve(
    settings: Settings,
    listener: socket.socket,
    *,
    ready: Callable[[], None],
    stop: asyncio.Event,
    certificate: ServerCertificate | None = None,
) -> None:
    """`hub serve`: the hub alone, on a schema that was migrated before."""
    configure_logging()
    try:
        with locked(settings) as lock:
            await run_server(settings, [listener], ready=ready, stop=stop, lock=lock, certificate=certificate)
    finally:
        listener.close()


async def _new_join_token(engine: Engine, owner_id: str, uses: int, lifetime: timedelta) -> str:
    context, token = engine.context, nodes.new_join_token()
    await context.db.run(
        nodes.create_join_token,
        context.new_id("join"),
        owner_id,
        token,
        uses,
        lifetime,
        context.now(),
        actor=HUB_ACTOR,
    )
    return token
