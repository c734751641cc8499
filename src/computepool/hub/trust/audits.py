"""Results that are drawn to be computed again, at the platform's cost, and what is found."""

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.artifacts.repository import forget_outputs
from computepool.hub.core.records import record as note
from computepool.hub.jobs import repository as repository_of_jobs
from computepool.hub.jobs.brief import Rerun
from computepool.hub.jobs.ending import Ended, cancel_slice
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.verification import Consequences, is_result
from computepool.hub.nodes.tables import Node
from computepool.hub.trust import auditing, repository
from computepool.hub.trust.consequences import WRONG_RESULT, Means, accuse, clear, convict
from computepool.hub.trust.judgement import RERUNS_AGAINST_A_JUDGE, Finding, judge, judge_against
from computepool.hub.trust.replication import ABANDONED, answer_of, is_sound, may_judge
from computepool.hub.trust.reruns import Started, add_audit
from computepool.hub.trust.results import Result, result_digest
from computepool.hub.trust.subsidy import max_price, reserve, subsidy_left
from computepool.hub.trust.tables import Check, CheckResult

ACCUSED, DISMISSED = "accused", "dismissed"
"""States of a check whose finding waits for an admin, and of one that an admin does not believe."""
RERUNS_AT_MOST = 8
OPEN_AT_MOST = 20
"""Audits of one node at a time: where nobody else has such a machine, they only pile up."""
PATIENCE = timedelta(days=14)
"""Until an audit for which nobody was found is given up."""
GIVEN_UP_AT_ONCE = 200


def consider(session: Session, job: Job, ended: Ended, end: Ending, now: datetime, means: Means) -> Ended:
    """An attempt of a deterministic job ended. Chance decides, now that there is a result, whether it is audited."""
    if not is_result(end.reason, end.exit_code):
        return ended
    attempt = session.get_one(Attempt, ended.attempt_id)
    node = session.get_one(Node, attempt.node_id)
    if not _can_be_audited(session, job, attempt, node):
        return ended
    found = repository.find_record(session, repository.record_id_of(node))
    paid = repository.paid_for(session, attempt)
    if not auditing.is_drawn(auditing.share_audited(found.valid_in_a_row), means.randbits):
        return ended
    if not reserve(session, paid, now, means):
        return ended
    check = Check(
        id=means.new_id("check"),
        subject=attempt.id,
        kind="audit",
        job_id=job.id,
        slice_index=attempt.slice_index,
        state=Finding.OPEN,
        spec_digest=job.spec_digest,
        asked=0,
        attempt_id=attempt.id,
        node_id=node.id,
        owner_id=node.owner_id,
        digest=result_digest(end.exit_code, repository.receipt_of(attempt).outputs),
        given_at=now,
        real_micros=paid.real,
        promotional_micros=paid.promotional,
        created_at=now,
    )
    session.add(check)
    session.flush()
    started = _ask_another(session, check, job, repository.gpu_class_of(attempt, node), now, means)
    return replace(ended, after=Consequences(reruns=(started,)))


def rerun_ended(session: Session, job: Job, ended: Ended, end: Ending, now: datetime, means: Means) -> Ended:
    """Somebody computed it again, or could not. Whoever calls has locked the job whose result it is."""
    if ended.requeued is not None or job.rerun is None or job.rerun_of is None:
        return ended
    asked = Rerun.of(job.rerun)
    check = repository.find_check(session, asked.audit_of or "")
    if check is None or check.state != Finding.OPEN or check.digest is None or check.owner_id is None:
        return ended
    if is_result(end.reason, end.exit_code):
        session.add(answer_of(session, ended.attempt_id, check.id, end.exit_code or 0, now))
        session.flush()
    root = session.get_one(Job, job.rerun_of)
    results = [repository.result_of(row) for row in repository.list_results(session, check.id)]
    accused = Result(check.owner_id, check.digest, may_judge(session, check.node_id or "", now))
    if _is_young(session, check, root):
        accused, results = replace(accused, may_judge=False), [replace(one, may_judge=True) for one in results]
    finding = _find(check, accused, results)
    if finding is Finding.OPEN:
        if check.asked < RERUNS_AT_MOST:
            started = _ask_another(session, check, root, asked.gpu_class, now, means)
            return replace(ended, after=Consequences(reruns=(started,)))
        _close(session, check, ABANDONED, "nobody could compute it again", now)
        return ended
    return replace(ended, after=_decide(session, check, root, finding, now, means))


def canary_ended(session: Session, job: Job, ended: Ended, end: Ending, now: datetime, means: Means) -> Ended:
    check = repository.find_check(session, job.id)
    if ended.requeued is not None or check is None or job.rerun_of is None:
        return ended
    if not is_result(end.reason, end.exit_code):
        _close(session, check, ABANDONED, f"it did not run to its end ({end.reason})", now)
        return ended
    attempt = session.get_one(Attempt, ended.attempt_id)
    check.subject = check.attempt_id = attempt.id
    check.digest = result_digest(end.exit_code, repository.receipt_of(attempt).outputs)
    check.given_at = now
    session.flush()
    root = session.get_one(Job, job.rerun_of)
    if check.digest == check.expected:
        return replace(ended, after=_decide(session, check, root, Finding.VALID, now, means))
    gpu_class = repository.gpu_class_of(attempt, session.get_one(Node, attempt.node_id))
    return replace(ended, after=Consequences(reruns=(_ask_another(session, check, root, gpu_class, now, means),)))


def give_up_old(session: Session, now: datetime) -> Consequences:
    """Audits that found nobody for so long are over, and what waits for them need not."""
    needless: list[tuple[str, int]] = []
    finals: list[str] = []
    for check in repository.list_open_before(session, now - PATIENCE, GIVEN_UP_AT_ONCE):
        repository_of_jobs.lock_jobs(session, [check.job_id])
        _close(session, check, ABANDONED, "nobody was found to compute it again", now)
        for job in repository.list_open_reruns(session, check.job_id):
            if (job.rerun is not None and Rerun.of(job.rerun).audit_of == check.subject) or job.id == check.subject:
                over = cancel_slice(session, job, check.slice_index, now)
                needless += [(job.id, check.slice_index)] if over is not None else []
                finals += [job.id] if over else []
    return Consequences(needless=tuple(needless), finals=tuple(finals))


def _is_young(session: Session, check: Check, root: Job) -> bool:
    """A pool in which too few have been found right often enough to judge others. There, everybody who has no part in
    it may: a pool must begin somehow, and two who agree are better than none."""
    involved = {root.owner_id} | ({check.owner_id} if check.owner_id else set())
    if check.expected is not None:
        involved |= repository.list_owners_behind(session, root.id, check.slice_index)
    return repository.count_judging_owners(session, involved) < RERUNS_AGAINST_A_JUDGE


def _find(check: Check, accused: Result, reruns: list[Result]) -> Finding:
    return judge(accused, reruns) if check.expected is None else judge_against(accused, check.expected, reruns)


def _can_be_audited(session: Session, job: Job, attempt: Attempt, node: Node) -> bool:
    return (
        not attempt.own
        and is_sound(job)
        and not repository.began_elsewhere(session, attempt, node.owner_id)
        and not repository.is_known_to_vary(session, job.spec_digest)
        and repository.count_open(session, node.id) < OPEN_AT_MOST
    )


def _ask_another(
    session: Session, check: Check, root: Job, gpu_class: str | None, now: datetime, means: Means
) -> Started:
    """Of owners who have no part in it. After a first answer that differs, only who may judge is worth asking, where
    there are enough of them."""
    answered = repository.list_results(session, check.id)
    owners = {root.owner_id, *(row.owner_id for row in answered)} | ({check.owner_id} if check.owner_id else set())
    if check.expected is not None:
        owners |= repository.list_owners_behind(session, root.id, check.slice_index)  # they would only repeat it
    subsidy = subsidy_left(session, check)
    rerun = Rerun(
        renter_id=root.owner_id,
        audit_of=check.subject,
        not_owners=tuple(sorted(owners)),
        gpu_class=gpu_class,
        judges_only=(bool(answered) or check.expected is not None) and not _is_young(session, check, root),
        promotional_micros=subsidy.promotional,
        real_micros=subsidy.real,
        max_price_micros=_max_price(session, check),
    )
    check.asked += 1
    return add_audit(session, root, check.slice_index, rerun, now, means)


def _max_price(session: Session, check: Check) -> int | None:
    if check.kind == "audit":
        return max_price(session.get_one(Attempt, check.attempt_id))
    canary = session.get_one(Job, session.get_one(Attempt, check.attempt_id).job_id)
    return Rerun.of(canary.rerun).max_price_micros if canary.rerun is not None else None


def _decide(session: Session, check: Check, root: Job, finding: Finding, now: datetime, means: Means) -> Consequences:
    rows = repository.list_results(session, check.id)
    node_id, attempt_id = check.node_id or "", check.attempt_id or ""
    needless = [row.attempt_id for row in rows] + ([attempt_id] if check.kind == "canary" else [])
    if finding is Finding.VALID:
        _close(session, check, finding, "others computed the same", now)
        forget_outputs(session, needless)
        standing = clear(session, check, now, means)
        return Consequences(standings=((node_id, standing),) if standing is not None else ())
    if finding is Finding.NOT_DETERMINISTIC:
        _close(
            session, check, finding, "reruns of it disagree: the job is not deterministic, and nobody is to blame", now
        )
        forget_outputs(session, needless)
        return Consequences()
    right = right_answer(session, check)
    delivered = right.attempt_id if check.kind == "audit" else None
    forget_outputs(session, [unused for unused in needless if unused != delivered])
    if means.confirm_findings:
        _close(session, check, ACCUSED, "other nodes agree on another result; an admin decides", now)
        accuse(session, check, node_id, attempt_id, now, means, proven=True)
        return Consequences()
    return find_guilty(session, check, now, means)


def find_guilty(
    session: Session, check: Check, now: datetime, means: Means, found_at: datetime | None = None
) -> Consequences:
    """Apply what judges found: the node loses what it earned unaudited, and an audited job gets the right result."""
    node_id, attempt_id = check.node_id or "", check.attempt_id or ""
    _close(session, check, Finding.GUILTY, "other nodes that may judge agree on another result", now)
    sentence = convict(session, check, node_id, attempt_id, WRONG_RESULT, now, means, found_at)
    if check.kind == "audit":
        _correct(session, check, session.get_one(Job, check.job_id), right_answer(session, check), now)
    return Consequences(standings=((node_id, sentence.standing),), banned=(node_id,) if sentence.banned else ())


def dismiss(session: Session, check: Check, now: datetime) -> None:
    """An admin does not believe what judges found: nobody loses anything by it."""
    if check.kind == "audit":
        forget_outputs(session, [right_answer(session, check).attempt_id])
    _close(session, check, DISMISSED, "an admin dismissed what other nodes found", now)


def right_answer(session: Session, check: Check) -> CheckResult:
    """The newest answer that differs from what the accused delivered."""
    rows = repository.list_results(session, check.id)
    return next(row for row in reversed(rows) if row.digest != check.digest)


def _correct(session: Session, check: Check, root: Job, right: CheckResult, now: datetime) -> None:
    if right.exit_code == 0:
        repository.put_result(session, root.id, check.slice_index, right.attempt_id)
    topics = (f"job/{root.id}", f"owner/{root.owner_id}")
    note(session, "job.result_corrected", root.id, now, topics=topics, slice=check.slice_index)


def _close(session: Session, check: Check, state: str, detail: str, now: datetime) -> None:
    check.state, check.detail, check.decided_at = state, detail, now
    session.flush()
    note(session, "check.decided", check.id, now, state=state, about=check.subject)
