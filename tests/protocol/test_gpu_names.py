"""Names of GPUs as drivers, tools, PCI listings, shops and people write them."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from computepool.protocol.gpu_names import UNKNOWN, gpu_name_matches, normalise_gpu_name

DEVICES = [
    # NVIDIA's driver: consumers' cards
    ("NVIDIA GeForce RTX 5090", "rtx-5090"),
    ("NVIDIA GeForce RTX 5090 D", "rtx-5090-d"),
    ("NVIDIA GeForce RTX 5090 Laptop GPU", "rtx-5090-laptop"),
    ("NVIDIA GeForce RTX 4080 SUPER", "rtx-4080-super"),
    ("NVIDIA GeForce RTX 4070 Ti", "rtx-4070-ti"),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070-ti-super"),
    ("NVIDIA GeForce RTX 3060", "rtx-3060"),
    ("NVIDIA GeForce RTX 3060 12GB", "rtx-3060"),
    ("NVIDIA GeForce RTX 3050 6GB Laptop GPU", "rtx-3050-laptop"),
    ("NVIDIA GeForce RTX 3080 Ti Laptop GPU", "rtx-3080-ti-laptop"),
    ("NVIDIA GeForce RTX 2080 Super with Max-Q Design", "rtx-2080-super-max-q"),
    ("GeForce RTX 2080 Ti", "rtx-2080-ti"),
    ("NVIDIA GeForce GTX 1660 SUPER", "gtx-1660-super"),
    ("NVIDIA GeForce GTX 1650 with Max-Q Design", "gtx-1650-max-q"),
    ("GeForce GTX 1060 6GB", "gtx-1060"),
    ("GeForce GTX 980 Ti", "gtx-980-ti"),
    ("GeForce GT 1030", "gt-1030"),
    ("NVIDIA GeForce MX450", "mx-450"),
    ("NVIDIA TITAN V", "titan-v"),
    ("NVIDIA TITAN Xp", "titan-xp"),
    ("NVIDIA TITAN X (Pascal)", "titan-x-pascal"),
    ("GeForce GTX TITAN X", "gtx-titan-x"),
    ("GeForce GTX TITAN Black", "gtx-titan-black"),
    # NVIDIA's driver: workstations
    ("NVIDIA RTX A6000", "rtx-a6000"),
    ("NVIDIA RTX A2000 12GB", "rtx-a2000"),
    ("NVIDIA RTX A3000 Laptop GPU", "rtx-a3000-laptop"),
    ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
    ("NVIDIA RTX 4000 SFF Ada Generation", "rtx-4000-sff-ada"),
    ("NVIDIA RTX 5000 Ada Generation Laptop GPU", "rtx-5000-ada-laptop"),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-blackwell-workstation"),
    ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-blackwell-max-q-workstation"),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-blackwell-server"),
    ("Quadro RTX 6000", "quadro-rtx-6000"),
    ("Quadro RTX 5000 with Max-Q Design", "quadro-rtx-5000-max-q"),
    ("Quadro P5000", "quadro-p5000"),
    ("Quadro M6000 24GB", "quadro-m6000"),
    ("NVIDIA T1000 8GB", "t1000"),
    # NVIDIA's driver: data centres
    ("NVIDIA A100-SXM4-80GB", "a100-sxm4"),
    ("NVIDIA A100-PCIE-40GB", "a100-pcie"),
    ("NVIDIA A100 80GB PCIe", "a100-pcie"),
    ("NVIDIA A800-SXM4-80GB", "a800-sxm4"),
    ("NVIDIA H100 PCIe", "h100-pcie"),
    ("NVIDIA H100 80GB HBM3", "h100"),
    ("NVIDIA H100 NVL", "h100-nvl"),
    ("NVIDIA H200", "h200"),
    ("NVIDIA H200 NVL", "h200-nvl"),
    ("NVIDIA H20", "h20"),
    ("NVIDIA GH200 480GB", "gh200"),
    ("NVIDIA GH200 144G HBM3e", "gh200"),
    ("NVIDIA B200", "b200"),
    ("NVIDIA GB200", "gb200"),
    ("NVIDIA GB10", "gb10"),
    ("NVIDIA L4", "l4"),
    ("NVIDIA L40", "l40"),
    ("NVIDIA L40S", "l40s"),
    ("NVIDIA A10", "a10"),
    ("NVIDIA A10G", "a10g"),
    ("NVIDIA A2", "a2"),
    ("NVIDIA A40", "a40"),
    ("Tesla T4", "t4"),
    ("Tesla P40", "p40"),
    ("Tesla P100-PCIE-16GB", "p100-pcie"),
    ("Tesla V100-SXM2-32GB", "v100-sxm2"),
    ("Tesla V100S-PCIE-32GB", "v100s-pcie"),
    ("Tesla K80", "k80"),
    ("Tesla M40 24GB", "m40"),
    ("NVIDIA CMP 170HX", "cmp-170hx"),
    ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "a100-sxm4-mig-3g.20gb"),
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "h100-mig-1g.10gb-me"),
    ("GRID T4-16Q", "grid-t4-16q"),
    ("Orin (nvgpu)", "orin-nvgpu"),
    # AMD
    ("AMD Radeon RX 7900 XTX", "rx-7900-xtx"),
    ("AMD Radeon RX 7900 XT", "rx-7900-xt"),
    ("AMD Radeon RX 7900 GRE", "rx-7900-gre"),
    ("AMD Radeon RX 7900M", "rx-7900m"),
    ("AMD Radeon RX 9070 XT", "rx-9070-xt"),
    ("AMD Radeon RX 6800 XT", "rx-6800-xt"),
    ("Radeon RX 580 Series", "rx-580"),
    ("AMD Radeon RX Vega 64", "rx-vega-64"),
    ("AMD Radeon VII", "radeon-vii"),
    ("AMD Radeon Pro W7900", "pro-w7900"),
    ("AMD Radeon PRO W6800", "pro-w6800"),
    ("AMD Radeon AI PRO R9700", "ai-pro-r9700"),
    ("AMD Radeon Pro 5500M", "pro-5500m"),
    ("AMD Instinct MI300X", "mi300x"),
    ("AMD Instinct MI300X OAM", "mi300x-oam"),
    ("AMD Instinct MI325X", "mi325x"),
    ("AMD INSTINCT MI250 (MCM) OAM AC MBA", "mi250-oam"),
    ("AMD Instinct MI250X", "mi250x"),
    ("AMD Instinct MI60", "mi60"),
    ("AMD Radeon Instinct MI50", "mi50"),
    ("AMD Radeon 780M Graphics", "780m"),
    ("AMD Radeon 8060S Graphics", "8060s"),
    ("AMD Radeon Graphics", "amd-radeon-graphics"),
    # Intel and Apple
    ("Intel(R) Arc(TM) A770 Graphics", "arc-a770"),
    ("Intel(R) Arc(TM) A770M Graphics", "arc-a770m"),
    ("Intel(R) Arc(TM) B580 Graphics", "arc-b580"),
    ("Intel(R) Arc(TM) Pro B50 Graphics", "arc-pro-b50"),
    ("Intel(R) Arc(TM) 140V GPU (16GB)", "arc-140v"),
    ("Intel(R) Iris(R) Xe Graphics", "iris-xe"),
    ("Intel(R) UHD Graphics 770", "uhd-770"),
    ("Intel(R) UHD Graphics 630", "uhd-630"),
    ("Intel(R) Data Center GPU Max 1550", "data-center-max-1550"),
    ("Intel(R) Data Center GPU Flex 170", "data-center-flex-170"),
    ("Apple M1", "m1"),
    ("Apple M3 Max", "m3-max"),
    ("Apple M3 Pro", "m3-pro"),
    ("Apple M2 Ultra", "m2-ultra"),
    # PCI listings, and WSL
    ("AD102 [GeForce RTX 4090]", "rtx-4090"),
    ("NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)", "rtx-3090"),
    ("NVIDIA Corporation GP107M [GeForce GTX 1050 Ti Mobile]", "gtx-1050-ti-laptop"),
    ("NVIDIA Corporation GA102GL [RTX A6000]", "rtx-a6000"),
    ("NVIDIA Corporation TU102GL [Quadro RTX 6000/8000]", "quadro-rtx-6000-8000"),
    (
        "Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M] (rev c8)",
        "rx-7900-xt-7900-xtx-7900m",
    ),
    ("Intel Corporation DG2 [Arc A770] (rev 08)", "arc-a770"),
    ("Alder Lake-P GT2 [Iris Xe Graphics]", "iris-xe"),
    ("D3D12 (NVIDIA GeForce RTX 4090)", "rtx-4090"),
    # Board partners
    ("ASUS ROG STRIX GeForce RTX 4090 OC Edition 24GB GDDR6X", "rtx-4090"),
    ("ASUS TUF Gaming GeForce RTX 4070 Ti SUPER O16G", "rtx-4070-ti-super"),
    ("ASUS Dual GeForce RTX 4060 Ti OC", "rtx-4060-ti"),
    ("MSI GeForce RTX 4090 SUPRIM X 24G", "rtx-4090"),
    ("MSI RTX 4070 VENTUS 2X 12G OC", "rtx-4070"),
    ("MSI GeForce RTX 3080 GAMING X TRIO", "rtx-3080"),
    ("Gigabyte AORUS GeForce RTX 4080 SUPER MASTER 16G", "rtx-4080-super"),
    ("GIGABYTE GeForce RTX 3060 Ti EAGLE OC (LHR)", "rtx-3060-ti"),
    ("ZOTAC GAMING GeForce RTX 4070 Ti Trinity OC", "rtx-4070-ti"),
    ("ZOTAC GeForce GTX 1080 Ti AMP Extreme", "gtx-1080-ti"),
    ("PNY XLR8 Gaming VERTO GeForce RTX 4080", "rtx-4080"),
    ("EVGA GeForce RTX 3090 FTW3 ULTRA GAMING", "rtx-3090"),
    ("EVGA GeForce RTX 2080 Ti XC Black Edition", "rtx-2080-ti"),
    ("Palit GeForce GTX 1080 Super JetStream", "gtx-1080"),
    ("Palit GeForce RTX 4090 GameRock OC", "rtx-4090"),
    ("Gainward GeForce RTX 3070 Phoenix", "rtx-3070"),
    ("INNO3D GeForce RTX 4090 iCHILL X3", "rtx-4090"),
    ("Colorful iGame GeForce RTX 4090 D Vulcan OC", "rtx-4090-d"),
    ("NVIDIA GeForce RTX 4090 Founders Edition", "rtx-4090"),
    ("Sapphire NITRO+ AMD Radeon RX 7900 XTX Vapor-X 24GB", "rx-7900-xtx-vapor"),
    ("Sapphire Pulse Radeon RX 6700 XT", "rx-6700-xt"),
    ("PowerColor Red Devil AMD Radeon RX 7900 XT", "rx-7900-xt"),
    ("XFX Speedster MERC310 Radeon RX 7900 XTX Black Edition", "rx-7900-xtx"),
    ("ASRock Radeon RX 6800 Phantom Gaming D 16G OC", "rx-6800"),
    ("Sparkle Intel Arc B580 TITAN OC", "arc-b580"),
    ("Intel Arc A770 Limited Edition", "arc-a770"),
    ("Gigabyte RTX 4090 WINDFORCE V9", "rtx-4090-v9"),
    # People
    ("4090", "rtx-4090"),
    ("rtx4070tisuper", "rtx-4070-ti-super"),
    ("RX7900XTX", "rx-7900-xtx"),
    ("W7900", "pro-w7900"),
    ("a770", "arc-a770"),
    ("Gaming 4090 OC", "rtx-4090"),
    # What nobody knows stays as it is
    ("NVIDIA GeForce RTX 7090 Hyper", "rtx-7090-hyper"),
    ("Moore Threads MTT S4000", "moore-threads-mtt-s4000"),
    ("NVIDIA Graphics Device", "nvidia-graphics-device"),
    ("Microsoft Basic Render Driver", "microsoft-basic-render-driver"),
    ("[]", UNKNOWN),
]
"""What was written, and the form that it is compared in. "Vapor-X" and "V9" show what an unlisted word does: it keeps
the card from matching, and never makes it another."""


@pytest.mark.parametrize(("device", "slug"), DEVICES)
def test_a_device_is_named_by_its_words(device, slug):
    assert normalise_gpu_name(device) == slug


def test_the_table_is_long_enough_to_mean_something():
    assert len({device for device, _ in DEVICES}) == len(DEVICES) >= 80


@settings(deadline=None)
@given(st.lists(st.sampled_from(" ".join(device for device, _ in DEVICES).split()), max_size=6).map(" ".join))
def test_normalising_twice_changes_nothing_whatever_the_words(name):
    once = normalise_gpu_name(name)
    assert normalise_gpu_name(once) == once


COUSINS = [
    ["RTX 4090", "RTX 4090 D", "RTX 4090 Laptop GPU", "RTX 4080", "RTX 3090"],
    ["RTX 4070", "RTX 4070 SUPER", "RTX 4070 Ti", "RTX 4070 Ti SUPER", "RTX 4070 Laptop GPU"],
    ["RTX 2070", "RTX 2070 with Max-Q Design", "RTX 2070 SUPER", "RTX 2070 Super with Max-Q Design"],
    ["RTX A6000", "RTX 6000 Ada Generation", "RTX PRO 6000 Blackwell", "Quadro RTX 6000", "RTX 6000"],
    ["RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Blackwell Max-Q Workstation Edition"],
    ["RTX 4000 Ada Generation", "RTX 4000 SFF Ada Generation", "RTX A4000", "Quadro RTX 4000"],
    ["A10", "A10G", "A100", "A16", "A1", "A2", "A40"],
    ["L4", "L40", "L40S"],
    ["H100", "H200", "GH200", "H20", "H800", "B200", "GB200"],
    ["A100-SXM4-40GB", "A100-PCIE-40GB", "A100-SXM4-40GB MIG 3g.20gb", "A100-SXM4-40GB MIG 1g.5gb"],
    ["V100", "V100S", "P100", "K80", "T4", "T4G"],
    ["MI50", "MI60", "MI100", "MI210", "MI250", "MI250X", "MI300X", "MI300A"],
    ["RX 7900 XTX", "RX 7900 XT", "RX 7900 GRE", "RX 7900M", "Radeon Pro W7900"],
    ["Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]", "RX 7900 XTX", "RX 7900 XT"],
    ["GTX TITAN X", "TITAN X (Pascal)", "TITAN Xp", "GTX TITAN Black", "TITAN V", "TITAN RTX"],
    ["Apple M3", "Apple M3 Pro", "Apple M3 Max", "Apple M3 Ultra", "Apple M2 Max"],
    ["Arc A770", "Arc A770M", "Arc A750", "Arc B580", "Arc B570", "Iris Xe", "Iris Xe MAX"],
    ["GTX 1080 Super JetStream", "GTX 1080 Ti", "GTX 1070"],
]
PAIRS = [pair for family in COUSINS for pair in itertools.permutations(family, 2)]


@pytest.mark.parametrize(("requested", "actual"), PAIRS)
def test_different_cards_do_not_stand_for_each_other(requested, actual):
    assert not gpu_name_matches(requested, actual)


@pytest.mark.parametrize(
    ("requested", "actual"),
    [
        ("rtx-4090", "MSI GeForce RTX 4090 SUPRIM X 24G"),
        ("RTX 4080 Mobile", "NVIDIA GeForce RTX 4080 Laptop GPU"),
        ("mi250", "AMD INSTINCT MI250 (MCM) OAM AC MBA"),
        ("h100", "NVIDIA H100 PCIe"),
        ("Radeon VII", "AMD Radeon VII"),
    ],
)
def test_one_card_is_found_under_its_names(requested, actual):
    assert gpu_name_matches(requested, actual)
