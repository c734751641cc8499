"""A terminal is shown what a job printed, and obeys none of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.cli.terminal import LinePrefixer, TerminalFilter

HARMLESS = [
    b"plain\n",
    b"tab\tand\rreturn\x08\n",
    "grüße — 中文 🎉\n".encode(),
    b"\x1b[31mred\x1b[0m",
    b"\x1b[1;38;5;208mx\x1b[m",
    b"\x1b[2K\x1b[1Gprogress 10%",
    b"\x1b[3A\x1b[10;20H\x1b[J",
]
HARMFUL = [
    (b"\x1b]0;title\x07after", b"after"),
    (b"\x1b]0;title\x1b\\after", b"after"),
    (b"\x1b]52;c;ZXZpbA==\x07", b""),
    (b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", b"link"),
    (b"\x1bP$qm\x1b\\x", b"x"),
    (b"\x1b_apc\x1b\\x", b"x"),
    (b"\x1b^pm\x1b\\x", b"x"),
    (b"\x1bXsos\x1b\\x", b"x"),
    (b"\x1b[6n", b""),
    (b"\x1b[21t", b""),
    (b"\x1b[?1049h", b""),
    (b"\x1b[?25l", b""),
    (b"\x1b[c", b""),
    (b"\x1b[5i", b""),
    (b"\x1bcreset", b"reset"),
    (b"\x1bZ", b""),
    (b"\x1b(0", b""),
    (b"\x1b#8", b""),
    (b"\xc2\x9d0;title\x07x", b"x"),
    (b"\xc2\x9b6nx", b"6nx"),
    (b"\x05\x00\x0e\x7f", b""),
    (b"\x1b]never ending", b""),
    (b"\x1b\x1b]0;x\x07y", b"y"),
]


def filtered(*chunks: bytes) -> bytes:
    one = TerminalFilter()
    return b"".join(one.feed(chunk) for chunk in chunks)


@pytest.mark.parametrize("data", HARMLESS)
def test_text_colours_and_progress_bars_pass(data):
    assert filtered(data) == data


@pytest.mark.parametrize(("data", "expected"), HARMFUL)
def test_what_a_terminal_would_obey_is_taken_out(data, expected):
    assert filtered(data) == expected


@pytest.mark.parametrize("data", [*HARMLESS, *(data for data, _ in HARMFUL)])
def test_borders_of_chunks_change_nothing(data):
    assert filtered(*(bytes([byte]) for byte in data)) == filtered(data)


@given(
    st.lists(st.sampled_from([*HARMLESS, *(data for data, _ in HARMFUL), b"\x1b", b"[", b"]", b"\xc2", b"a"])),
    st.data(),
)
def test_any_cut_gives_the_same(pieces, draw):
    data = b"".join(pieces)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=5)))
    chunks = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    assert filtered(*chunks) == filtered(data)


@given(st.binary())
def test_no_introducer_of_a_string_ever_passes(data):
    out = filtered(data)
    for introducer in (b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX", b"\xc2\x9d", b"\xc2\x90"):
        assert introducer not in out


def test_endless_sequence_holds_no_memory():
    one = TerminalFilter()
    for _ in range(1000):
        one.feed(b"\x1b[" + b"1;" * 1000)
    assert len(one._rest) < 1000


def test_lines_of_slices_are_not_mixed():
    prefixer = LinePrefixer()
    out = prefixer.feed(0, b"he") + prefixer.feed(1, b"x\ny") + prefixer.feed(0, b"llo\n") + prefixer.flush()
    assert out == b"[1] x\n[0] hello\n[1] y\n"


def test_endless_line_is_not_held():
    prefixer = LinePrefixer()
    assert prefixer.feed(0, b"x" * 100_000) != b""
    assert prefixer.feed(0, b"x" * 10) == b""
