"""Credits as people read them: exact, never rounded."""

from computepool.protocol.units import format_credits


def signed(micros: int) -> str:
    """`-7.5`; `format_credits` is for what cannot be below zero."""
    return f"-{format_credits(-micros)}" if micros < 0 else format_credits(micros)


def grouped(micros: int) -> str:
    """`-12,345.678901`, for reading in columns."""
    whole, dot, fraction = format_credits(abs(micros)).partition(".")
    return f"{'-' if micros < 0 else ''}{int(whole):,}{dot}{fraction}"
