"""GPU names and GPU requests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from computepool.protocol.gpus import (
    MAX_GPU_COUNT,
    VRAM_TOLERANCE,
    GpuRequest,
    gpu_name_matches,
    normalise_gpu_name,
    parse_gpu,
)
from computepool.protocol.units import GIB, MIB, BadValueError, Range

NAMES = [
    ("NVIDIA GeForce RTX 4090", "rtx-4090"),
    ("RTX 4090", "rtx-4090"),
    ("rtx-4090", "rtx-4090"),
    ("rtx4090", "rtx-4090"),
    ("RTX_4090", "rtx-4090"),
    ("4090", "rtx-4090"),
    ("NVIDIA GeForce RTX 4090 D", "rtx-4090-d"),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-4090-laptop"),
    ("GeForce RTX 2070 with Max-Q Design", "rtx-2070-max-q"),
    ("NVIDIA GeForce RTX 3080 Ti", "rtx-3080-ti"),
    ("3080ti", "rtx-3080-ti"),
    ("RTX 4070 Ti SUPER", "rtx-4070-ti-super"),
    ("rtx4070tisuper", "rtx-4070-ti-super"),
    ("NVIDIA GeForce GTX 1060 6GB", "gtx-1060"),
    ("1080 Ti", "gtx-1080-ti"),
    ("GTX970", "gtx-970"),
    ("AD102 [GeForce RTX 4090]", "rtx-4090"),
    ("[NVIDIA] H100", "h100"),
    ("NVIDIA A100-SXM4-80GB", "a100-sxm4"),
    ("NVIDIA A100 80GB PCIe", "a100-pcie"),
    ("A100-80GB", "a100"),
    ("NVIDIA H100 80GB HBM3", "h100"),
    ("NVIDIA H100 NVL", "h100-nvl"),
    ("NVIDIA GH200 480GB", "gh200"),
    ("Tesla T4", "t4"),
    ("Tesla V100-SXM2-16GB", "v100-sxm2"),
    ("NVIDIA A10G", "a10g"),
    ("NVIDIA L40S", "l40s"),
    ("NVIDIA RTX A6000", "rtx-a6000"),
    ("A6000", "rtx-a6000"),
    ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
    ("RTX6000Ada", "rtx-6000-ada"),
    ("Quadro RTX 6000", "quadro-rtx-6000"),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-blackwell-workstation"),
    ("NVIDIA TITAN RTX", "titan-rtx"),
    ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "a100-sxm4-mig-1g.5gb"),
    ("AMD Radeon RX 7900 XTX", "rx-7900-xtx"),
    ("7900xtx", "rx-7900-xtx"),
    ("AMD Instinct MI300X", "mi300x"),
    ("AMD Instinct MI60", "mi60"),
    ("Intel(R) Arc(TM) A770 Graphics", "arc-a770"),
    ("Apple M2 Max", "m2-max"),
    ("NVIDIA", "nvidia"),
    ("", "unknown"),
]


@pytest.mark.parametrize(("device", "name"), NAMES)
def test_the_many_spellings_of_a_gpu_become_one(device, name):
    assert normalise_gpu_name(device) == name


@settings(deadline=None)
@given(
    st.text(max_size=40) | st.lists(st.sampled_from(" ".join(n for n, _ in NAMES).split()), max_size=5).map(" ".join)
)
def test_normalising_twice_changes_nothing(device):
    once = normalise_gpu_name(device)
    assert normalise_gpu_name(once) == once
    assert once == once.lower()


@pytest.mark.parametrize(
    ("requested", "actual", "matches"),
    [
        ("rtx-4090", "NVIDIA GeForce RTX 4090", True),
        ("4090", "NVIDIA GeForce RTX 4090", True),
        ("rtx-4090", "NVIDIA GeForce RTX 4090 Laptop GPU", False),
        ("rtx-4090", "NVIDIA GeForce RTX 4090 D", False),
        ("rtx-4090-laptop", "NVIDIA GeForce RTX 4090", False),
        ("rtx-3080", "NVIDIA GeForce RTX 3080 Ti", False),
        ("rtx-4070-ti", "NVIDIA GeForce RTX 4070 Ti SUPER", False),
        ("a100", "NVIDIA A100-SXM4-80GB", True),
        ("a100-sxm", "NVIDIA A100-SXM4-80GB", True),
        ("a100-sxm4", "NVIDIA A100-SXM4-80GB", True),
        ("a100-pcie", "NVIDIA A100-SXM4-80GB", False),
        ("a100", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", False),
        ("a100-sxm", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", False),
        ("a10", "NVIDIA A10G", False),
        ("a10", "NVIDIA A100-SXM4-80GB", False),
        ("h100", "NVIDIA H100 NVL", True),
        ("l40", "NVIDIA L40S", False),
        ("mi50", "AMD Instinct MI60", False),
        ("rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", True),
        ("rtx-6000", "NVIDIA RTX 6000 Ada Generation", False),
        ("rtx-6000", "Quadro RTX 6000", False),
    ],
)
def test_a_request_matches_its_card_and_not_its_cousin(requested, actual, matches):
    assert gpu_name_matches(requested, actual) is matches


def request(name=None, least=None, most=None, count=1):
    memory = None if least is None else Range[int](minimum=least * GIB, maximum=None if most is None else most * GIB)
    return GpuRequest(name=name, memory=memory, count=count)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("24GB..", request(least=24)),
        ("24GB", request(least=24)),
        ("24GB+", request(least=24)),
        ("..80GB", request(least=0, most=80)),
        ("16GB..32GB", request(least=16, most=32)),
        ("24..48GB", request(least=24, most=48)),
        ("24GB:2", request(least=24, count=2)),
        ("rtx-4090", request("rtx-4090")),
        ("RTX 4090", request("rtx-4090")),
        ("4090", request("rtx-4090")),
        (4090, request("rtx-4090")),
        ("rtx-4090:2", request("rtx-4090", count=2)),
        ("A100:80GB:1", request("a100", 80)),
        ("A100:40GB..80GB:4", request("a100", 40, 80, 4)),
        ("A100-80GB:8", request("a100", 80, count=8)),
        ("H100:8", request("h100", count=8)),
        ("2", request(count=2)),
        (2, request(count=2)),
        (2.0, request(count=2)),
        ({"A100": 2}, request("a100", count=2)),
        ({"A100-80GB": 2}, request("a100", 80, count=2)),
        ({"name": "RTX 4090", "memory": "24GB..", "count": 2}, request("rtx-4090", 24, count=2)),
        ({"name": ["A100"], "memory": 40}, request("a100", 40)),
        ({"name": 4090}, request("rtx-4090")),
        ({"memory": "24GB"}, request(least=24)),
        ({"count": 3}, request(count=3)),
        (["H100"], request("h100")),
        (0, None),
        ("0", None),
        (None, None),
        ({"A100": 0}, None),
    ],
)
def test_requests_of_every_shape(written, read):
    assert parse_gpu(written) == read


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("", "is not a GPU request"),
        ("a:b:c:d", "rtx-4090:2"),
        ("a100::2", "is not a GPU request"),
        ("rtx-4090:a100", "two parts that could be its name"),
        ("2:4", "two parts that could be its count"),
        ("24GB:rtx-4090", "its name after its memory"),
        ("A100:80", "if memory was meant, write 80GB"),
        ("H100:0.5", "GPUs are given whole"),
        ("H100:..", "is not a number of GPUs"),
        (-1, "the nearest valid count is 1"),
        (65, f"the nearest valid count is {MAX_GPU_COUNT}"),
        (True, "is not a number of GPUs"),
        (1.5, "is not a number of GPUs"),
        ("tesla", "names no model"),
        (["H100:2", "A100:1"], "different numbers of GPUs"),
        ({"H100": 2, "A100": 1}, "different numbers of GPUs"),
        (["H100", 0], "names a GPU or none"),
        ([f"h{number}00" for number in range(1, 50)], "at most 32"),
        ({"name": "H100", "alternatives": ["A100"]}, "no list of"),
        ({"nmae": "H100"}, "did you mean 'name'?"),
        ({"name": "H100", "vendor": "nvidia"}, "'vendor' is not known here"),
        ({1: 2}, "is not known here"),
        ({}, "the mapping is empty"),
        ({"memory": 0}, "asks for no memory"),
        ({"memory": "much"}, "is not a size"),
        ("x" * 100, "longer than 64 characters"),
        ("32GB..16GB", "did you mean '16GB..32GB'?"),
    ],
)
def test_a_wrong_request_is_named_with_what_to_write(written, said):
    with pytest.raises(BadValueError) as caught:
        parse_gpu(written)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("written", "device", "memory_mib", "accepted"),
    [
        ("24GB..", "NVIDIA GeForce RTX 4090", 24564, True),
        ("24GB..", "NVIDIA L4", 23034, True),
        ("24GB..", "NVIDIA A10G", 23028, True),
        ("16GB", "Tesla T4", 15109, True),
        ("16GB", "Tesla T4", 15360, True),
        ("80GB", "NVIDIA H100 80GB HBM3", 81559, True),
        ("12GB", "NVIDIA GeForce RTX 2080 Ti", 11264, False),
        ("24GB..", "NVIDIA GeForce RTX 4080", 16376, False),
        ("..24GB", "NVIDIA GeForce RTX 4090", 24564, True),
        ("..24GB", "NVIDIA RTX A6000", 49140, False),
        ("rtx-4090:24GB", "NVIDIA GeForce RTX 3090", 24576, False),
        ("A100:80GB", "NVIDIA A100-SXM4-40GB", 40960, False),
        ("A100:80GB", "NVIDIA A100-SXM4-80GB", 81920, True),
        ("1", "anything", 0, True),
    ],
)
def test_a_card_of_the_size_on_its_box_is_accepted(written, device, memory_mib, accepted):
    asked = parse_gpu(written)
    assert asked is not None
    assert asked.accepts(device, memory_mib * MIB) is accepted


def test_the_tolerance_keeps_neighbouring_sizes_apart():
    assert 1 - VRAM_TOLERANCE > 11 / 12


@settings(deadline=None)
@given(
    st.none() | st.sampled_from([name for _, name in NAMES if name != "nvidia"]),
    st.none() | st.tuples(st.integers(1, 2**40), st.integers(1, 2**40)).map(sorted),
    st.booleans(),
    st.integers(1, MAX_GPU_COUNT),
)
def test_the_wire_form_reads_back(name, ends, is_open, count):
    memory = None if ends is None else Range[int](minimum=ends[0], maximum=None if is_open else ends[1])
    asked = GpuRequest(name=name, memory=memory, count=count)
    assert parse_gpu(asked.to_wire()) == asked
    assert parse_gpu(str(asked)) == asked


def test_equal_requests_are_one_key_in_a_dict():
    assert len({parse_gpu("RTX 4090:24GB"), parse_gpu({"name": "4090", "memory": 24}), request("rtx-4090", 24)}) == 1


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_that_is_a_request_reads_back_from_the_wire(text):
    try:
        asked = parse_gpu(text)
    except BadValueError:
        return
    if asked is not None:
        assert parse_gpu(asked.to_wire()) == asked


def test_any_of_several_models_will_do():
    for written in (
        ["A100:2", "L4:24GB:2"],
        "A100,L4:24GB:2",
        {"name": ["A100", "L4"], "memory": "24GB", "count": "2.."},
    ):
        asked = parse_gpu(written)
        assert asked is not None
        assert asked.count == 2
        assert asked.accepts("a100-sxm4", 80 * GIB)
        assert asked.accepts("l4", 24 * GIB)
        assert not asked.accepts("t4", 16 * GIB)
        assert parse_gpu(asked.to_wire()) == asked
    assert str(parse_gpu(["A100", "L4"])) == "a100 or l4:1"


@pytest.mark.parametrize(
    ("written", "count"), [("H100:1..8", 1), ("H100:8+", 8), ("4..", 4), ("..2", 1), ("nvidia:2..4", 2)]
)
def test_of_a_range_of_counts_the_lower_end_is_asked_for(written, count):
    asked = parse_gpu(written)
    assert asked is not None
    assert asked.count == count


@pytest.mark.parametrize(
    ("vendor", "card", "fits"),
    [
        ("nvidia", "NVIDIA GeForce RTX 4090", True),
        ("nvidia", "NVIDIA A100-SXM4-80GB", True),
        ("nvidia", "Tesla V100-SXM2-16GB", True),
        ("nvidia", "AMD Instinct MI300X", False),
        ("amd", "AMD Instinct MI300X", True),
        ("amd", "AMD Radeon RX 7900 XTX", True),
        ("intel", "Intel Arc A770 Graphics", True),
        ("apple", "Apple M2 Ultra", True),
        ("apple", "NVIDIA M60", False),
    ],
)
def test_vendor_alone_means_any_card_of_theirs(vendor, card, fits):
    asked = parse_gpu(f"{vendor}:1")
    assert asked is not None
    assert asked.accepts(card, 24 * GIB) is fits
