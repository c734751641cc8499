"""For hosts: when and for whom this machine works. The file is the truth; this shows and changes it."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.errors import CliError, tell
from computepool.cli.machine import agent_home
from computepool.cli.options import home_option, json_option, print_json

if TYPE_CHECKING:
    from computepool.agent.owner.policy_file import PolicyFile


@click.command(epilog="Example: computepool agent policy start.after_idle 5m")
@click.argument("setting", required=False)
@click.argument("value", required=False)
@json_option
@home_option
def policy(setting: str | None, value: str | None, as_json: bool) -> None:
    """Show the owner's policy or one setting, or change a setting. A running agent applies it within seconds.

    SETTING is a name such as start.after_idle, reactions.owner or gpu.GPU-1a2b.share. Write a list as '["suspend 5m",
    "evict"]'. Without SETTING the whole file is shown, with the meaning of each setting.
    """
    from computepool.agent.owner.policy_file import PolicyError, changed, toml_of, toml_value

    file = _policy_file()
    if setting is not None and value is not None:
        try:
            file.write(changed(file.policy, setting, _read(value)))
        except PolicyError as error:
            raise CliError(str(error), "`computepool agent policy` shows every setting.", 2) from None
    values = file.policy.model_dump(mode="json")
    if setting is None:
        print_json(values) if as_json else click.echo(toml_of(file.policy), nl=False)
        tell(f"{file.path}", dim=True)
        return
    found = _at(values, setting)
    if as_json:
        print_json({setting: found})
        return
    for name, one in _rows(setting, found):
        # As it is written in the file, and as this command takes it.
        click.echo(f"{name} = {toml_value(one)}")


@click.command(epilog="Example: computepool agent trust cpk_…")
@click.argument("key")
@home_option
def trust(key: str) -> None:
    """Treat jobs signed with this key as your own on this machine.

    `computepool key` prints KEY on the machine where you submit jobs. The key of the CLI in the same home is always
    trusted. To remove a key, change the list: computepool agent policy own.keys
    """
    trust_keys([key])
    tell("Jobs signed with this key are your own here, within seconds.")


def trust_keys(keys: Sequence[str]) -> None:
    """Written into the policy. A running agent follows."""
    from computepool.agent.owner.policy_file import PolicyError, changed

    file = _policy_file()
    known = file.policy.own.keys
    try:
        file.write(changed(file.policy, "own.keys", list(dict.fromkeys([*known, *(key.strip() for key in keys)]))))
    except PolicyError as error:
        raise CliError(str(error), "Copy the whole of what `computepool key` prints.", 2) from None


def _policy_file() -> "PolicyFile":
    from computepool.agent.owner.policy_file import PolicyFile

    home = agent_home()
    home.prepare()
    file = PolicyFile(home.root)
    file.refresh()
    if file.problem:
        raise CliError(f"{file.path}: {file.problem}", "Mend the file; until then the last good policy holds.")
    return file


def _rows(setting: str, found: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(found, dict):
        yield setting, found
        return
    for name, one in found.items():
        yield from _rows(f"{setting}.{name}", one)


def _read(text: str) -> Any:
    """As it would stand in the file; a word without quotes is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _at(values: Any, setting: str) -> Any:
    section, _, name = setting.rpartition(".")
    place: Any = values
    if section.startswith("gpu."):
        place = values["gpu"].get(section.removeprefix("gpu."), {})
    elif section:
        place = values.get(section, {})
    if not isinstance(place, dict) or name not in place:
        raise CliError(f"There is no setting {setting}.", "`computepool agent policy` shows every setting.", 2)
    return place[name]
