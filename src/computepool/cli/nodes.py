"""For hosts: their machines in the pool."""

import sys
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import NODE
from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.history import history
from computepool.cli.join_tokens import join_tokens
from computepool.cli.node_policy import pause, policy, unpause
from computepool.cli.node_price import NODE_HELP, price, price_text
from computepool.cli.options import json_option, open_pool, pool_options, print_json
from computepool.cli.reputation import (
    EVENTS_SHOWN,
    audited_text,
    contest,
    presence_text,
    print_events,
    reliability_text,
    verified_text,
)
from computepool.protocol.addresses import join_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from computepool.client.models import Node


@click.command(epilog="Example: computepool nodes --json")
@json_option
@pool_options
def nodes(as_json: bool) -> None:
    """List your machines."""
    with open_pool() as pool:
        items = pool.node_documents()
    if as_json:
        print_json({"items": items, "next": None})
        return
    if not items:
        tell("No machines yet. On the one to share: computepool join URL --token T", dim=True)
        tell("The token: computepool node join-token", dim=True)
        return
    from computepool.cli.display import print_table, state_text
    from computepool.client.models import Node

    rows = []
    for item in items:
        one = Node.model_validate(item)
        note = "(simulated)" if one.capacity.simulated else ""
        rows.append(
            (
                one.name,
                state_text(one.state, note),
                _share(one),
                _isolation(one),
                ",".join(one.tags),
                one.country or "",
                one.running_attempts,
                _seen(one),
                one.id,
            )
        )
    headers = ("name", "state", "share", "isolation", "tags", "country", "running", "seen", "id")
    print_table(headers, rows, spare=("country", "tags", "id", "running", "isolation"))
    for item in items:
        if item.get("clone_seen_at"):
            tell(f"{clean(item['name'])}: {clean(item['notice'])}", fg="yellow")


def _share(node: "Node") -> str:
    from computepool.cli.display import cpus, size

    parts = [cpus(node.capacity.cpus), size(node.capacity.memory_bytes)]
    names = [gpu.name or gpu.slug for gpu in node.capacity.gpus]
    parts += [f"{names.count(name)}× {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]
    return ", ".join(parts)


def _seen(node: "Node") -> str:
    """By the time alone: a machine that died counts as online until its silence has lasted long enough."""
    from datetime import UTC, datetime

    from computepool.cli.display import ago
    from computepool.protocol.timing import HEARTBEAT_SECONDS

    at = node.last_seen_at
    late = at is None or (datetime.now(UTC) - at).total_seconds() > 1.5 * HEARTBEAT_SECONDS
    return ago(at) if late else "now"


def _isolation(node: "Node") -> str:
    return isolation_text(node.capacity.isolation, soft_limits=node.capacity.soft_limits)


def isolation_text(levels: "Sequence[str]", *, soft_limits: bool) -> str:
    """The strongest level that a machine has proven. Plain process is none, and is not shown as one."""
    real = [level for level in ("gvisor", "container", "bubblewrap") if level in levels]
    if not real:
        return "not isolated: own jobs only" if "process" in levels else "no sandbox: no jobs"
    return real[0] + (", soft limits" if soft_limits else "")


@click.group(epilog="Example: computepool node show alpha")
def node() -> None:
    """Show or change one machine."""


node.add_command(contest)
node.add_command(price)
node.add_command(history)
node.add_command(policy)
node.add_command(pause)
node.add_command(unpause)
node.add_command(join_tokens)


@node.command(epilog="Example: computepool node show alpha", help=f"Show a machine. {NODE_HELP}")
@click.argument("node_name", metavar="NODE", type=NODE)
@json_option
@pool_options
def show(node_name: str, as_json: bool) -> None:
    with open_pool() as pool:
        node_id = pool.find_node(node_name)
        document = pool.node_document(node_id)
        events = [] if as_json or "reliability" not in document else pool.node_events(node_id, EVENTS_SHOWN)
    _print_node(document, as_json)
    print_events(events)


def _for_others(one: "Node") -> str:
    if one.availability is not None and not one.availability.strangers:
        return f"not now: {one.availability.reason}" if one.availability.reason else "not now"
    if one.slices_at_once is None:
        return ""
    slices = "one slice" if one.slices_at_once == 1 else f"{one.slices_at_once} slices"
    return f"at most {slices} at once so far; more as they end well"


def _benchmark(one: "Node") -> str:
    measured = one.benchmark
    basis = {"card": "by its card" if one.capacity.gpus else "the same for all CPUs"}
    words = basis.get(measured.tier_basis or "", measured.tier_basis)
    tier = f", tier {measured.tier:g} ({words})" if measured.tier is not None else ""
    return f"{measured.mark.replace('_', ' ')}{tier}: {measured.words}" if measured.words else measured.mark


def _print_node(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    from computepool.cli.display import cpus, instant, print_pairs, size, state_text
    from computepool.client.models import Node

    one = Node.model_validate(document)
    free = one.free
    print_pairs(
        (
            ("id", one.id),
            ("name", one.name),
            ("state", state_text(one.state, "(simulated)" if one.capacity.simulated else "")),
            ("for others", _for_others(one)),
            ("notice", one.notice),
            ("share", f"{_share(one)}, {size(one.capacity.disk_bytes)} disk"),
            ("free", f"{cpus(free.cpus)}, {size(free.memory_bytes)}, {size(free.disk_bytes)} disk" if free else ""),
            ("isolation", _isolation(one)),
            ("benchmark", _benchmark(one)),
            ("reliability", reliability_text(one.reliability)),
            ("there", presence_text(one.reliability)),
            ("verified", verified_text(one.reliability)),
            ("audited", audited_text(one.reliability)),
            ("platform", one.capacity.platform),
            ("country", one.country),
            ("price", price_text(one)),
            ("tags", ", ".join(one.tags)),
            ("running", one.running_attempts),
            ("agent", one.agent_version),
            ("joined", instant(one.created_at)),
            ("last seen", _seen(one)),
        )
    )


@node.command(
    epilog="Examples: computepool node tags alpha lab fast · computepool node tags alpha --clear",
    help=f"Show or set the tags that jobs can ask for with `where: {{tags: …}}`. {NODE_HELP}",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@click.argument("tags", nargs=-1, metavar="[TAG]...")
@click.option("--clear", is_flag=True, help="Remove all tags.")
@json_option
@pool_options
def tags(node_name: str, tags: tuple[str, ...], clear: bool, as_json: bool) -> None:
    if clear and tags:
        raise click.UsageError("Give tags, or --clear, not both.")
    with open_pool() as pool:
        node_id = pool.find_node(node_name)
        document = pool.node_document(node_id)
        if tags or clear:
            document = pool.change_node(node_id, {"tags": list(dict.fromkeys(tags))})
    if as_json:
        print_json(document)
    else:
        click.echo("\n".join(map(clean, document.get("tags", []))) or "no tags")


@node.command("join-token", epilog="Example: computepool node join-token --uses 20 --hours 24")
@click.option(
    "--uses", default=1, show_default=True, type=click.IntRange(1, 1000), help="How many machines may use it."
)
@click.option(
    "--hours", default=0.25, show_default=True, type=click.FloatRange(0.01, 168), help="How long it is valid."
)
@json_option
@pool_options
def join_token(uses: int, hours: float, as_json: bool) -> None:
    """Create a join token, and print the command to run on the new machine."""
    with open_pool() as pool:
        made = pool.join_token(uses=uses, expires_in_seconds=round(hours * 3600))
        target = pool.target
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    from urllib.parse import urlsplit

    from computepool.cli.account import signing_key_text
    from computepool.cli.display import spoken
    from computepool.protocol.addresses import is_loopback

    click.echo(clean(join_line(target.address, made.token, signing_key_text(target.home))))
    seconds = round(hours * 3600)
    if is_loopback(urlsplit(target.url).hostname or ""):
        tell("Only this machine reaches that address: others need the pool's own in its place.", dim=True)
    tell(f"Good for {'one machine' if uses == 1 else f'{uses} machines'}, for {spoken(seconds)}.", dim=True)


# ── changing one ─────────────────────────────────────────────────────────────────────────────────────────────────────


@node.command(
    epilog="Example: computepool node drain alpha",
    help=f"Let a machine finish its running jobs and accept no new ones until `node resume`. {NODE_HELP}",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@json_option
@pool_options
def drain(node_name: str, as_json: bool) -> None:
    _tell_change(_change(node_name, "drain"), as_json, "finishes its running jobs and accepts no new ones")


@node.command(epilog="Example: computepool node resume alpha", help=f"Accept jobs again after a drain. {NODE_HELP}")
@click.argument("node_name", metavar="NODE", type=NODE)
@json_option
@pool_options
def resume(node_name: str, as_json: bool) -> None:
    _tell_change(_change(node_name, "resume"), as_json, "accepts jobs again")


@node.command(epilog="Example: computepool node rename alpha beta", help=f"Give a machine another name. {NODE_HELP}")
@click.argument("node_name", metavar="NODE", type=NODE)
@click.argument("new_name", metavar="NAME")
@json_option
@pool_options
def rename(node_name: str, new_name: str, as_json: bool) -> None:
    with open_pool() as pool:
        document = pool.change_node(pool.find_node(node_name), {"name": new_name})
    _tell_change(document, as_json, "is its name now")


@node.command(
    epilog="Example: computepool node ban alpha -y",
    help=f"Remove a machine from the pool for good, at once. Its jobs go to other machines. {NODE_HELP}",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@pool_options
def ban(node_name: str, yes: bool, as_json: bool) -> None:
    with open_pool() as pool:
        node_id = pool.find_node(node_name)
        if not yes:
            name = clean(pool.node_document(node_id).get("name", node_id))
            if not sys.stdin.isatty():
                raise CliError(f"Banning {name} cannot be undone.", "If that is meant: add -y.", USAGE)
            question = f"Ban {name} ({node_id})? It cannot come back; its machine would have to join anew."
            click.confirm(question, abort=True, err=True)
        document = pool.call("POST", f"/nodes/{node_id}/ban")
    _tell_change(document, as_json, "is out of the pool")


def _change(node_name: str, what: str) -> dict[str, Any]:
    with open_pool() as pool:
        return dict(pool.call("POST", f"/nodes/{pool.find_node(node_name)}/{what}"))


def _tell_change(document: dict[str, Any], as_json: bool, what: str) -> None:
    if as_json:
        print_json(document)
    else:
        tell(f"{clean(document.get('name', ''))} {what}. It is {clean(document.get('state', ''))}.")
