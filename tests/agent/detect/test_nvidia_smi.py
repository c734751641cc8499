"""NVIDIA's GPUs where only `nvidia-smi` answers."""

import pytest
from support.fake_gpus import ORDINARY_PATH, put_display, put_files, put_tool

from computepool.agent.detect.loads import smi_loads, smi_uses, together
from computepool.agent.detect.nvidia import find_by_smi
from computepool.agent.detect.others import find_others
from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.gpus import read_gpus

MODERN = """
case "$*" in
*query-gpu=index*)
  echo '0, GPU-aaaa, NVIDIA GeForce RTX 4070 Ti SUPER, 16376, 00000000:01:00.0, 560.35.03, 8.9, [N/A]'
  echo '1, GPU-bbbb, NVIDIA A100-SXM4-40GB, 40960, 00000000:41:00.0, 560.35.03, 8.0, Enabled'
  echo '2, GPU-cccc, NVIDIA H100 PCIe, [GPU is lost], 00000000:61:00.0, 560.35.03, 9.0, Disabled' ;;
-L)
  echo 'GPU 0: NVIDIA GeForce RTX 4070 Ti SUPER (UUID: GPU-aaaa)'
  echo 'GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bbbb)'
  echo '  MIG 3g.20gb     Device  0: (UUID: MIG-1111)'
  echo '  MIG 1g.5gb      Device  1: (UUID: MIG-2222)' ;;
*query-gpu=uuid*)
  echo 'GPU-aaaa, 42, 1024, 55, 120.50'
  echo 'GPU-bbbb, [N/A], 10, 33, [N/A]' ;;
*query-compute-apps*)
  echo 'GPU-aaaa, 77, 512'
  echo 'GPU-aaaa, 78, [N/A]' ;;
'')
  echo '| NVIDIA-SMI 560.35.03    Driver Version: 560.35.03    CUDA Version: 12.6  |' ;;
*) exit 2 ;;
esac
"""
OLD = """
case "$*" in
*compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
*query-gpu=index*) echo '0, GPU-old, Tesla K80, 11441, 00000000:05:00.0' ;;
*) exit 2 ;;
esac
"""


@pytest.fixture
def smi(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{ORDINARY_PATH}")
    return lambda script: put_tool(tmp_path / "bin", "nvidia-smi", script)


def test_cards_and_parts_are_read(smi, tmp_path):
    smi(MODERN)
    found = find_by_smi(tmp_path)
    assert [(one.gpu.id, one.gpu.slug, one.gpu.part_of) for one in found.gpus] == [
        ("GPU-aaaa", "rtx-4070-ti-super", ""),
        ("MIG-1111", "a100-sxm4-mig-3g.20gb", "GPU-bbbb"),
        ("MIG-2222", "a100-sxm4-mig-1g.5gb", "GPU-bbbb"),
    ]
    first = found.gpus[0].gpu
    assert (first.driver, first.runtime, first.architecture) == ("560.35.03", "cuda 12.6", "8.9")
    assert found.gpus[1].gpu.memory_bytes == 20 * 1024**3
    assert found.drivers == {"nvidia-driver": "560.35.03"}
    (lost,) = found.unusable
    assert lost.name == "NVIDIA H100 PCIe"
    assert "GPU is lost" in lost.why


def test_an_old_tool_is_asked_for_what_it_knows(smi, tmp_path):
    smi(OLD)
    (found,) = find_by_smi(tmp_path).gpus
    assert (found.gpu.id, found.gpu.slug, found.gpu.driver, found.pci) == ("GPU-old", "k80", "", "0000:05:00.0")


def test_device_files_follow_the_drivers_numbers_not_the_tools(smi, tmp_path):
    smi("echo '0, GPU-aaaa, NVIDIA GeForce RTX 4090, 24564, 00000000:01:00.0'")
    put_files(tmp_path, {"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: x\nDevice Minor: \t 3"})
    put_files(tmp_path, {f"dev/{name}": "" for name in ("nvidia0", "nvidia3", "nvidiactl")})
    (found,) = find_by_smi(tmp_path).gpus
    assert found.devices == ("/dev/nvidia3", "/dev/nvidiactl")


def test_load_and_processes_are_read(smi, tmp_path):
    smi(MODERN)
    loads = smi_loads(tmp_path)
    assert (loads["GPU-aaaa"].utilisation, loads["GPU-aaaa"].power_watts) == (0.42, 120.5)
    assert (loads["GPU-bbbb"].utilisation, loads["GPU-bbbb"].temperature_celsius) == (None, 33)
    uses = smi_uses(tmp_path)
    assert [(one.pid, one.memory_bytes) for one in uses["GPU-aaaa"].processes] == [(77, 512 * 1024**2), (78, None)]
    # Games draw, and are not in the tool's list: what our job does not have is theirs.
    now = together(loads["GPU-aaaa"], uses["GPU-aaaa"])
    readings = read_gpus(lambda: [now], lambda pid: pid == 77, lambda gpu_id: True)
    assert not isinstance(readings, Unknown)
    assert [reading.foreign_bytes for reading in readings] == [512 * 1024**2]


def test_wsl_keeps_the_tool_beside_its_library(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", ORDINARY_PATH)
    put_tool(
        tmp_path / "usr/lib/wsl/lib", "nvidia-smi", "echo '0, GPU-w, NVIDIA GeForce RTX 3080, 10240, 00000000:01:00.0'"
    )
    (found,) = find_by_smi(tmp_path).gpus
    assert found.gpu.slug == "rtx-3080"


def test_a_card_without_a_working_driver_is_named_with_what_to_do(tmp_path):
    put_files(tmp_path, {"usr/share/misc/pci.ids": PCI_IDS})
    put_display(tmp_path, "0000:01:00.0", "10de:2684:a1", driver="nouveau")
    put_display(tmp_path, "0000:02:00.0", "10de:2684:a1", driver="vfio-pci")
    put_display(tmp_path, "0000:03:00.0", "1a03:2000", driver="ast")
    put_display(tmp_path, "0000:04:00.0", "dead:beef")
    unusable = find_others(find_by_smi(tmp_path), tmp_path).unusable
    assert [(one.name, one.why) for one in unusable] == [
        ("NVIDIA Corporation AD102 [GeForce RTX 4090]", "it is driven by nouveau"),
        ("NVIDIA Corporation AD102 [GeForce RTX 4090]", "it is given to a virtual machine"),
        ("ASPEED Technology, Inc. ASPEED Graphics Family", "no way to compute on it is known here (driver ast)"),
        ("PCI dead:beef", "it has no driver"),
    ]
    assert "install NVIDIA's driver" in unusable[0].hint


def test_wsl_without_a_shared_driver_says_where_to_install_it(tmp_path):
    put_files(tmp_path, {"proc/version": "Linux version 6.6.87-Microsoft-standard-WSL2", "dev/dxg": ""})
    (one,) = find_others(find_by_smi(tmp_path), tmp_path).unusable
    assert "in Windows (not in WSL)" in one.hint


PCI_IDS = """# a comment
10de  NVIDIA Corporation
\t2684  AD102 [GeForce RTX 4090]
\t\t1043 889c  ROG Strix GeForce RTX 4090 OC
1a03  ASPEED Technology, Inc.
\t2000  ASPEED Graphics Family"""
