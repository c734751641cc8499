"""The agent in a container: the files agree with each other, and their options are enough and none too many."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import engines
from support.private_engines import docker_engine
from support.proofs import proving
from support.waiting import patience

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "host"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def instructions() -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    pairs = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(word, rest) for word, _, rest in pairs]


# ── the files ──


def test_everything_that_is_copied_exists():
    for word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            *sources, _ = rest.split()
            assert [name for name in sources if not (ROOT / name).exists()] == []


def test_image_ends_as_a_user_without_a_secret_and_starts_the_agent():
    told = dict(instructions())
    assert told["USER"] == "computepool"
    assert told["STOPSIGNAL"] == "SIGINT"
    assert json.loads(told["ENTRYPOINT"]) + json.loads(told["CMD"]) == ["computepool", "agent", "start"]
    assert not re.search(r"(?i)token|password|secret_key", DOCKERFILE)
    assert all(rest.split()[0] == "${BASE}" for word, rest in instructions() if word == "FROM")


def test_image_takes_the_versions_of_the_lock(tmp_path):
    (run,) = (rest for word, rest in instructions() if word == "RUN" and "constraints.txt" in rest)
    program = shlex.split(run.split("&&")[0].partition(">")[0])
    made = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    lock = (ROOT / "requirements" / "hub.txt").read_text()
    assert len(made) == len(re.findall(r"^[a-z0-9].*?==", lock, re.MULTILINE))
    assert [line for line in made if not re.fullmatch(r"[a-z0-9._-]+==[^\s;]+", line)] == []
    assert any(line.startswith("httpx==") for line in made)


def test_compose_names_files_that_exist_and_no_secret():
    for service in SERVICES.values():
        context = (FOLDER / service["build"]["context"]).resolve()
        assert context == ROOT
        assert (context / service["build"]["dockerfile"]).is_file()
        assert service["init"]
        assert service["profiles"]
        assert {name for name, value in service["environment"].items() if value} <= {"COMPUTEPOOL_HOME"}
    assert set(COMPOSE["volumes"]) == {"agent"}


def test_compose_keeps_the_two_ways_apart():
    bubblewrap, engine = SERVICES["bubblewrap"], SERVICES["engine"]
    assert bubblewrap["cap_drop"] == ["ALL"]
    assert "no-new-privileges=true" in bubblewrap["security_opt"]
    assert not {"pid", "cap_add", "privileged", "user", "network_mode", "ipc"} & set(bubblewrap)
    assert not [volume for volume in bubblewrap["volumes"] if volume.startswith("/")]
    mounts = dict(volume.split(":")[:2] for volume in engine["volumes"])
    # The engine is told places of the host: they must have the same name in here.
    assert all(host == inside for host, inside in mounts.items())
    assert any(engine["environment"]["COMPUTEPOOL_HOME"].startswith(f"{host}/") for host in mounts)
    assert "privileged" not in engine


# ── their options, in a real engine ──

INSIDE = """
import asyncio, json, sys
from pathlib import Path
from computepool.agent.sandbox import available_sandboxes, self_test, selftest
from computepool.agent.sandbox.containers import find_engines

selftest.PROBE_SECONDS = 120

async def story(levels, state, sockets):
    found = {}
    for sandbox in available_sandboxes(state, engines=await find_engines(sockets=sockets)):
        if sandbox.level in levels:
            result = await self_test(sandbox)
            found[sandbox.level] = list(result.problems)
            if sandbox.takes_images and not sandbox.has_egress:
                found[sandbox.level].append("network: jobs have no way out")
        await sandbox.close()
    return found

levels, state, *sockets = sys.argv[1:]
print(json.dumps(asyncio.run(story(levels.split(","), Path(state), [Path(path) for path in sockets]))))
"""


@pytest.fixture(scope="module", params=["@engines"])
def docker():
    engines.require("docker-client")
    with docker_engine() as engine:
        engine.add_bare_image("test/host", "1")
        yield engine


def problems_in(
    docker, service: dict[str, Any], levels: str, state: str, *sockets: str, more: tuple[str, ...] = ()
) -> dict[str, list[str]]:
    """What self-tests say to an agent in a container with the options of this service."""
    options = [f"--security-opt={option}" for option in service.get("security_opt", ())]
    options += [f"--cap-drop={name}" for name in service.get("cap_drop", ())]
    options += [f"--cap-add={name}" for name in service.get("cap_add", ())]
    options += [f"--pid={service['pid']}"] if "pid" in service else []
    options += [f"--cgroupns={service['cgroup']}"] if "cgroup" in service else []
    # The machine's own programs and this checkout, in the place of what the image would have brought.
    places = {"/usr", str(ROOT), sys.prefix, sys.base_prefix}
    options += [f"--volume={place}:{place}:ro" for place in sorted(places)]
    words = ["docker", "-H", f"unix://{docker.socket}", "run", "--rm", "--network=none"]
    words += [*options, *more, "--user", service.get("user", "10001:10001"), f"--env=PYTHONPATH={ROOT / 'src'}"]
    words += ["--env=PYTHONDONTWRITEBYTECODE=1", "--env=PATH=/usr/bin:/bin"]
    words += ["test/host:1", sys.executable, "-c", INSIDE, levels, state, *sockets]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=patience())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@pytest.mark.engine("bwrap")
def test_bubblewrap_holds_in_a_container_with_these_options_and_not_with_one_less(docker):
    service = SERVICES["bubblewrap"]
    assert problems_in(docker, service, "bubblewrap", "/state/agent") == {"bubblewrap": []}
    for option in ("seccomp=unconfined", "systempaths=unconfined"):
        less = {**service, "security_opt": [one for one in service["security_opt"] if one != option]}
        assert problems_in(docker, less, "bubblewrap", "/state/agent")["bubblewrap"], option


@pytest.mark.slow
@pytest.mark.proof
def test_containers_beside_the_agents_hold_with_these_options_and_not_with_one_less(docker):
    service = SERVICES["engine"]
    shared = Path(docker.socket).parent / "state"
    shared.mkdir(exist_ok=True)
    socket = f"--volume={docker.socket}:/var/run/docker.sock"
    groups = next(f"--volume={volume}" for volume in service["volumes"] if "cgroup" in volume)
    mounts = (socket, f"--volume={shared}:{shared}")

    def problems(changed: dict[str, Any], *more: str, levels: str = "container") -> list[str]:
        place = (str(shared / "agent"), "/var/run/docker.sock")
        found = problems_in(docker, changed, levels, *place, more=(*mounts, *more))
        assert "container" in found
        return [problem for told in found.values() for problem in told]

    assert problems(service, groups, levels="container,gvisor" if proving() else "container") == []
    if not proving():
        return
    assert problems(service), "without the host's groups nobody knows what a job used"
    assert problems({key: value for key, value in service.items() if key != "pid"}, groups)
    for capability in service["cap_add"]:
        assert problems({**service, "cap_add": [one for one in service["cap_add"] if one != capability]}, groups)
