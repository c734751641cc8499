"""Links to jobs: what they show, and that nothing else comes out of them."""

import json

from sqlalchemy import update
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent
from support.stored import put_outputs

from computepool.hub.jobs.shares import PublicJob, public_view
from computepool.hub.jobs.tables import Job, JobShare


async def shared(pool, job_id, **body):
    answer = await pool.call("POST", f"jobs/{job_id}/shares", body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def look(pool, token, what=""):
    return await pool.call("GET", f"public/shares/{token}{what}", user=None)


def test_link_shows_a_job_to_everybody_until_it_is_revoked_or_over(hub_url):
    async def story(pool):
        agent = await add_agent(pool, name="attic")
        job_id = await pool.submit(name="train", outputs=["*"])
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.write_log(work, b"epoch 1\n")
        await agent.finish(work, outputs=await put_outputs(pool, agent, work, model=b"weights"))
        plain, whole = await shared(pool, job_id), await shared(pool, job_id, with_logs=True, with_outputs=True)
        seen = (await look(pool, plain["token"])).json()
        assert (seen["job"]["name"], seen["job"]["state"], seen["job"]["slices"]) == ("train", "succeeded", "s")
        assert (await look(pool, plain["token"], "/log")).status_code == 404
        assert (await look(pool, plain["token"], "/outputs")).status_code == 404
        log = await look(pool, whole["token"], "/log?after=6")
        assert (log.content, log.headers["X-Log-Complete"]) == (b"1\n", "1")
        beyond = await look(pool, whole["token"], "/log?slice=7")
        assert (beyond.status_code, job_id in beyond.text) == (404, False)
        (output,) = (await look(pool, whole["token"], "/outputs")).json()["items"]
        assert (output["path"], output["size_bytes"]) == ("model", 7)

        links = (await pool.call("GET", f"jobs/{job_id}/shares")).json()["items"]
        assert {link["id"] for link in links} == {whole["id"], plain["id"]}
        assert not any(whole["token"] in str(vars(row)) for row in pool.rows(JobShare)), "only a digest is kept"
        for user in (BOB, ADMIN):
            assert (await pool.call("POST", f"jobs/{job_id}/shares", {}, user=user)).status_code in (403, 404)
        assert (await pool.call("DELETE", f"jobs/{job_id}/shares/{plain['id']}", user=BOB)).status_code == 404
        assert (await pool.call("DELETE", f"jobs/{job_id}/shares/{plain['id']}")).status_code == 204
        gone = await look(pool, plain["token"])
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "no_such_share")
        assert (await pool.call("DELETE", f"jobs/{job_id}/shares/{plain['id']}")).status_code == 404

        short = await shared(pool, job_id, expires_in_days=1)
        assert (await look(pool, short["token"])).status_code == 200
        with Session(pool.db.engine) as session, session.begin():
            session.execute(update(JobShare).where(JobShare.id == short["id"]).values(expires_at=pool.clock.now()))
        assert (await look(pool, short["token"])).status_code == 404
        assert (await pool.call("DELETE", f"jobs/{job_id}")).status_code == 204
        assert (await look(pool, whole["token"])).status_code == 404

    play(hub_url, story)


def test_link_shows_nothing_that_the_public_view_does_not(sqlite_hub):
    """Neither does it say who asked for what, in which words, and where it ran."""

    async def story(pool):
        def word():
            return "".join(pool.rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=12))

        node, tag = word(), word()
        agent = await add_agent(pool, name=node, tags=(tag,), cpus=16)
        for _ in range(12):
            value, argument, folder, name = (word() for _ in range(4))
            named = {"name": name} if pool.rng.random() < 0.5 else {}
            job_id = await pool.submit(
                run=["sh", "-c", f"use {argument}"],
                env={"KEY": value},
                outputs=[f"{folder}/*"],
                where={"tags": [tag]},
                slices=pool.rng.randint(1, 3),
                retries=pool.rng.randint(0, 1),
                **named,
            )
            work = await agent.take_offer()
            await agent.update(work, "running")
            await agent.finish(work, exit_code=pool.rng.choice([0, 3]), detail=f"lost {argument}")
            answer = await look(pool, (await shared(pool, job_id))["token"])
            with Session(pool.db.engine) as session:
                public = json.loads(public_view(session, session.get_one(Job, job_id)).model_dump_json())
            assert answer.json()["job"] == public
            assert public.keys() == PublicJob.model_fields.keys()
            hidden = {value, argument, folder, node, tag, ALICE, job_id, agent.node_id, work.id} - {name}
            owners = strings_of((await pool.call("GET", f"jobs/{job_id}")).json())
            others = {told for told in owners - strings_of(public) if len(told) > 12}
            for told in hidden | others | ({name} if not named else set()):
                assert told not in answer.text, told

    play(sqlite_hub, story)


def strings_of(document):
    if isinstance(document, dict):
        return {word for value in document.values() for word in strings_of(value)}
    if isinstance(document, list):
        return {word for value in document for word in strings_of(value)}
    return {document} if isinstance(document, str) else set()
