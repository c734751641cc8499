from enum import StrEnum


class DeviceState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"


NEXT: dict[DeviceState, frozenset[DeviceState]] = {
    DeviceState.PENDING: frozenset({DeviceState.APPROVED, DeviceState.DENIED}),
    DeviceState.APPROVED: frozenset({DeviceState.USED}),
    DeviceState.DENIED: frozenset(),
    DeviceState.USED: frozenset(),
}


def sources_of(target: DeviceState) -> list[str]:
    return [state.value for state, following in NEXT.items() if target in following]
