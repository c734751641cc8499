"""Processor, platform and software; and tools that hang, fail or talk too much."""

import contextlib
import os
import signal
import threading
import time

import pytest
from support.fake_gpus import ORDINARY_PATH, put_display, put_files, put_tool
from support.waiting import eventually, patience

import computepool.agent.detect as package
from computepool.agent.detect import detect, find_gpus, usable_cpus, usable_memory_bytes
from computepool.agent.detect.found import pci_address
from computepool.agent.detect.machine import cpu_model, platform_name
from computepool.agent.detect.machine_load import MachineMeter
from computepool.agent.detect.software import as_engines_say, find_software
from computepool.agent.detect.tools import Patience, TookTooLong, run_tool
from computepool.protocol.capacity import Software
from computepool.protocol.versions import unsafe_software


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{ORDINARY_PATH}")
    return tmp_path / "bin"


def test_a_machine_without_gpus_is_whole(tools, tmp_path):
    hardware = detect(tmp_path, root=tmp_path)
    assert hardware.unusable_gpus == ()
    assert 0 < hardware.cpus == usable_cpus()
    assert 0 < hardware.memory_bytes < usable_memory_bytes()
    capacity = hardware.capacity([])
    assert capacity.software == hardware.software
    assert capacity.platform == hardware.platform


@pytest.mark.parametrize(
    ("files", "model"),
    [
        ({"proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD Ryzen 9 7950X 16-Core Processor"}, "AMD Ryzen 9 7950X"),
        ({"proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 108.00\nModel\t\t: Raspberry Pi 5 Model B"}, "Raspberry Pi 5"),
        ({"proc/cpuinfo": "processor : 0", "proc/device-tree/model": "NVIDIA Jetson AGX Orin\0"}, "NVIDIA Jetson AGX"),
    ],
)
def test_the_processor_is_named(tmp_path, files, model):
    put_files(tmp_path, files)
    assert cpu_model(tmp_path).startswith(model)


def test_wsl_is_told_from_linux(tmp_path):
    put_files(tmp_path, {"proc/version": "Linux version 6.8.0-45-generic (buildd@lcy02) #45-Ubuntu SMP"})
    assert not platform_name(tmp_path).endswith("wsl2")
    put_files(tmp_path, {"proc/version": "Linux version 5.15.153.1-microsoft-standard-WSL2 (root@x) (gcc 11.2.0)"})
    assert platform_name(tmp_path).endswith("-wsl2")


VERSIONS = {
    "docker": "Docker version 27.3.1, build ce12230",
    "podman": "podman version 5.2.3",
    "runsc": "runsc version release-20240930.0\nspec: 1.1.0-rc.1",
    "runc": "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\nspec: 1.0.2-dev",
    "crun": "crun version 1.17\ncommit: 000fa0d4eeed8938301f3bcf8206405315bc1017",
    "bwrap": "bubblewrap 0.8.0",
    "nvidia-ctk": "NVIDIA Container Toolkit CLI version 1.17.4\ncommit: 9b69590c7428470a72f2ae05f826412976af1395",
}


def test_engines_and_toolkits_are_reported_with_their_versions_and_the_unsafe_ones_named(tools, tmp_path):
    for name, answer in VERSIONS.items():
        put_tool(tools, name, f"cat <<'END'\n{answer}\nEND")
    found = find_software(tmp_path)
    assert {one.name: one.version for one in found} == {
        "docker": "27.3.1",
        "podman": "5.2.3",
        "runsc": "20240930.0",
        "runc": "1.1.5+ds1",
        "crun": "1.17",
        "bubblewrap": "0.8.0",
        "nvidia-container-toolkit": "1.17.4",
    }
    assert [(one.name, one.needed) for one in unsafe_software(found)] == [
        ("runc", "1.2.8"),
        ("nvidia-container-toolkit", "1.17.8"),
    ]


def test_the_toolkits_older_program_is_asked_too_and_one_that_fails_is_named_without_a_version(tools, tmp_path):
    put_tool(tools, "nvidia-container-cli", "echo 'cli-version: 1.14.3\nlib-version: 1.14.3'")
    put_tool(tools, "crun", "exit 1")
    found = {one.name: one.version for one in find_software(tmp_path)}
    assert found["nvidia-container-toolkit"] == "1.14.3"
    assert found["crun"] == ""


def test_engine_that_answers_tells_its_own_version_and_its_runtimes():
    programs = [Software(name=name, version="1.0") for name in ("docker", "runc", "bubblewrap")]
    docker = {"docker": "28.2.2", "runc": "1.3.4-0ubuntu1"}
    podman = {"podman": "5.2.3", "runc": "runc version 1.1.5+ds1\ncommit: 1.1.5", "crun": ""}
    assert {one.name: one.version for one in as_engines_say(programs, [docker, podman])} == {
        "docker": "28.2.2",
        "runc": "1.3.4-0ubuntu1",  # of the first, where jobs run
        "bubblewrap": "1.0",
        "podman": "5.2.3",
    }
    assert as_engines_say(programs, []) == tuple(programs)


def test_a_tool_that_hangs_is_ended_with_its_children(tools, tmp_path):
    note, written = tmp_path / "pid.new", tmp_path / "pid"
    put_tool(tools, "sleepy", f"sleep 3600 & echo $! > {note}; mv {note} {written}; wait")
    seconds = 0.5
    while not written.exists():  # a busy machine may need longer to come so far
        assert run_tool(["sleepy"], seconds=seconds) is None
        seconds *= 2
    child = int(written.read_text())
    eventually(lambda: not _lives(child), "the tool's child is ended")


def test_a_tool_that_leaves_a_child_behind_is_not_waited_for(tools):
    put_tool(tools, "leaver", "sleep 3600 & echo $!")
    answer = run_tool(["leaver"])
    assert answer is not None
    os.kill(int(answer), signal.SIGKILL)


def test_a_tool_that_talks_without_end_is_heard_only_so_far(tools):
    put_tool(tools, "talker", "head -c 9000000 /dev/zero")
    assert len(run_tool(["talker"]) or "") == 4 * 1024**2


@pytest.mark.parametrize("script", ["exit 3", "kill -9 $$"])
def test_a_tool_that_fails_has_no_answer(tools, script):
    put_tool(tools, "broken", script)
    assert run_tool(["broken"]) is None
    assert run_tool(["no-such-tool"]) is None


def test_a_library_that_hangs_is_left_behind_until_it_returns():
    library, over = Patience(), threading.Event()
    with pytest.raises(TookTooLong, match="within"):
        library.call(over.wait, 0.05)
    with pytest.raises(TookTooLong, match="has not returned"):
        library.call(lambda: 1, patience())
    over.set()

    def answer():
        with contextlib.suppress(TookTooLong):
            return library.call(lambda: 1, patience())
        return None

    assert eventually(answer, "the library answers again") == 1


def test_two_threads_take_turns():
    library, inside, most = Patience(), [0], [0]

    def work():
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.01)
        inside[0] -= 1

    threads = [threading.Thread(target=library.call, args=(work, patience())) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_one_vendors_trouble_is_not_the_others(tools, tmp_path, monkeypatch):
    def fall_over(root):
        raise KeyError("a library's surprise")

    put_display(tmp_path, "0000:00:02.0", "8086:46a6", driver="i915", render=128)
    monkeypatch.setattr(package, "find_amd", fall_over)
    found = find_gpus(tmp_path)
    assert [one.gpu.vendor for one in found.gpus] == ["intel"]
    (trouble,) = found.unusable
    assert (trouble.name, "a library's surprise" in trouble.why) == ("AMD GPUs", True)


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("00000000:01:00.0", "0000:01:00.0"),
        ("0000:C4:00.0", "0000:c4:00.0"),
        ("00010000:41:00.0", "10000:41:00.0"),
        ("01:00.0", "0000:01:00.0"),
        ("", ""),
        ("nonsense", ""),
    ],
)
def test_addresses_on_the_bus_have_one_form(written, address):
    assert pci_address(written) == address


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - a process that ends between two calls
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ── the load of the machine ──────────────────────────────────────────────────────────────────────────────────────────


def write_load(root, *, busy, idle, received, sent, cards=("eth0",)):
    for folder in ("proc/net", *(f"sys/class/net/{card}/device" for card in cards)):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "proc/stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 {busy} 0\ncpu0 1 2 3\n")
    (root / "proc/meminfo").write_text("MemTotal: 8000 kB\nMemFree: 10 kB\nMemAvailable: 6000 kB\n")
    zeros = "0 " * 7
    lines = [
        f"{name}: {came} {zeros} {went} {zeros}"
        for name, came, went in (("lo", 9, 9), ("eth0", received, sent), ("veth1", 5_000_000, 5_000_000))
    ]
    (root / "proc/net/dev").write_text("Inter-|\n face |\n" + "\n".join(lines) + "\n")


def test_load_of_the_machine_is_that_between_two_looks(tmp_path):
    meter = MachineMeter(tmp_path, tmp_path)
    write_load(tmp_path, busy=100, idle=900, received=1_000, sent=500)
    first = meter.read(10.0)
    assert (first.cpu, first.received_bytes_per_second) == (None, None)
    assert first.memory_used_bytes == 2000 * 1024
    assert first.disk_used_bytes
    write_load(tmp_path, busy=130, idle=970, received=21_000, sent=2_500)
    second = meter.read(20.0)
    assert second.cpu == 0.3
    assert (second.received_bytes_per_second, second.sent_bytes_per_second) == (2_000, 200)


def test_counters_that_begin_anew_give_no_rate_below_zero(tmp_path):
    meter = MachineMeter(tmp_path, tmp_path)
    write_load(tmp_path, busy=100, idle=900, received=1_000, sent=500)
    meter.read(10.0)
    write_load(tmp_path, busy=1, idle=2, received=0, sent=0)
    again = meter.read(20.0)
    assert again.cpu is None
    assert again.received_bytes_per_second == 0


def test_machine_without_these_files_tells_its_disk_alone(tmp_path):
    load = MachineMeter(tmp_path, tmp_path / "nothing").read(1.0)
    assert (load.cpu, load.memory_used_bytes, load.sent_bytes_per_second) == (None, None, None)
    assert load.disk_used_bytes is not None
