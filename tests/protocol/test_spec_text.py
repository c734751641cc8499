"""Specs as text: what is read, what is refused and where, and what a reader of a valid spec is told."""

import pytest

from computepool.protocol.spec import parse_spec
from computepool.protocol.spec_review import defaults_of, warnings_of
from computepool.protocol.spec_text import (
    MAX_MERGED_KEYS,
    MAX_TEXT_VALUES,
    SpecTextError,
    TextPlace,
    read_json,
    read_yaml,
    write_yaml,
)


def test_yaml_is_read_with_the_place_of_every_field():
    text = read_yaml("base: &base {cpus: 2}\nrun: |\n  a\n  b\nresources:\n  <<: *base\n  gpu: 1\noutputs: [a, b]\n")
    assert text.value == {
        "base": {"cpus": 2},
        "run": "a\nb\n",
        "resources": {"gpu": 1, "cpus": 2},
        "outputs": ["a", "b"],
    }
    assert text.place_of("resources.gpu") == TextPlace(7, 3)
    assert text.place_of("outputs[1]") == TextPlace(8, 14)
    assert text.place_of("resources.cpus") == TextPlace(5, 1)  # copied from elsewhere: the place of what it is in
    assert text.place_of("slices") is None


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        ("a: [1", "did not find", TextPlace(2, 1)),
        ("a: 1\n\tb: 2", "", TextPlace(2, 1)),
        ("a: 1\na: 2", "there twice, first in line 1", TextPlace(2, 1)),
        ("a: &a [*a]", "refers to nothing", TextPlace(1, 8)),
        ("a: *nobody", "refers to nothing", TextPlace(1, 4)),
        ("a: !!python/object/apply:os.system [ls]", "the tag !!python/object/apply:os.system", TextPlace(1, 4)),
        ("a: !!binary aGk=", "the tag !!binary", TextPlace(1, 4)),
        ("a: !secret b", "the tag !secret", TextPlace(1, 4)),
        ("a: !!int x", "is not what it looks like", TextPlace(1, 4)),
        ("a: 2026-99-99", "is not what it looks like", TextPlace(1, 4)),
        ("? [a]\n: b", "a key has to be text", TextPlace(1, 3)),
        ("a: b\n---\nc: d", "a second document", TextPlace(2, 1)),
        ("a: " + "[" * 100 + "]" * 100, "nested deeper", TextPlace(1, 36)),
        ("a: 1" + ":00" * 300_000, "too long a number", TextPlace(1, 4)),
        ("a: &b x\nc: [" + "*b," * 20_000 + "]", "more than 20000 values", TextPlace(2, 59996)),
        ("<<: 3", "<< takes a mapping", TextPlace(1, 1)),
        ("a: \x00", "", None),
        ("a: [" + "1," * (MAX_TEXT_VALUES + 1) + "]", "more than", None),
        (
            "a: &a {" + "".join(f"k{i}: 1," for i in range(200)) + "}\n"
            + "".join(f"b{i}: {{<<: [*a, *a]}}\n" for i in range(MAX_MERGED_KEYS // 400 + 1)),
            "<< copies more than",
            None,
        ),
    ],
)  # fmt: skip
def test_text_that_is_no_spec_is_refused_at_its_place(text, said, place):
    with pytest.raises(SpecTextError) as caught:
        read_yaml(text)
    assert said in caught.value.message
    assert place in (None, caught.value.place)


def test_a_thousand_aliases_of_aliases_are_read_and_not_expanded():
    """A billion laughs: 9 levels of 9 references each. The values are shared, and the spec is refused by its size."""
    lines = ["a0: &a0 [x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    value = read_yaml("\n".join(lines)).value
    with pytest.raises(Exception, match=r"larger than|nested deeper"):
        parse_spec({"run": value})


def test_json_is_refused_with_the_place_of_its_mistake():
    with pytest.raises(SpecTextError) as caught:
        read_json('{"run": "x",\n "a" 1}')
    assert caught.value.place == TextPlace(2, 6)
    with pytest.raises(SpecTextError, match="there twice"):
        read_json('{"run": "x", "run": "y"}')
    with pytest.raises(SpecTextError):
        read_json("[" * 100_000)


def test_yaml_that_is_written_has_blocks_and_reads_as_the_same():
    wire = parse_spec({"run": "a\nb\n", "env": {"A": "yes", "B": "1", "C": "a \nb", "D": "é\u2028"}}).to_wire()
    text = write_yaml(wire)
    assert "run: |\n" in text
    assert read_yaml(text).value == wire


def test_review_of_a_spec_names_what_was_left_out_and_what_is_odd():
    written = {
        "commands": ["python train.py"],
        "resources": {"cpu": "2..8"},
        "preemptible": True,
        "image": "pytorch/pytorch",
        "env": {"HF_TOKEN": "x", "MONKEY": "y"},
        "slices": 3,
        "checkpoint": None,
    }
    spec = parse_spec(written)
    filled = {each.field: each.value for each in defaults_of(written, spec)}
    assert filled["resources.memory"] == "1GB.."
    assert filled["max_runtime"] == "1d"
    assert filled["where.trust"] == "any"
    assert not {"resources.cpus", "slices", "preemptible"} & filled.keys()
    found = {(each.code, each.field) for each in warnings_of(written, spec)}
    assert found == {
        ("other_systems_key", "commands"),
        ("other_systems_key", "resources.cpu"),
        ("range_gets_minimum", "resources.cpus"),
        ("image_may_change", "image"),
        ("nothing_kept", "outputs"),
        ("slices_alike", "slices"),
        ("preemptible_without_checkpoint", "checkpoint"),
        ("secret_in_env", "env.HF_TOKEN"),
    }


def test_careful_spec_has_no_warnings():
    written = {"run": "make", "image": "python:3.12-slim", "outputs": ["out/"], "where": {"trust": "mine"}}
    assert warnings_of(written, parse_spec(written)) == []
