"""The texts that service managers read: they are valid, hold nothing secret, and say what was promised."""

import configparser
import plistlib
import shlex
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.agent.service import (
    NoServiceManager,
    Service,
    ServiceError,
    ServiceHost,
    choose,
    name_for,
    network_settings,
)
from computepool.agent.service.launchd import Launchd
from computepool.agent.service.systemd import Systemd, quoted
from computepool.agent.service.windows import WindowsTask, windows_quoted

PROGRAM = "/opt/pool/bin/computepool"
HOMES = ["/home/alice/.computepool", "/home/alice/my pool/100% $HOME", '/srv/"quoted"/back\\slash']


def service(home: str = HOMES[0]) -> Service:
    return Service((PROGRAM,), Path(home))


def systemd(home: str = HOMES[0], *, system: bool = False) -> Systemd:
    return Systemd(service(home), system=system, config_folder=Path("/home/alice/.config"), user="alice")


def windows(home: str = HOMES[0]) -> WindowsTask:
    return WindowsTask(
        service(home),
        distribution="Ubuntu-24.04",
        linux_user="alice",
        windows_user="PC\\Älice & Co",
        as_seen="C:\\x.xml",
    )


# ── systemd ──


@pytest.mark.engine("systemd-analyze")
@pytest.mark.parametrize("system", [True, False])
@pytest.mark.parametrize("home", HOMES)
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path, system, home):
    program = tmp_path / "computepool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "computepool-agent.service"
    made = Systemd(Service((str(program),), Path(home), environment=PROXY), system=system, config_folder=tmp_path)
    unit.write_text(made.text())
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if unit.name in line or str(unit) in line]
    # Keys of a later systemd are passed over by an earlier one.
    serious = [line for line in complaints if "RestartSteps" not in line and "RestartMaxDelaySec" not in line]
    assert not serious, done.stderr


@pytest.mark.engine("systemd-analyze")
def test_verifying_a_unit_can_fail(tmp_path):
    unit = tmp_path / "broken.service"
    unit.write_text("[Service]\nExecStart=not-absolute --home %q\nKillMode=sometimes\n")
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "broken.service" in done.stderr


@pytest.mark.parametrize("system", [True, False])
def test_unit_keeps_its_promises(system):
    manager = systemd(system=system)
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(manager.text())
    told = parser["Service"]
    assert told["ExecStart"] == f"{PROGRAM} agent start --as-service --home {HOMES[0]}"
    assert told["Restart"] == "always"
    assert told["RestartPreventExitStatus"].split() == ["0", "78"]
    assert (told["KillMode"], told["Delegate"], told["OOMPolicy"]) == ("mixed", "yes", "continue")
    assert int(told["Nice"]) > 0
    assert int(told["OOMScoreAdjust"]) > 0
    assert not {key for key in told if key.startswith("Environment")}
    assert parser["Unit"]["StartLimitIntervalSec"] == "0"
    assert parser["Install"]["WantedBy"] == ("multi-user.target" if system else "default.target")
    assert ("After" in parser["Unit"]) == system
    assert str(manager.path) == (
        "/etc/systemd/system/computepool-agent.service"
        if system
        else "/home/alice/.config/systemd/user/computepool-agent.service"
    )


def systemd_words(line: str) -> list[str]:
    """How systemd reads ExecStart: quotes and backslashes as C has them, then %% and $$."""
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line)]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, categories=("L", "N", "P", "S", "Zs")), min_size=1))
def test_any_printable_path_survives_systemds_quoting(word):
    if word.isprintable():
        assert systemd_words(quoted(word)) == [word]


# ── the way to the network ──

PROXY = {"HTTPS_PROXY": "http://proxy.example.org:3128", "NO_PROXY": "localhost, 10.0.0.0/8", "SSL_CERT_FILE": "/a $b%"}


def test_a_service_knows_the_proxy_that_its_users_shell_knows(tmp_path):
    made = Service((PROGRAM,), Path(HOMES[0]), environment=PROXY)
    unit = Systemd(made, system=False, config_folder=tmp_path).text()
    lines = [line.partition("=")[2] for line in unit.splitlines() if line.startswith("Environment=")]
    variables = [f"{key}={value}" for key, value in PROXY.items()]
    assert [shlex.split(line)[0].replace("%%", "%") for line in lines] == variables
    plist = plistlib.loads(Launchd(made, uid=501, user_home=tmp_path).data())
    assert plist["EnvironmentVariables"] == PROXY
    task = WindowsTask(made, distribution="U", linux_user="a", windows_user="b", as_seen="c").data()
    arguments = ElementTree.fromstring(task).findtext("t:Actions/t:Exec/t:Arguments", namespaces=TASK)
    words = windows_words(str(arguments))
    assert words[5:9] == ["/usr/bin/env", *variables]
    assert words[9] == PROGRAM


def test_a_proxys_password_goes_into_no_service_file():
    shell = {**PROXY, "http_proxy": "http://alice:hunter2@proxy.example.org", "HOME": "/x", "TOKEN": "y"}
    assert network_settings(shell) == (PROXY, ["http_proxy"])


def test_service_looks_for_the_engine_where_the_shell_that_installed_it_did():
    shell = {"DOCKER_HOST": "unix:///run/mine/docker.sock", "CONTAINER_HOST": "ssh://elsewhere", "PATH": "/bin"}
    assert network_settings(shell) == ({"DOCKER_HOST": "unix:///run/mine/docker.sock"}, [])


# ── launchd ──


@pytest.mark.parametrize("home", HOMES)
def test_launchd_agent_is_a_valid_property_list(home):
    manager = Launchd(service(home), uid=501, user_home=Path("/Users/alice"))
    told = plistlib.loads(manager.data())
    assert told["Label"] == "org.computepool.agent"
    assert told["ProgramArguments"] == [PROGRAM, "agent", "start", "--as-service", "--stay-away", "--home", home]
    assert told["KeepAlive"] == {"SuccessfulExit": False}
    assert "EnvironmentVariables" not in told
    assert str(manager.path) == "/Users/alice/Library/LaunchAgents/org.computepool.agent.plist"
    assert [step.command[:3] for step in manager.steps_to_install()][-1] == ("launchctl", "bootstrap", "gui/501")


def test_root_installs_a_daemon_on_macos():
    manager = Launchd(service(), uid=None, user_home=Path("/var/root"))
    assert str(manager.path) == "/Library/LaunchDaemons/org.computepool.agent.plist"
    assert manager.steps_to_stop()[0].command == ("launchctl", "bootout", "system/org.computepool.agent")


# ── Windows ──

TASK = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}


@pytest.mark.parametrize("home", HOMES)
def test_windows_task_is_valid_xml_that_calls_wsl(home):
    told = ElementTree.fromstring(windows(home).data())

    def text(path: str) -> str | None:
        return told.findtext(path, namespaces=TASK)

    assert text("t:Triggers/t:LogonTrigger/t:UserId") == "PC\\Älice & Co"
    assert text("t:Principals/t:Principal/t:RunLevel") == "LeastPrivilege"
    assert text("t:Settings/t:ExecutionTimeLimit") == "PT0S"
    assert str(text("t:Actions/t:Exec/t:Command")).endswith("wsl.exe")
    words = windows_words(str(text("t:Actions/t:Exec/t:Arguments")))
    assert words[:5] == ["-d", "Ubuntu-24.04", "-u", "alice", "--exec"]
    assert words[5:] == [PROGRAM, "agent", "start", "--as-service", "--stay-away", "--home", home]


def windows_words(line: str) -> list[str]:
    """How a Windows program splits its command line."""
    words, word, inside, begun, place = [], "", False, False, 0
    while place < len(line):
        slashes = len(line[place:]) - len(line[place:].lstrip("\\"))
        place += slashes
        char = line[place] if place < len(line) else ""
        if char == '"':
            word += "\\" * (slashes // 2)
            begun = True
            if slashes % 2:
                word += '"'
            else:
                inside = not inside
        else:
            word += "\\" * slashes
            if char in ("", " ", "\t") and not inside:
                if word or begun:
                    words.append(word)
                word, begun = "", False
            else:
                word += char
        place += 1
    return [*words, word] if word or begun else words


@given(st.lists(st.text(st.sampled_from('ab \\"%'), min_size=1, max_size=8), min_size=1, max_size=3))
def test_any_words_survive_windows_quoting(words):
    assert windows_words(" ".join(windows_quoted(word) for word in words)) == words


# ── which manager ──


def machine(tmp_path: Path, *tools: str, **facts: object) -> ServiceHost:
    for tool in tools:
        program = tmp_path / tool
        program.write_text("#!/bin/sh\nprintf '%s\\n' 'PC\\alice'\n")
        program.chmod(0o755)
    environment = {"PATH": str(tmp_path), "HOME": "/home/alice", **dict(facts.pop("environment", {}))}  # type: ignore[call-overload]
    known = {"platform": "linux", "uid": 1000, "booted_with_systemd": False, **facts}
    return ServiceHost(environment=environment, **known)  # type: ignore[arg-type]


def test_each_system_gets_its_own_manager(tmp_path, monkeypatch):
    everything = ("systemctl", "launchctl", "schtasks.exe", "whoami.exe", "wslpath")

    def name(**facts: object) -> str:
        return choose(service(), machine(tmp_path, *everything, **facts)).name

    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert name(booted_with_systemd=True) == "systemd --user"
    assert name(booted_with_systemd=True, uid=0) == "systemd"
    assert name(platform="darwin") == "launchd"
    wsl = {"WSL_DISTRO_NAME": "Ubuntu"}
    assert name(environment=wsl, booted_with_systemd=True) == "Windows logon task"


def test_a_machine_without_a_service_manager_is_told_what_to_do_instead(tmp_path):
    with pytest.raises(NoServiceManager, match=r"no systemd here.*computepool agent start"):
        choose(service(), machine(tmp_path, "systemctl"))
    with pytest.raises(NoServiceManager, match="Windows programs are not reachable"):
        choose(service(), machine(tmp_path, environment={"WSL_DISTRO_NAME": "Ubuntu"}))
    with pytest.raises(NoServiceManager, match="inside WSL"):
        choose(service(), machine(tmp_path, platform="win32"))
    with pytest.raises(NoServiceManager, match="launchctl is not on the PATH"):
        choose(service(), machine(tmp_path, "systemctl"), "launchd")


def test_only_root_makes_a_service_of_the_system(tmp_path):
    here = machine(tmp_path, "systemctl", booted_with_systemd=True)
    with pytest.raises(ServiceError, match="sudo"):
        choose(service(), here, system=True)
    root = machine(tmp_path, "systemctl", booted_with_systemd=True, uid=0)
    assert choose(service(), root, system=False).name == "systemd --user"


def test_units_go_where_xdg_says_and_nowhere_relative(tmp_path):
    at = {"booted_with_systemd": True, "environment": {"XDG_CONFIG_HOME": "/elsewhere"}}
    assert str(choose(service(), machine(tmp_path, "systemctl", **at)).path).startswith("/elsewhere/systemd/user/")
    at["environment"] = {"XDG_CONFIG_HOME": "relative"}
    assert str(choose(service(), machine(tmp_path, "systemctl", **at)).path).startswith("/home/alice/.config/systemd/")


def test_a_second_home_has_a_service_of_its_own(tmp_path):
    usual = tmp_path / ".computepool"
    assert name_for(usual, usual) == "computepool-agent"
    second, third = name_for(tmp_path / "Second Pool", usual), name_for(tmp_path / "third" / "Second Pool", usual)
    assert second.startswith("computepool-agent-second-pool-")
    assert second == name_for(tmp_path / "Second Pool", usual)
    assert second != third


@pytest.mark.parametrize("home", ["/home/a\nExecStartPre=/bin/evil", "/home/\x1b[31m", "/a\0b"])
def test_a_home_that_would_break_the_file_is_refused(home):
    with pytest.raises(ServiceError, match="another --home"):
        service(home)
