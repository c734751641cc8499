"""How much memory cards have that people ask for by name, as their makers print it."""

from collections.abc import Mapping

CARD_GIB: Mapping[str, tuple[int, ...]] = {
    "rtx-5090": (32,), "rtx-5080": (16,), "rtx-5070-ti": (16,), "rtx-5070": (12,), "rtx-5060-ti": (8, 16),
    "rtx-4090": (24,), "rtx-4080-super": (16,), "rtx-4080": (16,), "rtx-4070-ti-super": (16,), "rtx-4070-ti": (12,),
    "rtx-4070-super": (12,), "rtx-4070": (12,), "rtx-4060-ti": (8, 16), "rtx-4060": (8,), "rtx-4090-laptop": (16,),
    "rtx-4080-laptop": (12,), "rtx-4070-laptop": (8,), "rtx-4060-laptop": (8,), "rtx-3090-ti": (24,),
    "rtx-3090": (24,), "rtx-3080-ti": (12,), "rtx-3080": (10, 12), "rtx-3070-ti": (8,), "rtx-3070": (8,),
    "rtx-3060-ti": (8,), "rtx-3060": (8, 12), "rtx-3050": (6, 8), "rtx-3060-laptop": (6,), "rtx-2080-ti": (11,),
    "rtx-2080-super": (8,), "rtx-2080": (8,), "rtx-2070-super": (8,), "rtx-2070": (8,), "rtx-2060-super": (8,),
    "rtx-2060": (6, 12), "gtx-1660-ti": (6,), "gtx-1660-super": (6,), "gtx-1660": (6,), "gtx-1650": (4,),
    "gtx-1080-ti": (11,), "gtx-1080": (8,), "gtx-1070": (8,), "gtx-1060": (3, 6), "a100": (40, 80), "h100": (80, 94),
    "h200": (141,), "v100": (16, 32), "p100": (12, 16), "t4": (16,), "a10": (24,), "l4": (24,), "l40": (48,),
    "l40s": (48,), "a40": (48,), "rtx-a6000": (48,), "rtx-a5000": (24,), "rtx-a4000": (16,), "rtx-6000-ada": (48,),
    "rtx-4000-ada": (20,), "rx-7900-xtx": (24,), "rx-7900-xt": (20,), "rx-6900-xt": (16,), "rx-6800-xt": (16,),
    "mi210": (64,), "mi250x": (128,), "mi300x": (192,),
}  # fmt: skip
"""In gigabytes, for each size that is sold; by the short name."""
