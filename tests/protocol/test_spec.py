"""The job spec: every field, every alias, every refusal."""

import datetime
import json
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from computepool.protocol.gpus import GpuRequest
from computepool.protocol.spec import (
    DEFAULT_MAX_RUNTIME_SECONDS,
    JobSpec,
    Optimize,
    Resources,
    SpecError,
    Trust,
    Verify,
    Where,
    not_supported_yet,
    parse_spec,
)
from computepool.protocol.spec_aliases import RESOURCE_KEYS, SPEC_ALIASES, SPEC_KEYS, WHERE_KEYS
from computepool.protocol.spec_errors import MAX_PROBLEMS
from computepool.protocol.spec_fields import MAX_ARGUMENT_BYTES, MAX_NAME_CHARS
from computepool.protocol.spec_input import MAX_SPEC_BYTES
from computepool.protocol.spec_models import Input, Publish
from computepool.protocol.spec_sections import MAX_ENV_ENTRIES
from computepool.protocol.spec_support import NOT_YET
from computepool.protocol.spec_text import read_yaml, write_yaml
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import GIB, MIB, Range

ARTIFACT = "artifact_01j9zxy3v8k5m2n4p6q7r8s9ta"
NODE = "node_01j9zxy3v8k5m2n4p6q7r8s9ta"
SHA = "ab" * 32

FULL_EXAMPLE = f"""
name: train-mnist
resources: {{gpu: "24GB..", cpus: 8+, memory: 16GB, disk: 20GB}}
image: python:3.12-slim
workdir: .
setup: pip install -r requirements.txt
run: python train.py
env: {{EPOCHS: "3"}}
secrets: [HF_TOKEN]
outputs: ["out/**"]
checkpoint: ckpt/
slices: 8
max_price: 40
max_runtime: 2h
budget: 200
priority: 0
preemptible: false
retries: 2
optimize: balanced
where: {{country: [IN, DE], trust: any, tags: [lab], min_reliability: 0.8, node: {NODE}}}
isolation: bubblewrap
inputs: {{data/train.csv: {ARTIFACT}}}
notify: [email]
team: my-lab
network: false
deterministic: false
verify: {{replicas: 2}}
publish: {{model: alice/mnist, license: mit}}
links: {{/data: data}}
keep_going: true
"""


def full_example() -> dict[str, object]:
    """The documented example, with what its own comments ask for: trusted nodes for secrets, determinism for verify."""
    data = yaml.safe_load(FULL_EXAMPLE)
    data["deterministic"] = True
    data["where"]["trust"] = "verified"
    return data


def spec_of(**fields: object) -> JobSpec:
    return parse_spec({"run": "true", **fields})


def problems_of(data, **options):
    with pytest.raises(SpecError) as caught:
        parse_spec(data, **options)
    return {problem.field: problem for problem in caught.value.problems}


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_key_of_the_documented_example_is_read():
    data = full_example()
    assert set(data) == set(SPEC_KEYS)
    assert parse_spec(data) == JobSpec(
        name="train-mnist",
        resources=Resources(
            cpus=Range[float](minimum=8),
            memory=Range[int](minimum=16 * GIB, maximum=16 * GIB),
            disk=Range[int](minimum=20 * GIB, maximum=20 * GIB),
            gpu=GpuRequest(memory=Range[int](minimum=24 * GIB)),
        ),
        image="python:3.12-slim",
        workdir=".",
        setup="pip install -r requirements.txt",
        run="python train.py",
        env={"EPOCHS": "3"},
        secrets=("HF_TOKEN",),
        outputs=("out/**",),
        checkpoint="ckpt",
        slices=8,
        max_price_micros=40_000_000,
        max_runtime_seconds=7200,
        budget_micros=200_000_000,
        retries=2,
        where=Where(country=("DE", "IN"), trust=Trust.VERIFIED, tags=("lab",), min_reliability=0.8, node=NODE),
        isolation=IsolationLevel.BUBBLEWRAP,
        inputs={"data/train.csv": Input(artifact_id=ARTIFACT)},
        notify=("email",),
        team="my-lab",
        deterministic=True,
        verify=Verify(replicas=2),
        publish=Publish(model="alice/mnist", license="mit"),
        links={"/data": "data"},
        keep_going=True,
    )


def test_the_example_with_secrets_for_strangers_is_refused_for_that_alone():
    problems = problems_of(yaml.safe_load(FULL_EXAMPLE))
    assert set(problems) == {"secrets", "verify"}
    assert "strangers" in problems["secrets"].message
    assert "trust: mine" in problems["secrets"].hint
    assert "deterministic: true" in problems["verify"].message


def test_the_least_spec_has_sensible_defaults():
    spec = parse_spec({"run": "true"})
    assert spec == JobSpec(run="true")
    assert spec.max_runtime_seconds == DEFAULT_MAX_RUNTIME_SECONDS == 24 * 3600
    assert spec.resources.cpus.minimum == 1
    assert spec.resources.memory.minimum == spec.resources.disk.minimum == GIB
    assert spec.resources.gpu is None
    assert spec.isolation is None
    assert spec.where.trust is Trust.ANY


def test_a_spec_cannot_be_changed():
    spec = spec_of()
    with pytest.raises(ValueError, match="frozen"):
        spec.slices = 2  # type: ignore[misc]


def test_null_is_the_same_as_leaving_out():
    assert parse_spec({"run": "true"} | dict.fromkeys(set(SPEC_KEYS) - {"run"})) == parse_spec({"run": "true"})


@pytest.mark.parametrize("data", [None, [], "run: x", 3, [{"run": "x"}]])
def test_what_is_no_mapping_is_no_spec(data):
    assert "not a mapping" in problems_of(data)["spec"].message


def test_all_problems_come_at_once_and_read_well():
    with pytest.raises(SpecError) as caught:
        parse_spec({"run": "x", "slices": 0, "resources": {"memory": "16GX"}, "optimise": "cost"})
    assert str(caught.value).splitlines() == [
        "The job spec has 3 problems:",
        "  optimise: the key 'optimise' is not known here (did you mean 'optimize'?)",
        "  resources.memory: '16GX' has an unknown unit (did you mean 16GB? write it like 16GB, 512MB or 1.5TB)",
        "  slices: 0 is not from 1 to 10000 (the nearest valid value is 1)",
    ]
    wire = caught.value.problems[1].to_error()
    assert (wire.field, wire.value) == ("resources.memory", "'16GX'")


# ── fields ───────────────────────────────────────────────────────────────────────────────────────────────────────────

ACCEPTED = [
    ("name", " train ", "name", "train"),
    ("name", 7, "name", "7"),
    ("name", "größe ✓", "name", "größe ✓"),
    ("image", "ghcr.io/a/b:1@sha256:" + SHA, "image", "ghcr.io/a/b:1@sha256:" + SHA),
    ("workdir", "./src//app/", "workdir", "src/app"),
    ("setup", "a\nb", "setup", "a\nb"),
    ("run", "a\nb", "run", "a\nb"),
    ("run", ["python", "train.py", "--epochs", 3, 0.5], "run", ("python", "train.py", "--epochs", "3", "0.5")),
    ("env", {"A": "1", "B": 2, "C": 0.5, "D": ""}, "env", {"A": "1", "B": "2", "C": "0.5", "D": ""}),
    ("env", ["A=1", "B=x=y", "C="], "env", {"A": "1", "B": "x=y", "C": ""}),
    ("env", "A=1", "env", {"A": "1"}),
    ("outputs", "out/", "outputs", ("out/**",)),
    ("outputs", ["./a.txt", "b/*.csv", "a.txt"], "outputs", ("a.txt", "b/*.csv")),
    ("outputs", ["."], "outputs", ("**",)),
    ("checkpoint", "ckpt/", "checkpoint", "ckpt"),
    ("slices", 10_000, "slices", 10_000),
    ("slices", "8", "slices", 8),
    ("max_price", 0.1, "max_price_micros", 100_000),
    ("max_price", "0.3", "max_price_micros", 300_000),
    ("max_price", 0, "max_price_micros", 0),
    ("max_runtime", "1h30m", "max_runtime_seconds", 5400),
    ("max_runtime", 90, "max_runtime_seconds", 90),
    ("max_runtime", "30d", "max_runtime_seconds", 30 * 86400),
    ("budget", 200, "budget_micros", 200_000_000),
    ("priority", -100, "priority", -100),
    ("preemptible", True, "preemptible", True),
    ("retries", 100, "retries", 100),
    ("optimize", "COST", "optimize", Optimize.COST),
    ("isolation", "gvisor", "isolation", IsolationLevel.GVISOR),
    ("inputs", {"./a/b": ARTIFACT}, "inputs", {"a/b": Input(artifact_id=ARTIFACT)}),
    (
        "inputs",
        {"a": {"url": "https://x.org/a?b=1", "sha256": SHA.upper()}},
        "inputs",
        {"a": Input(url="https://x.org/a?b=1", sha256=SHA)},
    ),
    (
        "inputs",
        {"a": {"url": "https://x.org/a", "digest": "sha256:" + SHA}},
        "inputs",
        {"a": Input(url="https://x.org/a", sha256=SHA)},
    ),
    ("inputs", {"a": f"https://x.org/a#sha256={SHA}"}, "inputs", {"a": Input(url="https://x.org/a", sha256=SHA)}),
    ("notify", "email", "notify", ("email",)),
    ("team", "my-lab", "team", "my-lab"),
    ("network", True, "network", True),
    ("deterministic", True, "deterministic", True),
    ("publish", {"model": "a/b"}, "publish", Publish(model="a/b")),
    ("where", {"country": "in"}, "where", Where(country=("IN",))),
    ("where", {"country": ["IN", "de", "DE"]}, "where", Where(country=("DE", "IN"))),
    ("where", {"tags": ["b", "a", "b"]}, "where", Where(tags=("a", "b"))),
    ("where", {"min_reliability": "0.9"}, "where", Where(min_reliability=0.9)),
    ("where", {"node": NODE}, "where", Where(node=NODE)),
    ("where", {"trust": "mine"}, "where", Where(trust=Trust.MINE)),
    ("resources", {"cpus": 0.5}, "resources", Resources(cpus=Range[float](minimum=0.5, maximum=0.5))),
    ("resources", {"cpus": "4+"}, "resources", Resources(cpus=Range[float](minimum=4))),
    ("resources", {"cpus": "4..8"}, "resources", Resources(cpus=Range[float](minimum=4, maximum=8))),
    ("resources", {"cpus": "..8"}, "resources", Resources(cpus=Range[float](minimum=1, maximum=8))),
    ("resources", {"cpus": "..0.5"}, "resources", Resources(cpus=Range[float](minimum=0.5, maximum=0.5))),
    ("resources", {"memory": 16}, "resources", Resources(memory=Range[int](minimum=16 * GIB, maximum=16 * GIB))),
    ("resources", {"memory": "..5MB"}, "resources", Resources(memory=Range[int](minimum=5 * MIB, maximum=5 * MIB))),
    ("resources", {"disk": {"size": "20GB.."}}, "resources", Resources(disk=Range[int](minimum=20 * GIB))),
    ("resources", {"gpu": "rtx-4090:2"}, "resources", Resources(gpu=GpuRequest(name="rtx-4090", count=2))),
    ("resources", {"gpu": 0}, "resources", Resources()),
    ("resources", {}, "resources", Resources()),
]  # fmt: skip


@pytest.mark.parametrize(("key", "written", "attribute", "value"), ACCEPTED)
def test_a_field_is_read_into_its_canonical_form(key, written, attribute, value):
    spec = spec_of(**{key: written})
    assert getattr(spec, attribute) == value
    assert JobSpec.from_wire(spec.to_wire()) == spec


REFUSED = [
    ("name", "", "name", "empty"),
    ("name", "x" * 129, "name", f"at most {MAX_NAME_CHARS}"),
    ("name", "a\nb", "name", "cannot be printed"),
    ("name", "a\x1b[31m", "name", "cannot be printed"),
    ("name", ["a"], "name", "is not text"),
    ("image", "two words", "image", "python:3.12-slim"),
    ("image", "", "image", "python:3.12-slim"),
    ("workdir", "/home/me", "workdir", "the nearest valid path is home/me"),
    ("workdir", "~/code", "workdir", "the nearest valid path is code"),
    ("workdir", "../x", "workdir", "the nearest valid path is x"),
    ("workdir", "C:/x", "workdir", "the nearest valid path is x"),
    ("workdir", "a\\b", "workdir", "write a/b"),
    ("workdir", "a\0b", "workdir", "NUL"),
    ("workdir", "a" * 1025, "workdir", "at most 1024"),
    ("workdir", {"url": "x"}, "workdir", "is not text"),
    ("setup", ["a"], "setup", "is not text"),
    ("run", None, "run", "nothing to run"),
    ("run", "  ", "run", "empty"),
    ("run", [], "run", "0 items"),
    ("run", [""], "run[0]", "the program's name is empty"),
    ("run", ["x", True], "run[1]", "put it in quotes"),
    ("run", ["x", "a\0b"], "run[1]", "NUL"),
    ("run", {"a": 1}, "run", "is not text"),
    ("run", "x" * (MAX_ARGUMENT_BYTES + 1), "run", "put it in a file"),
    ("env", 3, "env", "neither a mapping nor a list"),
    ("env", {"MY-VAR": "1"}, "env.MY-VAR", "the nearest is MY_VAR"),
    ("env", {"1X": "1"}, "env.1X", "letters, digits and _"),
    ("env", ["=x"], "env[0]", "letters, digits and _"),
    ("env", [3], "env[0]", "is not the name"),
    ("env", ["A=1", "A=2"], "env[1]", "A is given twice"),
    ("env", {"A": True}, "env.A", "put it in quotes"),
    ("env", {"A": ["x"]}, "env.A", "put it in quotes"),
    ("env", {"A": "x" * MAX_ARGUMENT_BYTES}, "env.A", "put it in a file"),
    ("env", {"NVIDIA_VISIBLE_DEVICES": "all"}, "env.NVIDIA_VISIBLE_DEVICES", "belong to the node"),
    ("env", {"LD_PRELOAD": "x"}, "env.LD_PRELOAD", "belong to the node"),
    ("env", {"computepool_job_id": "x"}, "env.computepool_job_id", "belong to the node"),
    ("env", ["COMPUTEPOOL_TOKEN"], "env[0]", "belong to the node"),
    ("env", {f"A{i}": "" for i in range(MAX_ENV_ENTRIES + 1)}, "env", f"at most {MAX_ENV_ENTRIES}"),
    ("secrets", ["A-B"], "secrets[0]", "the nearest is A_B"),
    ("secrets", ["LD_X"], "secrets[0]", "belong to the node"),
    ("secrets", {"HF_TOKEN": "hf_abc"}, "secrets.HF_TOKEN", "computepool secret set HF_TOKEN"),
    ("outputs", ["/etc/passwd"], "outputs[0]", "the nearest valid path is etc/passwd"),
    ("outputs", ["ok", "a/../../b"], "outputs[1]", "leaves the job's folder"),
    ("outputs", {"a": 1}, "outputs", "a list is needed"),
    ("outputs", ["x"] * 101, "outputs", "at most 100"),
    ("outputs", [None], "outputs[0]", "is not text"),
    ("checkpoint", "..", "checkpoint", "leaves the job's folder"),
    ("checkpoint", ".", "checkpoint", "the job's folder itself"),
    ("slices", 0, "slices", "the nearest valid value is 1"),
    ("slices", 10_001, "slices", "the nearest valid value is 10000"),
    ("slices", "many", "slices", "is not a whole number"),
    ("slices", 1.5, "slices", "is not a whole number"),
    ("slices", True, "slices", "is not a whole number"),
    ("slices", 2**70, "slices", "too large a number"),
    ("max_price", -1, "max_price", "below zero"),
    ("max_price", "cheap", "max_price", "40 or 0.25"),
    ("max_price", 0.0000001, "max_price", "the nearest is 0.000001"),
    ("max_price", float("nan"), "max_price", "finite"),
    ("max_runtime", "soon", "max_runtime", "1h30m"),
    ("max_runtime", 0, "max_runtime", "the nearest valid value is 1s"),
    ("max_runtime", "31d", "max_runtime", "the nearest valid value is 4w2d"),
    ("max_runtime", False, "max_runtime", "cannot be switched off"),
    ("budget", [1], "budget", "is not an amount of credits"),
    ("priority", 101, "priority", "the nearest valid value is 100"),
    ("priority", -101, "priority", "the nearest valid value is -100"),
    ("preemptible", "true", "preemptible", "write true, without quotes"),
    ("preemptible", 2, "preemptible", "write true or false"),
    ("retries", -1, "retries", "the nearest valid value is 0"),
    ("optimize", "sped", "optimize", "did you mean 'speed'?"),
    ("optimize", 3, "optimize", "cost, speed, balanced"),
    ("isolation", "bublewrap", "isolation", "did you mean 'bubblewrap'?"),
    ("inputs", [1], "inputs", "is not a mapping"),
    ("inputs", {"a": "./local.csv"}, "inputs.a", "local files travel with `workdir`"),
    ("inputs", {"a": "http://x.org/a"}, "inputs.a", "not an https URL"),
    ("inputs", {"a": "https://x.org/a"}, "inputs.a", "no SHA-256 digest"),
    ("inputs", {"a": "https://me:pw@x.org/a#sha256=" + SHA}, "inputs.a", "without user and password"),
    ("inputs", {"a": {"url": "https://x.org", "sha256": "abc"}}, "inputs.a", "64 hex digits"),
    ("inputs", {"a": {"source": "s3://x"}}, "inputs.a", "'source' is not known here"),
    ("inputs", {"a": {"sha256": SHA}}, "inputs.a", "there is no url"),
    ("inputs", {"/data/a": ARTIFACT}, "inputs./data/a", "the nearest valid path is data/a"),
    ("inputs", {"a": ARTIFACT, "./a": ARTIFACT}, "inputs../a", "a is given twice"),
    ("inputs", {"a": 3}, "inputs.a", "neither a stored artifact nor a URL"),
    ("inputs", {"a/b": ARTIFACT, "a": ARTIFACT}, "inputs.a/b", "a is an input too, a file: nothing can lie below it"),
    ("inputs", {"../a": ARTIFACT}, "inputs.../a", "leaves the job's folder"),
    ("inputs", {"a/" + "b" * 256: ARTIFACT}, "", "longer than 255 bytes"),
    ("inputs", {"é" * 600: ARTIFACT}, "", "longer than 1024 bytes"),
    ("checkpoint", "ckpt/" + "x" * 300, "checkpoint", "longer than 255 bytes"),
    ("checkpoint", {"path": "é" * 128}, "checkpoint.path", "longer than 255 bytes"),
    ("checkpoint", "/".join(["é" * 100] * 6), "checkpoint", "longer than 1024 bytes"),
    ("inputs", {"a": "https://x.org:8443/a#sha256=" + SHA}, "inputs.a", "nodes fetch from 443 only"),
    ("notify", ["e mail"], "notify[0]", "write [email]"),
    ("team", "a b", "team", "is not the name of a team"),
    ("network", "yes", "network", "write true, without quotes"),
    ("deterministic", "maybe", "deterministic", "write true or false"),
    ("verify", {"replicas": 1}, "verify.replicas", "the nearest valid value is 2"),
    ("verify", {"replica": 2}, "verify.replica", "did you mean 'replicas'?"),
    ("verify", 2, "verify", "is not a mapping"),
    ("publish", {"model": "mnist"}, "publish.model", "owner/name"),
    ("publish", {"license": "mit"}, "publish.model", "it is missing"),
    ("publish", {"model": "a/b", "licence": "mit"}, "publish.licence", "did you mean 'license'?"),
    ("where", "IN", "where", "is not a mapping"),
    ("where", {"countries": ["IN"]}, "where.countries", "did you mean 'country'?"),
    ("where", {"country": ["UK"]}, "where.country[0]", "did you mean GB?"),
    ("where", {"country": ["DEU"]}, "where.country[0]", "did you mean DE?"),
    ("where", {"country": ["XX"]}, "where.country[0]", "two letters of ISO 3166"),
    ("where", {"country": [False]}, "where.country[0]", '"NO" in quotes'),
    ("where", {"trust": "verfied"}, "where.trust", "did you mean 'verified'?"),
    ("where", {"tags": ["a b"]}, "where.tags[0]", "is not a tag"),
    ("where", {"min_reliability": 90}, "where.min_reliability", "90 percent is 0.9"),
    ("where", {"min_reliability": -1}, "where.min_reliability", "the nearest valid value is 0"),
    ("where", {"min_reliability": "high"}, "where.min_reliability", "from 0 to 1"),
    ("where", {"node": "my-laptop"}, "where.node", "`computepool nodes` lists ids"),
    ("resources", "24GB", "resources", "is not a mapping"),
    ("resources", {"memroy": "16GB"}, "resources.memroy", "did you mean 'memory'?"),
    ("resources", {"memory": "16GX"}, "resources.memory", "did you mean 16GB?"),
    ("resources", {"memory": 0}, "resources.memory", "the nearest valid value is 1MB"),
    ("resources", {"memory": 17179869184}, "resources.memory", "a bare number is gigabytes"),
    ("resources", {"disk": "20GB..10GB"}, "resources.disk", "did you mean '10GB..20GB'?"),
    ("resources", {"disk": {"sise": 1}}, "resources.disk", "is not a size"),
    ("resources", {"cpus": 0}, "resources.cpus", "the nearest valid value is 0.01"),
    ("resources", {"cpus": "eight"}, "resources.cpus", "8, 8+, 4..8 or 0.5"),
    ("resources", {"gpu": "A100:80"}, "resources.gpu", "write 80GB"),
    ("resources", {"shm_size": "16GB"}, "resources.shm_size", "part of `resources.memory`"),
    ("rnu", "x", "rnu", "did you mean 'run'?"),
    ("zzz", "x", "zzz", "the keys are name, resources"),
    ("gpu", 1, "gpu", "write it under `resources`"),
    ("timeout", "2h", "timeout", "max_runtime"),
    ("type", "service", "type", "only tasks run here"),
    ("nodes", 2, "nodes", "slices"),
    ("num_nodes", True, "num_nodes", "one machine"),
    ("a" * 500, 1, None, "is not known here"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "written", "field", "said"), REFUSED, ids=[f"{number}-{row[2]}" for number, row in enumerate(REFUSED)]
)
def test_a_wrong_value_is_refused_by_name_with_what_to_write(key, written, field, said):
    problems = problems_of({"run": "true", key: written})
    field = field or next(iter(problems))
    assert field in problems, problems
    assert said in str(problems[field])
    assert len(str(problems[field])) < 500


def test_problems_with_one_field_do_not_pile_up():
    assert set(problems_of({"run": "x", "where": {"country": ["XX"]}, "slices": None, "retries": "x"})) == {
        "where.country[0]",
        "retries",
    }


def test_a_flood_of_problems_is_cut():
    assert len(problems_of({"run": "x", **{f"k{i}": i for i in range(500)}})) == MAX_PROBLEMS


# ── env and secrets ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("env", [{"HF_TOKEN": None, "A": "1"}, ["HF_TOKEN", "A=1"]])
def test_an_env_name_alone_takes_the_callers_value(env):
    spec = parse_spec({"run": "x", "env": env}, environ={"HF_TOKEN": "hf_1", "OTHER": "x"})
    assert spec.env == {"HF_TOKEN": "hf_1", "A": "1"}


def test_an_env_name_without_any_value_says_how_to_set_it():
    assert "export HF_TOKEN=" in str(problems_of({"run": "x", "env": ["HF_TOKEN"]}, environ={})["env[0]"])
    assert "export HF_TOKEN=" in str(problems_of({"run": "x", "env": {"HF_TOKEN": None}})["env.HF_TOKEN"])


@pytest.mark.parametrize("value", ["bad\udcff", "a\0b", "x" * MAX_ARGUMENT_BYTES])
def test_a_callers_value_that_cannot_travel_is_refused_without_showing_it(value):
    problem = problems_of({"run": "x", "env": ["A"]}, environ={"A": value})["env[0]"]
    assert problem.value is None
    assert value[:20] not in str(problem)


def test_a_secrets_value_in_the_file_is_refused_without_showing_it():
    problems = problems_of({"run": "x", "secrets": {"HF_TOKEN": "hf_secret"}, "where": {"trust": "mine"}})
    assert "hf_secret" not in repr(problems)


def test_secrets_go_to_trusted_nodes_only():
    for trust in ("mine", "verified"):
        assert spec_of(secrets=["B", "A"], where={"trust": trust}).secrets == ("A", "B")
        assert spec_of(secrets={"A": None}, where={"trust": trust}).secrets == ("A",)
    assert "strangers" in problems_of({"run": "x", "secrets": ["A"]})["secrets"].message


def test_a_name_cannot_be_both_env_and_secret():
    data = {"run": "x", "env": {"A": "1"}, "secrets": ["A"], "where": {"trust": "mine"}}
    assert "also a secret" in problems_of(data)["env.A"].message


# ── aliases ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("alias", "canonical"),
    [
        ({"commands": ["a", "b"]}, {"run": "set -e\na\nb"}),
        ({"commands": "a"}, {"run": "a"}),
        ({"run": "x", "max_hourly_cost": 4}, {"run": "x", "max_price": 4}),
        ({"run": "x", "max_duration": "2h"}, {"run": "x", "max_runtime": "2h"}),
        ({"run": "x", "files": [f"{ARTIFACT}:a"]}, {"run": "x", "inputs": {"a": ARTIFACT}}),
        ({"run": "x", "files": {"a": ARTIFACT}}, {"run": "x", "inputs": {"a": ARTIFACT}}),
        ({"run": "x", "resources": {"gpus": 1}}, {"run": "x", "resources": {"gpu": 1}}),
        ({"run": "x", "resources": {"cpu": "4+"}}, {"run": "x", "resources": {"cpus": "4.."}}),
        ({"run": "x", "nodes": 1}, {"run": "x"}),
    ],
)
def test_an_alias_means_the_same(alias, canonical):
    assert parse_spec(alias) == parse_spec(canonical)


@pytest.mark.parametrize("key", SPEC_ALIASES)
def test_an_alias_beside_its_key_is_refused(key):
    canonical = SPEC_ALIASES[key]
    assert "keep one of the two" in problems_of({canonical: "a", key: "a"})[key].hint


def test_a_lifted_alias_beside_its_key_is_refused():
    data = {"run": "x", "max_price": 3, "resources": {"max_hourly_cost": 4}}
    assert "max_price says the same" in problems_of(data)["resources.max_hourly_cost"].message


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"commands": ["a", True]}, "commands[1]"),
        ({"run": "x", "envs": {"A-B": "1"}}, "envs.A-B"),
        ({"run": "x", "resources": {"accelerators": "H100:0.5"}}, "resources.accelerators"),
        ({"run": "x", "resources": {"max_hourly_cost": "x"}}, "resources.max_hourly_cost"),
        ({"run": "x", "resources": {"image_id": "ami-1"}}, "resources.image_id"),
        ({"run": "x", "files": ["data.csv"]}, "files[0]"),
        ({"run": "x", "file_mounts": {"/usr/data": "./data"}}, "file_mounts./usr/data"),
    ],
)
def test_a_problem_names_the_field_as_it_was_written(data, field):
    assert set(problems_of(data)) == {field}


# ── hostile input ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_huge_spec_is_refused():
    assert "larger than 256 KiB" in str(problems_of({"run": "x" * (MAX_SPEC_BYTES + 1)}))
    assert "larger than 256 KiB" in str(problems_of({"run": "x", "env": {f"A{i}": "y" * 1000 for i in range(300)}}))


def test_values_of_the_caller_count_into_the_size():
    environ = {f"A{i}": "y" * 100_000 for i in range(3)}
    assert "larger than 256 KiB" in str(problems_of({"run": "x", "env": list(environ)}, environ=environ))


def test_a_bomb_of_shared_nodes_is_refused_quickly():
    bomb: object = ["x" * 100]
    for _ in range(6):
        bomb = [bomb] * 1000
    assert "larger than 256 KiB" in str(problems_of({"run": "x", "outputs": bomb}))


def test_a_list_inside_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    assert "nested deeper" in str(problems_of({"run": "x", "outputs": loop}))
    knot: dict[str, object] = {"run": "x"}
    knot["where"] = knot
    assert "nested deeper" in str(problems_of(knot))


def test_what_only_yaml_can_say_is_refused_with_a_word_on_quotes():
    problems = problems_of({"run": "x", "name": datetime.date(2024, 1, 1), True: 1, "env": {1: "x", "A": b"x"}})
    assert "quotes" in problems["name"].hint
    assert "YAML reads" in problems["[True]"].hint
    assert {"env.[1]", "env.A"} <= set(problems)


def test_text_that_is_not_unicode_is_refused():
    assert "not valid Unicode" in problems_of({"run": "bad \udcff"})["run"].message


JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["24GB..", "8+", "2h", "A100:80GB:1", "any", "mine", "..", "a/../b", "A=1", "$X", ARTIFACT]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*WHERE_KEYS, *RESOURCE_KEYS, "name", "count", "replicas", "model", "url", "size"])
            | st.text(max_size=6),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
SPEC_LIKE = st.dictionaries(
    st.sampled_from([*SPEC_KEYS, *SPEC_ALIASES, "type", "nodes"]) | st.text(max_size=8), JSON_LIKE, max_size=8
)


@settings(max_examples=400, deadline=None)
@given(SPEC_LIKE | JSON_LIKE, st.booleans())
def test_anything_is_either_a_spec_or_a_spec_error(data, with_run):
    if with_run and isinstance(data, dict):
        data = {**data, "run": "true"}
    spec, error = parse_or_refuse(data)
    if spec is not None:
        assert JobSpec.from_wire(json.loads(json.dumps(spec.to_wire()))) == spec
    else:
        assert error is not None
        assert error.problems
        assert all(problem.message and len(problem.field) < 600 for problem in error.problems)
        assert str(error).replace("\n", "").isprintable()


def parse_or_refuse(data):
    try:
        return parse_spec(data), None
    except SpecError as error:
        return None, error


# ── wire and digest ──────────────────────────────────────────────────────────────────────────────────────────────────

FIELDS = {
    key: st.sampled_from([value for name, value, _, _ in ACCEPTED if name == key])
    for key in sorted({name for name, *_ in ACCEPTED} - {"run"})
}


@settings(deadline=None)
@given(st.fixed_dictionaries({"run": st.text(min_size=1).filter(str.strip)}, optional=FIELDS))
def test_the_wire_form_reads_back_and_keeps_its_digest(data):
    try:
        spec = parse_spec(data)
    except SpecError:  # text that cannot travel
        assert not data["run"].isprintable()
        return
    again = JobSpec.from_wire(json.loads(spec.canonical_json()))
    assert again == spec
    assert again.digest() == spec.digest()
    assert read_yaml(write_yaml(spec.to_wire())).value == spec.to_wire()


def test_the_wire_form_of_the_full_example_reads_back():
    spec = parse_spec(full_example())
    wire = json.loads(json.dumps(spec.to_wire()))
    assert wire["max_price"] == "40"
    assert wire["resources"]["gpu"] == {"count": 1, "memory": "24GB.."}
    assert JobSpec.from_wire(wire) == spec


def test_a_digest_depends_on_the_meaning_and_not_on_the_spelling():
    one = parse_spec({"run": "x", "resources": {"memory": "16GB", "gpu": "4090"}, "where": {"country": ["IN", "DE"]}})
    two = parse_spec(
        {"where": {"country": ["de", "in"]}, "resources": {"gpu": "RTX 4090", "memory": "16384MiB"}, "commands": "x"}
    )
    assert one.digest() == two.digest()
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", one.digest())
    assert one.digest() != parse_spec({"run": "y"}).digest()


def test_the_digest_of_a_known_spec_never_changes():
    wire = b'{"max_runtime":"1d","optimize":"balanced","priority":0,"resources":{"cpus":"1..","disk":"1GB..",'
    wire += b'"memory":"1GB.."},"retries":0,"run":"true","slices":1,"where":{"trust":"any"}}'
    assert spec_of().canonical_json() == wire


def test_a_list_is_run_as_it_is():
    assert spec_of(run=["python", "a b.py"]).argv() == ("python", "a b.py")


# ── not yet ──────────────────────────────────────────────────────────────────────────────────────────────────────────

NOT_YET_EXAMPLES: dict[str, dict[str, object]] = {
    "secrets": {"secrets": ["A"], "where": {"trust": "mine"}},
    "publish": {"publish": {"model": "a/b"}},
    "notify": {"notify": ["email", "my-webhook"]},
}


def test_every_field_that_is_not_supported_has_an_example():
    assert [field for field, *_ in NOT_YET] == list(NOT_YET_EXAMPLES)


@pytest.mark.parametrize("field", NOT_YET_EXAMPLES)
def test_a_field_that_comes_later_is_refused_and_never_ignored(field):
    problems = {problem.field: problem for problem in not_supported_yet(spec_of(**NOT_YET_EXAMPLES[field]))}
    assert problems[field].message == f'"{field}" is not supported yet by this pool.'
    assert problems[field].hint
    assert set(problems) == {field}


@pytest.mark.parametrize(
    ("written", "field", "value"),
    [
        ({"publish": {"model": "a/b"}}, "publish", "{'model': 'a/b'}"),
    ],
)
def test_a_refused_field_is_told_with_the_value_that_was_written(written, field, value):
    (problem,) = not_supported_yet(spec_of(**written))
    assert (problem.field, problem.value) == (field, value)


def test_what_is_supported_now_is_not_refused():
    spec = parse_spec(
        {
            "name": "x",
            "resources": {"cpus": 2, "memory": "2GB", "disk": "2GB", "gpu": "24GB.."},
            "image": "python:3.12-slim",
            "workdir": ".",
            "setup": "pip install x",
            "run": "x",
            "env": {"A": "1"},
            "outputs": ["out/**"],
            "checkpoint": "ckpt",
            "slices": 4,
            "max_runtime": "2h",
            "priority": 3,
            "retries": 1,
            "notify": ["email"],
            "optimize": "balanced",
            "budget": 5,
            "network": True,
            "where": {"country": ["IN"], "tags": ["lab"], "node": NODE, "trust": "mine"},
            "isolation": "gvisor",
        }
    )
    assert not_supported_yet(spec) == []
    assert not_supported_yet(spec_of(isolation="process")) == []
    assert not_supported_yet(spec_of(where={"trust": "verified", "min_reliability": 0.9})) == []


@pytest.mark.parametrize(
    ("written", "folder", "seconds"),
    [
        ("ckpt/", "ckpt", None),
        ({"path": "out/ckpt"}, "out/ckpt", None),
        ({"path": "ckpt", "every": "10m"}, "ckpt", 600),
        ({"path": "ckpt", "every": 30}, "ckpt", 30),
    ],
)
def test_a_checkpoint_is_a_folder_and_maybe_how_often(written, folder, seconds):
    spec = spec_of(checkpoint=written)
    assert (spec.checkpoint, spec.checkpoint_seconds) == (folder, seconds)
    assert JobSpec.from_wire(spec.to_wire()) == spec


@pytest.mark.parametrize(
    "written", [{"every": "10m"}, {"path": "c", "every": "1s"}, {"path": "c", "evry": "1m"}, {"path": "/c"}, 5, ["a"]]
)
def test_a_checkpoint_that_makes_no_sense_is_refused(written):
    with pytest.raises(SpecError):
        spec_of(checkpoint=written)
