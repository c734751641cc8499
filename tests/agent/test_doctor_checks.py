"""What the doctor finds on machines that have something wrong with them."""

import asyncio
import contextlib
import json
import socket
import stat
from ipaddress import ip_address
from pathlib import Path

import pytest
from support.agents import enrolled_home
from support.fake_hub import FakeHub
from support.outer_world import INDEX, outer_world

from computepool.agent.clock import SystemClock
from computepool.agent.detect import Hardware
from computepool.agent.doctor import Check, examine, folder, sandboxes_to_examine
from computepool.agent.doctor.engines import EngineSocket, check_engines, check_view
from computepool.agent.doctor.folder import check_agent, check_permissions, check_policy
from computepool.agent.doctor.indexes import check_indexes
from computepool.agent.doctor.isolation import check_bubblewrap, why_no_user_namespaces
from computepool.agent.doctor.machine import check_gpus_inside
from computepool.agent.doctor.network import check_network
from computepool.agent.home import AgentHome, NodeRecord
from computepool.agent.main import agent_version
from computepool.agent.sandbox import available_sandboxes
from computepool.protocol.capacity import Gpu

HARDWARE = Hardware(cpus=4, memory_bytes=1 << 33, disk_bytes=1 << 35)
CARD = Gpu(id="GPU-1", name="NVIDIA GeForce RTX 4090", slug="rtx-4090", memory_bytes=24 << 30, vendor="nvidia")


def by_name(checks) -> dict[str, Check]:
    return {check.name: check for check in checks}


@pytest.fixture
def home(tmp_path) -> AgentHome:
    made = AgentHome(tmp_path / "agent")
    made.prepare()
    made.identity()
    made.save_node(NodeRecord(hub_url="http://127.0.0.1:9", hub_id="h", node_id="node_1", name="x", hub_keys=()))
    return made


# ── the folder ──


def test_keys_that_others_can_read_are_a_failure_with_the_command_that_closes_them(home):
    assert by_name(check_permissions(home))["permissions"].ok
    home.identity_path.chmod(0o644)
    found = by_name(check_permissions(home))["permissions"]
    assert not found.ok
    assert found.hint == f"chmod 600 '{home.identity_path}'"
    home.identity_path.chmod(0o600)
    home.root.chmod(0o750)
    assert f"chmod 700 '{home.root}'" in by_name(check_permissions(home))["permissions"].hint


def test_an_agent_that_holds_the_folder_but_does_not_answer_is_told_apart_from_none(home):
    assert check_agent(home).message == "no agent is running here"
    with home.lock():
        found = check_agent(home)
    assert not found.ok
    assert "does not answer" in found.message


@pytest.mark.parametrize(
    ("link", "notice", "trouble", "level"),
    [
        ("websocket", "", "", "ok"),
        ("websocket", "A second agent with this node's key was refused.", "", "warn"),
        (None, "", "the hub said goodbye: Another agent is connected as this node", "failed"),
    ],
)
def test_copy_of_a_node_is_told_on_both_machines(home, monkeypatch, link, notice, trouble, level):
    status = {"state": "online", "link": link, "notice": notice, "trouble": trouble}
    monkeypatch.setattr(folder, "ask_agent", lambda path, action: status)
    found = check_agent(home)
    assert found.level == level
    assert notice in found.message
    assert trouble in found.message


def test_a_policy_that_cannot_be_read_is_told_with_the_line(home):
    assert list(check_policy(home)) == []
    policy = home.root / "policy.toml"
    policy.write_text("")
    assert by_name(check_policy(home))["policy"].ok
    policy.write_text("[welcome]\nstranger = true\n")
    found = by_name(check_policy(home))["policy"]
    assert not found.ok
    assert "strangers" in found.message


# ── isolation ──


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("kernel/unprivileged_userns_clone", "0", "ordinary users"),
        ("user/max_user_namespaces", "0", "no user namespace"),
    ],
)
def test_what_forbids_user_namespaces_is_named(tmp_path, name, value, words):
    assert why_no_user_namespaces(tmp_path) == ("", "")
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(value + "\n")
    why, hint = why_no_user_namespaces(tmp_path)
    assert words in why
    assert "sysctl" in hint
    (tmp_path / name).write_text("7\n")
    assert why_no_user_namespaces(tmp_path) == ("", "")


def test_missing_bubblewrap_is_a_warning_only_where_something_else_isolates(tmp_path, monkeypatch):
    from support.fake_sandbox import FakeSandbox

    from computepool.protocol.states import IsolationLevel

    monkeypatch.setenv("PATH", str(tmp_path))
    assert check_bubblewrap([]).level == "failed"
    assert check_bubblewrap([FakeSandbox(tmp_path / "p", level=IsolationLevel.PROCESS)]).level == "failed"
    assert check_bubblewrap([FakeSandbox(tmp_path / "c", level=IsolationLevel.CONTAINER)]).level == "warn"


# ── engines ──


@contextlib.asynccontextmanager
async def engine(path: Path, version: object, info: object):
    """Something that answers as an engine's API does."""

    async def talk(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            body = json.dumps(version if "/version" in request else info).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(talk, str(path))
    async with server:
        yield EngineSocket("podman" if "podman" in path.name else "docker", path)


def engine_checks(path, version, info, hardware=HARDWARE):
    async def story():
        async with engine(path, version, info) as place:
            return by_name(await check_engines(hardware, [place]))

    return asyncio.run(story())


def test_an_engine_that_answers_is_examined(tmp_path):
    version = {"Version": "27.0.3", "Components": [{"Name": "runc", "Version": "1.1.12"}]}
    found = engine_checks(tmp_path / "docker.sock", version, {"Runtimes": {"runc": {}, "runsc": {"path": "/x/runsc"}}})
    assert "27.0.3" in found["docker"].message
    assert found["gvisor"].level == "ok"
    assert found["runc version"].level == "warn"
    assert "1.2.8" in found["runc version"].hint
    assert "docker GPUs" not in found


def test_gpus_that_containers_would_not_see_are_a_failure(tmp_path):
    hardware = Hardware(cpus=4, memory_bytes=1 << 33, disk_bytes=1 << 35, gpus=(CARD,))
    info = {"Runtimes": {"runc": {}}, "CDISpecDirs": [str(tmp_path)]}
    without = engine_checks(tmp_path / "docker.sock", {"Version": "27"}, info, hardware)
    assert without["docker GPUs"].level == "failed"
    assert "nvidia-ctk runtime configure --runtime=docker" in without["docker GPUs"].hint
    (tmp_path / "nvidia.yaml").touch()
    described = engine_checks(tmp_path / "docker2.sock", {"Version": "27"}, info, hardware)
    assert described["docker GPUs"].ok
    toolkit = {"Runtimes": {"nvidia": {}}, "CDISpecDirs": []}
    assert engine_checks(tmp_path / "docker3.sock", {"Version": "27"}, toolkit, hardware)["docker GPUs"].ok


def test_rootless_podman_that_ignores_limits_is_told(tmp_path):
    info = {"CgroupVersion": "1", "SecurityOptions": ["name=rootless"]}
    assert engine_checks(tmp_path / "podman.sock", {"Version": "4.3"}, info)["podman limits"].level == "warn"
    fine = {"CgroupVersion": "2", "SecurityOptions": ["name=rootless"]}
    assert "podman limits" not in engine_checks(tmp_path / "podman2.sock", {"Version": "4.3"}, fine)


@pytest.mark.parametrize(
    ("version", "info"), [([], {}), ({}, {"Runtimes": []}), ({"Components": "x"}, {"Runtimes": None})]
)
def test_an_engine_that_answers_nonsense_breaks_nothing(tmp_path, version, info):
    assert "docker" in engine_checks(tmp_path / "docker.sock", version, info)


def test_a_daemon_that_is_down_and_a_socket_of_others_are_told_apart(tmp_path):
    dead = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(dead))
    found = by_name(asyncio.run(check_engines(HARDWARE, [EngineSocket("docker", dead)])))["docker"]
    assert not found.ok
    assert "does not answer" in found.message
    assert "start docker" in found.hint


def test_a_socket_of_others_names_the_group(tmp_path):
    import os

    if os.geteuid() == 0:
        pytest.skip("ordinary user: root may use every socket")
    foreign = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(foreign))
        foreign.chmod(0)
        found = by_name(asyncio.run(check_engines(HARDWARE, [EngineSocket("docker", foreign)])))["docker"]
    assert "usermod -aG docker" in found.hint
    assert stat.S_ISSOCK(foreign.stat().st_mode)


# ── the way to the hub ──


def test_the_first_step_that_fails_is_named(home):
    found = by_name(asyncio.run(check_network(home, SystemClock())))
    assert found["name"].ok
    assert "port 9 cannot be reached" in found["hub"].message
    home.save_node(home.node().model_copy(update={"hub_url": "https://no-such-hub.invalid"}))
    found = by_name(asyncio.run(check_network(home, SystemClock())))
    assert "no-such-hub.invalid is not found" in found["hub"].message


def test_a_hub_that_answers_is_examined_to_the_websocket(tmp_path):
    async def story():
        async with FakeHub() as hub:
            enrolled, _ = enrolled_home(hub, tmp_path)
            return by_name(await check_network(enrolled, SystemClock()))

    found = asyncio.run(story())
    assert {"name", "connection", "hub", "clock", "version", "websocket"} <= set(found)
    assert all(check.ok for check in found.values()), found
    assert found["websocket"].message == "possible"


def answering(document: object) -> dict[str, Check]:
    """What is found of a hub that says this of its version, and of nothing else."""

    async def talk(reader, writer):
        # One connection is only tried, and closed again without a word.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            body = json.dumps(document).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        writer.close()

    async def story(folder):
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            home = AgentHome(folder)
            home.save_node(NodeRecord(hub_url=url, hub_id="h", node_id="node_1", name="x", hub_keys=()))
            return by_name(await check_network(home, SystemClock()))

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(story(Path(folder)))


def test_an_agent_below_the_hubs_minimum_fails(tmp_path):
    assert answering({"version": "9", "agent_minimum": "99.1"})["version"].level == "failed"
    assert answering({"version": "9", "agent_minimum": agent_version()})["version"].level == "ok"
    assert answering({"version": "9"})["version"].level == "ok"
    assert answering({"version": "9", "agent_minimum": "whatever"})["version"].level == "warn"
    assert answering([])["version"].level == "ok"


def test_a_hub_without_websockets_is_a_warning(tmp_path):
    assert answering({"version": "9"})["websocket"].level == "warn"


def test_a_proxy_is_named_without_its_password(home, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://alice:hunter2@127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    found = asyncio.run(check_network(home, SystemClock()))
    assert "127.0.0.1:9" in by_name(found)["proxy"].message
    assert not [check for check in found if "hunter2" in f"{check.message} {check.hint}"]


def test_every_failure_says_how_to_mend_it(home):
    home.root.chmod(0o755)
    checks = asyncio.run(examine(home, [], SystemClock()))
    assert {check.group for check in checks} == set(GROUPS)
    assert [check.name for check in checks if check.level != "ok" and not check.hint] == []
    assert [check.group for check in checks] == sorted((check.group for check in checks), key=GROUPS.index)


GROUPS = ["this node", "the machine", "isolation", "package indexes", "the hub"]


# ── package indexes ──


async def on_loopback(host, port):
    return [ip_address("127.0.0.1")]


def test_index_is_asked_by_the_way_that_jobs_have():
    async def story():
        async with outer_world() as world:
            world.publish("tiny", "1", "")
            place = f"{INDEX}:{world.port}"

            async def found(page, **more):
                outside = world.outside(upstream=None, lookup=on_loopback, **more)
                [check] = await check_indexes(outside, {"pip": f"http://{place}{page}"})
                return check

            refused = await found("/simple/tiny/", indexes=frozenset({place}))
            assert (refused.level, world.requests) == ("warn", [])
            assert f'indexes = ["{place}"] under [network] in policy.toml' in refused.hint
            allowed = {"allowed": lambda: frozenset({place})}
            assert (await found("/simple/tiny/", **allowed)).message == f"`setup` reaches {INDEX}"
            assert "404" in (await found("/simple/other/", **allowed)).message
        assert "cannot reach" in (await found("/simple/tiny/", **allowed)).message
        assert (await check_indexes(world.outside(), {}))[0].level == "warn"

    asyncio.run(story())


# ── with real sandboxes ──


def gpus_inside(tmp_path, device):
    async def story():
        sandboxes = available_sandboxes(tmp_path / "agent")
        hardware = Hardware(
            cpus=4, memory_bytes=1 << 33, disk_bytes=1 << 35, gpus=(CARD,), gpu_devices={CARD.id: (device,)}
        )
        try:
            return by_name(await check_gpus_inside(sandboxes, hardware))
        finally:
            for sandbox in sandboxes:
                await sandbox.close()

    return asyncio.run(story())


@pytest.mark.engine("bwrap")
def test_a_gpu_is_looked_for_inside_the_sandbox(tmp_path):
    there = gpus_inside(tmp_path, "/dev/null")
    assert there["GPU in bubblewrap"].ok, there
    assert "GPU in process" not in there
    missing = gpus_inside(tmp_path, "/dev/no-such-gpu")["GPU in bubblewrap"]
    assert not missing.ok
    assert "no-such-gpu" in missing.message
    assert missing.hint
    assert not list((tmp_path / "agent").glob("attempts/doctor-*"))


@pytest.mark.engine("docker")
@pytest.mark.slow
def test_every_level_of_a_real_engine_is_proven(home, monkeypatch, docker):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{docker.socket}")

    async def story():
        sandboxes = await sandboxes_to_examine(home)
        try:
            return by_name(await examine(home, sandboxes, SystemClock()))
        finally:
            for sandbox in sandboxes:
                await sandbox.close()

    found = asyncio.run(story())
    assert found["isolation container"].ok, found["isolation container"]
    assert str(docker.socket) in found["docker"].message


@pytest.fixture(params=["@engines"])
def docker():
    from support.private_engines import docker_engine

    with docker_engine() as engine:
        yield engine


def test_what_the_running_agent_sees_is_told_and_where_this_shell_sees_something_else():
    seen = [
        {"kind": "docker", "version": "27.1", "socket": "/run/docker.sock", "levels": ["container"], "problem": ""},
        {"kind": "podman", "version": "5.0", "socket": "/run/p.sock", "levels": [], "problem": "it leaks"},
    ]
    checks = {check.message: check for check in check_view(seen, [Path("/run/docker.sock"), Path("/home/me/d.sock")])}
    assert [(check.name, check.level) for check in checks.values()] == [
        ("the agent's docker", "ok"),
        ("the agent's podman", "warn"),
        ("the agent's engines", "warn"),
    ]
    ours, theirs, missed = checks
    assert ours == "27.1 at /run/docker.sock, used for container"
    assert theirs == "5.0 at /run/p.sock is not used: it leaks; this shell does not see it"
    assert missed == "this shell sees an engine at /home/me/d.sock; the running agent does not"
    assert "DOCKER_HOST" in checks[missed].hint
