"""How `node show` words what was measured of a machine."""

from types import SimpleNamespace
from typing import Any

import pytest

from computepool.cli.nodes import _benchmark


@pytest.mark.parametrize(
    ("gpus", "basis", "words"),
    [
        (["rtx-4090"], "card", "tier 3 (by its card)"),
        ([], "card", "tier 3 (the same for all CPUs)"),
        (["rtx-4090"], "measured", "tier 3 (measured)"),
    ],
)
def test_a_cpu_has_no_card(gpus, basis, words):
    measured = SimpleNamespace(mark="matches", words="as fast as it says", tier=3.0, tier_basis=basis)
    node: Any = SimpleNamespace(benchmark=measured, capacity=SimpleNamespace(gpus=gpus))
    assert _benchmark(node) == f"matches, {words}: as fast as it says"
