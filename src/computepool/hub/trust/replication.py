"""A slice with replicas ends when all of them have answered: with the result that a majority of owners agrees on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs import ending
from computepool.hub.jobs.asked import is_simulated
from computepool.hub.jobs.ending import Ended
from computepool.hub.jobs.policy import Ending, why_failed
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.jobs.verification import NOTHING_ELSE, Consequences, Role, is_result, list_live_of_slice
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import repository as reputations
from computepool.hub.reputation import service as reputation
from computepool.hub.reputation.record import standing_of
from computepool.hub.reputation.reliability import HALF_LIFE
from computepool.hub.trust import repository
from computepool.hub.trust.consequences import DIGEST_MISMATCH, Means, Sentence, accuse, convict
from computepool.hub.trust.judgement import Count, Finding, count_votes
from computepool.hub.trust.reruns import add_replica
from computepool.hub.trust.results import result_digest
from computepool.hub.trust.tables import Check, CheckResult
from computepool.protocol.states import JOB_FINAL, JobState, Verdict

ABANDONED = "abandoned"
NOT_DETERMINISTIC = "not_deterministic"
REPLICA_FAILED = "replica_failed"
OUTVOTED = "its replicas agree on another result"
MORE_AT_MOST = 3
"""Replicas beyond those that were asked for: one breaks a tie, others stand in for two of one owner."""


@dataclass
class _Case:
    session: Session
    root: Job
    index: int
    check: Check
    now: datetime
    means: Means
    told: Consequences = field(default=NOTHING_ELSE)

    @property
    def replicas(self) -> int:
        return int(self.root.spec["verify"]["replicas"])


def member_ended(session: Session, job: Job, ended: Ended, end: Ending, now: datetime, means: Means) -> Ended:
    """One of those that run the slice has an end. Whoever calls has locked the job whose result it is."""
    root = job if job.rerun_of is None else session.get_one(Job, job.rerun_of)
    index = ended.slice_index
    if root.cancel_requested_at is not None:
        abandon(session, root, now)
        return ended
    if ended.requeued is not None or root.state in JOB_FINAL:
        return ended
    check = _find_or_open(session, root, index, now, means)
    case = _Case(session, root, index, check, now, means)
    answered = is_result(end.reason, end.exit_code) and end.exit_code is not None
    if answered:
        answer = answer_of(session, ended.attempt_id, check.id, end.exit_code or 0, now)
        session.add(answer)
        session.flush()
    if check.state != Finding.OPEN:
        if check.state == ABANDONED and job is root and ended.answered:
            _fail(case, Verdict.RENTER, REPLICA_FAILED, check.detail or "A replica failed.")
    elif answered:
        _decide(case)
    else:
        _give_up(case, job, end)
    return replace(ended, answered=answered, after=case.told)


def abandon(session: Session, root: Job, now: datetime) -> None:
    """Its renter has canceled it: what is not decided by now never will be. What was found before stands."""
    for check in repository.list_open_of_job(session, root.id):
        check.state, check.decided_at = ABANDONED, now
        check.detail = f"The job was canceled before all replicas of slice {check.slice_index} had answered."
    session.flush()


def answer_of(session: Session, attempt_id: str, check_id: str, exit_code: int, now: datetime) -> CheckResult:
    attempt = session.get_one(Attempt, attempt_id)
    node = session.get_one(Node, attempt.node_id)
    return CheckResult(
        check_id=check_id,
        attempt_id=attempt_id,
        job_id=attempt.job_id,
        node_id=node.id,
        owner_id=node.owner_id,
        digest=result_digest(exit_code, repository.receipt_of(attempt).outputs),
        exit_code=exit_code,
        may_judge=may_judge(session, node.id, now),
        gpu_class=repository.gpu_class_of(attempt, node),
        at=now,
    )


def may_judge(session: Session, node_id: str, now: datetime) -> bool:
    return standing_of(reputations.find(session, node_id), now, HALF_LIFE).may_judge


def _find_or_open(session: Session, root: Job, index: int, now: datetime, means: Means) -> Check:
    subject = f"{root.id}/{index}"
    check = repository.find_check(session, subject)
    if check is None:
        check = Check(
            id=means.new_id("check"),
            subject=subject,
            kind="replicas",
            job_id=root.id,
            slice_index=index,
            state=Finding.OPEN,
            spec_digest=root.spec_digest,
            asked=int(root.spec["verify"]["replicas"]),
            created_at=now,
        )
        session.add(check)
        session.flush()
    return check


def _decide(case: _Case) -> None:
    rows = repository.list_results(case.session, case.check.id)
    if len(rows) < case.check.asked:
        return
    count = count_votes([repository.result_of(row) for row in rows], case.replicas)
    if count.finding is Finding.OPEN and case.check.asked < case.replicas + MORE_AT_MOST:
        started = add_replica(case.session, case.root, case.index, case.now, case.means)
        case.check.asked += 1
        case.told = replace(case.told, reruns=(started,))
    elif count.finding is Finding.VALID:
        _accept(case, rows, count)
    else:
        words = f"Replicas of slice {case.index} gave different results: the job is not deterministic."
        _close(case, Finding.NOT_DETERMINISTIC, words)
        _settle(case, JobState.FAILED, Verdict.RENTER, NOT_DETERMINISTIC, None, words)


def _accept(case: _Case, rows: Sequence[CheckResult], count: Count) -> None:
    agreeing = [row for row in rows if row.digest == count.digest]
    chosen = next((row for row in agreeing if row.job_id == case.root.id), agreeing[0])
    words = f"{len(agreeing)} of {len(rows)} agree" if count.outvoted else f"all {len(rows)} agree"
    _close(case, Finding.VALID, words)
    others = {row.attempt_id for row in rows if row.digest != count.digest}
    for attempt_id in sorted(others):
        _outvote(case, attempt_id, count)
    verdict = Verdict.OK if chosen.exit_code == 0 else Verdict.RENTER
    state = JobState.SUCCEEDED if verdict is Verdict.OK else JobState.FAILED
    message = None if verdict is Verdict.OK else why_failed(verdict, "exited", chosen.exit_code)
    result = chosen.attempt_id if chosen.job_id != case.root.id else None
    _settle(case, state, verdict, "exited", chosen.exit_code, message, result_attempt=result)


def _outvote(case: _Case, attempt_id: str, count: Count) -> None:
    session, now, means = case.session, case.now, case.means
    attempt = session.get_one(Attempt, attempt_id)
    if attempt.own:
        repository.mark_wrong(session, attempt_id, DIGEST_MISMATCH, OUTVOTED)
        return
    proven = count.proven and is_sound(case.root)
    if means.confirm_findings:
        accuse(session, case.check, attempt.node_id, attempt_id, now, means, proven=proven)
        return
    sentence = find_outvoted(session, case.check, attempt, now, means, proven=proven)
    case.told = replace(
        case.told,
        standings=(*case.told.standings, (attempt.node_id, sentence.standing)),
        banned=(*case.told.banned, attempt.node_id) if sentence.banned else case.told.banned,
    )


def find_outvoted(
    session: Session,
    check: Check,
    attempt: Attempt,
    now: datetime,
    means: Means,
    *,
    proven: bool,
    found_at: datetime | None = None,
) -> Sentence:
    """The attempt is not paid, and counts against its node; more, if it is `proven` by nodes that may judge."""
    if proven:
        return convict(session, check, attempt.node_id, attempt.id, DIGEST_MISMATCH, now, means, found_at)
    repository.mark_wrong(session, attempt.id, DIGEST_MISMATCH, OUTVOTED)
    standing = reputation.count_end(
        session,
        attempt.node_id,
        attempt.id,
        Verdict.HOST,
        DIGEST_MISMATCH,
        now,
        saved=False,
        crowd=lambda: 1,
        half_life=means.half_life,
    )
    _claim_back(session, check, attempt, now)
    return Sentence(standing or reputation.find_standing(session, attempt.node_id, now, means.half_life))


def _claim_back(session: Session, check: Check, attempt: Attempt, now: datetime) -> None:
    """What was paid for it when it ended, before anybody knew that it was wrong."""
    earning = repository.find_earning(session, attempt)
    if earning is not None:
        node, root = session.get_one(Node, attempt.node_id), session.get_one(Job, check.job_id)
        repository.add_clawbacks(session, check.id, node, [(earning, root.owner_id)], now)


def is_sound(job: Job) -> bool:
    """Nothing from outside can make a later run differ: a page or a package that changed in between is no proof, nor
    is an image of which nobody knows what its name meant. And what is only simulated proves nothing."""
    spec = job.spec
    same_image = not spec.get("image") or job.image_digest is not None
    return not spec.get("network") and not spec.get("setup") and same_image and not is_simulated(spec)


def _give_up(case: _Case, job: Job, end: Ending) -> None:
    """One of them failed for good, and said nothing that could be compared: it is not run with fewer instead."""
    words = f"A replica of slice {case.index} could not be run to its end ({end.reason}): nothing to compare with."
    _close(case, ABANDONED, words)
    if job is not case.root and _awaits(case):
        _settle(case, JobState.FAILED, end.verdict, REPLICA_FAILED, end.exit_code, words)


def _fail(case: _Case, verdict: Verdict, reason: str, words: str) -> None:
    case.told = replace(case.told, decided=(case.root.id, case.index))
    _settle(case, JobState.FAILED, verdict, reason, None, words)


def _awaits(case: _Case) -> bool:
    query = select(Slice.awaits_check).where(Slice.job_id == case.root.id, Slice.index == case.index)
    return bool(case.session.scalar(query))


def _close(case: _Case, state: str, detail: str) -> None:
    """Whoever still runs or waits for it need not."""
    case.check.state, case.check.detail, case.check.decided_at = state, detail, case.now
    case.session.flush()
    needless: list[tuple[str, int]] = []
    stops: list[tuple[str, str, int]] = []
    finals: list[str] = []
    query = select(Job).where(Job.rerun_of == case.root.id, Job.role == Role.REPLICA)
    for replica in case.session.scalars(query.where(Job.state.not_in(sorted(JOB_FINAL))).order_by(Job.id)):
        over = ending.cancel_slice(case.session, replica, case.index, case.now)
        if over is not None:
            needless.append((replica.id, case.index))
            finals += [replica.id] if over else []
        for node_id, attempt_id, fence in list_live_of_slice(case.session, replica.id, case.index):
            stops.append((node_id, attempt_id, fence))
    case.told = replace(
        case.told,
        needless=tuple(needless),
        stops=tuple(stops),
        finals=tuple(finals),
        decided=(case.root.id, case.index),
    )


def _settle(
    case: _Case,
    state: JobState,
    verdict: Verdict,
    reason: str,
    exit_code: int | None,
    message: str | None,
    result_attempt: str | None = None,
) -> None:
    values = {"verdict": verdict, "reason": reason, "exit_code": exit_code, "result_attempt": result_attempt}
    if ending.settle_slice(case.session, case.root, case.index, state, values, case.now, message):
        case.told = replace(case.told, finals=(*case.told.finals, case.root.id))
