"""What a person would see: a small terminal that obeys the sequences by which a screen can be rewritten."""

import re

_CSI = re.compile(r"(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])")
_STRING = re.compile(r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x9c\x1b]*(?:\x07|\x9c|\x1b\\|\Z)")
_ESCAPE = re.compile(r"\x1b[ -/]*[0-~]")


class Emulator:
    def __init__(self, columns: int = 120) -> None:
        self._columns = columns
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0
        self.styled = False

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._rows]

    def feed(self, text: str) -> None:
        at = 0
        while at < len(text):
            for pattern, obey in ((_CSI, self._csi), (_STRING, self._nothing), (_ESCAPE, self._escape)):
                if found := pattern.match(text, at):
                    obey(found)
                    at = found.end()
                    break
            else:
                self._show(text[at])
                at += 1

    def _show(self, char: str) -> None:
        if char == "\n":
            # As the line discipline sends it to the terminal.
            self._go(self._row + 1, 0)
        elif char in "\x0b\x0c\x84":
            self._go(self._row + 1, self._column)
        elif char == "\x8d":
            self._go(self._row - 1, self._column)
        elif char == "\r":
            self._column = 0
        elif char == "\x08":
            self._column = max(0, self._column - 1)
        elif char == "\t":
            self._column += 8 - self._column % 8
        elif char.isprintable():
            if self._column >= self._columns:
                self._go(self._row + 1, 0)
            row = self._rows[self._row]
            row.extend(" " * (self._column + 1 - len(row)))
            row[self._column] = char
            self._column += 1

    def _go(self, row: int, column: int) -> None:
        self._row, self._column = max(0, min(row, 10_000)), max(0, min(column, 10_000))
        while len(self._rows) <= self._row:
            self._rows.append([])

    def _csi(self, found: "re.Match[str]") -> None:
        parameters, final = found[1], found[2]
        if final == "m":
            self.styled = parameters.strip("0;:") != ""
        if not re.fullmatch("[0-9;]*", parameters):
            return
        numbers = [int(number or 0) for number in parameters.split(";")]
        count = max(1, min(numbers[0], 10_000))
        if final in "AF":
            self._go(self._row - count, self._column if final == "A" else 0)
        elif final in "BE":
            self._go(self._row + count, self._column if final == "B" else 0)
        elif final in "CD":
            self._go(self._row, self._column + (count if final == "C" else -count))
        elif final == "G":
            self._go(self._row, count - 1)
        elif final in "Hf":
            self._go(count - 1, max(1, numbers[1] if len(numbers) > 1 else 1) - 1)
        elif final == "K":
            row = self._rows[self._row]
            first = 0 if numbers[0] else self._column
            row[first:] = []
        elif final == "J":
            rows = range(len(self._rows)) if numbers[0] else range(self._row, len(self._rows))
            for number in rows:
                self._rows[number] = []

    def _escape(self, found: "re.Match[str]") -> None:
        if found[0] == "\x1bM":
            self._go(self._row - 1, self._column)
        elif found[0] == "\x1bc":
            self._rows, self._row, self._column = [[]], 0, 0

    def _nothing(self, found: "re.Match[str]") -> None:
        """Titles and the like change nothing on the screen."""
