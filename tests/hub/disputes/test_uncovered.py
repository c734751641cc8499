"""An operator sees, before a dispute is resolved, what a full refund would cost the pool."""

from datetime import timedelta

from sqlalchemy.orm import Session
from support.engine import ADMIN, play
from support.rented import CREDIT, Rented

from computepool.hub.disputes import service
from computepool.hub.disputes.refunding import list_paid, uncovered
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.accounts import Kind

RENTER, HOST, OTHER = "user_renting", "user_hosting", "user_other_host"


def missing(pool: Rented, job_id: str, credits: float) -> float:
    """Of a refund of so much."""

    def look(session: Session) -> int:
        return uncovered(session, list_paid(session, [job_id]), round(credits * CREDIT))

    return pool.run(look) / CREDIT


def test_what_a_host_has_is_not_counted_twice(hub_url):
    pool = Rented(hub_url)
    pool.pay_in(RENTER, 200, "paid")
    first = pool.begin(RENTER, HOST, 100, slices=2)
    second = pool.go_on(first.job_id, 1, HOST, 100)
    pool.finish(first)
    pool.finish(second)
    assert missing(pool, first.job_id, 200) == 0
    pool.work(HOST, OTHER, 70)
    assert missing(pool, first.job_id, 200) == 70
    assert missing(pool, first.job_id, 112.5) == 0, "90 of it are the host's, who has them"
    assert missing(pool, first.job_id, 150) == 30
    pool.close()


def test_presents_that_were_spent_are_not_there_either(sqlite_hub):
    pool = Rented(sqlite_hub)
    pool.pay_in(RENTER, 50, "present", Kind.PROMOTIONAL)
    pool.pay_in(RENTER, 50, "paid")
    held = pool.work(RENTER, HOST, 100)
    pool.work(HOST, OTHER, 40)
    assert pool.credits(HOST) == {"earnings": 40}
    assert missing(pool, held.job_id, 100) == 40
    assert missing(pool, held.job_id, 50) == 0, "presents come back last"
    pool.close()


def test_list_and_facts_say_so_until_it_is_resolved(hub_url):
    async def story(hub):
        pool = Rented(hub.url)
        pool.now = hub.clock.now() - timedelta(days=1)
        pool.pay_in(RENTER, 100, "paid")
        held = pool.work(RENTER, HOST, 100)
        pool.work(HOST, OTHER, 50)

        def open_it(session: Session) -> None:
            job = session.get_one(Job, held.job_id)
            service.open_dispute(session, "dispute_1", job, "no", timedelta(days=7), RENTER, pool.now)

        pool.run(open_it)
        facts = (await hub.call("GET", "admin/disputes/dispute_1", user=ADMIN)).json()
        (listed,) = (await hub.call("GET", "admin/disputes", user=ADMIN)).json()["items"]
        assert facts["dispute"]["uncovered_micros"] == listed["uncovered_micros"] == 50 * CREDIT
        body = {"outcome": "full", "note": "the pool takes it"}
        done = (await hub.call("POST", "admin/disputes/dispute_1/resolve", body, user=ADMIN)).json()
        assert (done["owed_micros"], done["uncovered_micros"]) == (50 * CREDIT, 0)
        (listed,) = (await hub.call("GET", "admin/disputes", user=ADMIN)).json()["items"]
        assert listed["uncovered_micros"] == 0
        pool.close()

    play(hub_url, story)
