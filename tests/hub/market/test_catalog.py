"""What pickers offer: every value of every closed set has words, and templates are valid specs."""

from typing import get_args

from support.engine import BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent

from computepool.hub.jobs.spec_check import check_text
from computepool.hub.ledger.kinds import ENTRY_WORDS, EntryKind
from computepool.hub.market.card_memory import CARD_GIB
from computepool.hub.market.tiers import EXPECTED_GFLOPS
from computepool.protocol import state_words
from computepool.protocol.countries import COUNTRIES
from computepool.protocol.country_names import COUNTRY_NAMES
from computepool.protocol.receipt import EndReason
from computepool.protocol.spec_models import Optimize, Trust
from computepool.protocol.spec_templates import TEMPLATES
from computepool.protocol.states import AttemptState, IsolationLevel, JobState, NodeState, Verdict

CREDIT = 1_000_000


def test_everything_that_can_be_chosen_or_shown_has_words():
    for meanings, values in (
        (state_words.JOB_STATES, JobState),
        (state_words.ATTEMPT_STATES, AttemptState),
        (state_words.NODE_STATES, NodeState),
        (state_words.VERDICTS, Verdict),
        (state_words.ISOLATION, IsolationLevel),
        (state_words.TRUST, Trust),
        (state_words.OPTIMIZE, Optimize),
        (ENTRY_WORDS, get_args(EntryKind)),
        (COUNTRY_NAMES, COUNTRIES),
        (CARD_GIB, EXPECTED_GFLOPS),
    ):
        assert set(meanings) == set(values)
    assert set(state_words.REASONS) > set(EndReason)


def test_templates_are_valid_and_without_warnings_but_of_what_they_show():
    for template in TEMPLATES:
        found = check_text(template.yaml.encode(), "application/yaml", (), money=True)
        assert found.errors == [], template.name
        expected = {
            "training": {"workdir_is_local"},
            "verified": {"paid_for_each_replica"},
            "command": {"nothing_kept"},
        }
        assert {one.code for one in found.warnings} == expected.get(template.name, set()), template.name


def test_catalog_counts_what_is_online_and_knows_the_rest(sqlite_hub):
    async def story(pool):
        await add_agent(pool, owner=BOB, gpus=(gpu(0), gpu(1)), country="US", cpus=8)
        await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="IN")
        await add_agent(pool, owner=BOB, gpus=(gpu(0, "rtx-3060", 12),), simulated=True)
        found = (await pool.call("GET", "public/catalog", user=None)).json()
        first, second, *rest = found["gpus"]
        assert (first["name"], first["nodes_online"], first["gpus_free"]) == ("rtx-4090", 2, 3)
        assert (first["from_micros"], first["memory_bytes"], first["tier"]) == (21 * CREDIT, [24 * 2**30], 3.0)
        assert (second["name"], second["nodes_online"], second["nodes_simulated"]) == ("rtx-3060", 0, 1)
        assert second["from_micros"] is None
        assert len(rest) > 50
        assert {one["code"]: one["nodes_online"] for one in found["countries"] if one["nodes_online"]} == {
            "US": 1,
            "IN": 1,
        }
        assert [one["value"] for one in found["isolation"]] == ["process", "bubblewrap", "container", "gvisor"]
        assert found["limits"]["slices"] == 10_000
        assert found["images"][0]["nodes_cached"] == 0

    play(sqlite_hub, story)
