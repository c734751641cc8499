"""Promise 30: a sandboxed job cannot reach the host's files, the agent's key, the network around it or other devices.

Every probe is run against every runtime that the machine has. It counts only if its control succeeds: the same probe,
outside of the sandbox. Where not even the control can (a kernel without modules), the probe is skipped by name.
"""

from collections.abc import Callable

import pytest
from support.probes.abuse import BY_NAME, Abuse
from support.probes.catalogue import GROUPS, PROBES, Probe
from support.probes.report import Report
from support.probes.run import Answers
from support.probes.runtimes import ORDINARY_USER, RUNTIMES

LEAST_PROBES = 70
ALL: dict[str, Probe | Abuse] = {**PROBES, **BY_NAME}
IN_CONTAINERS = {"docker", "gvisor", "podman"}

every_runtime = pytest.mark.parametrize(
    "runtime",
    [
        # All of a kind to one worker, so that each is brought up once: see support/sharing.py.
        pytest.param(f"{name}@container-probes", marks=pytest.mark.slow)
        if name in IN_CONTAINERS
        else pytest.param(f"{name}@probes")
        for name in [*RUNTIMES, ORDINARY_USER]
    ],
)


def why_not(name: str, runtime: str, report: Report, controls: Answers, abuse_controls: Answers) -> str | None:
    """Why a probe proves nothing in this runtime, on this machine; None if it does."""
    if runtime in ALL[name].means_nothing_in:
        return f"meaningless in {runtime}: {ALL[name].means_nothing_in[runtime]}"
    if name not in report.reached:
        return f"egress: {runtime} has none"
    reached, detail = (controls | abuse_controls)[name]
    return None if reached else f"control: not even outside of the sandbox can this be done here: {detail}"


@every_runtime
@pytest.mark.parametrize("name", ALL)
def test_job_cannot(
    name: str, runtime: str, reports: Callable[[str], Report], controls: Answers, abuse_controls: Answers
) -> None:
    runtime = runtime.partition("@")[0]
    report = reports(runtime)
    reason = why_not(name, runtime, report, controls, abuse_controls)
    if reason:
        pytest.skip(reason)
    reached, detail = report.reached[name]
    assert not reached, detail


@every_runtime
def test_enough_probes_prove_something(
    runtime: str,
    reports: Callable[[str], Report],
    controls: Answers,
    abuse_controls: Answers,
    record_property: Callable[[str, object], None],
) -> None:
    runtime = runtime.partition("@")[0]
    report = reports(runtime)
    counted = [name for name in ALL if not why_not(name, runtime, report, controls, abuse_controls)]
    record_property("probes", len(counted))
    assert len(counted) >= LEAST_PROBES
    groups = {name: [probe for probe in probes if probe.name in counted] for name, probes in GROUPS.items()}
    assert all(groups[name] for name in groups.keys() - {"proxy"})
    assert bool(groups["proxy"]) == report.has_egress
