"""Bugs put in on purpose in detection: the checks must find them, or they prove nothing."""

import itertools

import pytest
from support.fake_gpus import ORDINARY_PATH, put_display, put_tool

from computepool.agent.clock import SystemClock
from computepool.agent.detect import GpuMonitor, loads, monitor, nvidia, power
from computepool.agent.detect.found import make_gpu
from computepool.agent.detect.loads import GpuNow, GpuProcess, GpuUse
from computepool.agent.detect.power import PowerKnob, PowerLimits
from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.gpus import read_gpus
from computepool.protocol import gpu_names, versions
from computepool.protocol.capacity import Software
from computepool.protocol.messages import GpuLoad

ADDRESS = "0000:03:00.0"
GPU = make_gpu(id=f"amd-{ADDRESS}", name="AMD Radeon RX 6800", memory_bytes=2**34, vendor="amd")


class TickingClock(SystemClock):
    """A hundredth of a second passes between two looks at it."""

    def __init__(self):
        self._ticks = itertools.count()

    def monotonic(self):
        return next(self._ticks) / 100


def cards_keep_apart(folder):
    for requested, actual in (("RTX 4070", "RTX 4070 Ti"), ("A10", "NVIDIA A100"), ("RTX 4090", "RTX 4090 Laptop GPU")):
        assert not gpu_names.gpu_name_matches(requested, actual)


def a_gpu_is_offered_once(folder):
    row = "0, GPU-aaaa, NVIDIA GeForce RTX 4090, 24564, 00000000:01:00.0"
    put_tool(folder / "bin", "nvidia-smi", f"echo '{row}'; echo '{row}'")
    assert len(nvidia.find_by_smi(folder).gpus) == 1


def a_dear_tool_is_asked_seldom(folder):
    put_tool(folder / "bin", "rocm-smi", f"echo x >> {folder / 'asked'}; echo '{{}}'")
    watching = GpuMonitor([GPU], {GPU.id: ADDRESS}, clock=TickingClock(), root=folder)
    for _ in range(4):
        watching.read()
    assert (folder / "asked").read_text() == "x\n"


def an_owners_limit_outlives_the_agent(folder):
    limit = [300.0]

    def turn(watts):
        limit[0] = watts
        return True

    note = folder / "note"
    PowerLimits(note).cap("a", PowerKnob(limit[0], 100, 400, turn), 150)
    PowerLimits(note).restore("a", PowerKnob(limit[0], 100, 400, turn))
    assert limit == [300.0]


def a_game_that_is_not_listed_is_seen(folder):
    use = GpuUse("a", (GpuProcess(1, 100),), memory_used_bytes=900, complete=False)
    now = loads.together(GpuLoad(id="a", memory_used_bytes=900), use)
    readings = read_gpus(lambda: [now], lambda pid: pid == 1, lambda gpu_id: True)
    assert not isinstance(readings, Unknown)
    assert [reading.foreign_bytes for reading in readings] == [800]


def a_sleeping_card_is_left_asleep(folder):
    files = {"power/runtime_status": "suspended", "gpu_busy_percent": 50}
    put_display(folder, ADDRESS, "1002:73bf", driver="amdgpu", render=128, files=files)
    (load,) = GpuMonitor([GPU], {GPU.id: ADDRESS}, root=folder).read()
    assert load.utilisation == 0


def an_unmended_branch_is_unsafe(folder):
    assert versions.unsafe_software([Software(name="runc", version="1.3.1")])


def _only_what_is_listed(load, use):
    return GpuNow(load.id, None, load.memory_used_bytes, None, None, use.processes)


MUTANTS = [
    (cards_keep_apart, gpu_names, "gpu_name_matches", lambda wanted, found: wanted in found),
    (a_gpu_is_offered_once, nvidia, "each_once", tuple),
    (a_dear_tool_is_asked_seldom, monitor, "REST_AFTER_TOOL", 0),
    (an_owners_limit_outlives_the_agent, power.PowerLimits, "_save", lambda self: True),
    (a_game_that_is_not_listed_is_seen, loads, "together", _only_what_is_listed),
    (a_sleeping_card_is_left_asleep, monitor.GpuMonitor, "_sleeps", lambda self, gpu: False),
    (an_unmended_branch_is_unsafe, versions.Minimum, "accepts", lambda self, version: True),
    (an_unmended_branch_is_unsafe, versions.Minimum, "_for", lambda self, version: [versions.read_version(self.since)]),
]
CHECKS = list(dict.fromkeys(check for check, *_ in MUTANTS))


@pytest.fixture(autouse=True)
def _tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{ORDINARY_PATH}")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_detection_keeps_its_word(check, tmp_path):
    check(tmp_path)


@pytest.mark.parametrize(
    ("check", "place", "name", "bug"), MUTANTS, ids=[f"{check.__name__}-{name}" for check, _, name, _ in MUTANTS]
)
def test_planted_bug_is_found(check, place, name, bug, tmp_path, monkeypatch):
    monkeypatch.setattr(place, name, bug)
    with pytest.raises(AssertionError):
        check(tmp_path)
