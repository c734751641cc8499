"""Which files of a folder a rule file leaves out: gitignore syntax, matched the way git matches it.

Git asks about one path at a time and never looks into an ignored folder. Libraries that match a whole path at once
get the common "ignore all but *.py" idiom wrong (`*`, `!*/`, `!*.py`), so the matching is done here, on bytes, as
git's own wildmatch does it, and is compared with the real git in the tests.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

POSIX_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb" \t\n\r\f\v",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a rule file."""

    ignores: bool
    folders_only: bool
    by_name: bool
    """The pattern holds no slash, so it is asked about the last part of a path only."""
    regex: re.Pattern[bytes]


class Rules:
    """The rules of one file; `base` is the folder that they are relative to, as seen from the bundled folder.

    `base` is given as the bytes to put before (for a rule file above the bundled folder) or to take off (for one
    inside it) a path, so that a rule file sees paths as git would show them to it.
    """

    def __init__(self, lines: Iterable[bytes], *, put_before: bytes = b"", take_off: int = 0) -> None:
        parsed = [rule for rule in map(parse_rule, lines) if rule is not None]
        self._newest_first = parsed[::-1]
        self._put_before = put_before
        self._take_off = take_off
        # Most paths match no rule at all: one pass in C answers for those.
        self._any_name = _any_of([rule for rule in parsed if rule.by_name])
        self._any_path = _any_of([rule for rule in parsed if not rule.by_name])

    def __bool__(self) -> bool:
        return bool(self._newest_first)

    def decide(self, path: bytes, name: bytes, is_folder: bool) -> bool | None:
        """True: ignored. False: taken back by a `!` rule. None: these rules say nothing about it."""
        own = self._put_before + path[self._take_off :]
        name_may = self._any_name is not None and self._any_name.fullmatch(name) is not None
        path_may = self._any_path is not None and self._any_path.fullmatch(own) is not None
        if not (name_may or path_may):
            return None
        for rule in self._newest_first:
            if rule.folders_only and not is_folder:
                continue
            if rule.regex.fullmatch(name if rule.by_name else own) is not None:
                return rule.ignores
        return None


def read_rules(file: Path, *, put_before: bytes = b"", take_off: int = 0) -> Rules | None:
    """The rules of a file; None when there is none. A symbolic link is not followed, as git does not either."""
    if file.is_symlink() or not file.is_file():
        return None
    rules = Rules(_lines(file.read_bytes()), put_before=put_before, take_off=take_off)
    return rules or None


def rules_above(folder: Path, file_name: str) -> list[Rules]:
    """Rule files between the git repository's root and the folder: they speak about the folder's files too."""
    root = next((place for place in folder.parents if os.path.lexists(place / ".git")), None)
    if root is None or os.path.lexists(folder / ".git"):
        return []
    found = []
    for place in [p for p in reversed(folder.parents) if p == root or root in p.parents]:
        below = os.fsencode(folder.relative_to(place).as_posix()) + b"/"
        rules = read_rules(place / file_name, put_before=below)
        if rules is not None:
            found.append(rules)
    return found


def is_ignored(layers: Sequence[Rules], path: bytes, is_folder: bool) -> bool:
    """Ask the rules from the strongest, which is the last, down."""
    name = path.rpartition(b"/")[2]
    for rules in reversed(layers):
        verdict = rules.decide(path, name, is_folder)
        if verdict is not None:
            return verdict
    return False


def parse_rule(line: bytes) -> Rule | None:
    """A line to a rule; None for a comment, an empty line, or a pattern that git says can never match."""
    if line.startswith(b"#"):
        return None
    pattern = _without_trailing_spaces(line)
    ignores = not pattern.startswith(b"!")
    pattern = pattern if ignores else pattern[1:]
    folders_only = pattern.endswith(b"/")
    pattern = pattern[:-1] if folders_only else pattern
    if not pattern:
        return None
    by_name = b"/" not in pattern
    regex = _translate(pattern.removeprefix(b"/"), by_name=by_name)
    if regex is None:
        return None
    return Rule(ignores, folders_only, by_name, re.compile(regex, re.DOTALL))


def _lines(text: bytes) -> list[bytes]:
    return [line.removesuffix(b"\r") for line in text.removeprefix(UTF8_MARK).split(b"\n")]


def _any_of(rules: Sequence[Rule]) -> re.Pattern[bytes] | None:
    if not rules:
        return None
    return re.compile(b"|".join(b"(?:" + rule.regex.pattern + b")" for rule in rules), re.DOTALL)


def _without_trailing_spaces(line: bytes) -> bytes:
    kept = line.rstrip(b" ")
    backslashes = len(kept) - len(kept.rstrip(b"\\"))
    if len(kept) < len(line) and backslashes % 2 == 1:
        return kept + b" "
    return kept


def _translate(pattern: bytes, *, by_name: bool) -> bytes | None:
    """A wildmatch pattern to a regular expression; None when git would never match it."""
    out = bytearray()
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"*":
            piece, at = _stars(pattern, at, by_name)
            out += piece
        elif char == b"?":
            out += b"[^/]"
            at += 1
        elif char == b"[":
            bracket = _bracket(pattern, at)
            if bracket is None:
                return None
            piece, at = bracket
            out += piece
        elif char == b"\\":
            if at + 1 == len(pattern):
                return None
            out += re.escape(pattern[at + 1 : at + 2])
            at += 2
        else:
            out += re.escape(char)
            at += 1
    return bytes(out)


def _stars(pattern: bytes, at: int, by_name: bool) -> tuple[bytes, int]:
    end = at
    while pattern[end : end + 1] == b"*":
        end += 1
    whole_part = (at == 0 or pattern[at - 1 : at] == b"/") and (end == len(pattern) or pattern[end : end + 1] == b"/")
    if end - at == 1 or by_name or not whole_part:
        return b"[^/]*", end
    if end == len(pattern):
        return b".*", end
    return b"(?:.*/)?", end + 1


def _bracket(pattern: bytes, start: int) -> tuple[bytes, int] | None:
    """A `[…]` set as a regular expression, and where it ends; None when it is not closed or names no known class."""
    at = start + 1
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: list[bytes] = []
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        if pattern[at : at + 2] == b"[:":
            close = pattern.find(b":]", at + 2)
            known = POSIX_CLASSES.get(pattern[at + 2 : close]) if close >= 0 else None
            if close >= 0 and known is None:
                return None
            if known is not None:
                members.append(known)
                at = close + 2
                continue
        low, at = _bracket_char(pattern, at)
        if low is None:
            return None
        members.append(_hex(low))  # git takes the start of a range for itself too, even if it is backwards
        if pattern[at : at + 1] == b"-" and pattern[at + 1 : at + 2] not in (b"]", b""):
            high, at = _bracket_char(pattern, at + 1)
            if high is None:
                return None
            if low <= high:
                members.append(_hex(low) + b"-" + _hex(high))
    inside = b"".join(members)
    if negated:
        return b"[^/" + inside + b"]", at + 1
    return b"(?!/)[" + inside + b"]", at + 1  # no set ever matches a slash


def _bracket_char(pattern: bytes, at: int) -> tuple[int | None, int]:
    if pattern[at : at + 1] == b"\\":
        at += 1
    if at >= len(pattern):
        return None, at
    return pattern[at], at + 1


def _hex(byte: int) -> bytes:
    return b"\\x%02x" % byte
