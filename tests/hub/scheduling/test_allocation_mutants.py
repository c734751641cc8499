"""Bugs put into the shelves on purpose: the stories must find them, or they prove nothing."""

from typing import Any

import pytest
from support.allocation import Story

from computepool.hub.scheduling import blocks, catalogue, fleet, scoring, search, shelves, views
from computepool.hub.scheduling.facets import Facet
from computepool.hub.scheduling.fleet_node import FleetNode

STORIES = 60


def tell(steps: int = 40) -> None:
    for seed in range(STORIES):
        Story(seed).run(steps)


def nobody_tells_of_changes(patch):
    real = fleet.Fleet.put

    def put(self, node):
        real(self, node)
        self.catch_up()
        node.changed = None

    patch.setattr(fleet.Fleet, "put", put)


def room_is_not_told(patch):
    real = FleetNode.mark
    patch.setattr(FleetNode, "mark", lambda self: None if getattr(self, "attempts", None) else real(self))


def buckets_promise_too_much(patch):
    """What a bucket says is believed, and nobody looks closely."""
    patch.setattr(fleet, "has_room", lambda node, needs: True)
    patch.setattr(fleet.Fleet, "_judge", lambda *_: search.Judge(lambda node: True, lambda node: True))


def buckets_promise_too_little(patch):
    real = catalogue.memory_step
    patch.setattr(catalogue, "memory_step", lambda size_bytes: real(size_bytes) + size_bytes % 7 % 2)


def answers_grow_old(patch):
    real = Facet.accepting

    def accepting(self, question, accepts):
        answer = self._answers.get(question)
        return answer.mask if answer is not None and answer.version >= 0 else real(self, question, accepts)

    patch.setattr(Facet, "accepting", accepting)


def ceiling_is_taken_for_a_floor(patch):
    patch.setattr(catalogue, "unit_ceiling", lambda needs, micros, percent: micros // 4)


def who_leaves_stays_in_front(patch):
    patch.setattr(shelves.Shelves, "_put_first", lambda *_: None)


def second_of_a_shelf_is_never_seen(patch):
    patch.setattr(shelves.Shelves, "in_order", shelves.Shelves._heads_of)


def best_is_the_dearest(patch):
    real = scoring.cold_score

    def upside_down(*args, **kwargs):
        score, speed = real(*args, **kwargs)
        return -score, speed

    patch.setattr(shelves, "cold_score", upside_down)


def rare_things_are_overlooked(patch):
    patch.setattr(shelves.Shelves, "holding", lambda *_: iter(()))


def who_has_a_rare_thing_is_known_for_ever(patch):
    patch.setattr(shelves.Shelves, "_forget_who_has", lambda *_: None)


def who_moves_is_still_looked_for_where_it_was(patch):
    patch.setattr(blocks.Heads, "replace", lambda *_: None)


def who_is_in_front_of_no_shelf_stays_in_the_order(patch):
    """It moved, and somebody on its new shelf is better."""
    real = shelves.Shelves._move

    def move(self, spot, key):
        shelf = real(self, spot, key)
        self._moving.clear()
        return shelf

    patch.setattr(shelves.Shelves, "_move", move)


def owner_is_a_stranger_at_home(patch):
    patch.setattr(fleet, "FEW_OWN", 0)
    patch.setattr(fleet, "now_for_owner", views.now_for_strangers)


def owners_screen_is_ignored(patch):
    def careless(node):
        return views.now_for_owner(node)

    patch.setattr(fleet, "now_for_strangers", careless)
    patch.setattr(fleet, "has_room", lambda node, needs: node.free.cpu_millis >= needs.cpu_millis)
    patch.setattr(fleet, "left_to", lambda needs, node: True)


def reliability_is_forgotten(patch):
    patch.setattr(shelves, "cold_score", lambda node, optimize, *, gpu, own: (1.0, 1.0))


def new_tags_are_not_told_apart(patch):
    patch.setattr(fleet.Fleet, "_tell_apart_by", lambda self, tag: self._asked_tags.known.add(tag))


MUTANTS: list[Any] = [
    nobody_tells_of_changes,
    room_is_not_told,
    buckets_promise_too_much,
    buckets_promise_too_little,
    answers_grow_old,
    ceiling_is_taken_for_a_floor,
    who_leaves_stays_in_front,
    second_of_a_shelf_is_never_seen,
    best_is_the_dearest,
    rare_things_are_overlooked,
    who_has_a_rare_thing_is_known_for_ever,
    who_moves_is_still_looked_for_where_it_was,
    who_is_in_front_of_no_shelf_stays_in_the_order,
    owner_is_a_stranger_at_home,
    owners_screen_is_ignored,
    reliability_is_forgotten,
    new_tags_are_not_told_apart,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutant_is_found(monkeypatch, mutant):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, ValueError, IndexError, KeyError, TypeError)):
        tell()
