"""For those who start a pool or share a machine with one."""

import os

import click

from computepool.cli.errors import clean, tell
from computepool.cli.options import JOIN_TOKEN_VARIABLE, chosen_home, home_option, insecure_option, is_insecure


@click.command(epilog="Examples: computepool up --port 8080 · computepool up --demo")
@click.option("--demo", is_flag=True, help="Add simulated GPU nodes and sample jobs, labelled as simulated.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for other machines."
)
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option("--no-agent", is_flag=True, help="Do not share this machine.")
@click.option("-v", "--verbose", is_flag=True, help="Show the hub's and the agent's logs here.")
@insecure_option
@home_option
def up(demo: bool, host: str, port: int, no_agent: bool, verbose: bool) -> int:
    """Start a pool on this machine: a hub, its web page, and an agent that shares this machine. Ctrl-C stops it all.

    Everything is kept in the home folder; the next start goes on from there. The first start makes an admin and signs
    this machine's CLI in.

    A pool that other machines can reach speaks HTTPS, with a certificate of its own where none is configured
    (COMPUTEPOOL_TLS_CERTIFICATE). The join line that it prints carries the certificate's fingerprint.
    """
    from computepool.cli.up import Up

    return Up(chosen_home(), host, port, share=not no_agent, verbose=verbose, demo=demo, insecure=is_insecure()).run()


@click.command(epilog="Example: computepool join https://pool.example.org --token cpj_… --tag lab")
@click.argument("address", metavar="URL")
@click.option(
    "--token",
    required=True,
    metavar="T",
    envvar=JOIN_TOKEN_VARIABLE,
    help="The join token, from `node join-token` or `up`. To keep it out of process lists, set the variable "
    f"{JOIN_TOKEN_VARIABLE} instead.",
)
@click.option("--name", metavar="N", help="A name for this machine.  [default: its host name]")
@click.option("--country", metavar="CC", help="The country of this machine, such as IN.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="A tag that jobs can ask for. Can be repeated.")
@click.option("--replace", metavar="NODE", help="Continue with the record of this earlier node.")
@click.option(
    "--owner-key",
    "owner_keys",
    multiple=True,
    metavar="KEY",
    help="Treat jobs signed with this key as your own. `computepool key` prints the key.",
)
@click.option("--enrol-only", is_flag=True, help="Do not start the agent.")
@click.option("--from-up", is_flag=True, hidden=True, help="`up` starts it: own jobs may run without a sandbox.")
@click.option("--while-stdin-open", is_flag=True, hidden=True, help="End when standard input ends.")
@insecure_option
@home_option
def join(
    address: str,
    token: str,
    name: str | None,
    country: str | None,
    tags: tuple[str, ...],
    replace: str | None,
    owner_keys: tuple[str, ...],
    enrol_only: bool,
    from_up: bool,
    while_stdin_open: bool,
) -> int:
    """Share this machine with a pool: enrol it and run its agent in the foreground.

    A machine that joined before stays the same node. If the pool's address or certificate has changed, the agent uses
    the new one from now on.
    """
    os.environ.pop(JOIN_TOKEN_VARIABLE, None)  # nothing that the agent starts needs it
    from computepool.agent.enrol import find_again, refuse_exposed
    from computepool.agent.enrol import join as enrol
    from computepool.agent.main import agent_version
    from computepool.cli.agent_policy import trust_keys
    from computepool.cli.machine import agent_home, measure_here, run_agent_here, tell_isolation
    from computepool.client.config import read_address

    url, fingerprint = read_address(address)
    home = agent_home()
    if owner_keys:
        trust_keys(owner_keys)
    if home.is_enrolled() and replace is None and find_again(home, url, fingerprint, insecure=is_insecure()):
        node = home.node()
        tell(f"This machine is {clean(node.name)} ({node.node_id}) of {url} already.", dim=True)
        if name or country or tags:
            tell("Name, country and tags stay. To change them: computepool node rename, or node tags", fg="yellow")
    else:
        refuse_exposed(url, insecure=is_insecure())
        capacity = measure_here(home, from_up=from_up)
        node = enrol(
            home,
            url,
            token,
            fingerprint=fingerprint,
            insecure=is_insecure(),
            capacity=capacity,
            agent_version=agent_version(),
            name=name,
            country=country,
            tags=tags,
            replace=replace,
        )
        tell(f"Joined {url} as {clean(node.name)} ({node.node_id}).")
        tell_isolation(capacity)
    if enrol_only:
        return 0
    return run_agent_here(home, while_stdin_open=while_stdin_open, from_up=from_up)
