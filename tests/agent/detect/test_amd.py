"""AMD's GPUs: the kernel's files, `rocm-smi`, and AMD's library (a stand-in)."""

import pytest
from support.fake_gpus import ORDINARY_PATH, in_child, put_answer, put_display, put_files, put_tool
from support.ordinary_user import ordinary_folder, ordinary_user

from computepool.agent.detect import GpuMonitor
from computepool.agent.detect.amd import find_amd
from computepool.agent.detect.loads import rocm_loads
from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.gpus import read_gpus

AMDGPU_IDS = "1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT\n15BF,\tC8,\tAMD Radeon 780M"
ROCM_SMI = {
    "card0": {
        "Unique ID": "0x9d1fdb7bd1a9b1c2",
        "PCI Bus": "0000:03:00.0",
        "VRAM Total Memory (B)": "25753026560",
        "VRAM Total Used Memory (B)": "27643904",
        "Card Series": "Radeon RX 7900 XTX",
        "Card Model": "0x744c",
        "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]",
        "Card SKU": "EXT94393",
        "GFX Version": "gfx1100",
        "GPU use (%)": "12",
        "Temperature (Sensor edge) (C)": "41.0",
        "Temperature (Sensor junction) (C)": "45.0",
        "Average Graphics Package Power (W)": "15.0",
    },
    "card1": {
        "Unique ID": "0x18a1f9c0c2b3d4e5",
        "PCI Bus": "0000:83:00.0",
        "VRAM Total Memory (B)": "34342961152",
        "Card series": "AMD Instinct MI60",
        "GFX Version": "gfx906",
        "Current Socket Graphics Package Power (W)": "22.5",
    },
    "system": {"Driver version": "6.8.5"},
}


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{ORDINARY_PATH}")
    return tmp_path / "bin"


@pytest.fixture
def card(tmp_path):
    return put_card(tmp_path)


def put_card(root):
    """A 7900 XTX, with the kernel's driver and nothing of ROCm."""
    put_files(
        root,
        {
            "usr/share/libdrm/amdgpu.ids": AMDGPU_IDS,
            "dev/kfd": "",
            "proc/sys/kernel/osrelease": "6.8.0-45-generic",
            "sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 16\nsimd_count 0\ndrm_render_minor 0",
            "sys/class/kfd/kfd/topology/nodes/1/properties": "cpu_cores_count 0\nsimd_count 192\n"
            "gfx_target_version 110000\ndrm_render_minor 129",
            "sys/class/kfd/kfd/topology/nodes/1/gpu_id": "51204",
            "sys/class/kfd/kfd/proc/4321/vram_51204": str(2 * 1024**3),
        },
    )
    return put_display(
        root,
        "0000:03:00.0",
        "1002:744c:c8",
        driver="amdgpu",
        render=129,
        files={
            "mem_info_vram_total": 25753026560,
            "mem_info_vram_used": 3 * 1024**3,
            "unique_id": "9d1fdb7bd1a9b1c2",
            "gpu_busy_percent": 37,
            "hwmon/hwmon4/temp1_input": 52000,
            "hwmon/hwmon4/power1_average": 98000000,
            "hwmon/hwmon4/power1_cap": 303000000,
            "hwmon/hwmon4/power1_cap_min": 0,
            "hwmon/hwmon4/power1_cap_max": 348000000,
        },
    )


def test_the_kernel_alone_tells_a_card(tools, card, tmp_path):
    (found,) = find_amd(tmp_path).gpus
    gpu = found.gpu
    assert (gpu.id, gpu.slug, gpu.memory_bytes) == ("GPU-9d1fdb7bd1a9b1c2", "rx-7900-xtx", 25753026560)
    assert (gpu.vendor, gpu.architecture, gpu.driver, gpu.integrated) == ("amd", "gfx1100", "6.8.0-45-generic", False)
    assert found.devices == ("/dev/kfd", "/dev/dri/renderD129")


def test_two_cards_of_one_chip_are_told_apart_by_revision(tools, card, tmp_path):
    put_display(tmp_path, "0000:0a:00.0", "1002:744c:cc", driver="amdgpu", render=130)
    assert [one.gpu.slug for one in find_amd(tmp_path).gpus] == ["rx-7900-xtx", "rx-7900-xt"]


def test_a_card_that_a_list_does_not_tell_apart_is_not_guessed(tools, tmp_path):
    put_files(tmp_path, {"usr/share/hwdata/pci.ids": PCI_IDS})
    put_display(tmp_path, "0000:03:00.0", "1002:744c:ff", driver="amdgpu", render=128)
    (found,) = find_amd(tmp_path).gpus
    assert found.gpu.name == "Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]"
    assert found.gpu.slug == "rx-7900-xt-7900-xtx-7900m"
    assert found.gpu.id == "amd-0000:03:00.0"


def test_a_laptops_two_gpus_are_both_found_and_the_processors_own_is_marked(tools, card, tmp_path):
    put_display(tmp_path, "0000:c4:00.0", "1002:15bf:c8", driver="amdgpu", render=128)
    node = "cpu_cores_count 16\nsimd_count 24\ngfx_target_version 110003\ndrm_render_minor 128"
    put_files(tmp_path, {"sys/class/kfd/kfd/topology/nodes/2/properties": node})
    found = find_amd(tmp_path).gpus
    assert [(one.gpu.slug, one.gpu.integrated) for one in found] == [("rx-7900-xtx", False), ("780m", True)]


def test_rocm_smi_is_believed_before_the_lists(tools, card, tmp_path):
    put_answer(tools, "rocm-smi", ROCM_SMI)
    put_files(tmp_path, {"opt/rocm/.info/version": "6.2.4-139"})
    found = find_amd(tmp_path)
    assert [(one.gpu.slug, one.gpu.architecture, one.gpu.driver) for one in found.gpus] == [
        ("rx-7900-xtx", "gfx1100", "6.8.5"),
        ("mi60", "gfx906", "6.8.5"),
    ]
    assert {one.gpu.runtime for one in found.gpus} == {"rocm 6.2.4"}
    assert found.drivers == {"amdgpu-driver": "6.8.5"}


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "echo 'ERROR: GPU[0] not supported'",
        "echo '[]'",
        'echo \'{"card0": null, "card1": {"PCI Bus": 3}}\'',
        "",
    ],
)
def test_nonsense_from_rocm_smi_leaves_what_the_kernel_says(tools, card, tmp_path, script):
    put_tool(tools, "rocm-smi", script)
    assert "rx-7900-xtx" in [one.gpu.slug for one in find_amd(tmp_path).gpus]


def test_warnings_before_the_answer_are_passed_over(tools, tmp_path):
    path = put_answer(tools, "rocm-smi", ROCM_SMI)
    path.write_text(
        path.read_text().replace("cat <<", "echo 'WARNING: AMD GPU device(s) is in a low-power state'\ncat <<")
    )
    assert len(find_amd(tmp_path).gpus) == 2


STORY = """
import json, sys
from pathlib import Path
from computepool.agent.detect.amd import find_amd
gpus = [one.gpu for one in find_amd(Path(sys.argv[1])).gpus]
print(json.dumps([[gpu.id, gpu.slug, gpu.memory_bytes, gpu.driver] for gpu in gpus]))
"""
LIBRARY = """
def amdsmi_init(): pass
def amdsmi_shut_down(): pass
def amdsmi_get_processor_handles(): return [0, 1]
def amdsmi_get_gpu_device_bdf(handle): return ["0000:03:00.0", "0000:83:00.0"][handle]
def amdsmi_get_gpu_asic_info(handle):
    if handle: raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")
    return {"market_name": "0x744c", "asic_serial": "0x00000000DEADBEEF", "target_graphics_version": "gfx1100"}
def amdsmi_get_gpu_vram_info(handle): return {"vram_size": 24560}
def amdsmi_get_gpu_driver_info(handle): return {"driver_version": "6.10.5"}
"""


def test_amds_library_is_asked_first_and_may_know_only_a_part(card, tmp_path):
    put_files(tmp_path / "modules", {"amdsmi.py": LIBRARY})
    told = in_child(STORY, {"PYTHONPATH": str(tmp_path / "modules"), "PATH": ORDINARY_PATH}, tmp_path)
    assert told == [["GPU-00000000deadbeef", "rx-7900-xtx", 24560 * 1024**2, "6.10.5"]]


@pytest.mark.parametrize(
    "fault",
    ["print('not found'); raise KeyError('libamd_smi.so')", "raise OSError('libamd_smi.so')", "import no_such_thing"],
)
def test_amds_library_that_cannot_be_imported_is_normal(card, tmp_path, fault):
    put_files(tmp_path / "modules", {"amdsmi.py": fault})
    told = in_child(STORY, {"PYTHONPATH": str(tmp_path / "modules"), "PATH": ORDINARY_PATH}, tmp_path)
    assert [row[1] for row in told] == ["rx-7900-xtx"]


def test_a_card_that_the_user_may_not_open_is_named_with_what_to_do(tools, card, tmp_path):
    (tmp_path / "dev/dri/renderD129").unlink()
    found = find_amd(tmp_path)
    assert found.gpus == ()
    assert "`render`" in found.unusable[0].hint
    assert found.unusable[0].name == "AMD Radeon RX 7900 XTX"


def test_load_is_read_from_the_kernel_and_what_our_jobs_do_not_have_is_foreign(tools, card, tmp_path):
    (found,) = find_amd(tmp_path).gpus
    monitor = GpuMonitor([found.gpu], {found.gpu.id: found.pci}, root=tmp_path)
    (load,) = monitor.read()
    assert (load.id, load.utilisation, load.memory_used_bytes) == (found.gpu.id, 0.37, 3 * 1024**3)
    assert (load.temperature_celsius, load.power_watts) == (52.0, 98.0)
    (now,) = monitor.now()
    assert now.load() == load
    assert now.processes is not None
    assert [(one.pid, one.memory_bytes) for one in now.processes] == [(4321, 2 * 1024**3), (0, 1024**3)]
    for is_ours, foreign in ((lambda pid: pid == 4321, 1), (lambda pid: False, 3)):
        readings = read_gpus(monitor.now, is_ours, lambda gpu_id: False)
        assert not isinstance(readings, Unknown)
        assert [reading.foreign_bytes for reading in readings] == [foreign * 1024**3]


def test_power_is_capped_through_the_kernel_and_given_back(tools, card, tmp_path):
    (found,) = find_amd(tmp_path).gpus
    cap = card / "hwmon/hwmon4/power1_cap"
    monitor = GpuMonitor([found.gpu], {found.gpu.id: found.pci}, root=tmp_path, power_note=tmp_path / "note")
    assert monitor.set_power_limit(found.gpu.id, 9999)
    assert int(cap.read_text()) == 348000000
    assert monitor.restore_power_limits()
    assert int(cap.read_text()) == 303000000
    assert not (tmp_path / "note").exists()


def test_an_ordinary_user_may_not_cap_the_kernels_limit(tools):
    with ordinary_folder() as home:
        cap = put_card(home) / "hwmon/hwmon4/power1_cap"
        cap.chmod(0o444)
        (home / "dev/dri/renderD129").chmod(0o666)
        with ordinary_user():
            (found,) = find_amd(home).gpus
            monitor = GpuMonitor([found.gpu], {found.gpu.id: found.pci}, root=home, power_note=home / "note")
            assert not monitor.set_power_limit(found.gpu.id, 100)
        assert int(cap.read_text()) == 303000000
        assert not (home / "note").exists()


def test_an_ordinary_user_outside_the_group_is_told_to_join_it(tools):
    with ordinary_folder() as home:
        put_card(home)
        (home / "dev/dri/renderD129").chmod(0o000)
        with ordinary_user():
            found = find_amd(home)
    assert found.gpus == ()
    assert found.unusable[0].why == "/dev/dri/renderD129 cannot be opened by this user"
    assert "`render`" in found.unusable[0].hint


def test_load_comes_from_rocm_smi_where_the_kernel_is_silent(tools, tmp_path):
    put_answer(tools, "rocm-smi", ROCM_SMI)
    assert rocm_loads(tmp_path)["0000:83:00.0"].power_watts == 22.5
    found = find_amd(tmp_path).gpus
    monitor = GpuMonitor([one.gpu for one in found], {one.gpu.id: one.pci for one in found}, root=tmp_path)
    first, second = monitor.read()
    assert (first.id, first.utilisation, first.memory_used_bytes) == ("GPU-9d1fdb7bd1a9b1c2", 0.12, 27643904)
    assert (second.utilisation, second.power_watts) == (None, 22.5)
    # Starting the tool is dear: its answer is kept, even when it is gone.
    (tools / "rocm-smi").unlink()
    assert monitor.read() == [first, second]


PCI_IDS = """1002  Advanced Micro Devices, Inc. [AMD/ATI]
\t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]"""
