"""The tree of commands. A command's file is loaded when the command is called, not before."""

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from computepool.cli.errors import INTERRUPTED, READER_GONE, CliError, not_utf8, report

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class Entry:
    section: str
    name: str
    place: str
    help: str


_JOBS, _POOL, _MACHINES, _MARKET, _ACCOUNT = "Jobs", "The pool", "Machines", "The market", "Account"

COMMANDS = {
    entry.name: entry
    for entry in (
        Entry(_JOBS, "run", "run:run", "Submit a job, follow its log, fetch its outputs."),
        Entry(_JOBS, "ps", "jobs:ps", "List jobs."),
        Entry(_JOBS, "show", "jobs:show", "Show a job, its slices and attempts."),
        Entry(_JOBS, "logs", "logs:logs", "Print or follow a job's log."),
        Entry(_JOBS, "cancel", "jobs:cancel", "Cancel a job."),
        Entry(_JOBS, "retry", "jobs:retry", "Run a job again, as a new one."),
        Entry(_JOBS, "get", "files:get", "Download a job's outputs."),
        Entry(_JOBS, "rm", "storage:rm", "Delete jobs that have ended, with their logs and outputs."),
        Entry(_JOBS, "prune", "storage:prune", "Delete old jobs and files."),
        Entry(_JOBS, "artifacts", "storage:artifacts", "List and delete stored files."),
        Entry(_JOBS, "why", "jobs:why", "Say why a job waits."),
        Entry(_JOBS, "explain", "explain:explain", "Say where every credit of a job went."),
        Entry(_JOBS, "verify", "verify:verify", "Check a job's signatures and digests."),
        Entry(_JOBS, "share", "shares:share", "Make, list and revoke links by which others see a job."),
        Entry(_JOBS, "dispute", "disputes:dispute", "Say that a job was not worth what it cost."),
        Entry(_POOL, "up", "pool:up", "Start a pool on this machine: a hub and an agent."),
        Entry(_POOL, "simulate", "simulate:simulate", "Add simulated nodes, for demos and load tests."),
        Entry(_POOL, "hub", "hub:hub", "Run, migrate, check and back up a hub."),
        Entry(_MACHINES, "join", "pool:join", "Share this machine with a pool."),
        Entry(_MACHINES, "agent", "agent:agent", "Control the agent on this machine."),
        Entry(_MACHINES, "nodes", "nodes:nodes", "List your machines."),
        Entry(_MACHINES, "node", "nodes:node", "Show or change one machine."),
        Entry(_MARKET, "offers", "market:offers", "List the nodes for rent, with prices."),
        Entry(_MARKET, "earnings", "market:earnings", "Estimate what a GPU would earn here."),
        Entry(_MARKET, "wallet", "wallet:wallet", "Show your credits, and what came and went."),
        Entry(_MARKET, "admin", "admin:admin", "Run the pool: what its operator decides."),
        Entry(_ACCOUNT, "login", "account:login", "Sign in to a hub."),
        Entry(_ACCOUNT, "logout", "account:logout", "Sign out."),
        Entry(_ACCOUNT, "whoami", "account:whoami", "Show who is signed in, and where."),
        Entry(_ACCOUNT, "public-name", "account:public_name", "Show or choose your name on the leaderboard."),
        Entry(_ACCOUNT, "notices", "notices:notices", "Show what you should know."),
        Entry(_ACCOUNT, "key", "account:key", "Print the public key with which jobs are signed here."),
        Entry(_ACCOUNT, "completion", "completion:completion", "Print the script that completes commands in a shell."),
        Entry(_ACCOUNT, "team", "teams:team", "Make teams, and decide who belongs to them."),
        Entry(_ACCOUNT, "token", "account:token", "Make, list and revoke access tokens."),
    )
}


MEANT = {
    "status": "`ps` lists your jobs, `show JOB` shows one, `agent status` shows this machine",
    **dict.fromkeys(("jobs", "list", "ls", "queue"), "`ps` lists your jobs, `nodes` your machines"),
    **dict.fromkeys(("stop", "kill", "abort"), "`cancel JOB` ends a job, `agent stop` ends the agent on this machine"),
    **dict.fromkeys(("submit", "exec", "apply"), "`run` submits a job"),
    **dict.fromkeys(("log", "tail", "attach"), "`logs -f JOB` follows a job's log"),
    **dict.fromkeys(("delete", "remove"), "`rm JOB` deletes a job, `artifacts rm ID` a stored file"),
    **dict.fromkeys(("download", "outputs", "fetch"), "`get JOB` downloads a job's outputs"),
    **dict.fromkeys(("info", "describe", "inspect"), "`show JOB` shows a job, `node show NODE` a machine"),
    **dict.fromkeys(("start", "init", "serve"), "`up` starts a pool here, `join URL` shares this machine"),
    **dict.fromkeys(("register", "signup", "auth"), "`login URL` signs in to a hub"),
    **dict.fromkeys(("balance", "credits", "billing"), "`wallet` shows your credits"),
    **dict.fromkeys(("gpus", "gpu", "market", "prices"), "`offers` lists what is for rent"),
    **dict.fromkeys(("config", "settings"), "`admin settings` is for operators, `agent policy` for hosts"),
}
"""What people type who know other tools, and what does that here."""


def _suggestion(word: str) -> str:
    import difflib

    if word.lower() in MEANT:
        return f" {MEANT[word.lower()]}."
    near = difflib.get_close_matches(word, COMMANDS, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry.place.partition(":")
        command = getattr(importlib.import_module(f"computepool.cli.{module}"), name)
        assert isinstance(command, click.Command)
        tell_whole_sentences(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """From the table: no command's file is loaded for its name."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(e.name, help=e.help) for e in COMMANDS.values() if e.name.startswith(incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"There is no command {args[0]!r}.{_suggestion(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl([(e.name, e.help) for e in COMMANDS.values() if e.section == section])


def tell_whole_sentences(command: click.Command) -> None:
    """Lists of commands wrap the first sentence about each, where click would cut it in its middle."""
    for child in command.commands.values() if isinstance(command, click.Group) else ():
        about = " ".join((child.help or "").partition("\n\n")[0].split())
        child.short_help = child.short_help or about.partition(". ")[0].rstrip(".") + "."
        tell_whole_sentences(child)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from computepool import __version__

        click.echo(f"computepool {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: computepool run -- python3 -c 'print(6*7)'",
)
@click.option("--home", metavar="DIR", help="Folder for state and sign-in. [COMPUTEPOOL_HOME]")
@click.option("--url", metavar="URL", help="The hub to talk to. [COMPUTEPOOL_URL]")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show it.")
@click.pass_context
def cli(ctx: click.Context, home: str | None, url: str | None) -> None:
    """Idle GPUs, behind any NAT, as one pool."""
    ctx.meta.update({"computepool.home": home, "computepool.url": url})


def _replace_closed_streams() -> None:
    """After `>&-` Python has no such stream at all, and the next socket would get its number: what is written to it
    goes nowhere, as was asked for."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def run(arguments: Sequence[str]) -> int:
    """The exit code. Whatever goes wrong is told in a line or two, never as a traceback."""
    _replace_closed_streams()
    words = list(arguments)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    state: dict[str, bool] = {}
    try:
        code = cli.main(args=words, prog_name="computepool", standalone_mode=False, obj=state)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, click.Abort):
        click.echo(err=True)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader has had enough, as `head` does; click makes an exit of it. Nothing more may be written, not even
        # at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return READER_GONE
    except Exception as error:
        if os.environ.get("COMPUTEPOOL_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        # What is wrong with the options is found before `--json` among them is.
        asked = isinstance(error, click.UsageError | CliError) and "--json" in words[: [*words, "--"].index("--")]
        told = (not_utf8(arguments) if isinstance(error, UnicodeEncodeError) else None) or error
        return report(told, as_json=state.get("json", asked))
