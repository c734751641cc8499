from enum import StrEnum


class SignInMethod(StrEnum):
    """How a session was opened."""

    PASSWORD = "password"
    REGISTRATION = "registration"
    ONE_TIME = "one_time"
    """A sign-in link."""
    DEVICE = "device"
    """A program's code that was approved in a browser."""
    NEW_PASSWORD = "new_password"
    """The session that follows a change of the password."""


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
