"""`jobs/check`: what the pool makes of a spec, before anybody submits it."""

import json

from support.engine import play
from support.fleets import gpu
from support.scripted_agent import add_agent

YAML = """\
# what an editor holds
name: sweep
commands: [python sweep.py]
resources: {gpu: "rtx-4090:2", memory: 16GB}
slices: 4
"""


async def check(pool, text, kind="application/yaml", status=200):
    answer = await pool.call("POST", "jobs/check", content=text, headers={"Content-Type": kind})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_check_answers_with_the_canonical_spec_or_with_what_is_wrong(sqlite_hub):
    async def story(pool):
        found = await check(pool, YAML)
        assert found["valid"]
        assert found["errors"] == []
        assert found["spec"]["run"] == "set -e\npython sweep.py"
        assert found["spec"]["resources"]["gpu"] == {"name": "rtx-4090", "count": 2}
        assert found["command"].startswith("computepool run --gpu rtx-4090:2 --memory 16GB --name sweep")
        assert "max_runtime" in [each["field"] for each in found["defaults"]]
        assert ("other_systems_key", "commands") in [(each["code"], each["field"]) for each in found["warnings"]]
        # What is canonical stays so, in every form.
        again = await check(pool, found["yaml"], "text/plain")
        assert (again["spec"], again["yaml"]) == (found["spec"], found["yaml"])
        assert (await check(pool, json.dumps(found["spec"]), "application/json"))["spec"] == found["spec"]
        submitted = await pool.call("POST", "jobs", found["spec"])
        assert submitted.status_code == 201
        assert submitted.json()["spec"] == found["spec"]

        wrong = await check(pool, "run: x\nslices: 0\nresources:\n  gpus: 2\n  cpu: -1\nwhere: {trust: none}\n")
        assert (wrong["valid"], wrong["spec"], wrong["yaml"], wrong["command"]) == (False, None, None, None)
        places = {each["field"]: (each["code"], each["line"], each["column"]) for each in wrong["errors"]}
        assert places == {
            "slices": ("bad_spec", 2, 1),
            "resources.cpu": ("bad_spec", 5, 3),
            "where.trust": ("bad_spec", 6, 9),
        }
        (broken,) = (await check(pool, "run: [a\n"))["errors"]
        assert (broken["code"], broken["line"]) == ("bad_text", 2)
        (later,) = (await check(pool, "run: x\nwhere: {trust: mine}\nsecrets: [A]\n"))["errors"]
        assert (later["code"], later["field"], later["line"]) == ("not_supported_yet", "secrets", 3)
        (empty,) = (await check(pool, ""))["errors"]
        assert "not a mapping" in empty["message"]

        assert (await check(pool, b"\xff\xfe", status=422))["error"]["code"] == "invalid"
        assert (await check(pool, "run: x", "image/png", status=422))["error"]["code"] == "invalid"
        assert (await check(pool, "#" * 2**20 + "##", status=413))["error"]["code"] == "too_large"

    play(sqlite_hub, story)


def test_unknown_gpu_is_refused_everywhere_with_the_nearest_known(sqlite_hub):
    async def story(pool):
        spec = {"run": "true", "resources": {"gpu": "rtx-4900"}}
        (error,) = (await check(pool, json.dumps(spec)))["errors"]
        assert error["field"] == "resources.gpu"
        assert "rtx-4900 is not a GPU" in error["message"]
        assert "rtx-4090" in error["hint"]
        assert "computepool offers" in error["hint"]
        for route in ("jobs", "market/quote"):
            answer = await pool.call("POST", route, spec)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_spec"), route

        # One that is known is enough; the other one is named.
        known = {"run": "true", "resources": {"gpu": ["tpu-v4-8", "A100-SXM4-80GB"]}}
        codes = {each["code"]: each["message"] for each in (await check(pool, json.dumps(known)))["warnings"]}
        assert "tpu-v4-8 is not a GPU" in codes["unknown_gpu"]
        # Whatever a machine has can be asked for.
        await add_agent(pool, gpus=(gpu(0, "rtx-4900", 24),))
        assert (await pool.call("POST", "jobs", spec)).json()["state"] == "running"

    play(sqlite_hub, story)
