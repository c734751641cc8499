"""The forms of our tokens. Pure.

cp_    personal access token   random + checksum, so that a typo is told apart from a revoked one
cpr_   refresh token           session.generation.mac: nothing of it is stored, and any older one is recognised as ours
cpd_   device code             random
cpo_   sign-in link            random
cps_   link to a shared job    random
cpi_   invitation to a team    random
(none) access token            JWT, HS256 and nothing else
"""

import binascii
import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from jwt.types import Options

from computepool.hub.accounts.errors import BadToken
from computepool.hub.core.http import Role
from computepool.hub.core.ids import RandomBits
from computepool.hub.core.secrets import derive_key

ACCESS_LIFETIME = timedelta(minutes=15)
CLOCK_SKEW = timedelta(seconds=60)
"""How far ahead the clock of another hub process may be."""
AUDIENCE = "computepool-api"
ALGORITHM = "HS256"
TYPE = "at+jwt"
PERSONAL_PREFIX = "cp_"
REFRESH_PREFIX = "cpr_"
DEVICE_PREFIX = "cpd_"
ONE_TIME_PREFIX = "cpo_"
SHARE_PREFIX = "cps_"
INVITATION_PREFIX = "cpi_"
RANDOM_CHARACTERS = 36
CHECKSUM_CHARACTERS = 6
USER_CODE_CHARACTERS = 8
USER_CODE_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that no word comes out, and nothing that looks like a digit."""
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_READING: Options = {
    "require": ["iss", "aud", "sub", "sid", "role", "jti", "iat", "exp"],
    "strict_aud": True,
    # Instants are checked apart, by the hub's clock.
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
}
_ACCESS = re.compile(r"[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]", re.ASCII)
"""The one way to write a token: base64 decoders forgive padding and stray bits, and a token must have no twin."""
_PERSONAL = re.compile(rf"cp_[0-9A-Za-z]{{{RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}}", re.ASCII)
_REFRESH = re.compile(r"cpr_(session_[0-9a-hjkmnp-tv-z]{26})\.(0|[1-9][0-9]{0,8})\.([\w-]{43})", re.ASCII)


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def random_text(randbits: RandomBits, length: int, alphabet: str = BASE62) -> str:
    bits = (len(alphabet) - 1).bit_length()
    letters: list[str] = []
    while len(letters) < length:
        value = randbits(bits)
        if value < len(alphabet):  # drawn again otherwise: a remainder would favour the first letters
            letters.append(alphabet[value])
    return "".join(letters)


def new_personal_token(randbits: RandomBits) -> str:
    body = PERSONAL_PREFIX + random_text(randbits, RANDOM_CHARACTERS)
    return body + _checksum(body)


def check_personal_token(token: str) -> None:
    """Raise if it cannot be one of ours, whatever the database says."""
    body, checksum = token[:-CHECKSUM_CHARACTERS], token[-CHECKSUM_CHARACTERS:]
    if not _PERSONAL.fullmatch(token) or _checksum(body) != checksum:
        raise BadToken(
            "This token is mistyped or incomplete.", code="token_mistyped", hint="Copy the whole token again."
        )


def _checksum(body: str) -> str:
    value = binascii.crc32(body.encode())
    digits = []
    for _ in range(CHECKSUM_CHARACTERS):
        value, digit = divmod(value, len(BASE62))
        digits.append(BASE62[digit])
    return "".join(reversed(digits))


def new_device_code(randbits: RandomBits) -> str:
    return DEVICE_PREFIX + random_text(randbits, RANDOM_CHARACTERS)


def new_one_time_token(randbits: RandomBits) -> str:
    return ONE_TIME_PREFIX + random_text(randbits, RANDOM_CHARACTERS)


def new_share_token(randbits: RandomBits) -> str:
    return SHARE_PREFIX + random_text(randbits, RANDOM_CHARACTERS)


def new_invitation_token(randbits: RandomBits) -> str:
    return INVITATION_PREFIX + random_text(randbits, RANDOM_CHARACTERS)


def new_user_code(randbits: RandomBits) -> str:
    return random_text(randbits, USER_CODE_CHARACTERS, USER_CODE_ALPHABET)


def show_user_code(code: str) -> str:
    return f"{code[:4]}-{code[4:]}"


def read_user_code(typed: str) -> str:
    return re.sub(r"[\s-]", "", typed).upper()


@dataclass(frozen=True, slots=True)
class AccessClaims:
    user_id: str
    session_id: str
    role: Role
    expires_at: datetime


class TokenSigner:
    """Makes and reads the tokens that carry their own proof."""

    def __init__(self, secret_key: bytes, hub_id: str) -> None:
        self._access_key = derive_key(secret_key, "access-token")
        self._refresh_key = derive_key(secret_key, "refresh-token")
        self._issuer = f"computepool:{hub_id}"

    def access_token(self, user_id: str, session_id: str, role: Role, token_id: str, now: datetime) -> str:
        claims = {
            "iss": self._issuer,
            "aud": AUDIENCE,
            "sub": user_id,
            "sid": session_id,
            "role": role.value,
            "jti": token_id,
            "iat": int(now.timestamp()),
            "exp": int((now + ACCESS_LIFETIME).timestamp()),
        }
        return jwt.encode(claims, self._access_key, ALGORITHM, headers={"typ": TYPE})

    def read_access_token(self, token: str, now: datetime) -> AccessClaims:
        if not _ACCESS.fullmatch(token):
            raise _not_ours()
        try:
            whole = jwt.decode_complete(
                token,
                self._access_key,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=self._issuer,
                options=_READING,
            )
        except (jwt.PyJWTError, ValueError, RecursionError):  # the last: a header that is nothing but brackets
            raise _not_ours() from None
        if whole["header"].get("typ") != TYPE:
            raise _not_ours()
        return _checked_claims(whole["payload"], now)

    def refresh_token(self, session_id: str, generation: int) -> str:
        return f"{REFRESH_PREFIX}{session_id}.{generation}.{self._mac(session_id, generation)}"

    def read_refresh_token(self, token: str) -> tuple[str, int]:
        """The session and the generation of a token that this hub made, however long ago."""
        parts = _REFRESH.fullmatch(token)
        if parts is None:
            raise _bad_refresh_token()
        session_id, generation, mac = parts[1], int(parts[2]), parts[3]
        if not hmac.compare_digest(mac, self._mac(session_id, generation)):
            raise _bad_refresh_token()
        return session_id, generation

    def _mac(self, session_id: str, generation: int) -> str:
        digest = hmac.digest(self._refresh_key, f"{session_id}.{generation}".encode(), "sha256")
        return urlsafe_b64encode(digest).decode().rstrip("=")


def _checked_claims(claims: dict[str, Any], now: datetime) -> AccessClaims:
    texts = [claims[name] for name in ("sub", "sid", "jti", "role")]
    numbers = [claims[name] for name in ("iat", "exp", "nbf") if name in claims]
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise _not_ours()
    ahead = (now + CLOCK_SKEW).timestamp()
    if claims["iat"] > ahead or claims.get("nbf", 0) > ahead or claims["role"] not in set(Role):
        raise _not_ours()
    if claims["exp"] <= now.timestamp():
        raise BadToken("This access token has expired.", code="token_expired", hint="Get a new one from auth/refresh.")
    if claims["exp"] - claims["iat"] > ACCESS_LIFETIME.total_seconds():
        raise _not_ours()
    return AccessClaims(
        claims["sub"], claims["sid"], Role(claims["role"]), datetime.fromtimestamp(claims["exp"], tz=UTC)
    )


def _not_ours() -> BadToken:
    return BadToken("This is not a token of this hub.", hint="Sign in again with: computepool login URL")


def _bad_refresh_token() -> BadToken:
    return BadToken("This is not a refresh token of this hub.", code="bad_refresh_token", hint="Sign in again.")
