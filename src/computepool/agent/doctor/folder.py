"""The agent's own folder, and the agent that works in it."""

import os
import shlex
import stat
from collections.abc import Iterator

from computepool.agent.control import AgentNotRunning, ask_agent
from computepool.agent.home import AgentHome, AlreadyRunning, HomeError
from computepool.agent.removal import MOUNTED, Remains
from computepool.agent.unremoved import UNREMOVED_FILE, read_unremoved
from computepool.protocol.units import about_bytes

from .model import Check, warn


def check_enrolment(home: AgentHome) -> Check:
    try:
        node = home.node()
        home.identity()
    except HomeError as error:
        return Check("enrolment", False, str(error).split(". ")[0], "computepool join URL --token TOKEN")
    if home.next_identity() is not None:
        message = f"node {node.node_id} ({node.name}): the hub has not confirmed its new key"
        return warn(
            "enrolment", message, "Start the agent or run `computepool agent rotate-key`: both ask the hub again"
        )
    return Check("enrolment", True, f"node {node.node_id} ({node.name}) of {node.hub_url}")


def check_agent(home: AgentHome) -> Check:
    try:
        status = ask_agent(home.socket_path, "status")
    except AgentNotRunning:
        return _who_holds_the_folder(home) or Check(
            "agent", False, "no agent is running here", "computepool agent start"
        )
    link = status["link"] or f"no connection to the hub: {status['trouble'] or 'connecting'}"
    hint = "" if status["link"] else "Read its log: computepool agent logs"
    if status["link"] and "second agent with this node's key" in status["notice"]:
        return warn(
            "agent", f"running, {status['state']}, {link}. {status['notice']}", "computepool agent rotate-key --help"
        )
    return Check("agent", status["link"] is not None, f"running, {status['state']}, {link}", hint)


def _who_holds_the_folder(home: AgentHome) -> Check | None:
    """An agent that has the folder's lock but does not answer: it hangs, or is just starting."""
    if not (home.root / "agent.lock").exists():
        return None
    try:
        with home.lock():
            return None
    except AlreadyRunning as error:
        hint = "If this does not change, read `computepool agent logs`, then end that process"
        return Check("agent", False, f"{str(error).split('. ')[0]}, and does not answer", hint)
    except OSError as error:
        return Check("agent", False, f"{error.filename}: {error.strerror}", "Run this as the user who joined")


def check_permissions(home: AgentHome) -> Iterator[Check]:
    """The keys are in there: whoever reads them can pass for this node."""
    if not home.identity_path.exists():
        return
    places = [path for path in (home.root, home.identity_path, home.node_path) if path.exists()]
    wrong = [path for path in places if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    if wrong:
        modes = " && ".join(f"chmod {'700' if path.is_dir() else '600'} '{path}'" for path in wrong)
        names = ", ".join(path.name for path in wrong)
        yield Check("permissions", False, f"other users of this machine can read {names}", modes)
    elif not os.access(home.root, os.R_OK | os.W_OK | os.X_OK) or home.root.stat().st_uid != os.geteuid():
        owner = home.root.stat().st_uid
        yield Check("permissions", False, f"{home.root} belongs to user {owner}", "Run the agent as that user")
    else:
        yield Check("permissions", True, "the folder and the node's keys are closed to others")


def check_unremoved(home: AgentHome) -> Iterator[Check]:
    """What jobs left and the agent cannot remove takes room that the node does not offer any more."""
    for remains in read_unremoved(home.root / UNREMOVED_FILE):
        message = f"{remains.path} could not be removed ({about_bytes(remains.size_bytes)}): {remains.reason}"
        yield warn("clean-up", message, _how_to_remove(remains))


def _how_to_remove(remains: Remains) -> str:
    if MOUNTED in remains.reason:
        # Not by hand: what is mounted there would be removed too.
        return f"Find the mount point with `findmnt -o TARGET | grep {shlex.quote(remains.path)}` and unmount it"
    return f"rm -rf {shlex.quote(remains.path)}"


def check_policy(home: AgentHome) -> Iterator[Check]:
    """What the owner wrote must be readable, or the agent goes on with what it could read last."""
    from computepool.agent.owner.policy_file import NAME, PolicyError, parse_policy

    path = home.root / NAME
    try:
        parse_policy(path.read_text())
    except FileNotFoundError:
        return
    except (PolicyError, UnicodeDecodeError) as error:
        yield Check(
            "policy",
            False,
            f"{path} cannot be used: {'; '.join(str(error).splitlines())}",
            f"Correct {path}. Until then the last valid policy is in force",
        )
    except OSError as error:
        yield warn("policy", f"{path} cannot be read: {error.strerror}", f"chmod 600 '{path}'")
    else:
        yield Check("policy", True, f"{path} is valid")
