"""`agent install` and `agent uninstall`, with stand-ins for the managers' own programs: what came also goes."""

import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest
from support.agents import enrolled_home
from support.fake_hub import FakeHub
from support.waiting import patience

from computepool.agent.home import AgentHome
from computepool.agent.sandbox import ProcessSandbox
from computepool.agent.sandbox.identity import SYSTEM_FOLDER, instance_of
from computepool.agent.service.model import NETWORK_VARIABLES

SYSTEMCTL = r"""#!/bin/sh
echo "$*" >> "$CALLS"
[ -n "$FAIL" ] && { echo "Failed to connect to bus" >&2; exit 1; }
unit="$XDG_CONFIG_HOME/systemd/user/$4"; wants="$XDG_CONFIG_HOME/systemd/user/default.target.wants"
case "$2" in
    enable) mkdir -p "$wants" && ln -sf "$unit" "$wants/$4" ;;
    disable) [ -n "$FORGETFUL" ] || rm -f "$wants/$4" ;;
esac
"""
PLAIN = '#!/bin/sh\nprintf "%s\\n" "$*" >> "$CALLS"\n'


def tree(folder):
    """Everything below a folder, with what kind it is."""
    return {str(path.relative_to(folder)): stat.S_IFMT(path.lstat().st_mode) for path in folder.rglob("*")}


@pytest.fixture
def machine(cli, tmp_path, monkeypatch):
    """An enrolled node of an ordinary user, and programs of service managers that note how they are called."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (
        ("systemctl", SYSTEMCTL),
        ("launchctl", PLAIN),
        ("schtasks.exe", PLAIN),
        ("whoami.exe", "#!/bin/sh\nprintf '%s\\n' 'PC\\alice'\n"),
        ("wslpath", "#!/bin/sh\nprintf '%s\\n' 'C:\\home'\n"),
    ):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    person = tmp_path / "person"
    person.mkdir()
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(person / ".config"))
    monkeypatch.setenv("CALLS", str(tools / "calls"))
    for name in NETWORK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    async def enrol():
        async with FakeHub() as hub:
            enrolled_home(hub, cli.home)

    asyncio.run(enrol())
    return Machine(cli, tools, person)


class Machine:
    def __init__(self, cli, tools, person):
        self.cli = cli
        self.tools = tools
        self.person = person

    def install(self, manager, *words):
        """The tests may be root's, whose service would be the system's."""
        return self.cli("agent", "install", "--manager", manager, "--scope", "user", *words)

    def uninstall(self, manager, *words):
        return self.cli("agent", "uninstall", "--manager", manager, "--scope", "user", *words)

    def calls(self):
        path = self.tools / "calls"
        return path.read_text().splitlines() if path.exists() else []


def test_systemd_unit_comes_and_goes_without_a_trace(machine):
    before, home_before = tree(machine.person), tree(machine.cli.home)
    done = machine.install("systemd")
    assert done.code == 0, done.err
    assert "loginctl enable-linger" in done.err
    unit = next((machine.person / ".config/systemd/user").glob("computepool-agent*.service"))
    assert f"--home {machine.cli.home}" in unit.read_text()
    assert machine.calls() == ["--user daemon-reload", f"--user enable --now {unit.name}"]
    assert tree(machine.person) != before
    done = machine.uninstall("systemd")
    assert done.code == 0, done.err
    assert f"--user disable --now {unit.name}" in machine.calls()
    assert tree(machine.person) == before
    assert tree(machine.cli.home).keys() <= home_before.keys()
    assert AgentHome(machine.cli.home / "agent").is_enrolled()


def test_uninstall_knows_how_it_was_installed(machine):
    before = tree(machine.person)
    assert machine.install("launchd").code == 0
    assert machine.cli("agent", "uninstall").code == 0
    assert tree(machine.person) == before
    assert any("bootout gui/" in call for call in machine.calls())


def test_a_damaged_note_is_passed_over(machine):
    before = tree(machine.person)
    machine.install("systemd")
    (machine.cli.home / "agent" / "service.json").write_text("[")
    assert machine.uninstall("systemd").code == 0
    assert not list(machine.person.rglob("computepool-agent*"))
    assert {path for path in tree(machine.person) if "computepool" in path} == set()
    assert set(before) <= set(tree(machine.person))


def test_links_that_the_manager_forgot_go_too(machine, monkeypatch):
    before = tree(machine.person)
    machine.install("systemd")
    monkeypatch.setenv("FORGETFUL", "1")
    assert machine.uninstall("systemd").code == 0
    assert tree(machine.person) == before


def test_what_was_there_before_stays(machine):
    other = machine.person / ".config/systemd/user/default.target.wants/other.service"
    other.parent.mkdir(parents=True)
    other.touch()
    before = tree(machine.person)
    machine.install("systemd")
    machine.uninstall("systemd")
    assert tree(machine.person) == before


def test_a_manager_that_refuses_leaves_nothing_half_done(machine, monkeypatch):
    before, home_before = tree(machine.person), tree(machine.cli.home)
    monkeypatch.setenv("FAIL", "1")
    done = machine.install("systemd")
    assert done.code == 1
    assert "Failed to connect to bus" in done.err
    assert tree(machine.person) == before
    assert tree(machine.cli.home) == home_before


@pytest.mark.parametrize("manager", ["launchd", "windows"])
def test_other_systems_services_come_and_go_without_a_trace(machine, monkeypatch, manager):
    monkeypatch.setenv("WSL_DISTRO_NAME", "Ubuntu")
    before, home_before = tree(machine.person), tree(machine.cli.home)
    assert machine.install(manager).code == 0
    calls = machine.calls()
    assert any("bootstrap gui/" in call or "/Create /F /TN ComputePool\\" in call for call in calls), calls
    assert machine.uninstall(manager).code == 0
    assert any("bootout" in call or "/Delete" in call for call in machine.calls()[len(calls) :])
    assert tree(machine.person) == before
    assert tree(machine.cli.home).keys() <= home_before.keys()


def test_dry_run_and_print_do_nothing(machine):
    before, home_before = tree(machine.person), tree(machine.cli.home)
    described = machine.install("systemd", "--dry-run")
    assert "would write" in described.text
    assert "would run systemctl --user enable --now" in described.text
    printed = machine.install("systemd", "--print")
    assert printed.text.startswith("[Unit]\n")
    assert "would remove" in machine.uninstall("systemd", "--dry-run", "--purge").text
    assert machine.calls() == []
    assert (tree(machine.person), tree(machine.cli.home)) == (before, home_before)


def test_no_unit_holds_a_secret(machine):
    identity = (machine.cli.home / "agent" / "identity.json").read_text()
    for manager in ("systemd", "launchd"):
        text = machine.install(manager, "--print").text
        assert not [word for word in identity.split('"') if len(word) > 20 and word in text]
        assert "nvironment" not in text


def test_a_proxy_with_a_password_is_left_out_and_told(machine, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://alice:hunter2@proxy.example.org:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.org:3128")
    done = machine.install("systemd")
    assert "HTTPS_PROXY holds a password" in done.err
    units = "".join(path.read_text() for path in machine.person.rglob("*.service"))
    assert "hunter2" not in units
    assert "Environment=HTTP_PROXY=http://proxy.example.org:3128\n" in units


def test_a_machine_that_has_not_joined_is_not_made_a_service(machine, tmp_path):
    done = machine.install("systemd", "--home", str(tmp_path / "elsewhere"))
    assert done.code == 1
    assert "computepool join" in done.err
    assert machine.calls() == []


def test_uninstall_removes_what_the_agent_left(machine):
    root = machine.cli.home / "agent"
    (root / "logs").mkdir()
    (root / "logs" / "agent.log").write_text("x")
    (root / "etc-0123").mkdir()
    (root / "agent.sock").touch()
    machine.install("systemd")
    assert machine.uninstall("systemd").code == 0
    left = {path.name for path in root.iterdir()}
    assert left <= {"identity.json", "node.json", "cache", "layers", "journal"}


def test_purge_asks_first_and_says_what_the_pool_still_knows(machine):
    root = machine.cli.home / "agent"
    node_id = AgentHome(root).node().node_id
    refused = machine.uninstall("systemd", "--purge")
    assert refused.code != 0
    assert root.is_dir()
    done = machine.uninstall("systemd", "--purge", "-y")
    assert done.code == 0
    assert not root.exists()
    assert f"computepool node ban {node_id}" in done.err


def test_uninstall_works_where_there_is_no_service_manager_any_more(machine):
    if Path("/run/systemd/system").is_dir():
        pytest.skip("a machine without systemd: this one has it")
    done = machine.cli("agent", "uninstall")
    assert done.code == 0
    assert "no service of this agent" in done.err
    done = machine.cli("agent", "install")
    assert done.code == 1
    assert "no systemd here" in done.err


class RunningAgent:
    """A real agent in a thread of its own, on a hub that is there for it."""

    def __init__(self, home):
        self._home = home
        self._ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._story()))

    async def _story(self):
        from computepool.agent.main import run_agent

        async with FakeHub() as hub:
            home, _ = enrolled_home(hub, self._home)
            sandbox = ProcessSandbox(home.root, cgroups=None)

            async def ready(_):
                self._ready.set()

            await run_agent(home, sandboxes=[sandbox], handle_signals=False, on_ready=ready)
            await sandbox.close()

    def __enter__(self):
        self.thread.start()
        assert self._ready.wait(patience())
        return self

    def __exit__(self, *_):
        self.thread.join(patience())


@pytest.fixture
def unenrolled(machine):
    """Its agent is to be of another hub, which lives as long as the agent does."""
    (machine.cli.home / "agent" / "node.json").unlink()
    return machine


def test_a_running_agent_is_not_doubled(unenrolled):
    machine = unenrolled
    with RunningAgent(machine.cli.home) as agent:
        for done in (machine.install("systemd"), machine.uninstall("systemd"), machine.uninstall("systemd", "--purge")):
            assert done.code == 1
            assert "computepool agent stop" in done.err
        assert machine.calls() == []
        assert agent.thread.is_alive()
        assert machine.cli("agent", "stop").code == 0


def test_the_services_agent_is_stopped_by_uninstall(machine):
    before = tree(machine.person)
    assert machine.install("systemd").code == 0
    (machine.cli.home / "agent" / "node.json").unlink()
    with RunningAgent(machine.cli.home) as agent:
        done = machine.uninstall("systemd")
        assert done.code == 0, done.err
        assert "given back to the pool" in done.err
        agent.thread.join(patience())
        assert not agent.thread.is_alive()
    assert tree(machine.person) == before


def test_what_roots_sandboxes_left_elsewhere_goes_too(machine):
    if os.geteuid() != 0:
        pytest.skip("root: only root's agent keeps something elsewhere")
    away = SYSTEM_FOLDER / instance_of(machine.cli.home / "agent")
    (away / "etc-0123").mkdir(parents=True)
    (away / "sandbox.lock").touch()
    (away / "attempts").mkdir()
    assert machine.uninstall("systemd").code == 0
    assert not away.exists()
    (away / "attempts" / "attempt_1").mkdir(parents=True)
    assert machine.uninstall("systemd").code == 0
    assert (away / "attempts" / "attempt_1").is_dir(), "a result that the hub has not got yet"
    assert machine.uninstall("systemd", "--purge", "-y").code == 0
    assert not away.exists()
