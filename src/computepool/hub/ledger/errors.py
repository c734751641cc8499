from computepool.hub.core.errors import NotFound
from computepool.hub.core.settings import Settings


class MoneyOff(NotFound):
    """Asked for money where there is none."""

    code = "money_off"

    def __init__(self) -> None:
        super().__init__(
            "This pool works without money: nothing is priced, held or paid.",
            hint="Its operator decides that, with COMPUTEPOOL_MONEY.",
        )


def need_money(settings: Settings) -> None:
    """Raise MoneyOff where the operator has switched money off."""
    if settings.money == "off":
        raise MoneyOff
