"""What an exit code means."""

import signal

import pytest

from computepool.protocol.exit_words import _SIGNALS, exit_sentence, exit_words


def test_codes_of_shells_and_signals_are_told_in_words():
    assert "not found" in exit_words(127)
    assert exit_sentence(139) == (
        "The command ended with exit code 139 (SIGSEGV, it used memory that is not its own: a bug in native code, or"
        " libraries that do not fit together)."
    )
    assert "memory" in exit_words(137)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 85, 128, 255, 400, -1])
def test_what_only_the_program_knows_is_not_guessed(code):
    assert exit_words(code) == ""


def test_signals_have_their_own_names():
    assert {number: signal.Signals(number).name for number in _SIGNALS} == {
        n: name for n, (name, _) in _SIGNALS.items()
    }
