"""Refusals, lost answers and hubs that are away for a moment."""

import threading
import time

import httpx
import pytest
from support.fake_api import TOKEN, FakeHub

from computepool.client import BadRequest, Conflict, HubError, HubUnreachable, NotFound, NotSignedIn, Pool
from computepool.client.errors import ClientError, error_from
from computepool.client.http import FIRST_CONTACT_SECONDS, Http

SPEC = {"run": ["true"]}


def test_lost_answer_to_a_submit_is_asked_for_again_and_makes_one_job(hub, pool):
    hub.lose_answers = 2
    job = pool.submit(SPEC)
    assert list(hub.jobs) == [job.id]


def test_two_submits_are_two_jobs(hub, pool):
    assert pool.submit(SPEC).id != pool.submit(SPEC).id
    assert len(hub.jobs) == 2


def test_changed_spec_under_the_same_key_is_a_conflict(hub, pool):
    pool.submit(SPEC, idempotency_key="one")
    with pytest.raises(Conflict) as caught:
        pool.submit({"run": ["false"]}, idempotency_key="one")
    assert caught.value.code == "idempotency_mismatch"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_reads_and_keyed_posts_wait_out_a_hub_that_says_later(hub, pool, status):
    hub.refuse = [status, status]
    assert list(pool.jobs()) == []
    hub.refuse = [status]
    assert pool.submit(SPEC).state == "queued"


def asked_too_often(answers):
    """A connection whose hub answers so, and how long it waited between."""
    waits: list[float] = []
    http = Http("https://hub.example", "token", sleep=waits.append)
    transport = httpx.MockTransport(lambda request: answers.pop(0))
    http._client = httpx.Client(transport=transport, base_url="https://hub.example/api/v1")
    return http, waits


def too_many(code="too_many_requests", retry_after="7"):
    body = {"error": {"code": code, "message": "Too many."}}
    return httpx.Response(429, json=body, headers={"Retry-After": retry_after})


@pytest.mark.parametrize("ask", [lambda http: http.get("/jobs"), lambda http: http.post("/auth/device")])
def test_request_that_was_one_too_many_is_repeated_when_the_hub_says(ask):
    http, waits = asked_too_often([too_many(), too_many(retry_after="12"), httpx.Response(200, json={})])
    assert ask(http) == {}
    assert waits == [7, 12]


def test_other_429_of_a_post_is_not_repeated():
    http, waits = asked_too_often([too_many("too_many_tries")])
    with pytest.raises(HubError) as caught:
        http.post("/auth/login")
    assert (caught.value.retry_after_seconds, waits) == (7, [])


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 422, 500])
def test_other_refusals_are_not_repeated(hub, pool, status):
    hub.refuse = [status]
    with pytest.raises(HubError) as caught:
        list(pool.jobs())
    assert caught.value.status == status
    assert len(hub.requests) == 1


def test_post_without_a_key_is_not_repeated_after_its_answer_was_lost(hub, pool):
    hub.lose_answers = 1
    with pytest.raises(HubUnreachable):
        pool.call("POST", "/auth/device")
    assert hub.requests == [("POST", "/api/v1/auth/device")]


@pytest.mark.parametrize("ask", [lambda pool: pool.create_token("ci"), lambda pool: pool.join_token()])
def test_new_secret_is_asked_for_again_when_its_answer_was_lost(hub, pool, ask):
    hub.lose_answers = 1
    assert ask(pool)
    assert len(hub.requests) == 2
    assert len(set(hub.requests)) == 1


def test_hub_that_comes_back_is_waited_for(hub, pool):
    pool.me()
    hub.stop()
    threading.Timer(0.5, hub.start).start()
    assert pool.me().name == "Ada"


def test_address_that_never_answered_fails_soon(tmp_path):
    with FakeHub() as gone:
        url = gone.url
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        time.sleep(seconds)

    with Pool(url, TOKEN, tmp_path) as pool:
        pool._http.sleep = wait
        with pytest.raises(HubUnreachable, match="does not answer") as caught:
            pool.me()
    assert 0 < sum(waits) <= FIRST_CONTACT_SECONDS
    assert "computepool up" in (caught.value.hint or "")


def test_wrong_token_is_told_apart(hub, tmp_path):
    with Pool(hub.url, "wrong", tmp_path) as pool, pytest.raises(NotSignedIn) as caught:
        pool.me()
    assert caught.value.code == "unauthenticated"


def test_listing_follows_the_cursor_up_to_the_limit(hub, pool):
    for _ in range(250):
        hub.add_job({"run": "true"})
    assert len(list(pool.jobs(limit=230))) == 230
    assert len(list(pool.jobs(limit=1000))) == 250


@pytest.mark.parametrize("text", ["last", "-", "job_00000000000000000000000002", "second"])
def test_job_is_found_by_what_a_person_writes(hub, pool, text):
    hub.add_job({"run": "true", "name": "first"})
    hub.add_job({"run": "true", "name": "second"})
    assert pool.find_job(text) == "job_00000000000000000000000002"


def test_job_is_ones_own_before_it_is_anothers(hub, pool):
    """An admin sees everybody's, and `cancel last` must not end a stranger's job."""
    hub.add_job({"run": "true", "name": "train"})
    hub.add_job({"run": "true", "name": "train"}).document["owner_id"] = "user_other"
    hub.add_job({"run": "true", "name": "theirs"}).document["owner_id"] = "user_other"
    assert pool.find_job("last") == pool.find_job("train") == "job_00000000000000000000000001"
    assert pool.find_job("theirs") == "job_00000000000000000000000003"


@pytest.mark.parametrize("nothing", ["", "  "])
def test_nothing_is_not_the_beginning_of_an_id(hub, pool, nothing):
    """`cancel "$JOB"`, and the variable was never set."""
    hub.add_job({"run": "true"})
    with pytest.raises(ClientError, match="No job is named"):
        pool.find_job(nothing)
    with pytest.raises(ClientError, match="No node is named"):
        pool.find_node(nothing)


def test_unknown_and_ambiguous_jobs_are_errors(hub, pool):
    with pytest.raises(NotFound, match="no job yet"):
        pool.find_job("last")
    hub.add_job({"run": "true"})
    hub.add_job({"run": "true"})
    with pytest.raises(Exception, match="any of 2"):
        pool.find_job("0000")
    with pytest.raises(NotFound, match="no job 'zzz'"):
        pool.find_job("zzz")


def test_fields_of_a_refusal_are_kept():
    body = {"error": {"code": "spec", "message": "No.", "fields": [{"field": "run", "message": "is empty"}, "junk"]}}
    error = error_from(422, body)
    assert isinstance(error, BadRequest)
    assert (error.code, error.fields[0].field, error.fields[0].message) == ("spec", "run", "is empty")


@pytest.mark.parametrize("body", [None, "<html>", {}, {"error": "text"}, {"error": {}}, []])
def test_answer_that_is_not_ours_still_makes_a_message(body):
    assert "502" in error_from(502, body).message


def test_token_is_never_sent_with_a_signed_url(hub, pool, tmp_path):
    file = tmp_path / "data"
    file.write_bytes(b"x" * 10)
    pool.upload(file)
    stored = [path for path in hub.authorizations if path.startswith("/store/")]
    assert stored
    assert all(value == "" for path in stored for value in hub.authorizations[path])
