"""`run --dry-run`: plan, price, gates, warnings and the whole spec; and nothing is submitted."""

import json
from pathlib import Path

from support.fake_market import CREDIT, quote


def test_dry_run_shows_what_the_pool_would_make_of_it_and_submits_nothing(hub, cli):
    hub.market.quote = quote()
    Path("train.csv").write_text("1")
    Path("pool.yaml").write_text(
        "commands: [python train.py]\nimage: python\nslices: 3\ninputs: {train.csv: train.csv}\n"
    )
    result = cli("run", "pool.yaml", "--dry-run", "--set", "budget=200")
    assert result.code == 0, result.err
    assert not hub.jobs
    for words in (
        "1 slice × 1h at current prices: 30 credits",
        "Now: 1 node is free.",
        "image: python has no fixed version",
        "max_runtime: 1d: An attempt that runs longer is stopped",
        "  slices: 3",
        "  budget: '200'",
        "Not submitted: this was a dry run",
    ):
        assert words in result.text
    assert "3 slices" in result.err
    assert hub.market.asked[-1].get("inputs", {}) == {}, "files of this machine are not uploaded for a look"

    typed = json.loads(cli("run", "--dry-run", "--json", "--gpu", "24GB..", "--", "nvidia-smi").out)
    assert (typed["submitted"], typed["allowed"]) == (False, True)
    assert typed["check"]["command"] == "computepool run --gpu 24GB..:1 -- nvidia-smi"
    assert "slices" in [one["field"] for one in typed["check"]["defaults"]]
    assert typed["quote"]["price_micros"] == 30 * CREDIT


def test_dry_run_fails_where_a_file_to_send_is_not_there(hub, cli):
    hub.market.quote = quote()
    Path("task.yaml").write_text("type: task\ncommands: [cat data.txt]\nfiles: [data.txt]\n")
    result = cli("run", "task.yaml", "--dry-run")
    assert result.code == 1
    assert "Not submitted: there is no data.txt" in result.text
    Path("data.txt").write_text("1")
    assert cli("run", "task.yaml", "--dry-run").code == 0


def test_dry_run_of_what_cannot_be_submitted_says_why_and_fails(hub, cli):
    hub.market.quote = quote(
        cost=None,
        start=None,
        begin={"allowed": False, "code": "no_node", "reason": "None of the 2 nodes can ever run it."},
        summary="None of the 2 nodes can ever run it.",
        nodes_total=2,
        gates=[{"gate": "memory", "removed": 2, "detail": "less than 500GB of memory"}],
        suggestions=["memory: 500GB → 64GB would find a node"],
        actions={"submit": {"allowed": False, "reason": "60 of your slices wait."}},
    )
    result = cli("run", "--dry-run", "--memory", "500GB", "--", "true")
    assert result.code == 1
    assert result.text.count("None of the 2 nodes can ever run it.") == 1
    assert "2 of 2 nodes: less than 500GB of memory" in result.text
    assert "try: memory: 500GB → 64GB would find a node" in result.text
    assert "Not submitted: 60 of your slices wait." in result.text
