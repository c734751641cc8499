"""Sizes, durations, cores and credits, as people write them and as programs count them.

Units of size are powers of two, `GB` and `GiB` alike. People who ask for memory mean what the machine reports, and
machines count in powers of two: a "16GB" module is 2^34 bytes, a "24GB" card is close to 24 · 2^30.
A bare number is gigabytes for a size (as in dstack and SkyPilot) and seconds for a duration.

Every parser takes what YAML or JSON may hold and raises `BadValueError`, which names the value and shows valid ones.
"""

import difflib
import math
import re
import reprlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Generic, TypeVar

from pydantic import ConfigDict

from computepool.protocol.model import Documented

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
TIB = 1024 * GIB
PIB = 1024 * TIB
MAX_SIZE_BYTES = PIB
MIN_CPUS = 0.01
MAX_CPUS = 4096.0
MICROS_PER_CREDIT = 1_000_000
MAX_CREDITS = 1_000_000_000
MAX_DURATION_SECONDS = 10 * 366 * 86_400

SIZE_EXAMPLES = "16GB, 512MB or 1.5TB"
RANGE_EXAMPLES = "16GB, 24GB.. (at least), ..80GB (at most) or 16GB..32GB"
DURATION_EXAMPLES = "90s, 15m, 2h, 1h30m, 1d or 1w; a bare number is seconds"
CPU_EXAMPLES = "8, 8+, 4..8 or 0.5"
CREDIT_EXAMPLES = "40 or 0.25"

_UNITS: dict[str, int] = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": TIB, "p": PIB}
_UNIT_NAMES: tuple[str, ...] = ("B", "KB", "MB", "GB", "TB", "PB")
_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,9})?"
_LONG_NUMBER = re.compile(r"0*[1-9][0-9]{18,}(?:\.[0-9]*)?")
"""A number too, though nothing here is as large: not worth computing with, however long it is."""
_SIZE = re.compile(rf"({_NUMBER})\s*([a-z]*)")
_UNIT = re.compile(r"b|([kmgtp])(?:i?b|i)?")
_DURATION_PART = re.compile(rf"\s*({_NUMBER})\s*([a-z]+)\s*")
_DURATION_WORDS = {
    "w": (604_800, ("week", "weeks")),
    "d": (86_400, ("day", "days")),
    "h": (3_600, ("hr", "hrs", "hour", "hours")),
    "m": (60, ("min", "mins", "minute", "minutes")),
    "s": (1, ("sec", "secs", "second", "seconds")),
}
_SECONDS_OF = {word: seconds for unit, (seconds, words) in _DURATION_WORDS.items() for word in (unit, *words)}

Number = TypeVar("Number", int, float)


class BadValueError(ValueError):
    """A value that cannot be understood: what is wrong with it, and what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}; {hint}")
        self.message = message
        self.hint = hint

    @property
    def sentence(self) -> str:
        """The message as a line of its own."""
        return as_sentence(self.message)

    @property
    def hint_sentence(self) -> str | None:
        return as_sentence(self.hint) if self.hint else None


def as_sentence(words: str) -> str:
    """With a large letter at the beginning and a stop at the end."""
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?", "!", "…")) else ".")


class Range(Documented, Generic[Number]):
    """From `minimum` to `maximum`, both included; without a maximum, anything from the minimum on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    minimum: Number
    """The least."""
    maximum: Number | None = None
    """The most; null for no limit."""

    def accepts(self, value: float, tolerance: float = 0.0) -> bool:
        """`tolerance` is the share by which a value may miss either end."""
        if value < self.minimum * (1 - tolerance):
            return False
        return self.maximum is None or value <= self.maximum * (1 + tolerance)


class _Shortener(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple = 2, 3, 3, 3
        self.maxstring = self.maxlong = self.maxother = 60

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to print very long integers at all.
        return repr(x) if x.bit_length() < 200 else f"a number of {x.bit_length()} bits"

    def repr_instance(self, x: object, level: int) -> str:
        return repr(x) if isinstance(x, float | bool | None) else f"a {type(x).__name__}"


_shortener = _Shortener()


def short_repr(value: object) -> str:
    """A value in an error message: printable, short whatever it is, and never calling foreign code."""
    return _shortener.repr(value)[:80]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant."""
    found = difflib.get_close_matches(word[:64].lower(), list(known), n=1, cutoff=0.6)
    return found[0] if found else None


# ── sizes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_bytes(value: object) -> int:
    """`16GB`, `512MiB`, `1.5T`; a bare number is gigabytes. A fraction of a byte is rounded up."""
    if isinstance(value, str):
        size = _size_of_text(value)
    else:
        size = _number(value, "a size", SIZE_EXAMPLES) * GIB
    if size > MAX_SIZE_BYTES:
        hint = "a bare number is gigabytes" if not isinstance(value, str) else None
        raise BadValueError(f"{short_repr(value)} is more than {format_bytes(MAX_SIZE_BYTES)}", hint)
    return math.ceil(size)


def _size_of_text(text: str) -> Fraction:
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise BadValueError(f"{short_repr(text)} is not a size", f"write it like {SIZE_EXAMPLES}")
    number, unit = Fraction(match[1]), str(match[2])
    if not unit:
        return number * GIB
    found = _UNIT.fullmatch(unit)
    if found is None:
        letter = unit[0].upper() if unit[0] in _UNITS else ""
        suggestion = f"did you mean {match[1]}{letter}B? " if letter else ""
        raise BadValueError(f"{short_repr(text)} has an unknown unit", f"{suggestion}write it like {SIZE_EXAMPLES}")
    return number * _UNITS[found[1] or ""]


def format_bytes(size_bytes: int) -> str:
    """Exact, in the largest unit that needs no fraction: `parse_bytes` gives the same number back."""
    power = 0
    while power < 5 and size_bytes and size_bytes % 1024 == 0:
        size_bytes //= 1024
        power += 1
    return f"{size_bytes}{_UNIT_NAMES[power]}"


def about_bytes(size_bytes: float) -> str:
    """About how much, for reading, in the same powers of two that `parse_bytes` understands: `18.8 GB`."""
    number, power = float(size_bytes), 0
    while number >= 1024 and power < 5:
        number, power = number / 1024, power + 1
    text = f"{number:.0f}" if power == 0 or number >= 100 else f"{number:.1f}".removesuffix(".0")
    return f"{text} {_UNIT_NAMES[power]}"


# ── durations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_duration(value: object) -> int:
    """Whole seconds from `90`, `90s`, `15m`, `1h30m`, `1.5h`, `2 days`."""
    if isinstance(value, str) and not re.fullmatch(_NUMBER, value.strip()):
        seconds = _seconds_of_text(value)
    else:
        seconds = _number(value, "a duration", DURATION_EXAMPLES)
    if seconds.denominator != 1:
        raise BadValueError(
            f"{short_repr(value)} is not a whole number of seconds",
            f"the nearest is {format_duration(math.ceil(seconds))}",
        )
    if seconds > MAX_DURATION_SECONDS:
        raise BadValueError(f"{short_repr(value)} is more than ten years", f"write it like {DURATION_EXAMPLES}")
    return int(seconds)


def _seconds_of_text(text: str) -> Fraction:
    rest, total, last = text.strip().lower(), Fraction(0), math.inf
    if not rest or len(rest) > 200:
        raise BadValueError(f"{short_repr(text)} is not a duration", f"write it like {DURATION_EXAMPLES}")
    while rest:
        match = _DURATION_PART.match(rest)
        unit = _SECONDS_OF.get(match[2]) if match else None
        # Each unit once, largest first: "30m1h" is more likely a slip than a wish.
        if match is None or unit is None or unit >= last:
            raise BadValueError(f"{short_repr(text)} is not a duration", f"write it like {DURATION_EXAMPLES}")
        total += Fraction(match[1]) * unit
        last, rest = unit, rest[match.end() :]
    return total


def format_duration(seconds: int) -> str:
    """`1h30m`, `45s`, `2w`: `parse_duration` gives the same number back."""
    if seconds == 0:
        return "0s"
    parts = []
    for unit, (length, _) in _DURATION_WORDS.items():
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


# ── cores ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_cpus(value: object) -> float:
    """Cores, in thousandths at the finest: sums of them stay comparable."""
    cpus = _number(value, "a number of cores", CPU_EXAMPLES)
    if not Fraction(str(MIN_CPUS)) <= cpus <= Fraction(MAX_CPUS):
        closest = MIN_CPUS if cpus < 1 else MAX_CPUS
        raise BadValueError(
            f"{short_repr(value)} is not from {MIN_CPUS} to {format_cpus(MAX_CPUS)} cores",
            f"the nearest valid value is {format_cpus(closest)}",
        )
    if 1000 % cpus.denominator:
        rounded = format_cpus(max(MIN_CPUS, round(float(cpus), 3)))
        raise BadValueError(f"{short_repr(value)} is finer than a thousandth of a core", f"the nearest is {rounded}")
    return float(cpus)


def format_cpus(cpus: float) -> str:
    return f"{cpus:.3f}".rstrip("0").rstrip(".")


# ── credits ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_credits(value: object) -> int:
    """Micros, exactly: 0.1 credits are 100,000 micros, whatever a float makes of 0.1."""
    is_endless = isinstance(value, str) and _LONG_NUMBER.fullmatch(value.strip()) is not None
    amount = Fraction(MAX_CREDITS + 1) if is_endless else _number(value, "an amount of credits", CREDIT_EXAMPLES)
    if amount > MAX_CREDITS:
        raise BadValueError(f"{short_repr(value)} is more than {MAX_CREDITS} credits", f"at most {MAX_CREDITS}")
    micros = amount * MICROS_PER_CREDIT
    if micros.denominator != 1:
        raise BadValueError(
            f"{short_repr(value)} is finer than a millionth of a credit",
            f"the nearest is {format_credits(math.ceil(micros))}",
        )
    return int(micros)


def format_credits(micros: int) -> str:
    whole, fraction = divmod(micros, MICROS_PER_CREDIT)
    return f"{whole}.{fraction:06}".rstrip("0").rstrip(".")


def spell_credits(micros: int) -> str:
    """An amount with its unit: `1 credit`, `0.25 credits`."""
    return in_credits(format_credits(micros))


def in_credits(amount: str, sort: str = "") -> str:
    """An amount as it is shown, with its unit: `1 promotional credit`."""
    unit = "credit" if amount in ("1", "-1") else "credits"
    return f"{amount} {sort} {unit}" if sort else f"{amount} {unit}"


# ── ranges ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_range(value: object, parse: Callable[[object], Number], examples: str) -> Range[Number]:
    """`A..B`, `A..`, `..B`, `A+`. A plain `A` is the least that is needed; `A..A` is exactly that."""
    if not isinstance(value, str):
        return Range(minimum=parse(value))
    text = value.strip()
    if text.endswith("+"):
        return Range(minimum=parse(text[:-1]))
    low, dots, high = (part.strip() for part in text.partition(".."))
    if not dots:
        return Range(minimum=parse(text))
    if not low and not high:
        raise BadValueError(f"{short_repr(value)} has neither a beginning nor an end", f"write it like {examples}")
    zero: Number = 0
    minimum = parse(low) if low else zero
    maximum = parse(high) if high else None
    if maximum is not None and minimum > maximum:
        swapped = short_repr(f"{high}..{low}")
        raise BadValueError(f"{short_repr(value)} ends below its beginning", f"did you mean {swapped}?")
    return Range(minimum=minimum, maximum=maximum)


def parse_size_range(value: object) -> Range[int]:
    found = parse_range(value, parse_bytes, RANGE_EXAMPLES)
    return Range[int](minimum=found.minimum, maximum=found.maximum)


def parse_cpu_range(value: object) -> Range[float]:
    found = parse_range(value, parse_cpus, CPU_EXAMPLES)
    return Range[float](minimum=found.minimum, maximum=found.maximum)


def format_range(range_: Range[Number], format_one: Callable[[Number], str]) -> str:
    maximum = "" if range_.maximum is None else format_one(range_.maximum)
    minimum = "" if maximum and not range_.minimum else format_one(range_.minimum)
    return f"{minimum}..{maximum}"


def _number(value: object, kind: str, examples: str) -> Fraction:
    """A non-negative number, exactly as written: a float counts by its decimal digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        number = Fraction(value)
    elif isinstance(value, float) and math.isfinite(value):
        number = Fraction(repr(value))
    elif isinstance(value, str) and re.fullmatch(f"-?{_NUMBER}", value.strip()):
        number = Fraction(value.strip())
    else:
        raise BadValueError(f"{short_repr(value)} is not {kind}", f"write it like {examples}")
    if number < 0:
        raise BadValueError(f"{short_repr(value)} is below zero", f"write it like {examples}")
    return number
