"""What pickers and filters offer, in one answer: cards, countries, levels, states, limits, images and templates."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated

from fastapi import APIRouter

from computepool.hub.api.jobs import SPEC_LIMIT_BYTES
from computepool.hub.core.money import MONEY, Micros, priced_routes
from computepool.hub.engine import Engine
from computepool.hub.ledger.kinds import ENTRY_WORDS
from computepool.hub.market.book import Book, cards_of
from computepool.hub.market.card_memory import CARD_GIB
from computepool.hub.market.rates import MILLI
from computepool.hub.market.regions import ELSEWHERE, ELSEWHERE_MILLIS
from computepool.hub.market.tiers import is_listed
from computepool.hub.scheduling.fleet import Fleet, FleetNode
from computepool.protocol import state_words
from computepool.protocol.country_names import COUNTRY_NAMES
from computepool.protocol.gpus import MAX_GPU_COUNT
from computepool.protocol.messages import cached_image
from computepool.protocol.model import Documented
from computepool.protocol.spec import (
    DEFAULT_MAX_RUNTIME_SECONDS,
    MAX_PRIORITY,
    MAX_RETRIES,
    MAX_RUNTIME_SECONDS,
    MAX_SLICES,
    MIN_PRIORITY,
)
from computepool.protocol.spec_fields import MAX_LIST_ITEMS, MAX_NAME_CHARS
from computepool.protocol.spec_models import MAX_REPLICAS, MIN_REPLICAS, Optimize
from computepool.protocol.spec_sections import MAX_ENV_ENTRIES, MAX_INPUTS, MIN_SIZE_BYTES
from computepool.protocol.spec_templates import TEMPLATES
from computepool.protocol.states import IsolationLevel, Verdict
from computepool.protocol.units import GIB

SHARED_SECONDS = 10
IMAGES = {
    "python:3.12-slim": "Python 3.12, small",
    "ubuntu:24.04": "Ubuntu 24.04",
    "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime": "PyTorch 2.5 with CUDA 12.4",
    "tensorflow/tensorflow:2.18.0-gpu": "TensorFlow 2.18 with CUDA",
    "nvidia/cuda:12.4.1-runtime-ubuntu22.04": "CUDA 12.4 on Ubuntu 22.04",
    "node:22-slim": "Node.js 22, small",
}
"""Well known, with fixed versions. What else nodes have at hand is nobody's business: names of images tell of jobs."""


class CatalogGpu(Documented):
    """A card that can be asked for by name."""

    name: str
    """As `resources.gpu` takes it."""
    memory_bytes: list[int]
    """The sizes in which it is sold, or that nodes have, the smallest first."""
    tier: float
    """How much more than the base rate it is worth; by its name, where nothing was measured."""
    nodes_online: int
    """Real nodes that take work now and have one."""
    nodes_simulated: int
    """Simulated nodes that have one."""
    gpus_free: int
    """Cards of real nodes that are not in use."""
    from_micros: Micros
    """The lowest price of an hour of one card now; null if no node has one."""


class CatalogCountry(Documented):
    code: str
    """As two letters of ISO 3166, for `where.country`."""
    name: str
    """In English."""
    region: str
    """Whose prices it has."""
    nodes_online: int
    """Real nodes there that take work now."""


class CatalogRegion(Documented):
    name: str
    """Of the region; `elsewhere` for all countries that are in none."""
    countries: list[str]
    """As two letters of ISO 3166; empty for `elsewhere`."""
    factor: Annotated[float | None, MONEY]
    """By which prices differ there."""


class CatalogWord(Documented):
    """One value of a closed set."""

    value: str
    """As the API and specs write it."""
    text: str
    """What it means, in a sentence."""
    rank: int
    """Its place in the order: of isolation levels, from the weakest."""


class CatalogLimits(Documented):
    """What a spec may ask for."""

    slices: int
    """The most parallel slices."""
    max_runtime_seconds: int
    """The longest runtime of one attempt."""
    default_runtime_seconds: int
    """The runtime where the spec says nothing."""
    retries: int
    """The most retries."""
    priority_min: int
    """The lowest priority."""
    priority_max: int
    """The highest priority."""
    replicas_min: int
    """The fewest replicas of `verify`."""
    replicas_max: int
    """The most replicas of `verify`."""
    gpus: int
    """The most cards of one slice."""
    size_min_bytes: int
    """The least memory, and the least disk."""
    spec_bytes: int
    name_characters: int
    env_entries: int
    """The most variables."""
    inputs: int
    """The most inputs."""
    list_items: int
    """The most outputs, tags or addressees."""


class CatalogImage(Documented):
    name: str
    """As `image` takes it."""
    title: str
    """What it is."""
    nodes_cached: int
    """Nodes online that have it at hand."""


class CatalogTemplate(Documented):
    """A small spec to begin with."""

    name: str
    """Stays the same."""
    title: str
    """In a few words."""
    description: str
    """What it shows."""
    yaml: str
    """The spec."""


class CatalogView(Documented):
    gpus: list[CatalogGpu]
    """Those that are online first, then by what they are worth."""
    countries: list[CatalogCountry]
    """By name."""
    regions: list[CatalogRegion]
    """As the pool's prices have them."""
    isolation: list[CatalogWord]
    """Levels of isolation, from the weakest to the strongest."""
    trust: list[CatalogWord]
    """Values of `where.trust`."""
    optimize: list[CatalogWord]
    """Values of `optimize`."""
    job_states: list[CatalogWord]
    """States of jobs and slices."""
    attempt_states: list[CatalogWord]
    """States of attempts."""
    node_states: list[CatalogWord]
    """States of nodes."""
    verdicts: list[CatalogWord]
    """Whose doing the end of an attempt was."""
    reasons: list[CatalogWord]
    """Why an attempt ended."""
    entry_kinds: Annotated[list[CatalogWord] | None, MONEY]
    """Kinds of the ledger's entries; null without money."""
    limits: CatalogLimits
    """What a spec may ask for."""
    images: list[CatalogImage]
    """Well-known images, those that most nodes have first."""
    templates: list[CatalogTemplate]
    """Specs to begin with."""


def router(engine: Engine) -> APIRouter:
    settings = engine.context.settings
    routes = priced_routes(engine.directory.authenticate, settings, tags=["public"])
    money = settings.money == "on"

    @routes.get("/public/catalog", visible="public", shared_seconds=SHARED_SECONDS)
    async def catalog() -> CatalogView:
        """Everything that a form for jobs, or a filter, offers to choose from."""
        counts = await count_fleet(engine.scheduler.fleet)
        without: Collection[str] = () if money else (Verdict.BUDGET, Optimize.COST)
        return CatalogView(
            gpus=_gpus(counts, engine.book),
            countries=_countries(counts, engine.book),
            regions=_regions(engine.book),
            isolation=[
                CatalogWord(value=level, text=state_words.ISOLATION[level], rank=level.rank) for level in IsolationLevel
            ],
            trust=_words(state_words.TRUST),
            optimize=_words(state_words.OPTIMIZE, without),
            job_states=_words(state_words.JOB_STATES),
            attempt_states=_words(state_words.ATTEMPT_STATES),
            node_states=_words(state_words.NODE_STATES),
            verdicts=_words(state_words.VERDICTS, without),
            reasons=_words(state_words.REASONS, without),
            entry_kinds=_words(ENTRY_WORDS),
            limits=LIMITS,
            images=_images(counts),
            templates=[CatalogTemplate(**asdict(one)) for one in TEMPLATES],
        )

    return routes.router


LIMITS = CatalogLimits(
    slices=MAX_SLICES,
    max_runtime_seconds=MAX_RUNTIME_SECONDS,
    default_runtime_seconds=DEFAULT_MAX_RUNTIME_SECONDS,
    retries=MAX_RETRIES,
    priority_min=MIN_PRIORITY,
    priority_max=MAX_PRIORITY,
    replicas_min=MIN_REPLICAS,
    replicas_max=MAX_REPLICAS,
    gpus=MAX_GPU_COUNT,
    size_min_bytes=MIN_SIZE_BYTES,
    spec_bytes=SPEC_LIMIT_BYTES,
    name_characters=MAX_NAME_CHARS,
    env_entries=MAX_ENV_ENTRIES,
    inputs=MAX_INPUTS,
    list_items=MAX_LIST_ITEMS,
)


@dataclass
class CardCount:
    nodes: int = 0
    simulated: int = 0
    free: int = 0
    from_micros: int | None = None
    sizes: set[int] = field(default_factory=set)


@dataclass
class FleetCounts:
    cards: dict[str, CardCount] = field(default_factory=dict)
    countries: dict[str, int] = field(default_factory=dict)
    images: dict[str, int] = field(default_factory=dict)

    def add(self, node: FleetNode) -> None:
        traits = node.traits
        for slug in {gpu.slug for gpu in cards_of(traits.gpus)}:
            card = self.cards.setdefault(slug, CardCount())
            if traits.simulated:
                card.simulated += 1
                continue
            card.nodes += 1
            card.free += sum(gpu.slug == slug for gpu in node.free.gpus)
            card.sizes |= {round(gpu.memory_bytes / GIB) * GIB for gpu in traits.gpus if gpu.slug == slug}
            price = traits.ask.gpu_micros
            card.from_micros = price if card.from_micros is None else min(price, card.from_micros)
        if traits.simulated:
            return
        if traits.country is not None:
            self.countries[traits.country] = self.countries.get(traits.country, 0) + 1
        for name in IMAGES:
            if cached_image(name) in node.cached:
                self.images[name] = self.images.get(name, 0) + 1


async def count_fleet(fleet: Fleet) -> FleetCounts:
    counts = FleetCounts()
    async for node in fleet.walk():
        if node.takes_work:
            counts.add(node)
    return counts


def _gpus(counts: FleetCounts, book: Book) -> list[CatalogGpu]:
    found = []
    for name in {*CARD_GIB, *book.tables.tiers.cards, *counts.cards}:
        card = counts.cards.get(name, CardCount())
        found.append(
            CatalogGpu(
                name=name,
                memory_bytes=sorted({gib * GIB for gib in CARD_GIB.get(name, ())} | card.sizes),
                tier=book.tier(name).millis / MILLI,
                nodes_online=card.nodes,
                nodes_simulated=card.simulated,
                gpus_free=card.free,
                from_micros=card.from_micros,
            )
        )
    cards = book.tables.tiers.cards
    return sorted(
        found,
        key=lambda one: (-one.nodes_online, -one.nodes_simulated, not is_listed(one.name, cards), -one.tier, one.name),
    )


def _countries(counts: FleetCounts, book: Book) -> list[CatalogCountry]:
    return [
        CatalogCountry(
            code=code, name=name, region=book.tables.region_of(code)[0], nodes_online=counts.countries.get(code, 0)
        )
        for code, name in sorted(COUNTRY_NAMES.items(), key=lambda pair: pair[1])
    ]


def _regions(book: Book) -> list[CatalogRegion]:
    regions = [
        CatalogRegion(name=one.name, countries=list(one.countries), factor=one.factor_millis / MILLI)
        for one in book.tables.regions.items
    ]
    return [*regions, CatalogRegion(name=ELSEWHERE, countries=[], factor=ELSEWHERE_MILLIS / MILLI)]


def _images(counts: FleetCounts) -> list[CatalogImage]:
    found = [
        CatalogImage(name=name, title=title, nodes_cached=counts.images.get(name, 0)) for name, title in IMAGES.items()
    ]
    return sorted(found, key=lambda one: -one.nodes_cached)


def _words(meanings: Mapping[str, str], without: Collection[str] = ()) -> list[CatalogWord]:
    kept = [(str(value), text) for value, text in meanings.items() if value not in without]
    return [CatalogWord(value=value, text=text, rank=rank) for rank, (value, text) in enumerate(kept)]
