"""Credits and the currency behind them: whole micros here, whole numbers of the smallest coin there."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from computepool.hub.core.errors import Invalid
from computepool.hub.core.settings import Settings
from computepool.protocol.units import MICROS_PER_CREDIT, BadValueError, parse_credits, spell_credits

WITHOUT_DECIMALS = frozenset(
    ("bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "ugx", "vnd", "vuv", "xaf", "xof", "xpf")
)
WITH_THREE_DECIMALS = frozenset(["bhd", "jod", "kwd", "omr", "tnd"])
MOST_MINOR = 99_999_999
"""The processor takes eight digits at once."""


_MONEY = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?", re.ASCII)


class BadAmount(Invalid):
    code = "bad_amount"


@dataclass(frozen=True)
class Units:
    currency: str
    """As the processor writes it: `inr`."""
    credit_value: Decimal
    """Of one credit, in the currency."""

    @property
    def decimals(self) -> int:
        return 0 if self.currency in WITHOUT_DECIMALS else 3 if self.currency in WITH_THREE_DECIMALS else 2

    @property
    def _minor_per_micro(self) -> Fraction:
        return Fraction(self.credit_value) * Fraction(10**self.decimals, MICROS_PER_CREDIT)

    def minor_of(self, micros: int) -> int:
        """Exactly, or refused: nobody is charged a rounded amount."""
        minor = micros * self._minor_per_micro
        if minor.denominator != 1:
            near = max(1, round(minor)) / self._minor_per_micro
            raise BadAmount(
                f"{spell_credits(micros)} is not a whole number of the smallest unit of {self.currency.upper()}.",
                hint=f"The nearest possible amount is {spell_credits(int(near))}." if near.denominator == 1 else None,
            )
        if minor > MOST_MINOR:
            raise BadAmount(
                f"{spell_credits(micros)} is {self.spelled(int(minor))}: too much for one payment.",
                hint=f"A payment is at most {self.spelled(MOST_MINOR)}.",
            )
        return int(minor)

    def rounded_up(self, micros: int) -> int:
        """The least amount in whole coins that is no less."""
        minor = -(-(micros * self._minor_per_micro) // 1)
        return -(-minor // self._minor_per_micro)

    def minor_below(self, micros: int) -> int:
        """To be read, not to be charged: a part of a coin is dropped."""
        return int(micros * self._minor_per_micro)

    def micros_of(self, minor: int) -> int:
        """What so much is worth here; a fraction of a micro is dropped."""
        return int(minor / self._minor_per_micro)

    def micros_for(self, amount: str) -> int:
        """What so much of the currency buys, such as `50` or `50.00`: the least whole micros that are worth it."""
        if _MONEY.fullmatch(amount.strip()) is None:
            raise BadAmount(f"{amount[:40]!r} is not an amount of money.", hint="Write it like 50 or 50.00.")
        minor = Fraction(amount.strip()) * 10**self.decimals
        if minor <= 0 or minor.denominator != 1:
            smallest = self.spelled(1)
            raise BadAmount(
                f"{amount[:40]!r} is not a multiple of the smallest unit.", hint=f"The smallest unit is {smallest}."
            )
        if minor > MOST_MINOR:
            raise BadAmount(
                f"{self.spelled(int(minor))} is too much for one payment.",
                hint=f"A payment is at most {self.spelled(MOST_MINOR)}.",
            )
        return int(-(-minor // self._minor_per_micro))

    def spelled(self, minor: int) -> str:
        return f"{Decimal(minor).scaleb(-self.decimals)} {self.currency.upper()}"


def units_of(settings: Settings) -> Units:
    return Units(settings.currency, settings.credit_value)


def parse_amount(value: object) -> int:
    """Micros of a wish that moves something. Zero, less, too fine or too large is refused in words."""
    try:
        micros = parse_credits(value)
    except BadValueError as error:
        raise BadAmount(error.sentence, hint=error.hint_sentence) from None
    if micros == 0:
        raise BadAmount("The amount must be more than 0 credits.", hint="Write it like 100 or 0.25.")
    return micros
