"""Every command explains itself, and plain ones start quickly."""

import subprocess
import sys

import click
import pytest

from computepool.cli.app import COMMANDS, cli, run
from computepool.protocol.spec_support import NOT_YET

HEAVY = ("httpx", "rich", "pydantic", "websockets", "yaml", "cryptography", "fastapi", "sqlalchemy", "asyncio")


def all_commands() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []

    def walk(command: click.Command, path: tuple[str, ...]) -> None:
        found.append(path)
        if isinstance(command, click.Group):
            with click.Context(command) as ctx:
                for name in command.list_commands(ctx):
                    child = command.get_command(ctx, name)
                    assert child is not None
                    walk(child, (*path, name))

    walk(cli, ())
    return found


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_every_command_shows_an_example(path, capfd):
    assert run([*path, "--help"]) == 0
    text = capfd.readouterr().out
    assert "Example" in text
    assert "computepool" in text.partition("Example")[2]


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_every_option_is_explained(path):
    command: click.Command = cli
    with click.Context(cli) as ctx:
        for name in path:
            assert isinstance(command, click.Group)
            found = command.get_command(ctx, name)
            assert found is not None
            command = found
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{' '.join(path)} {parameter.opts}"


@pytest.mark.parametrize("path", [path for path in all_commands() if len(path) <= 2], ids=" ".join)
def test_no_sentence_about_a_command_is_cut(path, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*path, "--help"]) == 0
    assert "..." not in capfd.readouterr().out.replace("]...", "").replace("ARGS...", "").replace("TIER...", "")


def test_commands_of_the_contract_are_there():
    paths = {" ".join(path) for path in all_commands()}
    expected = """
        up; simulate; hub serve; hub migrate; hub doctor; hub backup; hub restore; hub admin; join
        hub keys announce; hub keys rotate; node drain; node resume; node rename; node ban
        agent start; agent status; agent pause; agent resume; agent drain; agent stop; agent doctor
        agent benchmark; agent policy; agent logs; agent install; agent uninstall
        login; logout; whoami; run; ps; show; logs; cancel; retry; get; why; verify; nodes; node show; node tags
        token create; token list; token revoke; offers; earnings; node price
        admin settings tiers show; admin settings tiers set; admin settings regions show
        admin settings regions import; admin settings rates show; admin settings rates set
        explain; wallet; wallet entries; wallet statement; wallet earnings; admin ledger check; admin grant
        admin users; admin users role"""
    assert {word.strip() for word in expected.strip().replace("\n", ";").split(";")} <= paths


def test_options_that_do_nothing_yet_say_so():
    from computepool.cli.run import run as command

    refused = {field for field, _, _ in NOT_YET}
    for option in command.params:
        if isinstance(option, click.Option) and option.name != "isolation":
            assert ("(not yet)" in (option.help or "")) == (option.name in refused), option.opts


def test_every_command_has_its_place_in_the_help(capfd):
    run(["--help"])
    text = capfd.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("words", [["--help"], ["ps", "--help"], ["run", "--help"], ["logs", "--help"], ["--version"]])
def test_plain_commands_load_nothing_heavy(words):
    code = (
        "import sys; from computepool.cli.app import run; run(sys.argv[1:]);"
        f"sys.exit(','.join(name for name in {HEAVY} if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_commands_of_the_light_install_need_no_hub():
    code = (
        "import sys; from computepool.cli.app import COMMANDS; import importlib;"
        "[importlib.import_module('computepool.cli.' + entry.place.split(':')[0]) for entry in COMMANDS.values()];"
        "sys.exit(','.join(name for name in ('fastapi', 'sqlalchemy', 'uvicorn') if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "computepool", "--version"], capture_output=True, check=True)
    assert done.stdout.startswith(b"computepool ")
