"""NVIDIA's GPUs through NVIDIA's library: a stand-in that is loaded by the real binding, in a process of its own."""

import pytest
from support.fake_gpus import ORDINARY_PATH, build_nvml, in_child, put_display, put_files, put_tool

CARD, DATACENTRE = "GPU-11111111-2222-3333-4444-555555555555", "GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"

DETECT = """
import json, sys
from pathlib import Path
from computepool.agent.detect import detect
hardware = detect(Path("/tmp"), root=Path(sys.argv[1]))
print(json.dumps({
    "gpus": [gpu.model_dump() for gpu in hardware.gpus],
    "devices": hardware.gpu_devices,
    "pci": hardware.gpu_pci,
    "unusable": [(one.name, one.why) for one in hardware.unusable_gpus],
    "software": {one.name: one.version for one in hardware.software},
    "platform": hardware.capacity([]).platform,
}))
"""
MONITOR = """
import ctypes, json, os, sys
from pathlib import Path
from computepool.agent.detect import GpuMonitor
from computepool.agent.detect.nvidia import find_nvidia
import computepool.agent.detect.monitor as m
m.ANSWER_SECONDS = 600
root = Path(sys.argv[1])
found = find_nvidia(root).gpus
pci = {one.gpu.id: one.pci for one in found}
class Clock:
    time = 1000.0
    def now(self): raise NotImplementedError
    def monotonic(self): return self.time
clock = Clock()
def watch(**more):
    return GpuMonitor([one.gpu for one in found], pci, clock=clock, root=root, **more)
monitor = watch()
def show(loads):
    return [load.model_dump() for load in loads]
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build_nvml(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def machine(library, tmp_path):
    """The environment of a machine with the library and no other tool, and its root."""
    root = tmp_path / "root"
    devices = ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap66", "nvidia-caps/nvidia-cap67")
    put_files(root, {f"dev/{device}": "" for device in devices})
    return {"LD_LIBRARY_PATH": str(library), "PATH": ORDINARY_PATH}, root


def test_two_cards_are_found_with_all_that_the_library_tells(machine):
    environment, root = machine
    told = in_child(DETECT, environment, root)
    first, second = told["gpus"]
    assert first == {
        "id": CARD,
        "name": "NVIDIA GeForce RTX 4090",
        "slug": "rtx-4090",
        "memory_bytes": 24 * 1024**3,
        "vendor": "nvidia",
        "driver": "550.54.15",
        "runtime": "cuda 12.4",
        "architecture": "8.9",
        "integrated": False,
        "part_of": "",
    }
    assert (second["id"], second["slug"], second["architecture"]) == (DATACENTRE, "a100-sxm4", "8.0")
    assert told["devices"] == {
        CARD: ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"],
        DATACENTRE: ["/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"],
    }
    assert told["pci"] == {CARD: "0000:01:00.0", DATACENTRE: "0000:41:00.0"}
    assert told["software"]["nvidia-driver"] == "550.54.15"
    assert told["unusable"] == []


def test_a_divided_card_is_offered_in_its_parts_and_not_whole(machine):
    environment, root = machine
    capabilities = "proc/driver/nvidia/capabilities/gpu1/mig/gi7"
    put_files(root, {f"{capabilities}/access": "DeviceFileMinor: 66\nDeviceFileMode: 292"})
    put_files(root, {f"{capabilities}/ci0/access": "DeviceFileMinor: 67\nDeviceFileMode: 292"})
    told = in_child(DETECT, {**environment, "STUB_MIG": "2"}, root)
    assert [(gpu["slug"], gpu["part_of"]) for gpu in told["gpus"]] == [
        ("rtx-4090", ""),
        ("a100-sxm4-mig-1g.5gb", DATACENTRE),
        ("a100-sxm4-mig-1g.5gb", DATACENTRE),
    ]
    parts = [gpu["id"] for gpu in told["gpus"][1:]]
    assert len(set(parts)) == 2
    assert all(part.startswith("MIG-") for part in parts)
    assert [gpu["memory_bytes"] for gpu in told["gpus"][1:]] == [5 * 1024**3] * 2
    assert told["devices"][parts[0]][-2:] == ["/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"]
    assert told["devices"][parts[0]][0] == "/dev/nvidia1"
    assert not any("nvidia-cap" in device for device in told["devices"][parts[1]]), "another part's key"


def test_a_card_without_parts_in_mig_mode_is_named_and_not_offered(machine):
    environment, root = machine
    told = in_child(DETECT, {**environment, "STUB_MIG": "0"}, root)
    assert [gpu["id"] for gpu in told["gpus"]] == [CARD]
    assert told["unusable"] == [["NVIDIA A100-SXM4-40GB", "it is in MIG mode, but has no instance"]]


def test_a_chip_that_shares_the_machines_memory_is_marked(machine):
    environment, root = machine
    told = in_child(DETECT, {**environment, "STUB_SHARED": "1"}, root)
    shared = next(gpu for gpu in told["gpus"] if gpu["id"] == CARD)
    assert shared["integrated"]
    assert shared["memory_bytes"] > 0
    assert told["gpus"][-1] == shared, "cards come first"


def test_a_laptops_second_gpu_is_reported_and_marked(machine):
    environment, root = machine
    put_display(root, "0000:00:02.0", "8086:46a6", driver="i915", render=128)
    put_display(root, "0000:01:00.0", "10de:2717", driver="nvidia", render=129)
    told = in_child(DETECT, environment, root)
    assert [(gpu["vendor"], gpu["integrated"]) for gpu in told["gpus"]] == [
        ("nvidia", False),
        ("nvidia", False),
        ("intel", True),
    ]
    assert told["unusable"] == [], "what the library found is not missed on the bus"


def test_a_lost_card_does_not_hide_the_other(machine, tmp_path):
    environment, root = machine
    put_files(tmp_path, {"trouble": "15 0"})
    told = in_child(DETECT, {**environment, "STUB_TROUBLE": str(tmp_path / "trouble")}, root)
    assert [gpu["id"] for gpu in told["gpus"]] == [DATACENTRE]
    assert "does not answer" in told["unusable"][0][1]


@pytest.mark.parametrize("error", ["9", "18", "999"])
def test_without_a_working_library_the_tool_is_asked(machine, tmp_path, error):
    environment, root = machine
    put_tool(tmp_path / "bin", "nvidia-smi", "echo '0, GPU-smi, NVIDIA GeForce RTX 3090, 24576, 00000000:01:00.0'")
    path = f"{tmp_path / 'bin'}:{ORDINARY_PATH}"
    told = in_child(DETECT, {**environment, "STUB_INIT_ERROR": error, "PATH": path}, root)
    assert [(gpu["id"], gpu["slug"]) for gpu in told["gpus"]] == [("GPU-smi", "rtx-3090")]


def test_a_library_that_hangs_does_not_hang_the_agent(machine):
    environment, root = machine
    story = DETECT.replace(
        "from computepool", "import computepool.agent.detect as d; d.VENDOR_SECONDS = 0.5\nfrom computepool"
    )
    told = in_child(story, {**environment, "STUB_HANG": "3600"}, root)
    assert told["gpus"] == []
    assert told["unusable"][0][0] == "NVIDIA GPUs"
    assert "no answer within 0.5 s" in told["unusable"][0][1]


def test_wsl_keeps_its_library_out_of_sight_and_its_cards_behind_one_device(library, tmp_path):
    put_files(tmp_path, {"proc/version": "Linux version 5.15.153.1-microsoft-standard-WSL2", "dev/dxg": ""})
    (tmp_path / "usr/lib/wsl").mkdir(parents=True)
    (tmp_path / "usr/lib/wsl/lib").symlink_to(library)
    told = in_child(DETECT, {"LD_LIBRARY_PATH": "", "PATH": ORDINARY_PATH}, tmp_path)
    assert told["platform"].endswith("-wsl2")
    assert [gpu["slug"] for gpu in told["gpus"]] == ["rtx-4090", "a100-sxm4"]
    assert told["devices"] == {CARD: ["/dev/dxg"], DATACENTRE: ["/dev/dxg"]}


def test_the_monitor_reads_each_card_and_keeps_one_session(machine):
    environment, root = machine
    story = """
for _ in range(5): loads = monitor.read()
opened = ctypes.CDLL("libnvidia-ml.so.1").stub_times_opened()
print(json.dumps([show(loads), opened]))
"""
    loads, opened = in_child(MONITOR + story, environment, root)
    assert loads == [
        {
            "id": CARD,
            "utilisation": 0.87,
            "memory_used_bytes": 3 * 1024**3,
            "temperature_celsius": 68.0,
            "power_watts": 321.5,
        },
        {
            "id": DATACENTRE,
            "utilisation": 0.0,
            "memory_used_bytes": 1024**3,
            "temperature_celsius": 31.0,
            "power_watts": None,
        },
    ]
    assert opened == 2, "once to detect, once to watch"


def test_the_monitor_survives_a_reload_of_the_driver(machine, tmp_path):
    environment, root = machine
    trouble = tmp_path / "trouble"
    story = """
trouble = Path(sys.argv[2])
opened = ctypes.CDLL("libnvidia-ml.so.1").stub_times_opened
def figures():
    return [load.utilisation for load in monitor.read()]
seen = [figures()]
trouble.write_text("9"); seen.append(figures()); before = opened()
seen.append(figures()); quiet = opened() == before
trouble.unlink(); seen.append(figures())
clock.time += 60; seen.append(figures())
trouble.write_text("15 0"); seen.append(figures())
trouble.unlink(); seen.append(figures())
print(json.dumps([seen, quiet]))
"""
    seen, quiet = in_child(MONITOR + story, {**environment, "STUB_TROUBLE": str(trouble)}, root, trouble)
    well, nothing = [0.87, 0.0], [None, None]
    assert seen == [well, nothing, nothing, nothing, well, [None, 0.0], well]
    assert quiet, "a driver that is away is not asked again at once"


def test_the_monitor_gives_up_on_a_driver_that_hangs(machine):
    environment, root = machine
    story = """
m.ANSWER_SECONDS = 0.3
os.environ["STUB_HANG"] = "3600"
print(json.dumps([monitor.read(), monitor.read()]), flush=True)
os._exit(0)
"""
    assert in_child(MONITOR + story, environment, root) == [[], []]


def test_a_sleeping_laptop_card_is_not_woken_to_be_asked(machine):
    environment, root = machine
    put_files(root, {"sys/bus/pci/devices/0000:01:00.0/power/runtime_status": "suspended"})
    loads = in_child(MONITOR + "print(json.dumps(show(monitor.read())))", environment, root)
    assert [load["utilisation"] for load in loads] == [0.0, 0.0]
    assert [load["memory_used_bytes"] for load in loads] == [None, 1024**3]


def test_programs_that_are_not_ours_are_seen_with_their_memory(machine):
    environment, root = machine
    put_files(root, {"proc/999/comm": "game"})
    story = """
from computepool.agent.owner.signals.gpus import read_gpus
readings = read_gpus(monitor.now, lambda pid: pid == 4321, lambda gpu_id: False)
print(json.dumps([[[p.pid, p.memory_bytes, p.name] for p in gpu.processes] for gpu in monitor.now()]
                 + [{one.id: one.foreign_bytes for one in readings}]))
"""
    first, second, foreign = in_child(MONITOR + story, environment, root)
    mebibyte = 1024**2
    assert first == [[999, 256 * mebibyte, "game"], [4321, 2048 * mebibyte, ""], [4322, 512 * mebibyte, ""]]
    assert second == []
    assert foreign == {CARD: 768 * mebibyte, DATACENTRE: 0}


def test_one_look_tells_load_and_programs_with_a_few_questions(machine):
    environment, root = machine
    story = """
from computepool.agent.detect.nvml import Nvml
first, second = monitor.now()
questions, ask = [], Nvml.ask
Nvml.ask = lambda self, *question: questions.append(question) or ask(self, *question)
monitor.now()
Nvml.ask = ask
print(json.dumps([first.load() == monitor.read()[0], len(first.processes), second.processes, len(questions)]))
"""
    same, count, none, questions = in_child(MONITOR + story, environment, root)
    assert (same, count, none) == (True, 3, [])
    # Asked every two seconds; an idle agent may take 0.3 % of a core.
    assert 0 < questions <= 20


POWER = """
from computepool.agent.detect.nvml import Nvml
note = Path(sys.argv[2])
def limit():
    nvml = Nvml()
    return nvml.ask("nvmlDeviceGetPowerManagementLimit", nvml.ask("nvmlDeviceGetHandleByIndex", 0)) / 1000
monitor = watch(power_note=note)
card = found[0].gpu.id
"""


def test_power_is_capped_within_bounds_and_given_back_after_a_crash(machine, tmp_path):
    environment, root = machine
    story = """
seen = [monitor.set_power_limit(card, 200), limit(), note.exists()]
seen += [monitor.set_power_limit(card, 1), limit()]
# The agent dies here. The next one finds the note, and the owner's own limit in it.
after = watch(power_note=note)
seen += [after.set_power_limit(card, 150), after.restore_power_limits(), limit(), note.exists()]
seen += [after.set_power_limit(card, None), limit()]
print(json.dumps(seen))
"""
    seen = in_child(MONITOR + POWER + story, {**environment, "STUB_ROOT": "1"}, root, tmp_path / "note.json")
    assert seen == [True, 200, True, True, 100, True, True, 450, False, True, 450]


def test_who_may_not_cap_is_told_so_and_nothing_is_noted(machine, tmp_path):
    environment, root = machine
    story = """
strange = monitor.set_power_limit("no such card", 200)
print(json.dumps([monitor.set_power_limit(card, 200), limit(), note.exists(), strange]))
"""
    seen = in_child(MONITOR + POWER + story, environment, root, tmp_path / "note.json")
    assert seen == [False, 450, False, False]


def test_a_part_of_a_card_has_no_limit_of_its_own(machine):
    environment, root = machine
    story = "print(json.dumps([monitor.set_power_limit(found[1].gpu.id, 200), show(monitor.read())[1]]))"
    capped, load = in_child(MONITOR + story, {**environment, "STUB_MIG": "1", "STUB_ROOT": "1"}, root)
    assert capped is False
    assert (load["utilisation"], load["memory_used_bytes"]) == (None, 1024**3)
