"""Credits as people read them: exact, never rounded."""

from computepool.protocol.units import MICROS_PER_CREDIT, format_credits


def signed(micros: int) -> str:
    """`-7.5`; `format_credits` is for what cannot be below zero."""
    return f"-{format_credits(-micros)}" if micros < 0 else format_credits(micros)


def grouped(micros: int) -> str:
    """`-12,345.600000`: all with six decimals, so that they stand below each other in columns."""
    whole, fraction = divmod(abs(micros), MICROS_PER_CREDIT)
    return f"{'-' if micros < 0 else ''}{whole:,}.{fraction:06}"
