"""Which names of GPUs mean a card. A job that asks for a card that does not exist would wait for ever."""

import difflib
from collections.abc import Collection

from computepool.hub.market.card_memory import CARD_GIB
from computepool.protocol.gpu_names import VENDORS, gpu_name_matches
from computepool.protocol.gpus import GpuRequest

NEAREST_SHOWN = 3
_WITHOUT_PRICE = """
    b200 b300 gb200 gb300 gh200 h20 h800 a800 a30 a16 a10g a10m a2 l2 l20 p4 p40 m4 m40 m60 k80 t4g
    rtx-pro-6000 rtx-pro-5000 rtx-pro-4500 rtx-pro-4000 rtxpro6000 rtx-5000-ada rtx-4500-ada rtx-2000-ada rtx-a5500
    rtx-a4500 rtx-a2000 rtx-6000 rtx-8000 quadro-rtx-8000 quadro-rtx-6000 quadro-rtx-5000 quadro-rtx-4000 titan-rtx
    titan-v titan-xp rtx-5060 rtx-5050 rtx-4050-laptop rtx-3050-ti gtx-1650-super gtx-1070-ti gtx-1050-ti gtx-1050
    gtx-980-ti gtx-980 rx-9070-xt rx-9070 rx-7900-gre rx-7800-xt rx-7700-xt rx-7600-xt rx-7600 rx-6950-xt rx-6800
    rx-6700-xt rx-6600-xt rx-6600 pro-w7900 pro-w7800 pro-w6800 radeon-vii mi25 mi50 mi60 mi100 mi250 mi300a mi308x
    mi325x mi350x mi355x arc-a770 arc-a750 arc-b580 arc-b570 gaudi2 gaudi3 max-1100 max-1550 m1 m2 m3 m4 m5
"""
NAMED_CARDS = frozenset(CARD_GIB).union(_WITHOUT_PRICE.split())
"""Real cards, whether or not a node has one. A card of a node is known even if it is missing here."""


def unknown_names(request: GpuRequest, cards: Collection[str]) -> list[str]:
    """The names of its choices that neither are here nor are among `cards`."""
    return [choice.name for choice in request.choices if choice.name is not None and not _is_known(choice.name, cards)]


def nearest_names(name: str, cards: Collection[str]) -> list[str]:
    return difflib.get_close_matches(name[:64], sorted({*CARD_GIB, *cards}), n=NEAREST_SHOWN, cutoff=0.6)


def _is_known(name: str, cards: Collection[str]) -> bool:
    if name in NAMED_CARDS or name in cards or name in VENDORS:
        return True
    # `a100-sxm4` is an A100, and `a100-sxm` asks for any of its kinds.
    return any(gpu_name_matches(card, name) or gpu_name_matches(name, card) for card in (*NAMED_CARDS, *cards))
