"""The market on the command line: offers, earnings, a node's price, the plan's price, the operator's tables."""

import json

import pytest
from support.fake_api import node
from support.fake_market import CREDIT, earned, earnings, offer, quote

# ── offers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_offers_pass_the_filter_on_and_show_a_table(cli, hub):
    hub.market.offers = [offer(1), offer(2, gpus=["rtx-3060", "rtx-3060"], price_micros=14_300_000)]
    result = cli("offers", "gpu=rtx-4090", "reliability>0.9", "price<40", "-o", "-reliability,price")
    assert result.code == 0
    assert hub.market.asked[0]["filter"] == "gpu=rtx-4090 reliability>0.9 price<40"
    assert hub.market.asked[0]["order"] == "-reliability,price"
    assert "21 /gpu-h" in result.text
    assert "2× rtx-3060" in result.text
    assert offer(2)["node_id"] in result.text


def test_offers_as_json_are_one_document(cli, hub):
    hub.market.offers = [offer(number) for number in range(5)]
    found = json.loads(cli("offers", "--json", "--limit", "3").out)
    assert [one["node_id"] for one in found["items"]] == [offer(number)["node_id"] for number in range(3)]
    assert found["next"] == "3"
    assert cli("offers", "--limit", "3").err.startswith("3 of 5")


def test_nothing_for_rent_is_said_and_what_only_pretends_too(cli, hub):
    hub.market.simulated = 20
    result = cli("offers", "gpu=h100")
    assert result.code == 0
    assert "Nothing for rent matches the filter." in result.err
    assert "20 simulated offers are hidden. Show them: computepool offers simulated=true" in result.err


def test_a_wrong_filter_is_told_with_what_is_meant(cli, hub):
    hub.market.refusal = {
        "code": "bad_filter",
        "message": "There is no filter 'prize'.",
        "hint": "Is price meant, such as price<40?",
    }
    result = cli("offers", "prize<40")
    assert result.code != 0
    assert "There is no filter 'prize'." in result.err
    assert "Is price meant" in result.err


# ── earnings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_earnings_promise_nothing_without_data(cli, hub):
    result = cli("earnings", "--gpu", "rtx-4090", "--country", "IN")
    assert result.code == 0
    assert hub.market.asked[0] == {"gpu": "rtx-4090", "country": "IN"}
    assert "no data yet" in result.text
    assert "no data: nobody can say" in result.text
    assert "23.1 credits now, fee included (tier 3 × IN 0.7 × spot 1.1)" in result.text
    assert "not counted: give --tariff" in result.text


def test_earnings_with_everything_known(cli, hub):
    hub.market.earnings = [
        earnings(
            utilisation=0.5,
            utilisation_basis="measured",
            tariff_micros=8 * CREDIT,
            per_day=earned(277_200_000, 43_200_000),
            per_month=earned(8_316_000_000, 1_296_000_000),
            full_day=earned(554_400_000, 86_400_000),
        )
    ]
    result = cli("earnings", "--gpu", "rtx-4090", "--tariff", "8", "--power-watts", "450", "--utilisation", "0.5")
    assert "50% (measured here)" in result.text
    assert "178.56 credits (277.2 − 55.44 fee − 43.2 power)" in result.text
    assert hub.market.asked[0]["utilisation"] == "0.5"


def test_earnings_of_every_card(cli, hub):
    hub.market.earnings = [earnings(), earnings(gpu="gtx-1660", price_micros=9_100_000)]
    result = cli("earnings")
    assert "gtx-1660" in result.text
    assert "20 %" in result.err
    assert len(json.loads(cli("earnings", "--json").out)["items"]) == 2


# ── a node's price ───────────────────────────────────────────────────────────────────────────────────────────────────

ASK = {
    "gpu_micros": 30 * CREDIT,
    "core_micros": 1 * CREDIT,
    "suggested_gpu_micros": 30 * CREDIT,
    "suggested_core_micros": 1 * CREDIT,
    "tier": 3.0,
    "region": "US",
    "spot": 1.0,
}


def test_node_price_is_shown_set_and_cleared(cli, hub):
    hub.nodes = [{**node(), "ask": ASK, "price": None}]
    shown = cli("node", "price", "alpha")
    assert shown.text.strip() == ("30 credits a GPU-hour, 1 a core-hour without a GPU (as the pool suggests)")
    cli("node", "price", "alpha", "--floor", "25.5")
    assert hub.nodes[0]["price"] == {"floor_micros": 25_500_000}
    fixed = cli("node", "price", "alpha", "--fixed", "0", "--per", "core", "--json")
    assert json.loads(fixed.out)["price"] == {"fixed_micros": 0, "per": "core"}
    assert "fixed at 0 a core-hour" in cli("node", "show", "alpha").text
    cli("node", "price", "alpha", "--clear")
    assert hub.nodes[0]["price"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--floor", "1", "--fixed", "2"), "one of them"),
        (("--floor", "1", "--clear"), "one of them"),
        (("--floor", "-1"), "--floor: '-1'"),
        (("--fixed", "lots"), "--fixed: 'lots' is not an amount of credits"),
        (("--fixed", "99999999999"), "is more than"),
        (("--floor", "0.0000001"), "finer than a millionth"),
        (("--per", "gpu"), "--per goes with"),
    ],
)
def test_senseless_prices_are_refused_before_anything_is_sent(cli, hub, words, said):
    result = cli("node", "price", "alpha", *words)
    assert result.code == 2
    assert said in result.err
    assert "price" not in hub.nodes[0]


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_plan_shows_the_price_now_and_the_most(cli, hub):
    hub.nodes, hub.nodes_online, hub.market.quote = [], 3, quote(slices=4, at_most_micros=152 * CREDIT)
    result = cli("run", "-y", "--slices", "4", "--max-price", "38", "--", "true")
    assert "30 credits/h now, at most 38; at most 152 in all" in result.err
    assert hub.market.asked[0]["max_price"] in (38, "38")


def test_plan_says_that_a_budget_is_too_small_to_begin(cli, hub, tmp_path):
    hub.nodes, hub.nodes_online = [], 3
    spec = tmp_path / "job.yaml"
    spec.write_text("run: 'true'\nbudget: 601\nmax_runtime: 2m\n")
    hub.market.quote = quote(price_micros=36_000 * CREDIT, begin_micros=1200 * CREDIT, at_most_micros=601 * CREDIT)
    said = "The budget of 601 is too small to begin at the current price: 1,200 must be reserved."
    said += " Raise `budget`, or set `max_runtime` to 1m or less."
    assert said in " ".join(cli("run", "-y", str(spec)).err.split())
    hub.market.quote = quote(price_micros=36_000 * CREDIT, begin_micros=601 * CREDIT, at_most_micros=601 * CREDIT)
    assert "too small" not in cli("run", "-y", str(spec)).err


def test_plan_says_what_is_free(cli, hub):
    hub.nodes_online, hub.market.quote = 3, quote(own=True, price_micros=0)
    assert "free: your own node (others': 30 credits/h, at most 38)" in cli("run", "-y", "--", "true").err
    assert "free: your own nodes" in cli("run", "-y", "--mine", "--", "true").err


def test_plan_says_that_no_node_would_do(cli, hub):
    hub.nodes_online, hub.market.quote = 3, quote(price_micros=None, elsewhere_micros=None, ceiling_micros=75 * CREDIT)
    assert "no node can run it now (at most 75 credits/h)" in cli("run", "-y", "--", "true").err


def test_a_hub_that_cannot_quote_is_no_trouble(cli, hub):
    hub.nodes_online = 3
    result = cli("run", "-y", "--", "true")
    assert result.code == 0
    assert "free on your own nodes" in result.err


# ── the operator's tables ────────────────────────────────────────────────────────────────────────────────────────────


def test_tiers_are_changed_one_by_one(cli, hub):
    result = cli("admin", "settings", "tiers", "set", "rtx-4090=3.2", "cpu=0.9", "gtx-1660=")
    assert result.code == 0
    assert hub.market.asked == [{"value": {"cards": {"rtx-4090": 3200}, "cpu_millis": 900}, "version": 0}]
    shown = cli("admin", "settings", "tiers", "show")
    assert "3.2" in shown.text
    assert "Version 1, by user_ada" in shown.err
    for wrong in ("rtx-4090", "=3", "rtx-4090=3.0001", "rtx-4090=much", "nothing="):
        assert cli("admin", "settings", "tiers", "set", wrong).code == 2


def test_rates_are_changed_one_by_one(cli, hub):
    assert cli("admin", "settings", "rates", "set", "--base", "12.5", "--spot-most", "1.5").code == 0
    assert cli("admin", "settings", "rates", "set", "--preemptible", "60").code == 0
    assert hub.market.tables["rates"] == {
        "base_micros": 12_500_000,
        "spot_least_millis": 500,
        "spot_most_millis": 1500,
        "preemptible_percent": 60,
    }
    assert cli("admin", "settings", "rates", "set").code == 2
    assert cli("admin", "settings", "rates", "set", "--preemptible", "0").code == 2
    assert cli("admin", "settings", "rates", "set", "--base", "-1").code == 2
    shown = cli("admin", "settings", "rates", "show").text
    assert "from 0.5 to 1.5" in shown
    assert "60 % of a price" in shown


def test_regions_are_shown_with_what_is_in_none(cli, hub):
    hub.market.notices = ["2 nodes in BR, which is in no region: the factor 1.0 is used"]
    result = cli("admin", "settings", "regions", "show")
    assert "0.7" in result.text
    assert "nobody changed it yet" in result.err
    assert "2 nodes in BR" in result.err
    assert json.loads(cli("admin", "settings", "regions", "show", "--json").out)["name"] == "regions"


def test_regions_are_imported_from_a_file(cli, hub, tmp_path):
    file = tmp_path / "ppp.csv"
    file.write_text("\ufeffcountry,factor\nDE,0.9\n", encoding="utf-8")
    assert cli("admin", "settings", "regions", "import", str(file), "--replace").code == 0
    assert hub.market.asked == [{"csv": "country,factor\nDE,0.9\n", "replace": True}]
    hub.market.refusal = {"code": "bad_market_table", "message": "line 2: 'UK' is not a country."}
    refused = cli("admin", "settings", "regions", "import", str(file))
    assert refused.code != 0
    assert "line 2" in refused.err
    assert cli("admin", "settings", "regions", "import", "nowhere.csv").code == 2
