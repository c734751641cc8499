"""What nodes ask: from the tables, what was measured, what the host decided, and spot."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fleets import STRANGER, gpu, make_needs, make_node

from computepool.hub.market.book import Book
from computepool.hub.market.pricing import hourly_price, price_made_of
from computepool.hub.market.rates import HostPrice
from computepool.hub.market.settings import Rates, Regions, Tables, Tiers
from computepool.hub.market.spot import Segment, Spot
from computepool.hub.nodes.benchmarks import Benchmark, hardware_digest
from computepool.hub.scheduling.fleet import FleetNode
from computepool.protocol.gpus import parse_gpu

CREDIT = 1_000_000


def ask_of(book: Book, node: FleetNode):
    return book.appraise(node.traits, node.capacity).ask


def examined(node: FleetNode, gflops: float, mark: str = "matches") -> Benchmark:
    devices = [{"device": one.id, "mark": mark, "gflops": gflops} for one in node.traits.gpus]
    devices.append({"device": "cpu", "mark": "matches", "gflops": 80.0})
    return Benchmark(
        node_id=node.traits.node_id, hardware=hardware_digest(node.capacity), figures={"devices": devices, "line": {}}
    )


@pytest.mark.parametrize(
    ("slug", "country", "credits"),
    [
        ("rtx-4090", "US", 30),
        ("rtx-4090", "IN", 21),
        ("rtx-4090", "DE", 28.5),
        ("rtx-3090", "GB", 25),
        ("rtx-3060", "BR", 20),
        ("gtx-1660", None, 13),
        ("nobody-knows-9", "US", 10),
    ],
)
def test_prices_of_the_table(slug, country, credits):
    node = make_node(country=country, gpus=(gpu(0, slug),))
    assert ask_of(Book(), node).gpu_micros == credits * CREDIT


def test_a_core_costs_an_eighth_of_the_cpu_tier():
    node = make_node(country="US", gpus=())
    ask = ask_of(Book(), node)
    assert (ask.gpu_micros, ask.core_micros) == (0, 1 * CREDIT)


def test_least_of_several_cards_counts_and_an_integrated_one_does_not():
    mixed = make_node(country="US", gpus=(gpu(0, "rtx-4090"), gpu(1, "rtx-3060")))
    assert ask_of(Book(), mixed).gpu_micros == 20 * CREDIT
    laptop = gpu(1, "uhd-770").model_copy(update={"integrated": True})
    assert ask_of(Book(), make_node(country="US", gpus=(gpu(0, "rtx-4090"), laptop))).gpu_micros == 30 * CREDIT


def test_an_unknown_card_gets_its_tier_from_its_measured_speed():
    book, node = Book(), make_node(country="US", gpus=(gpu(0, "nobody-knows-9"),))
    book.learn_speed(examined(node, 40_000))
    traits = book.appraise(node.traits, node.capacity)
    assert traits.ask.gpu_micros == 30 * CREDIT
    assert traits.gpu_gflops == 40_000
    assert traits.core_gflops == 10.0


def test_a_processor_measured_without_numpy_says_nothing_of_its_speed():
    book, node = Book(), make_node(country="US", gpus=())
    row = examined(node, 1.0)
    row.figures["devices"][-1]["backend"] = "python"
    book.learn_speed(row)
    assert book.appraise(node.traits, node.capacity).core_gflops is None


def test_a_name_is_a_claim_and_the_speed_a_fact():
    book, node = Book(), make_node(country="US", gpus=(gpu(0, "rtx-4090"),))
    book.learn_speed(examined(node, 4_000, "too_slow"))
    assert ask_of(book, node).gpu_micros == 15 * CREDIT


def test_an_examination_of_other_hardware_says_nothing():
    book, node = Book(), make_node(country="US", gpus=(gpu(0, "nobody-knows-9"),))
    book.learn_speed(examined(node, 40_000))
    other = make_node(country="US", gpus=(gpu(0, "nobody-knows-9", gib=48),))
    traits = book.appraise(other.traits, other.capacity)
    assert traits.ask.gpu_micros == 10 * CREDIT
    assert traits.gpu_gflops is None


def test_a_failed_examination_says_nothing_of_speed():
    book, node = Book(), make_node(country="US", gpus=(gpu(0, "nobody-knows-9"),))
    book.learn_speed(examined(node, 90_000, "failed"))
    assert ask_of(book, node).gpu_micros == 10 * CREDIT


def test_floor_and_fixed_price_of_a_host():
    book, node = Book(), make_node(country="US", gpus=(gpu(0),))
    for price, asked in (
        (HostPrice("gpu", floor_micros=40 * CREDIT), 40),
        (HostPrice("gpu", floor_micros=5 * CREDIT), 30),
        (HostPrice("gpu", fixed_micros=5 * CREDIT), 5),
        (HostPrice("gpu", fixed_micros=0), 0),
        (HostPrice("core", fixed_micros=7 * CREDIT), 30),
        (None, 30),
    ):
        book.set_host_price(node.traits.node_id, price)
        assert ask_of(book, node).gpu_micros == asked * CREDIT
    book.set_host_price(node.traits.node_id, HostPrice("core", fixed_micros=7 * CREDIT))
    assert ask_of(book, node).core_micros == 7 * CREDIT


def test_spot_of_its_own_segment_moves_a_node_and_no_other():
    book = Book()
    here, there = make_node("node_1", country="US", gpus=(gpu(0),)), make_node("node_2", country="IN", gpus=(gpu(0),))
    for node in (here, there):
        ask_of(book, node)
    book.spots[Segment("3.0", "US")] = Spot(1.5, 0.8, 1500)
    book._asks.clear()
    assert ask_of(book, here).gpu_micros == 45 * CREDIT
    assert ask_of(book, there).gpu_micros == 21 * CREDIT
    assert ask_of(book, replace_simulated(here)).gpu_micros == 30 * CREDIT


def replace_simulated(node: FleetNode) -> FleetNode:
    node.traits = replace(node.traits, simulated=True)
    return node


def test_tables_that_were_edited_count_for_the_next_look():
    book, node = Book(), make_node(country="US", gpus=(gpu(0),))
    assert ask_of(book, node).gpu_micros == 30 * CREDIT
    book.replace_tables(Tables(tiers=Tiers(cards={"rtx-4090": 4000}), rates=Rates(base_micros=1 * CREDIT)))
    assert ask_of(book, node).gpu_micros == 4 * CREDIT
    book.replace_tables(Tables(regions=Regions(items=())))
    assert ask_of(book, make_node(country="IN", gpus=(gpu(0),))).gpu_micros == 30 * CREDIT


def test_nodes_that_ask_alike_share_one_ask():
    book = Book()
    asks = [ask_of(book, make_node(f"node_{number}", country="US")) for number in range(3)]
    assert asks[0] is asks[1] is asks[2]


def test_what_a_locked_price_was_made_of():
    book, node = Book(), make_node(country="IN", gpus=(gpu(0), gpu(1)))
    book.set_host_price(node.traits.node_id, HostPrice("gpu", floor_micros=25 * CREDIT))
    ask, needs = ask_of(book, node), make_needs(owner_id=STRANGER, gpu=parse_gpu("rtx-4090:2"))
    assert hourly_price(needs, ask, own=False) == 50 * CREDIT
    assert price_made_of(needs, ask, own=False) == {
        "own": False,
        "per": "gpu",
        "gpus": 2,
        "ask_micros": 25 * CREDIT,
        "base_micros": 10 * CREDIT,
        "tier_millis": 3000,
        "region": "IN",
        "region_millis": 700,
        "spot_millis": 1000,
        "floor_micros": 25 * CREDIT,
        "fixed_micros": None,
    }
    assert price_made_of(needs, ask, own=True) == {"own": True, "per": "gpu"}


@given(
    st.sampled_from(["24GB..", "rtx-4090", "gtx-1660:2", "unheard-of", None]),
    st.sampled_from(["rtx-4090", "rtx-3060", "gtx-1660"]),
    st.sampled_from(["US", "IN", "DE", "BR", None]),
    st.integers(500, 2000),
)
def test_no_suggestion_is_above_the_list_price(request, slug, country, spot):
    """What the pool itself suggests is always within the ceiling that a silent job may get."""
    book = Book()
    node = make_node(country=country, gpus=(gpu(0, slug), gpu(1, slug)))
    needs = make_needs(owner_id=STRANGER, gpu=parse_gpu(request))
    for segment in (Segment(tier, book.tables.region_of(country)[0]) for tier in ("3.0", "2.0", "1.3", "cpu")):
        book.spots[segment] = Spot(spot / 1000, 0.5, spot)
    ask = ask_of(book, node)
    if needs.gpu is None or needs.gpu.name in (None, slug):
        assert hourly_price(needs, ask, own=False) <= book.list_ceiling(needs)
