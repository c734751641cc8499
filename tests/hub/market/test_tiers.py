"""What a card is worth follows from what was measured of it."""

import pytest

from computepool.hub.market.tiers import EXPECTED_GFLOPS, TIER_MILLIS, Measured, judge, tier_of
from computepool.protocol.gpus import normalise_gpu_name

GIB = 1024**3
PLENTY = 200 * GIB


def fast(slug, share=0.5):
    return Measured(EXPECTED_GFLOPS[slug] * share, PLENTY)


def test_tiers_are_those_of_the_architecture():
    assert {slug: tier_of(slug, fast(slug)).millis for slug in TIER_MILLIS} == {
        "rtx-5090": 3000, "rtx-4090": 3000, "rtx-3090": 2500, "rtx-4070": 2500, "rtx-3080": 2000,
        "rtx-3060": 2000, "rtx-2070": 2000, "gtx-1080-ti": 1500, "gtx-1080": 1500, "gtx-1660": 1300,
    }  # fmt: skip
    assert tier_of(None, Measured(100, 0)).millis == 800


def test_names_in_the_tables_are_in_the_form_that_nodes_report():
    for name in EXPECTED_GFLOPS.keys() | TIER_MILLIS.keys():
        assert normalise_gpu_name(name) == name
    assert TIER_MILLIS.keys() <= EXPECTED_GFLOPS.keys()


@pytest.mark.parametrize("slug", sorted(EXPECTED_GFLOPS))
@pytest.mark.parametrize("share", [0.25, 0.45, 0.8, 1.0])
def test_honest_card_matches_warm_or_cold(slug, share):
    assert judge(slug, 24 * GIB, fast(slug, share)).mark == "matches"


@pytest.mark.parametrize(
    ("said", "really"),
    [("rtx-4090", "rtx-3060"), ("rtx-4090", "gtx-1080"), ("rtx-3090", "gtx-1660"), ("h100", "rtx-2070")],
)
def test_small_card_under_a_big_name_is_too_slow_and_paid_for_what_it_does(said, really):
    found = judge(said, 24 * GIB, fast(really))
    assert found.mark == "too_slow"
    assert found.tier.basis == "measured"
    assert found.tier.millis < tier_of("rtx-4090", fast("rtx-4090")).millis


def test_big_card_under_a_small_name_is_too_fast_and_worth_its_name():
    found = judge("gtx-1660", 6 * GIB, fast("rtx-4090", 0.7))
    assert (found.mark, found.tier.millis) == ("too_fast", 1300)


def test_variant_of_a_known_card_is_found_and_a_cousin_is_not():
    assert judge("a100-sxm4", 80 * GIB, Measured(10_000, 70 * GIB)).words.endswith("as a100-sxm4 should")
    assert tier_of("rtx-3060-ti", fast("rtx-3060-ti")).basis == "measured"


def test_unknown_card_is_worth_its_speed():
    tiers = [tier_of("card-of-tomorrow", Measured(gflops, 0)).millis for gflops in (100, 3000, 4000, 8000, 20_000, 9e4)]
    assert tiers == sorted(tiers)
    assert len(set(tiers)) == len(tiers)


def test_name_alone_is_a_claim():
    assert tier_of("rtx-4090", None).basis == "claimed"
    assert tier_of("card-of-tomorrow", None).millis == 1000


@pytest.mark.parametrize(
    ("claimed", "filled", "asked_all", "mark"),
    [
        (24, 22.5, True, "matches"),
        (24, 18, True, "matches"),  # a screen and a browser are open
        (24, 7.5, True, "failed"),
        (24, 7.5, False, "matches"),  # no more was asked for
        (8, 7, True, "matches"),
    ],
)
def test_memory_counts_as_far_as_it_was_filled(claimed, filled, asked_all, mark):
    measured = Measured(EXPECTED_GFLOPS["rtx-3090"] / 2, int(filled * GIB), asked_all)
    assert judge("rtx-3090", claimed * GIB, measured).mark == mark
