"""Whatever happens in whichever order, what is counted of an owner is what the rows sum to, and at the end nothing."""

import contextlib
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from simulation.virtual_time import VirtualClock, VirtualLoop
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.checkpoints import report, upload
from support.engine import ALICE, BOB, opened
from support.memory_store import MemoryStore
from support.proofs import figure
from support.scripted_agent import Work, add_agent, digest
from support.stored import announced, ask

from computepool.hub.artifacts import freeing, outputs, repository, usage
from computepool.hub.artifacts.errors import StorageExceeded
from computepool.hub.artifacts.tables import Artifact, StorageUsage
from computepool.hub.artifacts.usage import Amount
from computepool.hub.jobs.tables import Attempt, Job
from computepool.protocol.receipt import OutputRef
from computepool.protocol.states import JOB_FINAL

WHICH = st.integers(0, 9)
USERS = st.sampled_from((ALICE, BOB))
TEXTS = st.sampled_from((b"", b"one", b"two", b"three" * 100))
LIVE_AT_MOST = 3


class CutOff(MemoryStore):
    """A store from which nothing can be deleted while it is away."""

    is_away = False

    def clear(self, prefix: str) -> None:
        if self.is_away:
            raise OSError("the store is away")
        super().clear(prefix)


def machine(make_url):
    class Storage(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.loop = VirtualLoop()
            self.store = CutOff()
            self.clock = VirtualClock(self.loop)
            chosen = {"keep_logs_days": 3, "keep_outputs_days": 6, "storage_limit_objects": 60}
            self.opened = opened(make_url(), self.clock, store=self.store, settings=chosen)
            self.pool = self.run(self.opened.__aenter__())
            self.agent = self.run(add_agent(self.pool, cpus=8))
            self.uploads: list[tuple[str, str, bytes]] = []
            self.works: list[Work] = []
            self.outputs: dict[str, list[OutputRef]] = {}
            self.jobs: list[tuple[str, str]] = []
            self.numbers = iter(range(1, 10_000))

        def run(self, story):
            return self.loop.run_until_complete(story)

        def call(self, method, path, body=None, *, user=ALICE):
            return self.run(self.pool.call(method, path, body, user=user))

        # ── bundles and inputs ──

        @rule(user=USERS, text=TEXTS, more=st.integers(0, 1), kind=st.sampled_from(("bundle", "input")))
        def announce(self, user, text, more, kind):
            """With another size than before, the earlier announcement is abandoned."""
            body = {"digest": digest(text), "size_bytes": len(text) + more if text else 0, "kind": kind}
            answer = self.call("POST", "artifacts", body, user=user)
            if answer.is_success:
                self.uploads.append((user, answer.json()["id"], text if not more else text + b"!"))
                for part in answer.json()["uploads"]:
                    self.store.put(part["url"].removeprefix("memory:"), self.uploads[-1][2])

        @precondition(lambda self: self.uploads)
        @rule(which=WHICH)
        def complete(self, which):
            """Where the size was wrong, the digest is: it is refused."""
            user, artifact_id, _ = self.uploads[which % len(self.uploads)]
            self.call("POST", f"artifacts/{artifact_id}/complete", user=user)

        @precondition(lambda self: self.uploads)
        @rule(which=WHICH)
        def delete_artifact(self, which):
            user, artifact_id, _ = self.uploads.pop(which % len(self.uploads))
            self.call("DELETE", f"artifacts/{artifact_id}", user=user)

        # ── jobs ──

        @precondition(lambda self: len(self.works) < LIVE_AT_MOST)
        @rule()
        def begin(self):
            async def story():
                with contextlib.suppress(StorageExceeded):
                    job_id = await self.pool.submit(retries=1)
                    self.jobs.append((ALICE, job_id))
                await self._take()

            self.run(story())

        async def _take(self):
            await self.pool.settle()
            for work in list(self.agent.works.values()):
                if work not in self.works and work.state == "leased":
                    await self.agent.update(work, "running")
                    self.works.append(work)

        @precondition(lambda self: self.works)
        @rule(which=WHICH, path=st.sampled_from("ab"), text=TEXTS, put=st.booleans())
        def leave_output(self, which, path, text, put):
            async def story():
                work = self.works[which % len(self.works)]
                grant = await ask(self.agent, work, **{path: text})
                if put and grant.refused is None:
                    for target in grant.targets:
                        for url in target.urls:
                            self.store.put(url.removeprefix("memory:"), text)
                    (file,) = announced(**{path: text})
                    kept = [one for one in self.outputs.get(work.id, []) if one.path != path]
                    kept.append(OutputRef(path=path, digest=file.digest, size_bytes=file.size_bytes))
                    self.outputs[work.id] = kept

            self.run(story())

        @precondition(lambda self: self.works)
        @rule(which=WHICH, text=TEXTS, said=st.booleans())
        def save_checkpoint(self, which, text, said):
            async def story():
                work, number = self.works[which % len(self.works)], next(self.numbers)
                with contextlib.suppress(AssertionError):  # there is no room
                    await upload(self.pool, self.agent, work, step=text)
                    if said:
                        await self.agent.answer_to(report(work, number, step=text))
                await self.pool.settle()

            self.run(story())

        @precondition(lambda self: self.works)
        @rule(which=WHICH)
        def write_log(self, which):
            self.run(self.agent.write_log(self.works[which % len(self.works)], b"a line\n"))

        @precondition(lambda self: self.works)
        @rule(which=WHICH, how=st.sampled_from(("finish", "finish with outputs", "gone", "cancel")))
        def end(self, which, how):
            async def story():
                work = self.works.pop(which % len(self.works))
                if how == "gone":
                    await self.agent.gone(work)
                elif how == "cancel":
                    await self.pool.cancel(work.manifest.job_id)
                    await self.agent.finish(work)
                else:
                    kept = tuple(self.outputs.get(work.id, ())) if how == "finish with outputs" else ()
                    await self.agent.finish(work, outputs=kept)
                await self._take()

            self.run(story())

        @precondition(lambda self: self.jobs)
        @rule(which=WHICH)
        def delete_job(self, which):
            user, job_id = self.jobs[which % len(self.jobs)]
            self.call("DELETE", f"jobs/{job_id}", user=user)

        @rule(which=WHICH)
        def delete_output(self, which):
            items = self.call("GET", "artifacts?kind=output").json()["items"]
            if items:
                self.call("DELETE", f"artifacts/{items[which % len(items)]['id']}")

        # ── the hub ──

        @rule(away=st.booleans())
        def cut_off(self, away):
            self.store.is_away = away

        @rule(days=st.sampled_from((0, 1, 4, 8)))
        def tidy(self, days):
            """The hub's hourly work, perhaps some days later: what is old goes, and what nobody can complete."""

            async def story():
                self.clock.wall_error_seconds += timedelta(days=days).total_seconds()
                with contextlib.suppress(OSError):
                    await self.pool.engine.removal.tidy()
                with contextlib.suppress(OSError):
                    await self.pool.engine._tidy()

            self.run(story())

        @rule()
        def restart(self):
            async def story():
                await self.agent.disconnect()
                await self.pool.restart()
                await self.agent.connect()
                await self._take()

            self.run(story())

        # ── what holds ──

        @invariant()
        def counters_are_the_sums_of_the_rows(self):
            counted, summed = self.counted(), self.summed()
            assert {owner: counted.get(owner, Amount()) for owner in (ALICE, BOB)} == summed

        def counted(self):
            with Session(self.pool.db.engine) as session:
                return {row.owner_id: Amount(row.bytes, row.objects) for row in session.scalars(select(StorageUsage))}

        def summed(self):
            """One row after the other, by a reading of its own."""
            sums = dict.fromkeys((ALICE, BOB), Amount())
            with Session(self.pool.db.engine) as session:
                for row in session.scalars(select(Artifact)):
                    if row.freed_at is None:
                        sums[row.owner_id] += Amount(row.size_bytes, 1)
                for job in session.scalars(select(Job)):
                    for attempt in session.scalars(select(Attempt).where(Attempt.job_id == job.id)):
                        if job.logs_removed_at is None and attempt.log_bytes:
                            sums[job.owner_id] += Amount(attempt.log_bytes, 1)
            return sums

        def teardown(self):
            try:
                self.run(self._delete_all())
                self.counters_are_the_sums_of_the_rows()
                assert set(self.counted().values()) <= {Amount()}, self.counted()
                assert self.store.objects == {}
            finally:
                self.run(self.opened.__aexit__(None, None, None))
                self.loop.close()

        async def _delete_all(self):
            self.store.is_away = False
            for _, job_id in self.jobs:
                if next(row.state for row in self.pool.rows(Job, id=job_id)) not in JOB_FINAL:
                    await self.pool.cancel(job_id)
            for work in self.works:
                await self.agent.finish(work)
            await self.pool.settle()
            await self.agent.disconnect()
            await self.pool.settle(600)
            for user, job_id in self.jobs:
                await self.pool.call("DELETE", f"jobs/{job_id}", user=user)
            for user in (ALICE, BOB):
                for item in (await self.pool.call("GET", "artifacts?limit=500", user=user)).json()["items"]:
                    await self.pool.call("DELETE", f"artifacts/{item['id']}", user=user)
            await self.pool.engine.removal.tidy()
            await self.pool.engine._tidy()
            self.clock.wall_error_seconds += timedelta(days=3).total_seconds()
            await self.pool.engine._tidy()  # what was put since, by URLs that are no good any more

    return Storage


@pytest.fixture
def sqlite_urls(migrated_file):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        numbers = iter(range(10_000))

        def make():
            path = Path(folder, f"hub-{next(numbers)}.db")
            shutil.copy(migrated_file, path)
            return f"sqlite:///{path}"

        yield make


def explore(make_url, examples, steps=20):
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    run_state_machine_as_test(machine(make_url), settings=chosen)


@pytest.mark.slow
@pytest.mark.proof
def test_counters_are_what_the_rows_sum_to_whatever_happens(sqlite_urls):
    explore(sqlite_urls, figure(3, 100), figure(15, 30))


@pytest.mark.slow
def test_counters_are_what_the_rows_sum_to_on_postgresql(postgres_hub):
    explore(lambda: postgres_hub, 1, 12)


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def deleted_objects_still_count(plant):
    plant.setattr(freeing, "release", lambda session, freed, now: None)


def objects_count_as_deleted_twice(plant):
    mark = repository.mark_freed
    plant.setattr(repository, "mark_freed", lambda session, ids, now: mark(session, ids, now) * 2)


def outputs_are_not_counted(plant):
    plant.setattr(outputs, "charge", lambda session, owner_id, amount, now, quotas: None)


def checkpoints_are_counted_by_what_was_asked(plant):
    insert = repository.insert_unless_there

    def asked(session, rows):
        insert(session, rows)
        return Amount(sum(row["size_bytes"] for row in rows), len(rows) + (rows[:1] != []))

    plant.setattr(repository, "insert_unless_there", asked)


def logs_are_removed_uncounted(plant):
    plant.setattr(usage, "count", lambda session, added, now: None)


def abandoned_files_stay_for_ever(plant):
    plant.setattr(repository, "list_to_free", lambda session, limit: [])
    plant.setattr(freeing, "free", free_nothing)


async def free_nothing(context, store, artifacts):
    return 0


MUTANTS = [
    deleted_objects_still_count,
    objects_count_as_deleted_twice,
    outputs_are_not_counted,
    checkpoints_are_counted_by_what_was_asked,
    logs_are_removed_uncounted,
    abandoned_files_stay_for_ever,
]


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("mutant", MUTANTS[: figure(2, len(MUTANTS))], ids=lambda mutant: mutant.__name__)
def test_each_bug_is_noticed(sqlite_urls, monkeypatch, mutant):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        explore(sqlite_urls, 6)
