"""What a job printed, on its way to a terminal.

A file or a pipe gets every byte as it is. A terminal is a machine that obeys what it is shown, so a job could rewrite
what the CLI itself has said. Only this passes: text, tabs, newlines, colours, and carriage returns that rewrite the
line that the job is writing. Cursor movements, erasing, titles, links, modes, questions to the terminal, marks that
turn the direction of text, concealed text and characters that nobody sees are taken out.
"""

import codecs
import re
from enum import Enum, auto

RESET = "\x1b[0m"
REWRITE = "\r\x1b[K"
"""Back to the beginning of the line, and empty it: only ever a line that the job has begun itself."""
UNSEEN = (
    r"\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\xad"  # control characters, C1 among them, and the soft hyphen
    r"\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # directions, separators, no width
    r"\U0001d173-\U0001d17a\U000e0000-\U000e007f"  # notes' and tags' controls
)
"""Characters without a picture, but for those that a line consists of (tab, newline, return) and escape."""
MAX_STYLE_CHARS = 48
"""Of one sequence that sets colours. Longer ones are dropped."""
MAX_STYLES = 4
"""Sequences that are remembered for the next line."""
_SPECIAL = re.compile(f"[\r\x1b{UNSEEN}]")
_STRING_END = re.compile("[\x07\x18\x1a\x1b\x9c\n]")
_STRINGS = frozenset("]PX^_")
_STRINGS_C1 = frozenset("\x90\x98\x9d\x9e\x9f")
"""OSC, DCS, SOS, PM and APC, after an escape and as one character."""
_PARAMETERS = re.compile(r"[ -?]+")
_COLOURS = re.compile(r"[0-9;:]*")
_NOTHING = re.compile(r"[0;:]*")


class _State(Enum):
    TEXT = auto()
    ESCAPE = auto()
    """After an escape, and what may stand between it and its last character."""
    CSI = auto()
    STRING = auto()
    """A title, a link, a command for the terminal: until its end, or the end of the line."""


class TerminalFilter:
    """Bytes in, harmless text out, whatever the borders of the chunks. What is unfinished waits for its rest."""

    def __init__(self, *, plain: bool = False) -> None:
        """`plain`: for a terminal that knows no sequences, not even colours."""
        self._plain = plain
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._state = _State.TEXT
        self._sequence = ""
        self._returned = False
        self._styles: list[str] = []
        self.at_line_start = True
        """Where this is not so, there is something of the job's own that it may rewrite."""

    @property
    def style(self) -> str:
        """What sets the colours that are in force: what others print between two chunks is not to have them."""
        return "".join(self._styles)

    def feed(self, data: bytes) -> str:
        return self._feed(self._decoder.decode(data))

    def finish(self) -> str:
        """Nothing comes any more."""
        return self._feed(self._decoder.decode(b"", final=True))

    def _feed(self, text: str) -> str:
        out: list[str] = []
        at = 0
        while at < len(text):
            if self._state is _State.TEXT:
                at = self._text(text, at, out)
            elif self._state is _State.STRING:
                at = self._string(text, at)
            else:
                at = self._step(text, at, out)
        return "".join(out)

    def _text(self, text: str, at: int, out: list[str]) -> int:
        found = _SPECIAL.search(text, at)
        end = found.start() if found else len(text)
        if end > at:
            self._put(text[at:end], out)
        if found is None:
            return end
        special = text[end]
        if special == "\r":
            self._returned = True
        elif special == "\x1b":
            self._state = _State.ESCAPE
        elif special == "\x9b":
            self._begin_csi()
        elif special in _STRINGS_C1:
            self._state = _State.STRING
        return end + 1

    def _put(self, text: str, out: list[str]) -> None:
        if self._returned:
            self._returned = False
            if not text.startswith("\n") and not self.at_line_start:
                out.append("\n" if self._plain else REWRITE + self.style)
        style = self.style
        # Each line ends without colours and begins with them: others' lines may come between.
        out.append(text.replace("\n", f"{RESET}\n{style}") if style else text)
        self.at_line_start = text.endswith("\n")

    def _string(self, text: str, at: int) -> int:
        found = _STRING_END.search(text, at)
        if found is None:
            return len(text)
        # An escape ends it too, with the next character or by beginning something else.
        self._state = _State.ESCAPE if found[0] == "\x1b" else _State.TEXT
        return found.start() if found[0] == "\n" else found.end()

    def _step(self, text: str, at: int, out: list[str]) -> int:
        """The next part of a sequence; a character that cannot belong to it is looked at again as text."""
        char = text[at]
        if self._state is _State.ESCAPE:
            if char == "[":
                self._begin_csi()
            elif char in _STRINGS:
                self._state = _State.STRING
            elif not " " <= char <= "/":
                self._state = _State.TEXT
                return at + ("0" <= char <= "~")
        elif "@" <= char <= "~":
            self._state = _State.TEXT
            if char == "m" and _COLOURS.fullmatch(self._sequence) and len(self._sequence) <= MAX_STYLE_CHARS:
                self._set_style(self._sequence, out)
        elif found := _PARAMETERS.match(text, at):
            # One more than allowed is enough to know that it is too long.
            self._sequence = (self._sequence + found[0][: MAX_STYLE_CHARS + 1])[: MAX_STYLE_CHARS + 1]
            return found.end()
        else:
            self._state = _State.TEXT
            return at
        return at + 1

    def _begin_csi(self) -> None:
        self._state, self._sequence = _State.CSI, ""

    def _set_style(self, parameters: str, out: list[str]) -> None:
        kept = _without_conceal(parameters)
        if kept is None or self._plain:
            return
        parameters = kept
        if _NOTHING.fullmatch(parameters):
            self._styles.clear()
            out.append(RESET)
        else:
            style = f"\x1b[{parameters}m"
            self._styles = [*self._styles, style][-MAX_STYLES:]
            out.append(style)


def _without_conceal(parameters: str) -> str | None:
    """What sets colours, without what makes text invisible (8). None where nothing else was set."""
    parts, kept = parameters.split(";"), []
    while parts:
        count = 1
        if _number(parts[0]) in ("38", "48") and len(parts) > 1:  # a colour of a palette, or its red, green and blue
            count = {"5": 3, "2": 5}.get(_number(parts[1]), 1)
        if count > len(parts):
            count = 1
        if count > 1 or _number(parts[0]) != "8":
            kept += parts[:count]
        del parts[:count]
    return ";".join(kept) if kept else None


def _number(parameter: str) -> str:
    return parameter.partition(":")[0].lstrip("0")


class LinePrefixer:
    """Puts `[3] ` before each line of slice 3, and never mixes the lines of two slices.

    With `filtered` its input is a filter's output: a line that was rewritten is shown as it was in the end, so that
    nothing is written over its beginning.
    """

    LIMIT_BYTES = 64 * 1024

    def __init__(self, *, filtered: bool = False) -> None:
        self._filtered = filtered
        self._open: dict[int, bytes] = {}

    def feed(self, slice: int, data: bytes) -> bytes:
        *lines, rest = (self._open.pop(slice, b"") + data).split(b"\n")
        if self._filtered:
            rest = rest.rpartition(_REWRITE)[2]
        if len(rest) > self.LIMIT_BYTES:
            lines, rest = [*lines, rest], b""
        if rest:
            self._open[slice] = rest
        return b"".join(self._line(slice, line) for line in lines)

    def flush(self, *slices: int) -> bytes:
        """The last lines, which had no newline: of these slices, or of all."""
        ended = sorted(slice for slice in self._open if not slices or slice in slices)
        return b"".join(self._line(slice, self._open.pop(slice)) for slice in ended)

    def _line(self, slice: int, line: bytes) -> bytes:
        if self._filtered:
            line = line.rpartition(_REWRITE)[2]
            # Where its end was not shown, its colours are still in force.
            line += _RESET if b"\x1b" in line else b""
        return b"[%d] %s\n" % (slice, line)


_REWRITE, _RESET = REWRITE.encode(), RESET.encode()
