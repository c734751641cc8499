"""`run`: from a command, a script or a spec file to its result."""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.attach import ends_as_interrupt
from computepool.cli.completion import NODE
from computepool.cli.errors import clean, exit_code_of, report, tell
from computepool.cli.files import output_dir_option
from computepool.cli.options import json_option, open_pool, pool_options, print_json, raw_option
from computepool.cli.request import Options, Request, Typed, build_request, notes_of, tell_form
from computepool.cli.stdin import kept_stdin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.shell_completion import CompletionItem

    from computepool.client.models import Job, Node
    from computepool.client.pool import Pool
    from computepool.client.uploads import Progress
    from computepool.protocol.spec import JobSpec
    from computepool.protocol.units import Range

NOT_YET = "(not yet)"
"""For options whose field of the spec is refused for now: written here, because asking the spec would load it."""
STRANGERS_ACCEPTED = "strangers_accepted"
EXAMPLES = """
Examples:

\b
  computepool run -- python3 -c 'print(6*7)'
  computepool run --gpu 24GB.. --output 'out/**' train.py --epochs 3
  computepool run pool.yaml -d
  computepool run pool.yaml --dry-run
"""


class RunCommand(click.Command):
    """Options come before a script or command, whose own options are not touched; after a spec file they may follow."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = self._words_after_options(ctx, args)
        head = args[: len(args) - len(words)]
        after_dashes = head[-1:] == ["--"]
        if after_dashes:
            head = head[:-1]
        if not ctx.resilient_parsing and not {"-h", "--help"} & set(head):
            typed = tell_form(words, after_dashes=after_dashes)
            if typed.form == "spec":
                # `run pool.yaml -d` means the same as `run -d pool.yaml`.
                more = list(typed.arguments)
                if rest := self._words_after_options(ctx, more):
                    raise click.UsageError(f"A spec file takes no arguments: {' '.join(rest)}", ctx)
                head, typed = head + more, Typed("spec", typed.target)
            ctx.obj = typed
        return super().parse_args(ctx, head)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(incomplete, type="file")]

    def _words_after_options(self, ctx: click.Context, args: list[str]) -> list[str]:
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = False
        return parser.parse_args(list(args))[1]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "SPEC.yaml | SCRIPT [ARGS]... | -- COMMAND [ARGS]..."]


@click.command(cls=RunCommand, epilog=EXAMPLES)
@click.option("--gpu", metavar="GPU", help="GPUs, such as 24GB.., rtx-4090, rtx-4090:2, A100:80GB:1.")
@click.option("--cpus", metavar="N", help="Cores: 8, 8+, 0.5.")
@click.option("--memory", metavar="SIZE", help="Memory, such as 16GB.")
@click.option("--disk", metavar="SIZE", help="Disk space, such as 20GB.")
@click.option("--image", metavar="IMAGE", help="Container image to run in.")
@click.option(
    "--setup",
    metavar="SHELL",
    help="Runs before the command, such as 'pip install -r requirements.txt'; the result is reused.",
)
@click.option("--checkpoint", metavar="DIR", help="Folder to save while the job runs, and to restore when it resumes.")
@click.option(
    "--max-price",
    metavar="CREDITS",
    help="The most that a slice-hour may cost, in credits.  [default: a quarter more than quoted]",
)
@click.option("--max-runtime", metavar="TIME", help="The longest that one attempt may run, such as 2h.  [default: 1d]")
@click.option(
    "--slices", type=int, metavar="N", help="Number of parallel parts; COMPUTEPOOL_SLICE is the number of each, from 0."
)
@click.option("--retries", type=int, metavar="N", help="How often to try again after a failure of the job itself.")
@click.option("--priority", type=int, metavar="N", help="Order among your own jobs; higher goes first.")
@click.option("--team", metavar="TEAM", help="Submit for this team: its wallet pays, and its nodes are free.")
@click.option(
    "--env", multiple=True, metavar="K[=V]", help="Environment variable; without a value, your own is passed on."
)
@click.option("--secret", "secrets", multiple=True, metavar="NAME", help=f"Stored secret to give to the job. {NOT_YET}")
@click.option("--output", "outputs", multiple=True, metavar="GLOB", help="Files to keep, such as 'out/**'.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="PATH=SOURCE",
    help="Files for the job: SOURCE is a local file, folder or pattern, artifact_… or https://…#sha256:…",
)
@click.option("--name", metavar="NAME", help="Name of the job.")
@click.option("--network", is_flag=True, help="Let the job reach the internet, but not the network around its node.")
@click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder to send, without files that .gitignore or .computepoolignore excludes.",
)
@click.option(
    "--isolation",
    metavar="LEVEL",
    help="The weakest level to accept: process, bubblewrap, container or gvisor.",
)
@click.option("--mine", is_flag=True, help="Only on your own nodes.")
@click.option("--node", metavar="NODE", type=NODE, help="On this node.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="On nodes with this tag.")
@click.option("--country", "countries", multiple=True, metavar="CC", help="On nodes in this country.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any other key of the spec, such as budget=200 or verify.replicas=2.",
)
@output_dir_option
@click.option(
    "--stdin/--no-stdin",
    "stdin",
    default=None,
    help="Wait for standard input and send it, or send none.  [default: send what is piped in]",
)
@click.option("-d", "--detach", is_flag=True, help="Print the job's id and leave it running.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show the plan, price, warnings and complete spec, and submit nothing.")
@raw_option
@json_option
@pool_options
@click.pass_context
def run(
    ctx: click.Context,
    /,
    folder: Path | None,
    stdin: bool | None,
    detach: bool,
    yes: bool,
    dry_run: bool,
    raw: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Run a script, a command or a spec file in the pool: submit it, follow its log, fetch its outputs.

    The job's output goes to standard output, everything else to standard error. On a terminal, control sequences other
    than colours are removed. What you pipe in becomes the standard input of a command or script.

    The exit code is the job's own, 75 if the pool could not run it, 130 if it was canceled. Ctrl-C asks whether to
    cancel the job or to leave it running. Without a terminal, Ctrl-C cancels it; SIGTERM always does.
    """
    assert isinstance(ctx.obj, Typed)
    if ctx.obj.form == "spec" and stdin:
        raise click.UsageError(
            "--stdin is for commands and scripts. In a spec, send files with `workdir` or `inputs`.", ctx
        )
    forwards = False if dry_run or ctx.obj.form == "spec" else stdin
    with ends_as_interrupt(), kept_stdin(forwards) as kept:
        if flags["node"]:
            flags["node"] = _node_id(flags["node"])
        request = build_request(ctx.obj, Options(**flags), stdin=kept)
        with open_pool() as pool:
            if dry_run:
                return _dry_run(pool, request, as_json)
            if not agreed(pool, request, yes=yes, quiet=as_json):
                tell("Nothing was submitted.", dim=True)
                return 1
            job = submit(pool, request)
            return stay_with(pool, job, folder, detach=detach, raw=raw, as_json=as_json)


def stay_with(pool: "Pool", job: "Job", folder: Path | None, *, detach: bool, raw: bool, as_json: bool) -> int:
    """Follow a new job to its end, or say where to find it; the exit code."""
    if detach:
        _print_detached(pool, job, as_json)
        return 0
    return _attach(pool, job, folder, raw, as_json)


def _dry_run(pool: "Pool", request: Request, as_json: bool) -> int:
    from computepool.cli.dry_run import show_dry_run

    if not as_json:
        nodes, me = pool.nodes(), pool.me()
        _tell_plan(request, nodes, me.id, _may_go_to_strangers(pool, request, nodes, me.id), "")
    return show_dry_run(pool, request, signed_by=_signed_by(pool, request), as_json=as_json)


def _node_id(text: str) -> str:
    """As everywhere else, a node may be told by its name or the beginning of its id; a spec wants all of it."""
    with open_pool() as pool:
        return pool.find_node(text)


def submit(pool: "Pool", request: Request) -> "Job":
    from computepool.cli.files import progress_bar

    with tempfile.TemporaryDirectory(prefix="computepool-") as folder:
        bundle = request.pack(Path(folder) / "bundle.tar.gz")
        if bundle is None and not request.inputs:
            return pool.submit(request.spec)
        for notice in bundle.notices if bundle is not None else ():
            tell(f"note: {clean(notice)}", dim=True)
        sizes = [file.stat().st_size for file in request.inputs.values()]
        total = sum(sizes) + (bundle.size_bytes if bundle is not None else 0)
        with progress_bar("sending files", total) as progress:
            return pool.submit(
                request.spec, bundle=bundle, inputs=request.inputs, progress=progress and _in_all(progress, total)
            )


def _in_all(progress: "Progress", total: int) -> "Progress":
    """Files go one after the other, each from nothing to its own size."""
    before = at = 0

    def report(done: int, _: int) -> None:
        nonlocal before, at
        if done < at:
            before += at
        at = done
        progress(before + at, total)

    return report


def _print_detached(pool: "Pool", job: "Job", as_json: bool) -> None:
    if as_json:
        print_json(pool.job_document(job.id))
        return
    click.echo(clean(job.id))
    tell(f"Follow it: computepool logs -f {job.id}", dim=True)


def _attach(pool: "Pool", job: "Job", output_dir: Path | None, raw: bool, as_json: bool) -> int:
    from computepool.cli.attach import attach
    from computepool.cli.files import default_folder, fetch_outputs
    from computepool.client.errors import ClientError

    failures: list[int] = []

    def fetch(last: "Job") -> None:
        try:
            fetch_outputs(pool, last, output_dir or default_folder(last), quiet=as_json)
        except BrokenPipeError:
            raise
        except (ClientError, OSError) as error:
            report(error)
            tell(f"  The outputs are kept: computepool get {last.id} -o DIR", dim=True)
            failures.append(exit_code_of(error))

    code = attach(pool, job, as_json=as_json, raw=raw, after=fetch)
    return code or (failures[0] if failures else 0)


# ── before it is sent ────────────────────────────────────────────────────────────────────────────────────────────────


def agreed(pool: "Pool", request: Request, *, yes: bool, quiet: bool) -> bool:
    """Show the plan, and ask where a question matters: before the first job that a stranger's machine may get."""
    nodes, me = pool.nodes(), pool.me()
    strangers = _may_go_to_strangers(pool, request, nodes, me.id)
    if not quiet:
        quote = _quote(pool, request) if strangers else None
        price = price_words(quote, request.spec.budget_micros) if strangers else _own_words(pool)
        _tell_plan(request, nodes, me.id, strangers, price)
        if note := _no_sandbox_note(pool, request, [node for node in nodes if node.owner_id == me.id]):
            tell(f"  {note}", fg="yellow")
        if quote is not None and (words := too_small_words(quote, request.spec.budget_micros)):
            tell(f"  {words}", fg="yellow")
    return not strangers or _accepts_strangers(pool, yes)


def _may_go_to_strangers(pool: "Pool", request: Request, nodes: "list[Node]", me: str) -> bool:
    where = request.spec.where
    mine = {node.id for node in nodes if node.owner_id == me}
    if where.trust == "mine" or where.node in mine:
        return False
    # A machine that is away now may be back before the job runs, so it counts; one that is banned takes nothing.
    counted = sum(node.id in mine and node.state != "banned" for node in nodes)
    return any(node.id not in mine for node in nodes) or pool.nodes_in_pool() > counted


def _accepts_strangers(pool: "Pool", yes: bool) -> bool:
    from computepool.client.config import load_preferences, save_preference

    accepted = load_preferences(pool.target.home).get(STRANGERS_ACCEPTED)
    hubs = list(accepted) if isinstance(accepted, list) else []
    if pool.target.url in hubs:
        return True
    tell("This pool has machines of other people, and this job may run on one.", fg="yellow", bold=True)
    tell(
        "Their owners can read the code and the data that you send. To use only your own machines: --mine", fg="yellow"
    )
    can_ask = sys.stdin.isatty() and sys.stderr.isatty()
    if not yes and not can_ask:
        # Nobody is there to ask; the warning comes again until somebody has agreed.
        return True
    if not yes and not click.confirm("Send it?", err=True):
        return False
    save_preference(pool.target.home, STRANGERS_ACCEPTED, [*hubs, pool.target.url])
    return True


def _quote(pool: "Pool", request: Request) -> dict[str, Any] | None:
    """What it would cost; None where the hub cannot say: the job itself will be told why it is refused."""
    from computepool.client.errors import HubError

    try:
        return pool.market.quote(request.spec, signed_by=_signed_by(pool, request))
    except HubError:
        return None


def budget_words(micros: int | None) -> str:
    from computepool.cli.display import credits

    return "" if micros is None else f" (budget {credits(micros)})"


def too_small_words(quote: dict[str, Any], budget_micros: int | None) -> str:
    """If its budget does not let even one slice begin where it would go now: that, and what to change."""
    from computepool.cli.display import credits
    from computepool.protocol.units import format_duration

    needed = quote.get("begin_micros")  # a hub that is older does not say
    if budget_micros is None or not needed or budget_micros >= needed:
        return ""
    fits = budget_micros * 3600 // quote["price_micros"]
    shorter = f", or set `max_runtime` to {format_duration(fits)} or less" if fits else ""
    return (
        f"The budget of {credits(budget_micros)} is too small to begin at the current price: "
        f"{credits(needed)} must be reserved. Raise `budget`{shorter}."
    )


def _own_words(pool: "Pool") -> str:
    return "free: your own nodes" if pool.has_money() else ""


def price_words(quote: dict[str, Any] | None, budget_micros: int | None = None) -> str:
    """The price now, the most that it may become, and what is free."""
    from computepool.cli.display import credits, in_credits

    if quote is None:
        return "free on your own nodes"
    if quote["ceiling_basis"] is None:  # a pool without money
        return "" if quote["feasible"] else "no node can run it now"
    ceiling = quote["ceiling_micros"]
    most = f"at most {credits(ceiling)}" if ceiling is not None else "no ceiling"
    most_an_hour = f"at most {in_credits(ceiling)}/h" if ceiling is not None else "no ceiling"
    if quote["own"]:
        now = quote["elsewhere_micros"]
        other = f"{in_credits(now)}/h, {most}" if now is not None else most_an_hour
        return f"free: your own node (others': {other})"
    if quote["price_micros"] is None:
        return f"no node can run it now ({most_an_hour})"
    words = f"{in_credits(quote['price_micros'])}/h now, {most}"
    return f"{words}; at most {credits(quote['at_most_micros'])} in all{budget_words(budget_micros)}"


def _tell_plan(request: Request, nodes: "list[Node]", me: str, strangers: bool, price: str) -> None:
    """Two lines: what, and with what, where, how long and for how much."""
    from computepool.cli.display import count, size
    from computepool.protocol.units import format_cpus, format_duration

    spec = request.spec
    resources = spec.resources
    cpus = format_cpus(resources.cpus.minimum)
    least = [f"{cpus} {'CPU' if resources.cpus.minimum <= 1 else 'CPUs'}", f"{size(resources.memory.minimum)} RAM"]
    least.append(f"{size(resources.disk.minimum)} disk")
    needs = [", ".join(least) + (", or its share of the node" if resources.by_share else "")]
    if resources.gpu is not None:
        needs.append(f"GPU {resources.gpu}")
    if spec.image is not None:
        needs.append(f"image {spec.image}")
    parts = [
        count(spec.slices, "slice") if spec.slices > 1 else "",
        count(len(spec.inputs), "input") if spec.inputs else "",
        " · ".join(needs),
        _where_words(request, nodes, me, strangers),
        "with internet" if spec.network else "",
        f"at most {format_duration(spec.max_runtime_seconds)}",
        price,
    ]
    command = request.command.strip().replace("\n", "; ")
    tell(f"› {clean(command[:100] + ('…' if len(command) > 100 else ''))}", dim=True)
    tell(f"  {' · '.join(part for part in parts if part)}", dim=True)
    for note in notes_of(request):
        tell(f"  note: {clean(note.message)}", fg="yellow" if note.code == "dropped_key" else None, dim=True)
    if open_ended := [name for name, asked in _ranges(spec) if asked.maximum not in (None, asked.minimum)]:
        tell(f"  note: for a range, a slice gets only the lower end ({', '.join(open_ended)})", dim=True)


def _signed_by(pool: "Pool", request: Request) -> str | None:
    return pool.signer.key_id if _is_signed(request) else None


def _is_signed(request: Request) -> bool:
    """What the hub alone knows the content of is not signed."""
    return all(source.artifact_id is None for source in request.spec.inputs.values())


def _no_sandbox_note(pool: "Pool", request: Request, mine: "list[Node]") -> str:
    """If none of one's own machines would take it for want of a sandbox: that, and what to change."""
    wanted = request.spec.where.node
    online = [node for node in mine if node.state == "online" and not node.capacity.simulated]
    online = [node for node in online if wanted in (None, node.id)]
    key_id = pool.signer.key_id if online and _is_signed(request) else None
    notes = [_why_no_sandbox(pool, node, key_id) for node in online]
    return notes[0] if notes and all(notes) else ""


def _why_no_sandbox(pool: "Pool", node: "Node", key_id: str | None) -> str:
    levels, keys = node.capacity.isolation, node.capacity.owner_keys
    if any(level != "process" for level in levels) or keys is None:
        return ""
    if not levels:
        return (
            f"{clean(node.name)} has no sandbox and runs nothing. On that machine, install bubblewrap, or allow your"
            " own jobs without a sandbox: computepool agent policy own.process true"
        )
    if key_id is None:
        return (
            f"{clean(node.name)} has no sandbox, and runs only signed jobs. A job with an artifact_… input is not"
            " signed: use a local file as input."
        )
    if key_id in keys:
        return ""
    from computepool.cli.account import signing_key_text

    trust = f"computepool agent trust {signing_key_text(pool.target.home)}"
    return f"{clean(node.name)} has no sandbox, and does not trust this CLI's key. On that machine, run: {trust}"


def _ranges(spec: "JobSpec") -> "Iterator[tuple[str, Range[int] | Range[float]]]":
    for name in ("cpus", "memory", "disk"):
        yield name, getattr(spec.resources, name)


def _where_words(request: Request, nodes: "list[Node]", me: str, strangers: bool) -> str:
    """`your 2 nodes`, `node attic`, `other people's nodes`: where it may go, before any gate but these is asked."""
    from computepool.cli.display import count
    from computepool.protocol.capacity import SIMULATED

    where = request.spec.where
    if where.node is not None:
        return f"node {next((node.name for node in nodes if node.id == where.node), where.node)}"
    simulated = SIMULATED in where.tags
    kind = "simulated " if simulated else ""
    mine = [node for node in nodes if node.capacity.simulated is simulated and node.owner_id == me]
    online = sum(node.state == "online" for node in mine)
    if strangers and not mine:
        return f"other people's {kind}nodes"
    words = f"your {count(online, f'{kind}node')}" if online else f"your {kind}nodes (none online)"
    return f"{words} or other people's" if strangers else words
