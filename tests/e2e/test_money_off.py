"""A pool without money, at its command line: every command there is either says that there is none, or works and says
no word of it. Commands are taken from the program itself, so that a new one has to be tried here too."""

import json
from typing import Any

import click
import pytest
from support.money_words import NO_MONEY, told_in, words_in
from support.pool import running_pool

from computepool.cli.app import cli, run

pytestmark = pytest.mark.slow

WORKS = """
    run -y -- true; run -d -y -- true; ps; show JOB; logs JOB; why WAITING; cancel WAITING; retry JOB; verify JOB
    show JOB --timeline; get JOB -o outputs; nodes; node show machine; node history machine
    node rename machine attic; node rename attic machine
    node tags machine lab; node drain machine; node resume machine; node join-token; offers
    node contest machine event_1 --reason no; admin audits; admin accusations list; admin accusations confirm 1
    admin accusations dismiss 1; admin canary machine JOB; admin canaries add JOB
    admin canaries list; admin canaries remove check_1; admin contests; admin resolve event_1 uphold
    admin verify machine; admin unverify machine; admin limits show OWNER; admin limits set OWNER --slices 5
    whoami; token create other; token list; token revoke other; agent status; agent pause
    admin overview; admin queue; admin audit; admin settings list; admin settings history registration
    admin settings set registration closed --reason test; admin settings reset registration --reason test
    admin users disable user_1 --reason test; admin users enable OWNER; notices
    node policy machine; node pause machine; node unpause machine; node join-tokens; node join-tokens revoke jtk_1
    agent resume; admin mail; admin users; admin users role OWNER admin; node ban machine
    admin storage; admin storage show OWNER; admin storage limit OWNER --size 5GB; admin storage reconcile
    share create JOB; share list JOB; share revoke JOB share_1; public-name
    team create my-lab; team list; team members my-lab; team invite my-lab ada@example.org; team join cpi_1
    team service-account my-lab ci; team role my-lab OWNER owner; team remove my-lab user_1; team leave my-lab
    artifacts list; artifacts rm artifact_1 -y; prune --older-than 30d -y; rm JOB -y
"""
IS_OFF = """
    explain JOB; dispute JOB --reason no; node price machine; node price machine --floor 5; earnings; wallet
    offers price<40; wallet card; wallet cash-out 5; wallet cash-outs; wallet cash-outs cancel 1
    wallet earnings; wallet entries
    wallet payout-account; wallet plan; wallet redeem code; wallet statement 2026; wallet top-up 5; wallet top-ups
    admin cash-outs; admin cash-outs approve 1; admin cash-outs paid 1 reference; admin cash-outs reject 1 --note no
    admin cash-outs reverse 1 --note no
    admin disputes; admin disputes show 1; admin disputes resolve 1 full --note yes; admin grant OWNER 5 --note yes
    admin ledger check; admin limits set OWNER --per-day 5; admin reports; admin settings rates set --base 5
    admin settings rates show; admin settings regions import regions.csv; admin settings regions show
    admin settings tiers set rtx-4090=3; admin settings tiers show; admin vouchers; admin vouchers create 5
    admin vouchers withdraw voucher_1; admin withdraw OWNER 5 --note yes; admin write-off OWNER --note yes
"""
ELSEWHERE = """
    up; simulate; completion; hub admin; hub backup; hub doctor; hub keys announce; hub keys list; hub keys rotate
    hub keys rotate-secret; hub migrate; hub restore; hub serve; join
    agent benchmark; agent doctor; agent drain; agent install; agent logs; agent policy; agent rotate-key; agent start
    agent stop
    agent trust; agent uninstall; key; login; logout
"""
"""About this machine or this hub, without a question to a pool."""

OWN_POWER = ".power."
"""What a machine's owner pays for electricity is nothing of the pool's."""


def lines(text: str) -> list[str]:
    return [one.strip() for one in text.replace("\n", ";").split(";") if one.strip()]


def all_commands(command: click.Command = cli, path: str = "") -> dict[str, click.Command]:
    """Those that do something, by their names."""
    if not isinstance(command, click.Group):
        return {path: command}
    found: dict[str, click.Command] = {path: command} if command.invoke_without_command else {}
    with click.Context(command) as ctx:
        for name in command.list_commands(ctx):
            child = command.get_command(ctx, name)
            assert child is not None
            found |= all_commands(child, f"{path} {name}".strip())
    return found


def documents(text: str) -> list[Any]:
    """One after the other, however they are laid out."""
    found = []
    while text := text.lstrip():
        document, end = json.JSONDecoder().raw_decode(text)
        found.append(document)
        text = text[end:]
    return found


COMMANDS = all_commands()


def command_of(line: str) -> str:
    return max((name for name in COMMANDS if f"{line} ".startswith(f"{name} ")), key=len)


def test_every_command_is_tried_or_known_to_ask_no_pool():
    tried = {command_of(line) for line in lines(WORKS) + lines(IS_OFF)}
    assert sorted(COMMANDS.keys() - tried - set(lines(ELSEWHERE))) == []


def test_no_command_says_a_word_of_money_where_there_is_none(tmp_path, monkeypatch, capfdbinary):
    with running_pool(tmp_path / "pool", {"COMPUTEPOOL_MONEY": "off"}) as pool:
        machine = pool.join_without_bubblewrap("machine")
        job = pool.submit("true").id
        values = {"JOB": job, "WAITING": pool.submit("true", resources={"cpus": 4096}).id, "OWNER": pool.client.me().id}
        pool.until_state(job, "succeeded")
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "regions.csv").write_text("DE,0.95\n")

        def ask(line: str) -> tuple[str, str]:
            capfdbinary.readouterr()
            monkeypatch.setenv("COMPUTEPOOL_HOME", str(machine.home if line.startswith("agent") else pool.home))
            run([values.get(word, word) for word in line.split()])
            out, err = capfdbinary.readouterr()
            assert b"fault of computepool" not in err, (line, err)
            return out.decode(), err.decode()

        for line in lines(IS_OFF):
            out, err = ask(line)
            assert (out, NO_MONEY in err) == ("", True), (line, out, err)
        for line in lines(WORKS):
            out, err = ask(line)
            others = "\n".join(row for row in out.splitlines() if not row.startswith(OWN_POWER[1:]))
            assert words_in(others + err) == [], (line, out, err)
            if any("--json" in option.opts for option in COMMANDS[command_of(line)].params):
                before, dashes, after = line.partition(" -- ")
                out, err = ask(f"{before} --json{dashes}{after}")
                told = [one for document in documents(out) for one in told_in(document)]
                told = [one for one in told if not one.startswith(OWN_POWER)]
                assert told + words_in(err) == [], (line, out, err)
