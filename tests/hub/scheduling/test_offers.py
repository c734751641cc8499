"""Filters, order and pages of the market: what is known is exact, and what is not is an error with a way on."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fleets import GIB, STRANGER, gpu, make_node

from computepool.hub.core.errors import Invalid
from computepool.hub.market.book import Book
from computepool.hub.market.standing import Standing
from computepool.hub.scheduling.offer_filters import FIELDS, PARAMETERS, BadFilter, parse_filter, parse_order
from computepool.hub.scheduling.offer_forms import describe_filters
from computepool.hub.scheduling.offer_views import Offer
from computepool.hub.scheduling.offers import offer_of, page_of, price_per_tflops
from computepool.protocol.capacity import HouseRules
from computepool.protocol.messages import Availability
from computepool.protocol.states import IsolationLevel
from computepool.protocol.versions import RUNC

CREDIT = 1_000_000


def offers_of(*nodes) -> list[Offer]:
    book = Book()
    for node in nodes:
        node.traits = book.appraise(node.traits, node.capacity)
    return [offer for node in nodes if (offer := offer_of(node, book)) is not None]


@pytest.fixture
def market() -> list[Offer]:
    return offers_of(
        make_node("node_1", owner_id=STRANGER, country="US", gpus=(gpu(0),)),
        make_node("node_2", owner_id=STRANGER, country="IN", gpus=(gpu(0), gpu(1)), memory_bytes=64 * GIB),
        make_node("node_3", owner_id=STRANGER, country="DE", gpus=(gpu(0, "rtx-3060", 12),), tags=frozenset({"lab"})),
        make_node("node_4", owner_id=STRANGER, country="US", gpus=(), cpu_millis=64_000),
        make_node("node_5", owner_id=STRANGER, country="US", gpus=(gpu(0),), simulated=True),
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", "1234"),
        ("gpu=rtx-4090", "12"),
        ("gpu=RTX4090", "12"),
        ("gpu=4090", "12"),
        ("gpu!=rtx-4090", "34"),
        ("gpus>=2", "2"),
        ("gpus=0", "4"),
        ("gpu_memory>=24GB", "12"),
        ("memory>32GB", "2"),
        ("cpus>8", "4"),
        ("price<30", "234"),
        ("price<=21", "234"),
        ("price < 21", "34"),
        ("price=30", "1"),
        ("core_price<1", "23"),
        ("country=IN,DE", "23"),
        ("country!=US", "23"),
        ("region=EU", "3"),
        ("region=eu", "3"),
        ('region="EU" gpus>=1', "3"),
        ("region='South Asia'", ""),
        ("tag=lab", "3"),
        ("tier>=2.5", "12"),
        ("reliability>0.9", ""),
        ("reliability>0.2", "1234"),
        ("isolation>=bubblewrap", "1234"),
        ("isolation>=container", ""),
        ("verified=true", ""),
        ("simulated=true", "5"),
        ("simulated=false", "1234"),
        ("gpu=rtx-4090 price<30 country=IN", "2"),
        ("gpus_free>0 disk>=100GB", "123"),
    ],
)
def test_filters(market, text, left):
    page = page_of(market, text, "", None, 100)
    assert sorted(one.node_id for one in page.items) == [f"node_{number}" for number in left]
    assert page.total == len(left)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("prize<40", "There is no filter 'prize'", "Is price meant, such as price<40?"),
        ("gpuu=rtx-4090", "There is no filter 'gpuu'", "Is gpu"),
        ("zzzzzz=1", "There is no filter 'zzzzzz'", "Known are gpu, gpus"),
        ("gpu>rtx-4090", "gpu cannot be compared with >", "Use = or !=, such as gpu=rtx-4090"),
        ('region="South Asia', "is not part of a filter", "region=EU"),
        ("price~40", "'price~40' is not part of a filter", "Write it like price<40"),
        ("price", "'price' is not part of a filter", "Write it like price<40"),
        ("price<", "is not part of a filter", "price<40"),
        ("price<lots", "price: 'lots' is not an amount of credits", "Write it like price<40"),
        ("price<-1", "price: '-1' is below zero", "price<40"),
        ("reliability>high", "reliability: 'high' is not a number", "reliability>0.9"),
        ("reliability>nan", "reliability: 'nan' is not a number", "reliability>0.9"),
        ("cpus>inf", "cpus: 'inf' is not a number", "cpus>=8"),
        ("memory>much", "memory: 'much' is not a size", "memory>=32GB"),
        ("country=Mars", "country: 'MARS' is not a two-letter country code", "country=IN,DE"),
        ("country=,", "country: ',' names no country", "country=IN,DE"),
        ("verified=maybe", "verified: 'maybe' is neither true nor false", "verified=true"),
        ("isolation>=contaner", "is container meant?", "isolation>=container"),
        ("gpu=rtx-4090,price<30", "'<30' is not part of a filter", "Write it like"),
        ("gpu=!!", "is not part of a filter", "gpu=rtx-4090"),
        ("; drop table nodes", "is not part of a filter", "Write it like"),
        ("price<1 " * 21, "More than 20 parts", "less"),
        ("x" * 501, "longer than 500", "less"),
    ],
)
def test_wrong_filters_name_what_comes_nearest(text, message, hint):
    with pytest.raises(BadFilter) as caught:
        parse_filter(text)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.status == 422


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error_in_words(text):
    try:
        criteria = parse_filter(text)
    except BadFilter:
        return
    assert {criterion.field for criterion in criteria} <= set(FIELDS)
    assert [one.text for one in parse_filter(" ".join(one.text for one in criteria))] == [one.text for one in criteria]


def test_every_field_has_an_example_that_works():
    for name, field in FIELDS.items():
        assert [criterion.field for criterion in parse_filter(field.example)] == [name]


@pytest.mark.parametrize(
    ("order", "sorted_ids"),
    [
        ("", "4321"),
        ("price", "4321"),
        ("-price", "1234"),
        ("-cpus,-price", "4123"),
        ("-gpus", "2134"),
        ("memory,-price", "1342"),
    ],
)
def test_orders(market, order, sorted_ids):
    page = page_of(market, "", order, None, 100)
    assert [one.node_id for one in page.items] == [f"node_{number}" for number in sorted_ids]


def test_wrong_orders_are_errors():
    for order in ("prise", "gpu", "-country", "price,", "--price"):
        with pytest.raises(BadFilter):
            parse_order(order)


@given(st.integers(1, 5), st.sampled_from(["price", "-price", "-gpus,price", "-reliability"]))
def test_pages_show_everything_once(limit, order):
    market = offers_of(
        *(
            make_node(f"node_{n}", owner_id=STRANGER, country=("US", "IN", "DE")[n % 3], gpus=(gpu(0),) * (n % 2))
            for n in range(9)
        )
    )
    seen, cursor = [], None
    while True:
        page = page_of(market, "", order, cursor, limit)
        seen += [one.node_id for one in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == [one.node_id for one in page_of(market, "", order, None, 100).items]


def test_a_page_goes_on_where_it_was_though_its_last_offer_is_gone(market):
    first = page_of(market, "", "price", None, 2)
    rest = [one for one in market if one.node_id != first.items[-1].node_id]
    assert [one.node_id for one in page_of(rest, "", "price", first.next, 2).items] == ["node_2", "node_1"]


DEEP = base64.urlsafe_b64encode(b"[" * 14_000).decode()


@pytest.mark.parametrize("cursor", ["", "x", "bm90IGpzb24=", "W10=", "e30=", "WyJwcmljZSIsIHt9XQ==", DEEP])
def test_foreign_cursors_are_refused(market, cursor):
    with pytest.raises(Invalid):
        page_of(market, "", "price", cursor, 2)


def test_a_cursor_is_for_its_own_order(market):
    cursor = page_of(market, "", "price", None, 2).next
    with pytest.raises(Invalid):
        page_of(market, "", "-price", cursor, 2)


def test_what_is_not_for_strangers_is_no_offer():
    closed = [
        make_node("node_1", online=False),
        make_node("node_2", isolation=(IsolationLevel.PROCESS,)),
        make_node("node_3", rules=HouseRules(strangers=False)),
        make_node("node_4", rules=HouseRules(renters=("user_friend",))),
        make_node("node_5", outdated=True),
        make_node("node_6"),
        make_node("node_7", standing=Standing(0.4, 0.2, quarantined_until=datetime(2026, 1, 2, tzinfo=UTC))),
        make_node("node_8", rules=HouseRules(isolation=IsolationLevel.GVISOR)),
        make_node("node_9", isolation=(IsolationLevel.CONTAINER,), unsafe=frozenset({RUNC})),
    ]
    closed[5].availability = Availability(strangers=False)
    assert offers_of(*closed) == []


def test_an_offer_says_nothing_of_its_owner():
    (one,) = offers_of(make_node("node_1", owner_id=STRANGER))
    assert STRANGER not in one.model_dump_json()
    assert not {"owner_id", "name"} & set(Offer.model_fields)


def test_an_offer_names_the_strongest_isolation_that_strangers_get():
    both = (IsolationLevel.BUBBLEWRAP, IsolationLevel.CONTAINER)
    (one,) = offers_of(make_node("node_1", isolation=both, unsafe=frozenset({RUNC})))
    assert one.isolation == "bubblewrap"
    (one,) = offers_of(make_node("node_1", isolation=both, rules=HouseRules(isolation=IsolationLevel.CONTAINER)))
    assert one.isolation == "container"


def test_plain_parameters_are_the_same_filters_and_are_described(market):
    left = page_of(market, "", "", None, 50, parameters={"gpu": "rtx-4090", "max_price": "25", "min_vram": None})
    assert [offer.node_id for offer in left.items] == ["node_2"]
    assert left.to_drop == []
    with pytest.raises(BadFilter, match="max_price"):
        page_of(market, "", "", None, 50, parameters={"max_price": "cheap"})
    forms = describe_filters(market, priced=True)
    by_name = {field.name: field for field in forms.items}
    assert forms.offers == 4, "simulated ones are not counted"
    assert {one.value: one.offers for one in by_name["gpu"].values} == {"rtx-4090": 2, "rtx-3060": 1}
    assert {one.value: one.offers for one in by_name["country"].values} == {"US": 2, "IN": 1, "DE": 1}
    assert (by_name["gpus"].minimum, by_name["gpus"].maximum) == (0, 2)
    assert (by_name["price_per_tflops"].minimum, by_name["verified"].operators) == (None, ["=", "!="])
    assert {one.name for field in forms.items for one in field.parameters} == set(PARAMETERS)
    for field in forms.items:
        for value in field.values:
            for parameter in field.parameters:
                assert page_of(market, "", "", None, 50, parameters={parameter.name: value.value}).total >= 0
    assert not {"price", "price_per_tflops"} & {field.name for field in describe_filters(market, priced=False).items}


def test_where_nothing_fits_it_says_which_filter_to_drop(market):
    page = page_of(market, "gpu=rtx-4090 country=DE", "", None, 50, parameters={"max_price": "100"})
    assert page.total == 0
    dropped = [(one.filter, one.parameter, one.left_without, one.left_alone) for one in page.to_drop]
    assert dropped == [("country=DE", None, 2, 1), ("gpu=rtx-4090", None, 1, 2), ("price<=100", "max_price", 0, 4)]


def test_measured_nodes_are_ordered_by_price_for_speed(market):
    fast, slow = (
        offer.model_copy(update={"gflops": gflops, "price_per_tflops_micros": price_per_tflops(30 * CREDIT, gflops)})
        for offer, gflops in zip(market[:2], (60_000.0, 20_000.0), strict=True)
    )
    assert (fast.price_per_tflops_micros, slow.price_per_tflops_micros) == (500_000, 1_500_000)
    page = page_of([market[2], slow, fast], "", "price_per_tflops", None, 1)
    assert page.items == [fast]
    assert page_of([market[2], slow, fast], "", "price_per_tflops", page.next, 5).items == [slow, market[2]]
    assert page_of([market[2], slow, fast], "price_per_tflops<1", "", None, 5).items == [fast]
