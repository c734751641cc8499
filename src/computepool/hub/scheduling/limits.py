"""How much of the pool one renter may have: slices at once, and credits per hour, day and month.

Limits are about other people's nodes; one's own are one's own business. A slice beyond a limit waits. Money is counted
ahead: what runs counts as if it ran for as long as it may, so that a limit is kept and not only noticed. An hour is
what everything that runs costs in one; days and months are those of UTC.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta

from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.settings import Settings
from computepool.hub.market.rates import slice_cost
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.occupancy import SECONDS_PER_HOUR, Share
from computepool.protocol.units import MICROS_PER_CREDIT, format_credits, format_duration, spell_credits


@dataclass(frozen=True, slots=True)
class Limits:
    """None is no limit."""

    slices: int | None = None
    hourly_micros: int | None = None
    daily_micros: int | None = None
    monthly_micros: int | None = None

    @property
    def is_none(self) -> bool:
        return self.slices is self.hourly_micros is self.daily_micros is self.monthly_micros is None

    @property
    def are_about_money(self) -> bool:
        return self != self.without_money

    @property
    def without_money(self) -> "Limits":
        return Limits(slices=self.slices)

    def over(self, defaults: "Limits") -> "Limits":
        """Its own where it has some."""
        own = {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}
        return replace(defaults, **own)


NO_LIMITS = Limits()


def limits_of(settings: Settings) -> Limits:
    """What holds for everybody who has no limits of their own."""
    if settings.money == "off":
        return Limits(slices=settings.limit_slices)
    return Limits(
        slices=settings.limit_slices,
        hourly_micros=_micros(settings.limit_credits_per_hour),
        daily_micros=_micros(settings.limit_credits_per_day),
        monthly_micros=_micros(settings.limit_credits_per_month),
    )


def _micros(credits: int | None) -> int | None:
    return None if credits is None else credits * MICROS_PER_CREDIT


@dataclass(frozen=True, slots=True)
class Spent:
    """On other people's nodes, by what has ended."""

    owner_id: str
    day: date
    micros: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a renter may still begin."""

    hourly_micros: int | None
    """The most that one more slice may cost in an hour; None for anything, less than 0 for none at all."""
    words: str = ""
    """Which limit says so."""
    whole_micros: int | None = None
    """Of a limit of a day or a month: so much for the whole time of a slice, so that a shorter one may fit."""


class LimitBook:
    def __init__(self, defaults: Limits = NO_LIMITS) -> None:
        self._defaults = defaults
        self._own: dict[str, Limits] = {}
        """As an admin gave them."""
        self._whole: dict[str, Limits] = {}
        """With the defaults where they have none."""
        self._spent: dict[str, dict[date, int]] = {}

    def set(self, owner_id: str, limits: Limits) -> None:
        if limits.is_none:
            self._own.pop(owner_id, None)
            self._whole.pop(owner_id, None)
        else:
            self._own[owner_id] = limits
            self._whole[owner_id] = limits.over(self._defaults)

    def set_defaults(self, defaults: Limits) -> None:
        self._defaults = defaults
        self._whole = {owner_id: limits.over(defaults) for owner_id, limits in self._own.items()}

    @property
    def is_empty(self) -> bool:
        """Nobody has a limit."""
        return self._defaults.is_none and not self._own

    def of(self, owner_id: str) -> Limits:
        if owner_id == PLATFORM:
            return NO_LIMITS  # what it runs is for the sake of all renters
        return self._whole.get(owner_id, self._defaults)

    def spend(self, spent: Iterable[Spent]) -> None:
        for one in spent:
            days = self._spent.setdefault(one.owner_id, {})
            days[one.day] = days.get(one.day, 0) + one.micros

    def spent(self, owner_id: str, since: date) -> int:
        return sum(micros for day, micros in self._spent.get(owner_id, {}).items() if day >= since)

    def forget_before(self, first: date) -> None:
        for owner_id, days in list(self._spent.items()):
            kept = {day: micros for day, micros in days.items() if day >= first}
            if kept:
                self._spent[owner_id] = kept
            else:
                del self._spent[owner_id]

    def allowance(self, needs: Requirements, share: Share, now: datetime) -> Allowance:
        """For one more slice of this renter, that may run for `needs.seconds`."""
        today = now.astimezone(UTC).date()
        # What came back today may have been paid earlier: it makes no room beyond the limit.
        spent = (max(0, self.spent(needs.owner_id, since)) for since in (today, today.replace(day=1)))
        return _allowance(self.of(needs.owner_id), needs, share, *spent)

    def at_best(self, needs: Requirements) -> Allowance:
        """The same on a day on which this renter has spent nothing, and runs nothing: it never becomes more."""
        return _allowance(self.of(needs.owner_id), needs, Share(), 0, 0)


def _allowance(limits: Limits, needs: Requirements, share: Share, today_micros: int, month_micros: int) -> Allowance:
    if limits.is_none:
        return _ANYTHING
    if limits.slices is not None and share.slices >= limits.slices:
        return Allowance(-1, f"You may run {_slices(limits.slices)} at once on other people's nodes")
    seconds, found = max(1, int(needs.seconds)), []
    if limits.hourly_micros is not None:
        left = limits.hourly_micros - share.hourly_micros
        found.append(Allowance(left, _credits(limits.hourly_micros, "an hour")))
    for limit, spent_micros, word in (
        (limits.daily_micros, today_micros, "a day"),
        (limits.monthly_micros, month_micros, "a month"),
    ):
        if limit is not None:
            left = limit - share.most_micros - spent_micros
            found.append(Allowance(left * SECONDS_PER_HOUR // seconds, _credits(limit, word), limit))
    return min(found, key=lambda one: one.hourly_micros or 0, default=_ANYTHING)


_ANYTHING = Allowance(None)


def within(needs: Requirements, allowance: Allowance) -> Requirements:
    """What may be looked for: nodes that are cheap enough, or only one's own."""
    if allowance.hourly_micros is None:
        return needs
    if allowance.hourly_micros < 0:
        return replace(needs, mine_only=True)
    if needs.max_price_micros is not None and needs.max_price_micros <= allowance.hourly_micros:
        return needs
    return replace(needs, max_price_micros=allowance.hourly_micros)


def why_never(needs: Requirements, best: Allowance, price_micros: int) -> str:
    """In words, if not even all of a limit is enough for it at this price of an hour; and what to change."""
    if best.hourly_micros is None or best.hourly_micros < 0:
        return f"{best.words}: it will never run there. Ask the operator for a higher limit, or use a node of your own."
    price = f"{format_credits(price_micros)} an hour"
    if best.whole_micros is None:
        return (
            f"{best.words}, and it costs {price} now: it will never fit. "
            "Ask for less in `resources`, or the operator for a higher limit."
        )
    seconds = max(1, int(needs.seconds))
    most, fits = slice_cost(price_micros, seconds), best.whole_micros * SECONDS_PER_HOUR // price_micros
    shorter = f"Set its `max_runtime` to {format_duration(fits)} or less, or ask" if fits else "Ask"
    return (
        f"{best.words}, and it may cost {format_credits(most)}: {format_duration(seconds)}, its `max_runtime`, at "
        f"{price} now. It will never fit. {shorter} the operator for a higher limit."
    )


def seconds_to_midnight(now: datetime) -> float:
    """Until the next day begins, and perhaps the next month."""
    day = now.astimezone(UTC)
    tomorrow = day.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (tomorrow - day).total_seconds()


def _slices(count: int) -> str:
    return "1 slice" if count == 1 else f"{count} slices"


def _credits(micros: int, word: str) -> str:
    return f"You may spend {spell_credits(micros)} {word}"
