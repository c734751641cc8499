"""How failures are worded on the command line."""

import pytest

from computepool.cli.display import in_credits
from computepool.cli.errors import hint_line, report
from computepool.client.errors import HubError, WrongField
from computepool.protocol.units import BadValueError, parse_credits
from computepool.protocol.units import in_credits as with_unit


@pytest.mark.parametrize(
    ("hint", "line"),
    [
        ("write it like 40 or 0.25", "Write it like 40 or 0.25"),
        ("did you mean 16GB? write it like 16GB", "Did you mean 16GB? Write it like 16GB"),
        ("computepool ps -a lists them.", "computepool ps -a lists them."),
        ("`sudo usermod -aG docker $USER`, then sign in again", "`sudo usermod -aG docker $USER`, then sign in again"),
        ("Such as 10.", "Such as 10."),
    ],
)
def test_a_hint_is_a_line_of_its_own(hint, line):
    assert hint_line(hint) == line


@pytest.mark.parametrize(
    ("micros", "words"),
    [
        (1_000_000, "1 credit"),
        (-1_000_000, "-1 credit"),
        (0, "0 credits"),
        (1_500_000, "1.5 credits"),
        (999_999_999, "1,000 credits"),
    ],
)
def test_one_credit_is_singular_and_everything_else_is_not(micros, words):
    assert in_credits(micros) == words


def test_an_amount_may_say_what_sort_it_is():
    assert [with_unit(one, "promotional") for one in ("1", "2")] == ["1 promotional credit", "2 promotional credits"]


def test_a_wrong_amount_makes_sentences():
    with pytest.raises(BadValueError) as caught:
        parse_credits("-5")
    assert caught.value.sentence == "'-5' is below zero."
    assert caught.value.hint_sentence == "Write it like 40 or 0.25."


def test_a_value_of_spaces_is_not_shown(capfd):
    fields = [WrongField(field="note", message="is empty", value="   ")]
    assert report(HubError("The request does not fit.", code="invalid", status=422, fields=fields)) == 2
    assert capfd.readouterr().err == "error: The request does not fit.\n  note: is empty\n"


@pytest.mark.parametrize(
    "words",
    [
        ("admin", "grant", "rita@example.org", "1", "--note", "bad \udcff byte"),
        ("admin", "users", "--search", "bad \udcff byte"),
    ],
)
def test_an_argument_that_cannot_be_sent_because_it_is_not_utf8_is_named(cli, hub, words):
    result = cli(*words)
    assert result.code == 2
    assert result.err.startswith("error: bad \\xff byte is not text in UTF-8.\n  Type it again"), result.err


@pytest.mark.parametrize("words", [("show",), ("run", "--name", "x", "--", "echo"), ("run", "-o"), ()])
def test_an_argument_that_is_not_utf8_is_nowhere_a_fault_of_ours(cli, hub, words):
    result = cli(*words, "bad \udcff byte")
    assert result.code != 0
    assert "fault of computepool" not in result.err
