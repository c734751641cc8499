"""Whether the hub works, and figures for a monitoring system in the text format that Prometheus reads."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from computepool.hub.core.errors import Forbidden, Unauthenticated, Unavailable
from computepool.hub.core.http import Authenticate, Routes, Scope, bearer_token
from computepool.hub.engine import Engine
from computepool.protocol.model import Documented

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


class HealthView(Documented):
    status: Literal["ok", "ready"]
    """`ok`: the process lives. `ready`: it can do its work."""


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, prefix="", tags=["health"])

    @routes.get("/healthz", visible="public")
    async def healthz() -> HealthView:
        """The process lives."""
        return HealthView(status="ok")

    @routes.get("/readyz", visible="public")
    async def readyz() -> HealthView:
        """It can do its work: the database answers."""
        try:
            await engine.context.db.read(lambda session: session.connection().exec_driver_sql("SELECT 1"))
        except Exception as error:
            raise Unavailable("The database does not answer.") from error
        return HealthView(status="ready")

    @routes.get("/metrics", visible="signed", response_class=PlainTextResponse, errors=[Unauthenticated, Forbidden])
    async def metrics(request: Request) -> Response:
        """Figures for Prometheus. Only for this machine itself, or with an admin's token."""
        check_reader(request, engine.directory.authenticate)
        return Response(write_metrics(engine), media_type=CONTENT_TYPE)

    return routes.router


def check_reader(request: Request, authenticate: Authenticate) -> None:
    """Raise unless it comes from this machine itself, which a proxy on it does not, or with an admin's token."""
    if _is_local(request):
        return
    if Scope.ADMIN_READ not in authenticate(bearer_token(request.scope)).scopes:
        raise Forbidden("Only an admin may do this.")


def write_metrics(engine: Engine) -> str:
    return "".join(_lines(engine))


def _lines(engine: Engine) -> Iterator[str]:
    engine.census.look()
    sums = engine.census.sums
    yield from _gauge("nodes_online", "Nodes that are connected.", sums["online"])
    yield from _gauge("slices_running", "Slices that run.", sums["running"])
    yield from _gauge("slices_queued", "Slices that wait.", len(engine.scheduler.queue))
    counts = engine.mailer.counts
    yield from _gauge("mails_waiting", "Mails that are still to be sent.", counts.waiting)
    yield from _counter("mails_sent_total", "Mails that the server took.", counts.sent)
    yield from _counter("mails_failed_total", "Mails that nobody took, and that were given up.", counts.given_up)
    yield from _counter("mail_tries_failed_total", "Tries to send one that have to be repeated.", counts.failed_tries)
    yield from _counter("mail_notices_skipped_total", "Notices for people whom no mail reaches.", counts.skipped)
    report = engine.ledger.last
    if report is None:  # money is off, or the hub has just started
        return
    age = (engine.context.now() - report.checked_at).total_seconds()
    yield from _gauge("ledger_balanced", "1 if everything added up when it was last summed.", int(report.balanced))
    yield from _gauge("ledger_check_age_seconds", "How long ago that was.", round(age, 3))
    yield from _gauge("ledger_problems", "What did not add up.", len(report.problems))
    yield from _gauge("ledger_entries", "Entries of the ledger.", report.entries)
    yield from _gauge("ledger_postings", "Postings of the ledger.", report.postings)
    yield from _gauge("cash_outs_frozen", "1 while nobody is paid out.", int(report.cash_outs_frozen))
    yield from _head("ledger_platform_micros", "The pool's own accounts, in millionths of a credit.")
    for name, micros in sorted(report.platform.items()):
        yield f'computepool_ledger_platform_micros{{account="{name}"}} {micros}\n'


def _gauge(name: str, about: str, value: float) -> Iterator[str]:
    yield from _head(name, about)
    yield f"computepool_{name} {value}\n"


def _counter(name: str, about: str, value: int) -> Iterator[str]:
    yield from _head(name, about, "counter")
    yield f"computepool_{name} {value}\n"


def _head(name: str, about: str, kind: str = "gauge") -> Iterator[str]:
    yield f"# HELP computepool_{name} {about}\n"
    yield f"# TYPE computepool_{name} {kind}\n"


def _is_local(request: Request) -> bool:
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False
