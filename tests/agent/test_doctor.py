"""The doctor's advice can be followed."""

import asyncio
import re

import click

from computepool.agent.clock import SystemClock
from computepool.agent.doctor import examine
from computepool.agent.home import AgentHome
from computepool.agent.sandbox import ProcessSandbox
from computepool.cli.app import cli


def test_every_command_that_the_doctor_names_exists(tmp_path):
    async def story():
        home = AgentHome(tmp_path)
        sandbox = ProcessSandbox(home.root, cgroups=None)
        checks = await examine(home, [sandbox], SystemClock())
        await sandbox.close()
        return checks

    checks = asyncio.run(story())
    assert {check.name for check in checks if not check.ok} >= {"enrolment", "agent", "limits"}
    named = {words for check in checks for words in re.findall(r"computepool((?: [a-z]+)+)", check.hint)}
    assert " agent start" in named
    for words in named:
        assert is_command(words.split()), f"computepool{words}"


def is_command(words: list[str]) -> bool:
    command: click.Command = cli
    with click.Context(cli) as context:
        for word in words:
            if not isinstance(command, click.Group):
                return True  # what follows are its arguments
            found = command.get_command(context, word)
            if found is None:
                return False
            command = found
    return True
