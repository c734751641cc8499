"""Passwords: argon2id, off the event loop, a few at a time because each takes memory on purpose."""

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from computepool.hub.core.context import Offload
from computepool.hub.core.errors import Invalid
from computepool.protocol.errors import FieldError

PASSWORD_LEAST_CHARACTERS = 10
PASSWORD_MOST_CHARACTERS = 1024
AT_ONCE = 2
"""Each takes 64 MiB and a few cores' worth of tens of milliseconds."""


def check_password(password: str, email: str, *, field: str = "password") -> None:
    """`field`: where it stands in the request."""
    problem = None
    if len(password) < PASSWORD_LEAST_CHARACTERS:
        problem = f"has {len(password)} characters; at least {PASSWORD_LEAST_CHARACTERS} are needed"
    elif len(password) > PASSWORD_MOST_CHARACTERS:
        problem = f"has more than {PASSWORD_MOST_CHARACTERS} characters"
    elif password.strip().lower() == email.lower():
        problem = "is the email address"
    if problem:
        raise Invalid("The password is not valid.", fields=[FieldError(field=field, message=problem)])


class Passwords:
    def __init__(self, offload: Offload, hasher: PasswordHasher | None = None) -> None:
        self._offload = offload
        self._hasher = hasher or PasswordHasher()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._nobodys_hash: str | None = None

    async def hash(self, password: str) -> str:
        async with self._slots:
            return await self._offload(self._hasher.hash, password)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Without a hash it is wrong, but takes as long: the time must not tell who has an account."""
        async with self._slots:
            return await self._offload(self._verify, password_hash, password)

    def needs_rehash(self, password_hash: str) -> bool:
        return self._hasher.check_needs_rehash(password_hash)

    def _verify(self, password_hash: str | None, password: str) -> bool:
        if self._nobodys_hash is None:
            self._nobodys_hash = self._hasher.hash("nobody's password")
        try:
            self._hasher.verify(password_hash or self._nobodys_hash, password)
        except (VerificationError, InvalidHashError):
            return False
        return password_hash is not None
