"""The names of GPUs, brought to one form.

A driver says "NVIDIA GeForce RTX 4090", a shop "ASUS ROG STRIX RTX 4090 OC 24G", a person "rtx4090" or "4090", a PCI
listing "AD102 [GeForce RTX 4090]". All become lower-case words joined by dashes, without vendor, board partner and
memory: `rtx-4090`, `a100-sxm4`. What makes another card stays: `rtx-4070-ti-super`, `rtx-4090-laptop`. Names are read
word by word, and an unknown word stays: a card that nobody has heard of keeps its name, and matches no other.
"""

import re
from functools import lru_cache

LONGEST_READ_CHARS = 200
UNKNOWN = "unknown"

VENDORS = {
    "nvidia": r"rtx|gtx|gt|titan|quadro|mx[0-9]+|[abhltpvk][0-9]{1,3}[a-z]*|m[0-9]0|gh200|g?b[0-9]{3}",
    "amd": r"mi[0-9]+[a-z]*|rx|pro|vii|radeon|fury|vega",
    "intel": r"arc|flex|max|gaudi[0-9]?|iris|uhd",
    "apple": r"m[1-9]",
}
"""The first words of their cards' names. A request may name a vendor alone: any card of theirs will do."""
_VENDORS = frozenset({"nvidia", "geforce", "tesla", "amd", "ati", "radeon", "instinct", "intel", "apple"})
_NOISE = frozenset({
    "gpu", "graphics", "generation", "edition", "with", "design", "device", "series", "founders", "r", "tm",
    "corporation", "inc", "d3d12",
})  # fmt: skip
_DROPPED = _VENDORS | _NOISE
_MEMORY_WORD = re.compile(r"(?:oc?)?[0-9]+(?:gb?|gib)|hbm[0-9]e?|gddr[0-9]x?")
_FORM_FACTOR = re.compile(r"sxm[0-9]?|pcie|nvl|oam|blackwell|workstation|server")
"""Words that say how a card is mounted, not which it is: a request without them accepts any."""
_SAME_WORD = {"mobile": "laptop"}
"""PCI listings say "Mobile" of what the driver calls "Laptop GPU"."""

_PARTNER_WORDS = """
    asus rog strix tuf proart prime turbo dual phoenix noctua astral cerberus expedition btf
    msi suprim trio ventus armor mech duke aero vanguard shadow inspire hawk sea lightning liquid
    gigabyte aorus master xtreme elite eagle windforce vision waterforce ice
    zotac trinity amp holo solid twin pny xlr8 verto revel epic uprising
    evga ftw3 ftw xc xc3 sc kingpin palit gamerock gamingpro jetstream stormx infinity
    gainward phantom ghost panther python inno3d ichill frostbite colorful igame vulcan advanced neptune
    galax kfa2 hof maxsun manli leadtek sparkle titan orc roc sapphire nitro pulse pure toxic
    powercolor red devil dragon hellhound fighter reaper spectral xfx speedster merc merc308 merc310 merc319
    qick swft thicc mercury magnetic air asrock steel legend taichi challenger acer predator bifrost yeston
    gaming oc ultra extreme limited black white fe x slim mini itx lhr argb rgb plus premium ii iii
"""
"""Board partners, their product lines and their ornaments. Only removed next to the number of a consumer's card: alone
some of them are cards of their own, such as the TITAN Black, the M2 Ultra and the Strix Point's graphics."""
_PARTNERS = frozenset(_PARTNER_WORDS.split())
_FANS = re.compile(r"[234]x|x[234]")

_SUFFIX = re.compile(r"ti|super|xtx|xt|gre|ada|laptop|mobile|max|d|q")
_GLUED = re.compile(rf"(rtx|gtx|gt|rx|arc|mx)?([a-z]?[0-9]{{3,4}})((?:{_SUFFIX.pattern})*)")
_CONSUMER_SERIES = frozenset({"rtx", "gtx", "gt", "rx", "arc"})
_NUMBER = re.compile(r"[ab]?[0-9]{3,4}[ms]?")
_SERIES_OF_BARE_MODEL = (
    ("rtx", re.compile(r"[2-5]0[5-9]0")),
    ("gtx", re.compile(r"(?:10|16)[5-8]0")),
    ("rx", re.compile(r"5[3-7]00m?|6[4-9][05]0[ms]?|7[6-9]00[ms]?|90[67]0")),
    ("rtx", re.compile(r"a(?:2000|4000|4500|5000|5500|6000)")),
    ("arc", re.compile(r"a(?:310|380|580|750|770)m?|b5[78]0")),
    ("pro", re.compile(r"w(?:5[57]00|6[3468]00|7[5679]00)x?")),
    ("radeon", re.compile(r"vii")),
)
_INSTINCT = re.compile(r"mi[0-9]+[a-z]*")
_INSTINCT_MOUNTING = frozenset({"mcm", "ac", "mba"})


@lru_cache(maxsize=4096)
def normalise_gpu_name(name: str) -> str:
    """The one form in which names are compared; applied twice it changes nothing more."""
    return "-".join(model_words(name) or _words(name)) or UNKNOWN


def gpu_name_matches(requested: str, actual: str) -> bool:
    """Whether a card is what was asked for: `a100` accepts `a100-sxm4`, `rtx-4090` no `rtx-4090-laptop`."""
    wanted, found = normalise_gpu_name(requested).split("-"), normalise_gpu_name(actual).split("-")
    if len(wanted) == 1 and wanted[0] in VENDORS:
        return re.fullmatch(VENDORS[wanted[0]], found[0]) is not None
    if wanted[-1] == "sxm":
        found = ["sxm" if word.startswith("sxm") else word for word in found]
    same = found[: len(wanted)] == wanted
    return same and all(_FORM_FACTOR.fullmatch(word) for word in found[len(wanted) :])


def model_words(name: str) -> list[str]:
    """What is left of a name without vendor, memory and noise; nothing when it names no model."""
    # PCI listings put the chip first and the card in brackets, and sometimes the vendor in brackets of its own.
    for bracket in re.findall(r"\[([^\]]+)\]", name[:LONGEST_READ_CHARS]):
        if words := model_words(bracket):
            return words
    split = [_SAME_WORD.get(part, part) for word in _words(name) for part in _unglue(word)]
    words = [word for word in split if word not in _DROPPED and not _MEMORY_WORD.fullmatch(word)]
    if any(_INSTINCT.fullmatch(word) for word in words):
        words = [word for word in words if word not in _INSTINCT_MOUNTING]
    if _names_a_consumers_card(words):
        words = _without_partners(words)
    series = next((series for series, model in _SERIES_OF_BARE_MODEL if words and model.fullmatch(words[0])), None)
    return [series, *words] if series else words


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9.]+", name[:LONGEST_READ_CHARS].lower()) if word.strip(".")]


def _unglue(word: str) -> list[str]:
    """`rtx4070tisuper` is four words."""
    match = _GLUED.fullmatch(word)
    if match is None:
        return [word]
    return [part for part in (match[1], match[2], *_SUFFIX.findall(match[3])) if part]


def _names_a_consumers_card(words: list[str]) -> bool:
    if not _CONSUMER_SERIES.isdisjoint(words):
        return any(_NUMBER.fullmatch(word) for word in words)
    return any(model.fullmatch(word) for word in words for _, model in _SERIES_OF_BARE_MODEL[:5])


def _without_partners(words: list[str]) -> list[str]:
    kept = []
    before = ""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        ornament = word in _PARTNERS or _FANS.fullmatch(word) is not None
        # "Phantom Gaming D" is a cooler, the D of "RTX 4090 D" is not; "Super JetStream" is one too.
        ornament = ornament or (word == "d" and before in _PARTNERS) or (word == "super" and after == "jetstream")
        if not ornament:
            kept.append(word)
        before = word
    return kept
