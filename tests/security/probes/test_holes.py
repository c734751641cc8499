"""Holes made on purpose, one protection taken away at a time: the probes must find them, or they prove nothing."""

import asyncio
import os
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import engines
from support.probes.abuse import BY_NAME, run_abuse
from support.probes.host import secrets_of
from support.probes.run import Answers, run_inside, run_through_proxy
from support.probes.runtimes import bubblewrap

from computepool.agent.egress import addresses, policy
from computepool.agent.sandbox import Command, Process, environment
from computepool.agent.sandbox.bubblewrap import BubblewrapSandbox
from computepool.agent.sandbox.cgroup import CgroupV1
from computepool.agent.sandbox.cgroup_tree import TreeV1, find_cgroups, read_mounts
from computepool.agent.sandbox.identity import instance_of

pytestmark = pytest.mark.engine("bwrap")
ALLOW_EVERYTHING = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)


def reached(answers: Answers) -> set[str]:
    return {name for name, (was_reached, _) in answers.items() if was_reached}


def with_hole(state: Path, make: Callable[[BubblewrapSandbox], Any]) -> set[str]:
    """What the probes reach in a bubblewrap that was changed."""
    with bubblewrap(state, soft=True) as sandbox, secrets_of(state, sandbox.attempts_folder) as facts:
        assert isinstance(sandbox, BubblewrapSandbox)
        make(sandbox)
        return reached(asyncio.run(run_inside(sandbox, facts)))


def give(*arguments: str) -> Callable[[BubblewrapSandbox], None]:
    """More arguments for bubblewrap than it should get."""

    def make(sandbox: BubblewrapSandbox) -> None:
        sandbox._system = (*sandbox._system, *arguments)

    return make


def test_network_that_is_shared_is_found(state):
    assert with_hole(state, give("--share-net")) >= {
        "reach a port of the host",
        "see the host's ports",
        "reach an abstract socket of the host",
        "reach the home network",
        "reach a cloud's metadata",
        "have a network interface",
    }


def test_folder_of_the_agent_that_is_shown_is_found(state):
    def make(sandbox: BubblewrapSandbox) -> None:
        sandbox._owners = (*sandbox._owners, "--ro-bind", str(state), str(state))

    assert with_hole(state, make) >= {
        "read the agent's private key",
        "read the agent's journal",
        "list another attempt's folder",
        "find the agent's folder by searching",
        "go up from its own folder",
    }


def test_missing_filter_is_found(state):
    def make(sandbox: BubblewrapSandbox) -> None:
        sandbox._filter = ALLOW_EVERYTHING

    assert with_hole(state, make) >= {
        "use the kernel's asynchronous calls",
        "use the kernel's keys",
        "handle page faults",
        "compare processes",
        "open a socket to the hypervisor",
    }


def test_users_of_the_host_that_show_are_found(state):
    assert with_hole(state, give("--ro-bind", "/etc", "/etc")) >= {"learn the host's users"}


def test_name_of_the_host_is_found(state):
    def make(sandbox: BubblewrapSandbox) -> None:
        words = list(sandbox._system)
        words[words.index("job")] = os.uname().nodename
        sandbox._system = tuple(words)

    assert "learn the host's name" in with_hole(state, make)


def test_devices_that_were_not_asked_for_are_found(state):
    devices = [path for path in ("/dev/kmsg", "/dev/fuse", "/dev/net/tun") if Path(path).exists()]
    if not devices:
        pytest.skip("devices: this machine shows none but the usual ones")
    with bubblewrap(state, soft=True) as sandbox, secrets_of(state, sandbox.attempts_folder) as facts:

        class Generous(BubblewrapSandbox):
            async def start(self, command: Command) -> Process:
                return await super().start(replace(command, devices=devices))

        assert isinstance(sandbox, BubblewrapSandbox)
        generous = Generous(state, bwrap=sandbox._bwrap)
        found = reached(asyncio.run(run_inside(generous, facts)))
        asyncio.run(generous.close())
    assert "see a device that was not given" in found


def test_environment_that_is_not_stripped_is_found(state, monkeypatch):
    monkeypatch.setattr(environment, "STRIPPED_PREFIXES", ("NOTHING_AT_ALL",))
    assert with_hole(state, lambda sandbox: None) >= {
        "load a library first",
        "load libraries from its folder",
        "ask for all GPUs",
        "pass for another run of the agent",
    }


def through_proxy(state: Path) -> set[str]:
    with bubblewrap(state, soft=True) as sandbox, secrets_of(state, sandbox.attempts_folder) as facts:
        return reached(asyncio.run(run_through_proxy(sandbox, facts)))


def test_proxy_that_forgets_what_is_private_is_found(state, monkeypatch):
    monkeypatch.setattr(policy, "why_not_public", lambda address: None)
    monkeypatch.setattr("computepool.agent.egress.proxy.surroundings", frozenset)
    assert through_proxy(state) >= {
        "reach the host through the proxy as 127.0.0.1",
        "reach the host through the proxy as [::1]",
        "reach the host through the proxy as inside.example",
        "rebind a name between two requests",
        "follow a redirect to the host",
    }


def test_proxy_that_looks_at_the_first_address_only_is_found(state, monkeypatch):
    whole = policy.EgressPolicy.check_addresses

    def first(self: policy.EgressPolicy, host: str, port: int, found: Iterable[addresses.Address], around: Any) -> None:
        whole(self, host, port, list(found)[:1], around)

    # The tests' own policy leaves out what is public there, so the first is what would be looked at first.
    monkeypatch.setattr("support.egress.INTERNET", _Remembering())
    monkeypatch.setattr(policy.EgressPolicy, "check_addresses", first)
    assert "reach the host through the proxy as public-then-inside.example" in through_proxy(state)


class _Remembering:
    """Of several addresses, calls those after a public one public too."""

    def __init__(self) -> None:
        self._last = False

    def __contains__(self, address: addresses.Address) -> bool:
        is_web = str(address).startswith("127.1.")
        before, self._last = self._last, is_web
        return is_web or before


def test_proxy_that_opens_every_port_is_found(state, monkeypatch):
    monkeypatch.setattr(policy, "WEB_PORTS", frozenset(range(65536)))
    assert "reach a port that is not open" in through_proxy(state)


def test_limits_that_are_not_kept_are_found(state):
    if not isinstance(find_cgroups("ignoring"), TreeV1):
        pytest.skip("control groups, version 1: this user may not make any")
    engines.require("bwrap")

    class Ignoring(CgroupV1):
        def set_limits(self, limits: Any) -> None:
            del limits

    class IgnoringTree(TreeV1):
        def make(self, name: str) -> CgroupV1:
            return Ignoring(name, self._parents, self._home)

    with bubblewrap(state) as sandbox:
        assert isinstance(sandbox, BubblewrapSandbox)
        assert isinstance(sandbox._cgroups, TreeV1)
        homes = [mount.own for mount in read_mounts() if mount.version == 1]
        sandbox._cgroups = IgnoringTree(instance_of(state), sandbox._cgroups._parents, homes)

        async def story() -> set[str]:
            names = ["fork without end", "leave the dead unburied", "take memory that no process has"]
            outcomes = {name: await run_abuse(sandbox, BY_NAME[name], rest_seconds=4) for name in names}
            return {name for name, outcome in outcomes.items() if not BY_NAME[name].held(outcome)}

        assert asyncio.run(story()) == {
            "fork without end",
            "leave the dead unburied",
            "take memory that no process has",
        }


def test_watchdog_that_sleeps_is_found(state, monkeypatch):
    monkeypatch.setattr("computepool.agent.sandbox.watchdog.DISK_SECONDS", 3600.0)
    monkeypatch.setattr("computepool.agent.sandbox.watchdog.MEMORY_SECONDS_WHEN_LOW", 3600.0)
    with bubblewrap(state, soft=True) as sandbox:

        async def story() -> set[str]:
            names = ["write many files", "make files without end", "take memory"]
            outcomes = await asyncio.gather(*(run_abuse(sandbox, BY_NAME[name], rest_seconds=4) for name in names))
            return {name for name, outcome in zip(names, outcomes, strict=True) if not BY_NAME[name].held(outcome)}

        assert asyncio.run(story()) == {"write many files", "make files without end", "take memory"}


def test_whole_sandbox_has_no_hole(state):
    """The control."""
    assert with_hole(state, lambda sandbox: None) == set()
    assert through_proxy(state) == set()
