"""Credits as people read them: exact, never rounded."""

from computepool.protocol.units import MICROS_PER_CREDIT, format_credits, in_credits


def signed(micros: int) -> str:
    """`-7.5`; `format_credits` is for what cannot be below zero."""
    return f"-{format_credits(-micros)}" if micros < 0 else format_credits(micros)


def spelled(micros: int, sort: str = "") -> str:
    """With its unit: `1 credit`, `-7.5 credits`."""
    return in_credits(signed(micros), sort)


def grouped(micros: int) -> str:
    """`-12,345.600000`: all with six decimals, so that they stand below each other in columns."""
    whole, fraction = divmod(abs(micros), MICROS_PER_CREDIT)
    return f"{'-' if micros < 0 else ''}{whole:,}.{fraction:06}"


def came_back(back: int, owed: int, lost: int) -> list[str]:
    """To a renter, where a host had spent what it had to give back."""
    words = []
    if owed:
        words.append(
            f"{signed(back)} of {spelled(back + owed)} came back; the rest follows when its host has earned it."
        )
    if lost:
        words.append(f"{signed(lost)} more were promotional credit that its host had spent: these do not come back.")
    return words
