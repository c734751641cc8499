"""What a job printed, on its way to a terminal.

A file or a pipe gets every byte as it is. A terminal is a machine that obeys what it is shown: text, colours and cursor
movements (progress bars) pass, everything that could change its title, its clipboard or its settings, or make it type
an answer, is taken out.
"""

import re

_HARMLESS_CSI = frozenset(b"mABCDEFGHJKST")
"""Colours, cursor movements, erasing, scrolling."""
_STRINGS = frozenset(b"]PX^_")
"""OSC, DCS, SOS, PM, APC: sequences that go on until a terminator."""
_SUSPECT = re.compile(rb"\x1b|\xc2[\x80-\x9f]|[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]|\xc2\Z")
_CSI = re.compile(rb"\x1b\[[\x30-\x3f]*[\x20-\x2f]*([\x40-\x7e])?")
_SHORT = re.compile(rb"\x1b[\x20-\x2f]*[\x30-\x7e]")
_STRING_END = re.compile(rb"\x07|\x1b\\|\xc2\x9c")
_MAX_SEQUENCE_BYTES = 256


class TerminalFilter:
    """Bytes in, harmless bytes out, whatever the borders of the chunks."""

    def __init__(self) -> None:
        self._rest = b""
        self._in_string = False

    def feed(self, data: bytes) -> bytes:
        data, self._rest = self._rest + data, b""
        out = []
        while data:
            if self._in_string:
                data = self._skip_string(data)
                continue
            found = _SUSPECT.search(data)
            if found is None:
                out.append(data)
                break
            out.append(data[: found.start()])
            passed, data = self._sequence(data[found.start() :])
            out.append(passed)
        return b"".join(out)

    def _skip_string(self, data: bytes) -> bytes:
        end = _STRING_END.search(data)
        if end is None:
            # The terminator may be cut in two.
            self._rest = data[-1:] if data[-1:] in (b"\x1b", b"\xc2") else b""
            return b""
        self._in_string = False
        return data[end.end() :]

    def _sequence(self, data: bytes) -> tuple[bytes, bytes]:
        """What of the sequence at the beginning may pass, and what comes after it."""
        if data[0] == 0xC2:
            if len(data) == 1:
                self._rest = data
                return b"", b""
            # C1 controls in UTF-8: 0x9b is a CSI, 0x90, 0x98, 0x9d … begin strings.
            if data[1] == 0x9B:
                return b"", data[2:]
            self._in_string = data[1] in (0x90, 0x98, 0x9D, 0x9E, 0x9F)
            return b"", data[2:]
        if data[0] != 0x1B:
            return b"", data[1:]
        if len(data) == 1:
            self._rest = data
            return b"", b""
        if data[1] == 0x5B:
            return self._csi(data)
        if data[1] in _STRINGS:
            self._in_string = True
            return b"", data[2:]
        short = _SHORT.match(data)
        if short is None and len(data) < _MAX_SEQUENCE_BYTES and all(0x20 <= byte <= 0x2F for byte in data[1:]):
            self._rest = data
            return b"", b""
        return b"", data[short.end() if short else 1 :]

    def _csi(self, data: bytes) -> tuple[bytes, bytes]:
        match = _CSI.match(data)
        assert match is not None
        if match[1] is None:
            if match.end() == len(data) and len(data) < _MAX_SEQUENCE_BYTES:
                self._rest = data
                return b"", b""
            return b"", data[match.end() :]
        return (match[0] if match[1][0] in _HARMLESS_CSI else b""), data[match.end() :]


class LinePrefixer:
    """Puts `[3] ` before each line of slice 3, and never mixes the lines of two slices."""

    LIMIT_BYTES = 64 * 1024

    def __init__(self) -> None:
        self._open: dict[int, bytes] = {}

    def feed(self, slice: int, data: bytes) -> bytes:
        *lines, rest = (self._open.pop(slice, b"") + data).split(b"\n")
        if len(rest) > self.LIMIT_BYTES:
            lines, rest = [*lines, rest], b""
        if rest:
            self._open[slice] = rest
        return b"".join(b"[%d] %s\n" % (slice, line) for line in lines)

    def flush(self) -> bytes:
        """The last lines, which had no newline."""
        rest, self._open = self._open, {}
        return b"".join(b"[%d] %s\n" % (slice, line) for slice, line in sorted(rest.items()))
