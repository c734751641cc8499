"""Intel's GPUs and those of a Mac."""

import pytest
from support.fake_gpus import ORDINARY_PATH, put_answer, put_display, put_files, put_tool

from computepool.agent.detect import find_gpus, read_gpu_loads
from computepool.agent.detect.apple import find_apple
from computepool.agent.detect.intel import find_intel

PCI_IDS = """8086  Intel Corporation
\t46a6  Alder Lake-P GT2 [Iris Xe Graphics]
\t56a0  DG2 [Arc A770]"""
XPU_SMI = """
case "$*" in
"discovery -j") cat <<'END'
{"device_list": [{"device_function_type": "physical", "device_id": 0, "device_name": "Intel(R) Arc(TM) A770 Graphics",
  "device_type": "GPU", "drm_device": "/dev/dri/card1", "pci_bdf_address": "0000:03:00.0", "pci_device_id": "0x56a0",
  "uuid": "00000000-0000-0003-0000-000856a08086", "vendor_name": "Intel(R) Corporation"}]}
END
;;
"discovery -d 0 -j") echo '{"memory_physical_size_byte": "17079205888", "driver_version": "I915_24.1"}' ;;
esac
"""


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{ORDINARY_PATH}")
    put_files(tmp_path, {"usr/share/misc/pci.ids": PCI_IDS, "proc/sys/kernel/osrelease": "6.8.0"})
    return tmp_path / "bin"


def test_a_processors_own_graphics_and_a_card_are_told_apart(tools, tmp_path):
    put_display(tmp_path, "0000:00:02.0", "8086:46a6", driver="i915", render=128)
    put_display(tmp_path, "0000:03:00.0", "8086:56a0", driver="xe", render=129)
    found = find_gpus(tmp_path).gpus
    assert [(one.gpu.slug, one.gpu.integrated, one.gpu.memory_bytes) for one in found] == [
        ("arc-a770", False, 0),
        ("iris-xe", True, 0),
    ]
    assert [one.devices for one in found] == [("/dev/dri/renderD129",), ("/dev/dri/renderD128",)]
    assert found[0].gpu.driver == "xe 6.8.0"


def test_xpu_smi_knows_a_cards_memory(tools, tmp_path):
    put_tool(tools, "xpu-smi", XPU_SMI)
    put_display(tmp_path, "0000:03:00.0", "8086:56a0", driver="i915", render=129)
    (found,) = find_intel(tmp_path).gpus
    assert (found.gpu.slug, found.gpu.memory_bytes, found.gpu.driver) == ("arc-a770", 17079205888, "I915_24.1")


def test_what_the_kernel_tells_of_an_intel_card_is_read_and_the_rest_left_open(tools, tmp_path):
    files = {"hwmon/hwmon2/temp1_input": 47000}
    put_display(tmp_path, "0000:03:00.0", "8086:56a0", driver="xe", render=129, files=files)
    (found,) = find_intel(tmp_path).gpus
    (load,) = read_gpu_loads([found.gpu], {found.gpu.id: found.pci}, root=tmp_path)
    assert (load.temperature_celsius, load.utilisation, load.memory_used_bytes) == (47.0, None, None)


def test_an_intel_gpu_without_a_driver_is_named_with_what_to_do(tools, tmp_path):
    put_display(tmp_path, "0000:03:00.0", "8086:56a0")
    found = find_intel(tmp_path)
    assert found.gpus == ()
    assert found.unusable[0].why == "no driver is loaded for it"
    assert "`xe`" in found.unusable[0].hint


APPLE_SILICON = {
    "SPDisplaysDataType": [
        {
            "_name": "Apple M3 Max",
            "spdisplays_mtlgpufamilysupport": "spdisplays_metal3",
            "spdisplays_vendor": "sppci_vendor_Apple",
            "sppci_bus": "spdisplays_builtin",
            "sppci_cores": "40",
            "sppci_device_type": "spdisplays_gpu",
            "sppci_model": "Apple M3 Max",
        }
    ]
}
INTEL_MAC = {
    "SPDisplaysDataType": [
        {
            "_name": "kHW_IntelUHDGraphics630Item",
            "spdisplays_vendor": "Intel",
            "spdisplays_vram_shared": "1536 MB",
            "sppci_bus": "spdisplays_builtin",
            "sppci_model": "Intel UHD Graphics 630",
        },
        {
            "_name": "kHW_AMDRadeonPro5500MItem",
            "spdisplays_mtlgpufamilysupport": "spdisplays_metal2",
            "spdisplays_vendor": "sppci_vendor_amd",
            "spdisplays_vram": "8 GB",
            "sppci_bus": "spdisplays_pcie_device",
            "sppci_model": "AMD Radeon Pro 5500M",
        },
    ]
}


def test_apples_chip_shares_the_machines_memory(tools):
    put_answer(tools, "system_profiler", APPLE_SILICON)
    (found,) = find_apple().gpus
    gpu = found.gpu
    assert (gpu.slug, gpu.vendor, gpu.runtime, gpu.architecture) == ("m3-max", "apple", "metal 3", "40 cores")
    assert gpu.integrated
    assert gpu.memory_bytes > 0


def test_an_older_macs_two_gpus_are_both_found(tools):
    put_answer(tools, "system_profiler", INTEL_MAC)
    first, second = (one.gpu for one in find_apple().gpus)
    assert (first.slug, first.vendor, first.integrated, first.memory_bytes) == (
        "uhd-630",
        "intel",
        True,
        1536 * 1024**2,
    )
    assert (second.slug, second.vendor, second.integrated) == ("pro-5500m", "amd", False)
    assert second.memory_bytes == 8 * 1024**3
    assert first.id != second.id


@pytest.mark.parametrize(
    "script", ["exit 1", "echo '{}'", "echo '{\"SPDisplaysDataType\": [null, 3]}'", "echo nonsense"]
)
def test_a_mac_that_tells_nothing_has_no_gpu(tools, script):
    put_tool(tools, "system_profiler", script)
    assert find_apple().gpus == ()
