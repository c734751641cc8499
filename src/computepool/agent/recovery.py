"""What a started agent does about the attempts of an earlier run: ended ones are finished, running ones are gone."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from computepool.agent.attempt import Attempt
from computepool.agent.finishing import finish
from computepool.agent.journal import Leftover
from computepool.agent.logs import LogSender
from computepool.agent.own_jobs import OwnerCheck
from computepool.agent.reports import RECOVERED_SEQUENCE, Reports
from computepool.agent.resting import Rest
from computepool.agent.spool import EMPTY_LOG, LogSpool
from computepool.agent.workshop import Workshop
from computepool.protocol.states import AttemptState
from computepool.protocol.timing import SPOOL_KEPT_SECONDS

if TYPE_CHECKING:
    from computepool.agent.supervisor import Supervisor

log = logging.getLogger(__name__)


async def recover(supervisor: "Supervisor", shop: Workshop) -> None:
    """First no process of an earlier run is left alive; only then is anything called gone."""
    for sandbox in shop.sandboxes:
        for what in await sandbox.sweep():
            log.warning("sandbox.swept", extra={"what": what})
    now = shop.hub_time.now()
    for leftover in shop.journal.load():
        attempt = _attempt_of(shop, leftover)
        supervisor.adopt(attempt)
        age = (now - leftover.lease.accepted_at).total_seconds()
        if leftover.gone is not None or leftover.ended is None:
            supervisor.tell_gone(attempt, leftover.gone or "the agent was restarted")
        elif age > SPOOL_KEPT_SECONDS + attempt.manifest.max_runtime_seconds:
            supervisor.forget(attempt)
        elif not await shop.offload(_is_intact, attempt):
            supervisor.tell_gone(attempt, "its log or its files did not survive on the node")
        else:
            attempt.ended = leftover.ended
            supervisor.start(attempt, finish(shop, attempt, leftover.ended))
            log.info("attempt.recovered", extra={"attempt_id": attempt.id})


def _is_intact(attempt: Attempt) -> bool:
    try:
        return attempt.folder is not None and Path(attempt.folder).is_dir() and attempt.spool.is_intact()
    except OSError as error:
        log.warning("attempt.unreadable", extra={"attempt_id": attempt.id, "reason": str(error)})
        return False


def _attempt_of(shop: Workshop, leftover: Leftover) -> Attempt:
    manifest, ended = leftover.manifest, leftover.ended
    spool = LogSpool.reopen(
        shop.journal.log_path(leftover.attempt_id),
        ended.log if ended is not None else EMPTY_LOG,
        limit_bytes=shop.log_limit_bytes,
    )
    return Attempt(
        signed=leftover.lease.manifest,
        manifest=manifest,
        downloads={},
        spool=spool,
        log=LogSender(manifest.attempt_id, manifest.fence, spool, shop.outgoing, shop.clock),
        rest=Rest(shop.clock, lambda rests: None),
        owner=OwnerCheck(own=leftover.lease.own),
        reports=Reports(first=RECOVERED_SEQUENCE),
        state=AttemptState.FINISHING,
        folder=None if ended is None else leftover.lease.folder,
    )
