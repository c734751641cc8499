"""Free machines that claim to be huge and do nothing: they keep no stranger's job from an honest one."""

from pathlib import Path

import pytest
from support import lazy_agent
from support.pool import patient
from support.proofs import proving

from computepool.client.pool import Pool as Client

pytestmark = [pytest.mark.slow, pytest.mark.proof, pytest.mark.engine("bwrap")]

JOBS = 20
SPEC = {
    "run": ["true"],
    "resources": {"cpus": 0.1, "memory": "64MB", "disk": "64MB"},
    "max_price": "36000",
    "max_runtime": "5m",
}


def test_machines_that_begin_nothing_or_decline_everything_keep_no_job(pool):
    program = Path(lazy_agent.__file__)
    liar = pool.register("liar")
    idle, unwilling = [
        liar.share(how, program=program, price="0", LAZY_AGENT=how).node_id for how in ("idle", "declines")
    ]
    honest = pool.register("honest").share("honest").node_id
    with patient(Client(home=pool.register("renter").home)) as client:
        jobs = [client.submit(SPEC).id for _ in range(JOBS)]

        def attempts_on(node_id):
            slices = [client.job(job_id).slices[0] for job_id in jobs]
            return [attempt for each in slices for attempt in each.attempts if attempt.node_id == node_id]

        def ended(count):
            states = [client.job(job_id).state for job_id in jobs]
            assert set(states) <= {"queued", "running", "succeeded"}, states
            return states.count("succeeded") >= count or None

        # A node without a record gets one slice, which is all that the idle one keeps, for half a minute.
        pool.until(lambda: ended(JOBS - 1), "the honest machine does all but one")
        assert len(attempts_on(idle)) == 1
        assert 1 <= len(attempts_on(unwilling)) <= JOBS // 4, "it is asked less and less often"
        assert len(attempts_on(honest)) >= JOBS - 1
        if proving():
            pool.until(lambda: ended(JOBS), "the idle machine loses the last one")
            assert [(attempt.verdict, attempt.reason) for attempt in attempts_on(idle)] == [("host", "not_begun")]
