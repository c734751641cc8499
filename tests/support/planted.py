"""Bugs put in on purpose: each check must hold as things are, and fail with each of its bugs, or it proves nothing.

A file has `MUTANTS`, by check the functions that plant a bug through a monkeypatch; `@each_check(MUTANTS)` and
`@each_mutant(MUTANTS)` make a test of each.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

Check = Callable[..., Any]
Mutant = Callable[[pytest.MonkeyPatch], None]


def each_check(mutants: Mapping[Check, Sequence[Mutant]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("check", list(mutants), ids=lambda check: check.__name__)


def each_mutant(mutants: Mapping[Check, Sequence[Mutant]]) -> pytest.MarkDecorator:
    pairs = [(check, mutant) for check, planted in mutants.items() for mutant in planted]
    return pytest.mark.parametrize(("check", "mutant"), pairs, ids=lambda each: each.__name__)
