"""What people get wrong, typed into the real command line: one clear line, what to do, and an honest exit code."""

import json
from collections.abc import Iterator

import httpx
import pytest
from support.pool import Pool, running_pool
from support.waiting import patience

pytestmark = pytest.mark.slow

USAGE, NOT_SIGNED_IN, POOL_COULD_NOT = 2, 77, 75


@pytest.fixture(scope="module", params=["@bad-input"])
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """One hub for all: what is refused leaves nothing behind."""
    with running_pool(tmp_path_factory.mktemp("pool")) as pool:
        yield pool


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("run: echo\nresorces: {cpus: 2}\n", ["resorces", "resources"]),
        ("run: echo\nresources: {cpus: many}\n", ["resources.cpus", "many"]),
        ("run: echo\nmax_runtime: 2 fortnights\n", ["max_runtime", "2 fortnights"]),
        ("run: echo\nisolation: bubblerap\n", ["isolation", "bubblerap", "bubblewrap"]),
        ("run: echo\nslices: -1\n", ["slices", "-1"]),
        ("run: [unclosed\n", ["line 2", "YAML"]),
        ("name: nothing-to-do\n", ["run"]),
        ("- just\n- a list\n", ["spec"]),
    ],
)
def test_wrong_spec_names_the_field_the_value_and_the_nearest_one(tmp_path, spec, said):
    # No hub is asked: a spec that is wrong is told before anything is sent.
    offline = Pool(tmp_path)
    (tmp_path / "pool.yaml").write_text(spec)
    refused = offline.cli("run", "pool.yaml").expect(USAGE)
    assert refused.out == b""
    for text in said:
        assert text in refused.err, refused.err


def test_field_that_the_pool_cannot_honour_yet_is_refused_not_ignored(pool):
    (pool.folder / "pool.yaml").write_text("run: echo\nnotify: [my-webhook]\nsecrets: [hf]\nwhere: {trust: mine}\n")
    refused = pool.cli("run", "pool.yaml").expect(USAGE)
    for field in ("notify", "secrets"):
        assert f'"{field}" is not supported yet' in refused.err
    assert pool.client.job_page()[0] == []


def test_hub_checks_for_itself_and_bounds_what_it_reads(pool):
    url, bearer = f"{pool.url}/api/v1/jobs", {"Authorization": f"Bearer {pool.client.target.token}"}

    def post(body: bytes, **headers: str) -> httpx.Response:
        return httpx.post(
            url, content=body, headers={"Content-Type": "application/json", **bearer, **headers}, timeout=patience()
        )

    unknown = post(b'{"run": "true", "slice": 3}')
    assert unknown.status_code == 422
    problem = unknown.json()["error"]
    assert [field["field"] for field in problem["fields"]] == ["slice"]
    assert "slices" in json.dumps(problem["fields"])
    assert post(b"not json").status_code in (400, 422)
    assert post(b"[" * 100_000).status_code in (400, 413, 422)
    huge = post(json.dumps({"run": "x" * 20_000_000}).encode())
    assert huge.status_code in (413, 422), huge.text[:300]
    assert set(huge.json()) == {"error"}
    assert httpx.post(url, content=b'{"run": "true"}', timeout=patience()).status_code == 401
    assert pool.client.job_page()[0] == []


def test_huge_spec_file_is_refused_before_it_is_read(pool):
    (pool.folder / "pool.yaml").write_text("run: |\n" + "  true\n" * 300_000)
    refused = pool.cli("run", "pool.yaml").expect(USAGE)
    assert "larger than a spec can be" in refused.err


def test_wrong_token_says_how_to_sign_in(pool):
    wrong = {"COMPUTEPOOL_TOKEN": "cpt_wrong", "COMPUTEPOOL_URL": pool.url}
    for words in (("ps",), ("run", "--", "true"), ("logs", "last")):
        refused = pool.cli(*words, environment=wrong).expect(NOT_SIGNED_IN)
        assert "computepool login" in refused.err
        assert len(refused.err.strip().splitlines()) <= 3


def test_hub_that_is_not_there_is_told_in_two_lines(tmp_path):
    nobody = Pool(tmp_path)
    away = {"COMPUTEPOOL_URL": nobody.url, "COMPUTEPOOL_TOKEN": "cpt_x"}
    done = nobody.cli("run", "--", "true", environment=away).expect(POOL_COULD_NOT)
    assert f"The hub at {nobody.url} does not answer" in done.err
    assert "computepool up" in done.err
    assert len(done.err.strip().splitlines()) <= 3
    nobody.cli("ps", environment=away).expect(POOL_COULD_NOT)


def test_wrong_setting_stops_the_start_with_its_name(tmp_path):
    wrong = {"COMPUTEPOOL_DATABASE_URL": "mysql://x/y", "COMPUTEPOOL_SECRET_KEY": "short"}
    refused = Pool(tmp_path).cli("up", "--no-agent", "--port", "0", environment=wrong).expect(1)
    for variable in wrong:
        assert variable in refused.err
