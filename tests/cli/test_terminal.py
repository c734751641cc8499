"""A terminal is shown what a job printed, and obeys none of it."""

import io
import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.emulators import Emulator
from support.fake_api import TOKEN, FakeHub, FakeJob
from support.planted import each_check, each_mutant
from support.proofs import figure
from support.terminals import Terminal

from computepool.cli import terminal as filtering
from computepool.cli.logs import LogSink
from computepool.cli.terminal import REWRITE, LinePrefixer, TerminalFilter
from computepool.client.logs import LogChunk

PASSES = [
    (b"plain\n", "plain\n"),
    (b"tab\tstays\n", "tab\tstays\n"),
    ("grüße — 中文 🎉 👩\u200d🚀\n".encode(), "grüße — 中文 🎉 👩\u200d🚀\n"),
    (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    (b"\x1b[1;38;5;208mx\x1b[m", "\x1b[1;38;5;208mx\x1b[0m"),
    (b"\x1b[31mred\nstill\x1b[0m", "\x1b[31mred\x1b[0m\n\x1b[31mstill\x1b[0m"),
    (b"\xc2\x9b32mgreen", "\x1b[32mgreen"),
    (b"dos\r\n", "dos\n"),
    (b"10%\r20%\r\n", f"10%{REWRITE}20%\n"),
    (b"10%\r\x1b[K20%", f"10%{REWRITE}20%"),
    (b"100%\r\x1b[0m\n", "100%\x1b[0m\n"),
    (b"\rnothing to rewrite", "nothing to rewrite"),
    (b"done\n\rnothing to rewrite", "done\nnothing to rewrite"),
]
TAKEN_OUT = [
    (b"\x1b]0;title\x07after", "after"),
    (b"\x1b]0;title\x1b\\after", "after"),
    (b"\x1b]52;c;ZXZpbA==\x07", ""),
    (b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
    (b"\x1bP$qm\x1b\\x", "x"),
    (b"\x1b_apc\x1b\\x", "x"),
    (b"\x1b^pm\x1b\\x", "x"),
    (b"\x1bXsos\x1b\\x", "x"),
    (b"\x1b[6n", ""),
    (b"\x1b[21t", ""),
    (b"\x1b[?1049h", ""),
    (b"\x1b[?25l", ""),
    (b"\x1b[c", ""),
    (b"\x1b[5i", ""),
    (b"\x1b[>4;2m", ""),
    (b"\x1b[31$m", ""),
    (b"\x1b[" + b"1;" * 100 + b"mx", "x"),
    (b"\x1bcreset", "reset"),
    (b"\x1bMup", "up"),
    (b"\x1bZ", ""),
    (b"\x1b(0", ""),
    (b"\x1b#8", ""),
    (b"\x1b[2K\x1b[1Gprogress 10%", "progress 10%"),
    (b"\x1b[3A\x1b[10;20H\x1b[J", ""),
    (b"\x1b[8mhidden\x1b[28m", "hidden\x1b[28m"),
    (b"\x1b[1;08;31mx\x1b[8:0mx\x1b[38;8mx", "\x1b[1;31mx" + "x" + "\x1b[38mx"),
    (b"\x1b[31mx\x1b[8;my", "\x1b[31mx\x1b[0my"),
    (b"\x1b[38;5;8;8mx", "\x1b[38;5;8mx"),
    (b"\x1b[38;2;8;8mx", "\x1b[38;2mx"),
    (b"a\x08b\x0bc\x0cd", "abcd"),
    (b"\xc2\x9d0;title\x07x", "x"),
    (b"\xc2\x9b6nx", "x"),
    (b"\xc2\x8dx\xc2\x85y", "xy"),
    (b"\x9b2Kx", "\ufffd2Kx"),
    (b"\x05\x00\x0e\x7f", ""),
    (b"\x1b]never ending", ""),
    (b"\x1b]ends with its line\nx", "\nx"),
    (b"\x1b\x1b]0;x\x07y", "y"),
    (b"\x1b[3\x1b[31mx", "\x1b[31mx"),
    ("\u202eback\u202c \u2066in\u2069 \u200ba\ufeffb\u00adc\u2028d\U000e0041".encode(), "back in abcd"),
]
CASES = [*PASSES, *TAKEN_OUT]

HARMLESS = re.compile(
    r"(?:[^\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
    r"|[\t\n]|\x1b\[[0-9;:]{0,48}m|\r\x1b\[K)*"
)
PIECES = st.sampled_from(
    [
        *(data for data, _ in CASES),
        *(b"\x1b", b"[", b"]", b"\xc2", b"\x9b", b"\\", b"a", b"m", b"1", b"0;", b"\r", b"\n", b"\x1b[1A", b"\x1b[2K"),
    ]
)
OUTPUTS = st.lists(st.one_of(PIECES, st.binary(max_size=8)), max_size=30).map(b"".join)


def filtered(*chunks: bytes) -> str:
    one = TerminalFilter()
    return "".join([*(one.feed(chunk) for chunk in chunks), one.finish()])


@pytest.mark.parametrize(("data", "expected"), CASES)
def test_text_and_colours_pass_and_what_a_terminal_would_obey_does_not(data, expected):
    assert filtered(data) == expected
    assert filtered(*(bytes([byte]) for byte in data)) == expected


def test_endless_sequence_holds_no_memory():
    one = TerminalFilter()
    for _ in range(1000):
        one.feed(b"1;" * 1000 if _ else b"\x1b[")
    assert len(one._sequence) < 1000
    for _ in range(1000):
        one.feed(b"m\x1b[1m\x1b[4m")
    assert len(one.style) < 1000


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=figure(150, 20_000), deadline=None, report_multiple_bugs=False)
@given(OUTPUTS, st.lists(st.integers(0, 200), max_size=5))
@example(b"10%\r20%\n\x1b[31mred\nred\x1b[0m \xe2\x80\xae", [1, 4, 5, 9, 20])
def any_cut_gives_the_same(data, cuts):
    places = sorted(min(cut, len(data)) for cut in cuts)
    chunks = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    assert filtered(*chunks) == filtered(data)


@settings(max_examples=figure(150, 20_000), deadline=None, report_multiple_bugs=False)
@given(OUTPUTS)
@example(b"\x1b[1A\x1b[2K\x1b]0;t\x07\xc2\x9b1A\xc2\x84\x0b\r\n\xe2\x80\xaex")
def only_harmless_sequences_come_out(data):
    assert HARMLESS.fullmatch(filtered(data))


BEFORE, AFTER = "› the command that was really run", "✗ failed (exit code 1) on alpha"


def screen_of(chunks: list[bytes], *, several: bool = False) -> tuple[Emulator, list[str]]:
    """What a person sees of a line of the CLI's, a log, and another line of the CLI's."""
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    shown.isatty = lambda: True  # type: ignore[method-assign]
    screen = Emulator()
    screen.feed(BEFORE + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", shown)
        sink = LogSink(several=several)
        for number, chunk in enumerate(chunks):
            sink.write(LogChunk(number % 2 if several else 0, 1, 0, chunk))
        sink.finish()
        buffer = shown.buffer
        assert isinstance(buffer, io.BytesIO)
        written = buffer.getvalue().decode()
    screen.feed(written)
    assert not screen.styled, "what the CLI says next has its own colours"
    screen.feed(AFTER + "\n")
    return screen, screen.lines


@settings(max_examples=figure(100, 20_000), deadline=None, report_multiple_bugs=False)
@given(st.lists(OUTPUTS, max_size=4))
@example([b"\x1b[1A\x1b[2K\xe2\x80\xba another command\x1b[B"])
@example([b"\x1b[8mhidden", b" to the end"])
@example([b"half a line, then\r"])
@example([b"\x1b[31m", b"x"])
@example([b"\x1b[32mgreen\r\xc2"])
def lines_of_the_cli_stay_as_they_are(chunks):
    _, lines = screen_of(chunks)
    assert lines[0] == BEFORE
    assert lines[-2:] == [AFTER, ""]


@settings(max_examples=figure(100, 20_000), deadline=None, report_multiple_bugs=False)
@given(st.lists(OUTPUTS.filter(lambda data: len(data) < 100), max_size=4))
@example([b"first\r[1] forged\n", b"second\n"])
@example([b"\x1b]swallows", b"second\n"])
@example([b"\x1b[8mhidden\n", b"second\n"])
def no_slice_writes_a_line_of_another(chunks):
    _, lines = screen_of(chunks, several=True)
    assert lines[0] == BEFORE
    assert lines[-2:] == [AFTER, ""]
    for slice in (0, 1):
        alone = [b"" if number % 2 != slice else chunk for number, chunk in enumerate(chunks)]
        own = [line for line in lines[1:-2] if line.startswith(f"[{slice}]")]
        assert own == [line for line in screen_of(alone, several=True)[1][1:-2] if line.startswith(f"[{slice}]")]


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def a_sequence_is_forgotten_between_chunks(monkeypatch):
    genuine = TerminalFilter.feed

    def feed(self: TerminalFilter, data: bytes) -> str:
        self._state = filtering._State.TEXT
        return genuine(self, data)

    monkeypatch.setattr(TerminalFilter, "feed", feed)


def a_return_is_taken_at_once(monkeypatch):
    genuine = TerminalFilter.feed

    def feed(self: TerminalFilter, data: bytes) -> str:
        text = genuine(self, data)
        self._returned = False
        return text

    monkeypatch.setattr(TerminalFilter, "feed", feed)


def directions_pass(monkeypatch):
    monkeypatch.setattr(filtering, "_SPECIAL", re.compile("[\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"))


def controls_of_eight_bits_pass(monkeypatch):
    monkeypatch.setattr(filtering, "_SPECIAL", re.compile("[\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"))


def everything_passes(monkeypatch):
    monkeypatch.setattr(TerminalFilter, "feed", lambda self, data: data.decode(errors="replace"))


def colours_stay_on(monkeypatch):
    monkeypatch.setattr(TerminalFilter, "style", "")


def lines_are_not_ended(monkeypatch):
    monkeypatch.setattr(LogSink, "end_line", lambda self: None)


def returns_pass_behind_a_prefix(monkeypatch):
    genuine = LinePrefixer.__init__
    monkeypatch.setattr(LinePrefixer, "__init__", lambda self, *, filtered: genuine(self, filtered=False))


def slices_share_a_filter(monkeypatch):
    class OneForAll(dict[int, TerminalFilter]):
        def setdefault(self, key: int, default: TerminalFilter) -> TerminalFilter:
            return super().setdefault(0, default)

    genuine = LogSink.__init__

    def init(self: LogSink, *, several: bool, raw: bool = False) -> None:
        genuine(self, several=several, raw=raw)
        self._filters = OneForAll()

    monkeypatch.setattr(LogSink, "__init__", init)


Check = Callable[[], None]
MUTANTS: dict[Check, list[Callable[[pytest.MonkeyPatch], None]]] = {
    any_cut_gives_the_same: [a_sequence_is_forgotten_between_chunks, a_return_is_taken_at_once],
    only_harmless_sequences_come_out: [directions_pass, controls_of_eight_bits_pass],
    lines_of_the_cli_stay_as_they_are: [everything_passes, colours_stay_on, lines_are_not_ended],
    no_slice_writes_a_line_of_another: [returns_pass_behind_a_prefix, slices_share_a_filter],
}


@each_check(MUTANTS)
@pytest.mark.proof
def test_terminal_filter_holds(check):
    check()


@each_mutant(MUTANTS)
def test_planted_bug_in_the_terminal_filter_is_found(check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check()


# ── lines of slices ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_lines_of_slices_are_not_mixed():
    prefixer = LinePrefixer()
    out = prefixer.feed(0, b"he") + prefixer.feed(1, b"x\ny") + prefixer.feed(0, b"llo\n") + prefixer.flush()
    assert out == b"[1] x\n[0] hello\n[1] y\n"


def test_endless_line_is_not_held():
    prefixer = LinePrefixer()
    assert prefixer.feed(0, b"x" * 100_000) != b""
    assert prefixer.feed(0, b"x" * 10) == b""


# ── on a real terminal ───────────────────────────────────────────────────────────────────────────────────────────────

FORGING = (
    b"begun\n"
    b"\x1b[5A\r\x1b[2K\xe2\x80\xba some other command\x1b[5B"  # over the CLI's first line
    b"\xc2\x9b3A\xc2\x9b2Kforged\xc2\x9b3B"
    b"\x1b]0;title\x07\xe2\x80\xaeright to left\xe2\x80\xac\n"
    b"\x1b[32mgreen\x1b[0m 10%\r20%\r\n"
    b"\x1b[31m\xe2\x9c\x93 unfinished"
)


def shown_on_a_terminal(tmp_path, *words: str) -> tuple[bytes, list[str]]:
    def play(job: FakeJob) -> None:
        job.begin()
        job.write(FORGING)
        job.finish(3)

    with FakeHub() as hub:
        hub.play = play
        env = {"COMPUTEPOOL_URL": hub.url, "COMPUTEPOOL_TOKEN": TOKEN, "COMPUTEPOOL_HOME": str(tmp_path / "home")}
        with Terminal(["run", *words, "--", "the-command"], env, tmp_path) as terminal:
            assert terminal.end() == 3
            seen = terminal.seen
    screen = Emulator()
    screen.feed(seen.decode().replace("\r\n", "\n"))
    return seen, screen.lines


def test_log_cannot_imitate_the_cli_on_a_real_terminal(tmp_path):
    seen, lines = shown_on_a_terminal(tmp_path)
    assert lines[0] == "› the-command"
    log = lines[lines.index("begun") :]
    assert log[:5] == ["begun", "› some other commandforgedright to left", "20%", "✓ unfinished", log[4]]
    assert log[4].startswith("✗ failed")
    assert b"\x1b[32m" in seen, "colours pass"


def test_raw_log_reaches_a_terminal_as_it_is(tmp_path):
    seen, lines = shown_on_a_terminal(tmp_path, "--raw")
    assert b"\x1b]0;title\x07" in seen
    assert "› the-command" not in lines
