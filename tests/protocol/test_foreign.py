"""Files of dstack and SkyPilot: one of ours for each of their keys, and what becomes of it."""

from typing import Any

import pytest
import yaml

from computepool.protocol.foreign import TABLES, System, read_foreign, system_of
from computepool.protocol.foreign_keys import Fate
from computepool.protocol.spec import JobSpec, SpecError, parse_spec
from computepool.protocol.spec_review import warnings_of
from computepool.protocol.units import GIB

ENVIRON = {"HF_TOKEN": "from here"}
ARTIFACT = "artifact_01j9zxy3v8k5m2n4p6q7r8s9ta"


def dstack(text: str) -> dict[str, Any]:
    data: dict[str, Any] = {"type": "task", "commands": ["python train.py"], **yaml.safe_load(text)}
    return data


def skypilot(text: str) -> dict[str, Any]:
    data: dict[str, Any] = {"num_nodes": 1, "run": "python train.py", **yaml.safe_load(text)}
    return data


def wire(data: dict[str, Any]) -> dict[str, Any]:
    return parse_spec(data, environ=ENVIRON).to_wire()


def refusal(data: dict[str, Any]) -> tuple[str, str]:
    """The one field that is wrong, and all that is said of it."""
    with pytest.raises(SpecError) as caught:
        parse_spec(data, environ=ENVIRON)
    [problem] = caught.value.problems
    return problem.field, f"{problem.message}; {problem.hint}"


def notes(data: dict[str, Any]) -> dict[str, str]:
    return {note.field or "": note.message for note in warnings_of(data, parse_spec(data, environ=ENVIRON))}


# ── what is read ─────────────────────────────────────────────────────────────────────────────────────────────────────

GPU = "resources.gpu"
READ: list[tuple[System, str, dict[str, Any]]] = [
    (System.DSTACK, "name: a", {"name": "a"}),
    (System.DSTACK, "image: pytorch/pytorch:2.5.1", {"image": "pytorch/pytorch:2.5.1"}),
    (System.DSTACK, "nodes: 1", {}),
    (System.DSTACK, "commands: [a, 'b &', 'c # d']", {"run": "a &&\n{\nb &\n} &&\n{\nc # d\n}", "keep_going": True}),
    (System.DSTACK, "{entrypoint: python -m train, commands: [--fast]}", {"run": ["python", "-m", "train", "--fast"]}),
    (System.DSTACK, "shell: bash", {"run": "python train.py"}),
    (System.DSTACK, "shell: /usr/bin/zsh", {"run": ["/usr/bin/zsh", "-c", "python train.py"]}),
    (System.DSTACK, "env: [A=1, HF_TOKEN]", {"env": {"A": "1", "HF_TOKEN": "from here"}}),
    (System.DSTACK, "python: 3.12", {"image": "python:3.12"}),
    (System.DSTACK, "{python: 3.12, image: 'a:1'}", {"image": "a:1"}),
    (System.DSTACK, "nvcc: true", {"image": "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel"}),
    (System.DSTACK, "{working_dir: /work, files: ['.:/work']}", {"workdir": ".", "links": {"/work": "."}}),
    (System.DSTACK, "working_dir: sub", {"run": "mkdir -p sub && cd sub\npython train.py"}),
    (System.DSTACK, "files: [train.py, '~/.netrc', '../c:~/c', 'd:/d']", {
        "workdir": ".",
        "links": {"~/.netrc": ".places/.netrc", "~/c": ".places/c", "/d": ".places/d"},
    }),
    (System.DSTACK, "repos: [..]", {"workdir": "."}),
    (System.DSTACK, "repos: ['https://github.com/a/b']", {
        "run": "[ -e .git ] || { git init -q . && git fetch -q https://github.com/a/b HEAD"
               " && git checkout -q FETCH_HEAD; } || exit 1\npython train.py",
    }),
    (System.DSTACK, "resources: {cpu: 'x86:4..', memory: 16GB.., disk: {size: 100GB..}}", {
        "resources": {"cpus": "4..", "memory": "16GB..", "disk": "100GB.."},
    }),
    (System.DSTACK, "resources: {gpu: 'H100:1..2'}", {GPU: {"count": 1, "name": "h100"}}),
    (System.DSTACK, "resources: {gpu: 'nvidia:4:16GB'}", {GPU: {"count": 4, "name": "nvidia", "memory": "16GB.."}}),
    (System.DSTACK, "resources: {gpu: 'nvidia:B200:8'}", {GPU: {"count": 8, "name": "b200"}}),
    (System.DSTACK, "resources: {gpu: 'A10G,L4:2'}", {
        GPU: {"count": 2, "name": "a10g", "alternatives": [{"name": "l4"}]},
    }),
    (System.DSTACK, "resources: {gpu: {name: [A100, L4], memory: 24GB.., count: 2..}}", {
        GPU: {"count": 2, "name": "a100", "memory": "24GB..", "alternatives": [{"name": "l4", "memory": "24GB.."}]},
    }),
    (System.DSTACK, "max_duration: 2h", {"max_runtime": "2h"}),
    (System.DSTACK, "max_duration: 'off'", {"max_runtime": "1d"}),
    (System.DSTACK, "max_price: 1.5", {"max_price": "1.5"}),
    (System.DSTACK, "priority: 50", {"priority": 50}),
    (System.DSTACK, "spot_policy: spot", {"preemptible": True}),
    (System.DSTACK, "retry: {on_events: [error, no-capacity], duration: 1h}", {"retries": 3}),
    (System.DSTACK, "retry: {on_events: [no-capacity], duration: 1h}", {"retries": 0}),
    (System.DSTACK, "volumes: [{name: v, path: /ckpts}, {instance_path: /c, path: /root/.cache, optional: true}]", {
        "checkpoint": "ckpts", "outputs": ["ckpts/**"], "links": {"/ckpts": "ckpts"},
    }),
    (System.DSTACK, "docker: false", {}),
    (System.SKYPILOT, "name: a", {"name": "a", "run": "python train.py", "keep_going": True}),
    (System.SKYPILOT, "workdir: ~/project", {"workdir": "."}),
    (System.SKYPILOT, "workdir: {url: 'https://github.com/a/b', ref: v1}", {
        "run": "[ -e .git ] || { git init -q . && git fetch -q https://github.com/a/b v1"
               " && git checkout -q FETCH_HEAD; } || exit 1\npython train.py",
    }),
    (System.SKYPILOT, "setup: pip install x", {"setup": "pip install x"}),
    (System.SKYPILOT, "envs: {A: 1, HF_TOKEN: }", {"env": {"A": "1", "HF_TOKEN": "from here"}}),
    (System.SKYPILOT, "file_mounts: {/data: ./d, ~/sky_workdir/c: ./c, ~/m.json: ./m.json}", {
        "workdir": ".", "links": {"/data": ".places/data", "~/m.json": ".places/m.json"},
    }),
    (System.SKYPILOT, "{envs: {B: out}, file_mounts: {'/${B}': {name: bucket, mode: MOUNT}}}", {
        "outputs": ["out/**"], "links": {"/out": "out"},
    }),
    (System.SKYPILOT, "file_mounts: {/checkpoints: {name: b, mode: MOUNT_CACHED}}", {
        "checkpoint": "checkpoints", "outputs": ["checkpoints/**"], "links": {"/checkpoints": "checkpoints"},
    }),
    (System.SKYPILOT, "file_mounts: {/code: {source: ./src, mode: COPY}}", {
        "workdir": ".", "links": {"/code": ".places/code"},
    }),
    (System.SKYPILOT, f"file_mounts: {{data/a: {ARTIFACT}}}", {"inputs": {"data/a": ARTIFACT}}),
    (System.SKYPILOT, "volumes: {/results: my-volume, /scratch: {size: 100Gi}}", {
        "outputs": ["results/**"], "links": {"/results": "results", "/scratch": "scratch"},
    }),
    (System.SKYPILOT, "inputs: {'s3://a': 70}", {}),
    (System.SKYPILOT, "outputs: {model: 0.1}", {}),
    (System.SKYPILOT, "resources: {cpus: 4+, memory: 4x, disk_size: 100}", {
        "resources": {"cpus": "4..", "memory": "16GB", "disk": "100GB"},
    }),
    (System.SKYPILOT, "resources: {accelerators: A100-80GB:8}", {
        GPU: {"count": 8, "name": "a100", "memory": "80GB.."},
    }),
    (System.SKYPILOT, "resources: {accelerators: {A100: 1, H100: 1}}", {
        GPU: {"count": 1, "name": "a100", "alternatives": [{"name": "h100"}]},
    }),
    (System.SKYPILOT, "resources: {accelerators: [L4:2, A100:1, T4:2]}", {
        GPU: {"count": 2, "name": "l4", "alternatives": [{"name": "t4"}]},
    }),
    (System.SKYPILOT, "resources: {accelerators: {'A100:1': , 'Inferentia:6': }}", {GPU: {"count": 1, "name": "a100"}}),
    (System.SKYPILOT, "resources: {any_of: [{infra: aws, accelerators: L4:1}, {infra: gcp, accelerators: T4:1}]}", {
        GPU: {"count": 1, "name": "l4", "alternatives": [{"name": "t4"}]},
    }),
    (System.SKYPILOT, "resources: {cpus: 2, ordered: [{use_spot: true}, {use_spot: false}]}", {}),
    (System.SKYPILOT, "resources: {use_spot: true}", {"preemptible": True}),
    (System.SKYPILOT, "resources: {image_id: 'docker:ubuntu:20.04'}", {"image": "ubuntu:20.04"}),
    (System.SKYPILOT, "resources: {max_hourly_cost: 3}", {"max_price": "3"}),
    (System.SKYPILOT, "resources: {job_recovery: {strategy: FAILOVER, max_restarts_on_errors: 2}}", {"retries": 2}),
    (System.SKYPILOT, "resources: {instance_type: m5.2xlarge}", {}),
    (System.SKYPILOT, "config: {docker: {run_options: [--ipc=host]}}", {}),
]  # fmt: skip


def file_of(system: System, text: str) -> dict[str, Any]:
    return dstack(text) if system is System.DSTACK else skypilot(text)


@pytest.mark.parametrize(("system", "text", "expected"), READ, ids=[f"{case[0]}: {case[1]}" for case in READ])
def test_key_is_read(system, text, expected):
    found = wire(file_of(system, text))
    assert found["network"] is True, "both give their jobs the internet"
    for key, value in expected.items():
        outer, _, inner = key.partition(".")
        assert (found[outer][inner] if inner else found[outer]) == value
    for key in ("image", "setup", "outputs", "checkpoint", "preemptible", "links", "workdir", "inputs"):
        assert (key in found) <= (key in expected or text.startswith(("shell", "repos", "commands"))), key


DROPPED_VALUE: dict[str, object] = {"resources.ports": 8080, "tags": {"a": "b"}, "resources.labels": {"a": "b"}}


@pytest.mark.parametrize("system", System)
def test_every_ignored_key_is_named_in_the_warnings(system):
    for row in TABLES[system].values():
        if row.fate is Fate.DROPPED:
            outer, _, inner = row.name.partition(".")
            value = DROPPED_VALUE.get(row.name, "x")
            data = file_of(system, "{}") | ({outer: {inner: value}} if inner else {outer: value})
            assert row.note in notes(data)[row.name]
            assert wire(data) == wire(file_of(system, "{}")), row.name


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────

REFUSED = [
    (System.DSTACK, "nodes: 2", "nodes", "`slices`"),
    (System.DSTACK, "privileged: true", "privileged", "leave it out"),
    (System.DSTACK, "groups: [{commands: [a]}]", "groups", "one machine"),
    (System.DSTACK, "dstack: true", "dstack", "cannot control"),
    (System.DSTACK, "docker: true", "docker", "cannot start containers"),
    (System.DSTACK, "registry_auth: {username: a, password: b}", "registry_auth", "password"),
    (System.DSTACK, "env: ['A=${{ secrets.a }}']", "env.A", "stored secrets"),
    (System.DSTACK, "volumes: ['/nfs:/data']", "volumes[0]", "miss their data"),
    (System.DSTACK, "volumes: [{name: v, path: /data}]", "volumes[0]", "miss their data"),
    (System.DSTACK, "resources: {gpu: 'v5litepod-8'}", "resources.gpu", "is not a GPU"),
    (System.DSTACK, "resources: {gpu: 'tt-galaxy-wh:32'}", "resources.gpu", "is not a GPU"),
    (System.DSTACK, "resources: {cpu: 'arm:8'}", "resources.cpu", "architecture"),
    (System.DSTACK, "repos: ['git@github.com:a/b.git']", "repos", "SSH key"),
    (System.DSTACK, "python: three", "python", "version of Python"),
    (System.DSTACK, "commands: [a, true]", "commands[1]", "is not text"),
    (System.DSTACK, "colour: red", "colour", "not known here"),
    (System.DSTACK, "resources: {gpus_per_node: 1}", "resources.gpus_per_node", "not known here"),
    (System.SKYPILOT, "num_nodes: 2", "num_nodes", "`slices`"),
    (System.SKYPILOT, "service: {replicas: 2}", "service", "services are not run here"),
    (System.SKYPILOT, "pool: {workers: 2}", "pool", "`slices`"),
    (System.SKYPILOT, "secrets: {HF_TOKEN: }", "secrets", "write HF_TOKEN under `envs`"),
    (System.SKYPILOT, "file_mounts: {/data: 's3://bucket'}", "file_mounts./data", "miss the data of 's3://bucket'"),
    (System.SKYPILOT, "file_mounts: {/data: {name: b, mode: MOUNT}}", "file_mounts./data", "buckets cannot be mounted"),
    (System.SKYPILOT, "file_mounts: {/outputs: {name: b, mode: COPY}}", "file_mounts./outputs", "cannot be mounted"),
    (System.SKYPILOT, "file_mounts: {/usr/data: ./d}", "file_mounts./usr/data", "belongs to the sandbox"),
    (System.SKYPILOT, "volumes: {/mnt/data: my-volume}", "volumes./mnt/data", "miss their data"),
    (System.SKYPILOT, "workdir: {url: 'git@github.com:a/b.git'}", "workdir", "SSH key"),
    (System.SKYPILOT, "config: {kubernetes: {pod_config: {spec: {containers: [{volumeMounts: [{name: a}]}]}}}}",
     "config", "mounts volumes"),
    (System.SKYPILOT, "config: {kubernetes: {enable_docker: true}}", "config", "cannot start containers"),
    (System.SKYPILOT, "resources: {accelerators: tpu-v6e-8}", "resources.accelerators", "is not a GPU"),
    (System.SKYPILOT, "resources: {accelerators: 'T4:0.5'}", "resources.accelerators", "GPUs are given whole"),
    (System.SKYPILOT, "resources: {instance_type: p3.8xlarge}", "resources.instance_type", "`accelerators`"),
    (System.SKYPILOT, "resources: {image_id: ami-0868a20f5a3bf9702}", "resources.image_id", "container image"),
    (System.SKYPILOT, "{max_price: 3, resources: {max_hourly_cost: 4}}", "resources.max_hourly_cost", "max_price says"),
    (System.SKYPILOT, "envs: {A-B: 1}", "envs.A-B", "not the name"),
    (System.SKYPILOT, "resources: {acelerators: A100:1}", "resources.acelerators", "did you mean 'accelerators'?"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("system", "text", "field", "said"), REFUSED, ids=[f"{case[0]}: {case[1]}" for case in REFUSED]
)
def test_key_is_refused_with_what_to_do(system, text, field, said):
    where, words = refusal(file_of(system, text))
    assert where == field
    assert said in words


def test_every_key_is_tried():
    tried = [(case[0], yaml.safe_load(case[1])) for case in READ] + [
        (case[0], yaml.safe_load(case[1])) for case in REFUSED
    ]
    for system, table in TABLES.items():
        for row in table.values():
            outer, _, inner = row.name.partition(".")
            said = [data for of, data in tried if of is system and outer in data]
            covered = row.fate is Fate.DROPPED or outer in ("type", "run") or row.name == "resources.shm_size"
            assert covered or any(not inner or inner in data[outer] for data in said), row.name


# ── whole files ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_dstack_task_becomes_a_job():
    data = dstack("""
        name: tune
        python: 3.12
        env: [MODEL=tiny, HF_TOKEN]
        commands:
          - uv pip install trl
          - |
            trl sft \\
              --num_processes $DSTACK_GPUS_PER_NODE
        resources: {gpu: "H100:1..2", shm_size: 24GB}
    """)
    spec = parse_spec(data, environ=ENVIRON)
    assert spec.image == "python:3.12"
    assert isinstance(spec.run, str)
    lines = spec.run.splitlines()
    assert lines[0].startswith("python3 -m venv")
    assert "install -q uv" in lines[1]
    assert lines[2:4] == ["uv pip install trl &&", "{"]
    assert spec.keep_going
    assert spec.env["DSTACK_GPUS_PER_NODE"] == "1"
    assert spec.env["DSTACK_RUN_NAME"] == "tune"
    said = notes(data)
    assert "/dev/shm has half" in said["resources.shm_size"]
    assert "lower end" in said["resources.gpu"]
    assert "network: false" in said["network"]
    assert JobSpec.from_wire(spec.to_wire()) == spec


def test_skypilot_file_becomes_a_job():
    data = skypilot("""
        resources: {accelerators: "A100:8", cpus: 4+, memory: 32+, disk_size: 256, use_spot: false, ports: 8080}
        workdir: ~/examples
        setup: |
          cd mnist
          pip install -r requirements.txt
        run: |
          cd ~/sky_workdir/mnist
          torchrun --nproc_per_node $SKYPILOT_NUM_GPUS_PER_NODE main.py --id $SKYPILOT_TASK_ID
    """)
    spec = parse_spec(data)
    assert str(spec.resources.gpu) == "a100:8"
    assert spec.resources.memory.minimum == 32 * GIB
    assert spec.env["SKYPILOT_NUM_GPUS_PER_NODE"] == "8"
    assert spec.links == {"~/sky_workdir": "."}
    assert isinstance(spec.run, str)
    assert spec.run.startswith('export SKYPILOT_TASK_ID="sky-$COMPUTEPOOL_JOB_ID"\ncd ~/sky_workdir/mnist\n')
    foreign = read_foreign(data)
    assert foreign is not None
    assert [(part.source, part.place) for part in foreign.local] == [("~/examples", ".")]
    assert "jobs accept no connections" in notes(data)["resources.ports"]
    assert JobSpec.from_wire(spec.to_wire()) == spec


def test_network_of_a_file_can_be_turned_off():
    assert "network" not in wire(skypilot("network: false"))
    assert "network" not in notes(skypilot("network: false"))


@pytest.mark.parametrize(
    "data",
    [
        {"run": "x"},
        {"run": "x", "resources": {"gpu": "A100:1", "cpus": 4, "memory": "16GB"}},
        {"commands": ["a", "b"]},
        {"run": "x", "files": {"a": ARTIFACT}, "workdir": ".", "setup": "pip install x"},
        {"run": "x", "type": "service"},
        [],
        "text",
    ],
)
def test_own_spec_is_nobody_elses(data):
    assert read_foreign(data) is None


@pytest.mark.parametrize("mark", [{"envs": {}}, {"num_nodes": 1}, {"resources": {"accelerators": "A100"}}])
def test_one_key_of_theirs_makes_it_skypilots(mark):
    assert system_of({"run": "x", **mark}) is System.SKYPILOT
