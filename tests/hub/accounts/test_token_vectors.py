"""Promise 24: forged, revoked or wrong-audience tokens fail. Each vector is one token that must be refused with 401."""

import asyncio
import base64
import hashlib
import hmac
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from support.small_hub import SECRET_KEY, HandClock, small_hub
from support.waiting import patience

from computepool.hub.accounts import service
from computepool.hub.accounts.directory import LiveToken, Revoked, TokenDirectory
from computepool.hub.accounts.errors import BadToken
from computepool.hub.accounts.tokens import (
    AUDIENCE,
    BASE62,
    TYPE,
    TokenSigner,
    check_personal_token,
    hash_of,
    new_personal_token,
)
from computepool.hub.core.http import Role, Scope
from computepool.hub.core.secrets import derive_key

HUB_ID = "hub_test"
USER = "user_01kabcdefghjkmnpqrstvwxyz0"
SESSION = "session_01kabcdefghjkmnpqrstvwxyz1"
KEY = derive_key(SECRET_KEY, "access-token")
NOW = HandClock().now()
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE_KEY = ec.generate_private_key(ec.SECP256R1())
EDWARDS_KEY = ed25519.Ed25519PrivateKey.generate()
RSA_PUBLIC = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
EDWARDS_PRIVATE = EDWARDS_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
CURVE_PRIVATE = CURVE_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
RSA_PRIVATE = RSA_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
SIGNER = TokenSigner(SECRET_KEY, HUB_ID)
RANDOM = random.Random(24)
GOOD_PERSONAL = new_personal_token(RANDOM.getrandbits)


def b64(data: object) -> str:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def claims(**changes: object) -> dict:
    """Good claims, with changes; None takes one away."""
    good = {
        "iss": f"computepool:{HUB_ID}",
        "aud": AUDIENCE,
        "sub": USER,
        "sid": SESSION,
        "role": "user",
        "jti": "access_01kabcdefghjkmnpqrstvwxyz2",
        "iat": seconds(0),
        "exp": seconds(minutes=15),
    }
    return {name: value for name, value in (good | changes).items() if value is not None}


def seconds(seconds: float = 0, **more: float) -> int:
    return int((NOW + timedelta(seconds=seconds, **more)).timestamp())


def signed(header: object = None, payload: object = None, key: bytes = KEY, digest: str = "sha256") -> str:
    """By hand, since no library would make most of these."""
    text = b64(header if header is not None else {"alg": "HS256", "typ": TYPE})
    text += "." + b64(payload if payload is not None else claims())
    return text + "." + b64(hmac.digest(key, text.encode(), digest))


def encoded(key: object, algorithm: str, **changes: object) -> str:
    return jwt.encode(claims(**changes), key, algorithm, headers={"typ": TYPE})  # type: ignore[arg-type]


GOOD = signed()


def flipped(token: str, part: int, position: int) -> str:
    parts = token.split(".")
    letters = list(parts[part])
    letters[position] = "A" if letters[position] != "A" else "B"
    parts[part] = "".join(letters)
    return ".".join(parts)


def header(**changes: object) -> dict:
    return {"alg": "HS256", "typ": TYPE} | changes


def spoiled(token: str, position: int) -> str:
    letter = BASE62[(BASE62.index(token[position]) + 1) % len(BASE62)]
    return token[:position] + letter + token[position + 1 :]


H, P, S = GOOD.split(".")

FORGED: dict[str, str] = {
    # the algorithm
    "alg none, no signature": f"{b64(header(alg='none'))}.{P}.",
    "alg none, old signature": f"{b64(header(alg='none'))}.{P}.{S}",
    "alg None": f"{b64(header(alg='None'))}.{P}.",
    "alg NONE": f"{b64(header(alg='NONE'))}.{P}.",
    "alg nOnE, signed": signed(header(alg="nOnE")),
    "alg empty": signed(header(alg="")),
    "alg null": signed(header(alg=None)),
    "alg missing": signed({"typ": TYPE}),
    "alg a list": signed(header(alg=["HS256"])),
    "alg a number": signed(header(alg=256)),
    "alg hs256 in lower case": signed(header(alg="hs256")),
    "alg HS384, our key": signed(header(alg="HS384"), digest="sha384"),
    "alg HS512, our key": signed(header(alg="HS512"), digest="sha512"),
    "alg RS256, a real RSA key": encoded(RSA_PRIVATE, "RS256"),
    "alg PS256, a real RSA key": encoded(RSA_PRIVATE, "PS256"),
    "alg ES256, a real curve key": encoded(CURVE_PRIVATE, "ES256"),
    "alg EdDSA, a real key": encoded(EDWARDS_PRIVATE, "EdDSA"),
    "HS256 with a public key as the secret": signed(key=RSA_PUBLIC),
    "RS256 header over an HMAC": signed(header(alg="RS256")),
    # the key
    "another key": signed(key=b"x" * 32),
    "empty key": signed(key=b""),
    "the hub's secret itself": signed(key=SECRET_KEY),
    "the key for refresh tokens": signed(key=derive_key(SECRET_KEY, "refresh-token")),
    "another hub's key": signed(key=derive_key(b"another hub's secret, also long enough", "access-token")),
    "key in the header (jwk)": signed(header(jwk={"kty": "oct", "k": b64(b"x" * 32)}), key=b"x" * 32),
    "key by address (jku)": signed(header(jku="http://evil.example/keys"), key=b"x" * 32),
    "key by path (kid)": signed(header(kid="../../dev/null"), key=b""),
    "unknown critical header": signed(header(crit=["b64"], b64=False)),
    # the kind
    "typ JWT": signed(header(typ="JWT")),
    "typ missing": signed({"alg": "HS256"}),
    # the audience and the issuer
    "wrong audience": signed(payload=claims(aud="somebody-else")),
    "no audience": signed(payload=claims(aud=None)),
    "audience a list with ours": signed(payload=claims(aud=[AUDIENCE, "other"])),
    "audience empty": signed(payload=claims(aud="")),
    "wrong issuer": signed(payload=claims(iss="computepool:hub_other")),
    "no issuer": signed(payload=claims(iss=None)),
    "issuer a prefix": signed(payload=claims(iss="computepool:")),
    # the times
    "expired": signed(payload=claims(iat=seconds(minutes=-20), exp=seconds(minutes=-5))),
    "expires this second": signed(payload=claims(iat=seconds(minutes=-15), exp=seconds(0))),
    "no exp": signed(payload=claims(exp=None)),
    "exp a text": signed(payload=claims(exp="9999999999")),
    "exp a fraction": signed(payload=claims(exp=seconds(60) + 0.5)),
    "exp true": signed(payload=claims(exp=True)),
    "exp infinite": signed(payload=claims(exp=float("inf"))),
    "lives for a year": signed(payload=claims(exp=seconds(days=365))),
    "issued in the future": signed(payload=claims(iat=seconds(minutes=5), exp=seconds(minutes=20))),
    "not before the future": signed(payload=claims(nbf=seconds(minutes=5))),
    "nbf a text": signed(payload=claims(nbf="now")),
    "no iat": signed(payload=claims(iat=None)),
    "iat negative": signed(payload=claims(iat=-1)),
    # other claims
    "no subject": signed(payload=claims(sub=None)),
    "subject a number": signed(payload=claims(sub=1)),
    "no session": signed(payload=claims(sid=None)),
    "session a list": signed(payload=claims(sid=[SESSION])),
    "no jti": signed(payload=claims(jti=None)),
    "no role": signed(payload=claims(role=None)),
    "unknown role": signed(payload=claims(role="root")),
    "role a dict": signed(payload=claims(role={"admin": True})),
    "payload a list": signed(payload=["sub", USER]),
    "payload not JSON": signed(payload=b"\xff\xfe nothing"),
    "payload empty": signed(payload=b""),
    # the text
    "truncated signature": GOOD[:-4],
    "no signature": f"{H}.{P}.",
    "two parts": f"{H}.{P}",
    "four parts": f"{GOOD}.{S}",
    "only dots": "..",
    "a word": "null",
    "one letter": "x",
    "swapped parts": f"{P}.{H}.{S}",
    "admin's payload, old signature": f"{H}.{b64(claims(role='admin'))}.{S}",
    "another user's payload, old signature": f"{H}.{b64(claims(sub='user_other'))}.{S}",
    "flipped bit in the header": flipped(GOOD, 0, 12),
    "flipped bit in the payload": flipped(GOOD, 1, 30),
    "flipped bit in the signature": flipped(GOOD, 2, 5),
    "line break inside": f"{H}.{P}\n.{S}",
    "padding added": f"{H}.{P}.{S}=",
    "padding before": f"={GOOD}",
    "not ASCII": f"{H}.{P}.{S[:-1]}é",
    "nothing but brackets in the header": f"{base64.urlsafe_b64encode(b'[' * 1400).decode().rstrip('=')}.{P}.{S}",
    "far too long": f"{H}.{P}{'A' * 100_000}.{S}",
    "signature of the empty text": f"{H}.{P}.{b64(hmac.digest(KEY, b'', 'sha256'))}",
    "plain SHA-256 as signature": f"{H}.{P}.{b64(hashlib.sha256(f'{H}.{P}'.encode()).digest())}",
    # other tokens of ours
    "refresh token as access token": SIGNER.refresh_token(SESSION, 0),
    "device code as access token": "cpd_" + "a" * 36,
    "sign-in link as access token": "cpo_" + "a" * 36,
    # personal tokens
    "personal, never made": new_personal_token(RANDOM.getrandbits),
    "personal, wrong checksum": spoiled(GOOD_PERSONAL, -1),
    "personal, typo at the start": spoiled(GOOD_PERSONAL, 3),
    "personal, typo in the middle": spoiled(GOOD_PERSONAL, 20),
    "personal, cut off": GOOD_PERSONAL[:-1],
    "personal, too long": GOOD_PERSONAL + "0",
    "personal, only the prefix": "cp_",
    "personal, other case": GOOD_PERSONAL.swapcase().replace("CP_", "cp_", 1),
    "personal, prefix in capitals": "CP_" + GOOD_PERSONAL[3:],
    "personal, the stored hash": hash_of(GOOD_PERSONAL),
    "personal, prefix and stored hash": "cp_" + hash_of(GOOD_PERSONAL),
    "personal, foreign letters": GOOD_PERSONAL[:10] + "é" + GOOD_PERSONAL[11:],
}


def directory(clock: HandClock | None = None) -> TokenDirectory:
    made = TokenDirectory(SIGNER, clock or HandClock())
    made.admit_token(
        LiveToken(
            "token_1", hash_of(GOOD_PERSONAL), USER, Role.USER, frozenset({Scope.JOBS_READ}), NOW + timedelta(days=9)
        )
    )
    return made


def test_there_are_at_least_sixty_vectors_and_all_differ():
    assert len(set(FORGED.values())) == len(FORGED) >= 60


def test_good_tokens_are_taken_so_that_the_vectors_mean_something():
    known = directory()
    assert known.authenticate(GOOD).user_id == USER
    assert known.authenticate(GOOD).user_id == USER  # from the cache
    assert known.authenticate(GOOD_PERSONAL).scopes == {Scope.JOBS_READ}
    made = SIGNER.access_token(USER, SESSION, Role.ADMIN, "access_1", NOW)
    assert known.authenticate(made).is_admin


@pytest.mark.parametrize("name", FORGED)
def test_forged_token_is_refused(name):
    known = directory()
    known.authenticate(GOOD)
    for _ in range(2):  # refused again: no cache remembers it as good
        with pytest.raises(BadToken):
            known.authenticate(FORGED[name])


def test_every_forged_token_is_answered_401_in_the_common_shape(tmp_path):
    async def story():
        async with small_hub(f"sqlite:///{tmp_path}/hub.db") as hub:
            for name, token in FORGED.items():
                if "\n" in token:
                    continue  # no HTTP client or server lets it through
                headers = [(b"authorization", b"Bearer " + token.encode("latin-1"))]
                answer = await hub.client.get("/api/v1/me", headers=headers)
                assert answer.status_code == 401, name
                assert set(answer.json()) == {"error"}, name
                assert answer.headers["www-authenticate"].startswith("Bearer"), name
                assert token not in answer.text, name

    asyncio.run(story())


def test_each_flipped_bit_of_a_token_is_refused():
    known = directory()
    refused = 0
    for token in (GOOD, GOOD_PERSONAL):
        raw = token.encode()
        for position in range(len(raw)):
            for bit in range(7):
                changed = bytearray(raw)
                changed[position] ^= 1 << bit
                with pytest.raises(BadToken):
                    known.authenticate(changed.decode("latin-1"))
                refused += 1
    assert refused > 2000


def test_typo_is_told_apart_from_a_revoked_token():
    known = directory()
    with pytest.raises(BadToken) as refused:
        known.authenticate(spoiled(GOOD_PERSONAL, 9))
    assert refused.value.code == "token_mistyped"
    known.revoke(Revoked(tokens=["token_1"]))
    with pytest.raises(BadToken) as refused:
        known.authenticate(GOOD_PERSONAL)
    assert refused.value.code == "token_revoked"


def test_checksum_finds_every_single_typo():
    for position in range(3, len(GOOD_PERSONAL)):
        for letter in BASE62:
            if letter != GOOD_PERSONAL[position]:
                with pytest.raises(BadToken):
                    check_personal_token(GOOD_PERSONAL[:position] + letter + GOOD_PERSONAL[position + 1 :])


def test_cached_access_token_dies_with_its_time():
    clock = HandClock()
    known = directory(clock)
    known.authenticate(GOOD)
    clock.move(minutes=14, seconds=59)
    known.authenticate(GOOD)
    clock.move(seconds=1)
    with pytest.raises(BadToken) as refused:
        known.authenticate(GOOD)
    assert refused.value.code == "token_expired"


def test_personal_token_dies_with_its_time():
    clock = HandClock()
    known = directory(clock)
    clock.move(days=9)
    with pytest.raises(BadToken) as refused:
        known.authenticate(GOOD_PERSONAL)
    assert refused.value.code == "token_expired"


def test_news_of_an_end_that_overtakes_the_news_of_the_beginning_wins():
    known = TokenDirectory(SIGNER, HandClock())
    token = LiveToken(
        "token_9",
        hash_of(GOOD_PERSONAL),
        USER,
        Role.USER,
        frozenset({Scope.JOBS_READ}),
        datetime.max.replace(tzinfo=UTC),
    )
    known.revoke(Revoked(tokens=["token_9"]))
    known.admit_token(token)
    with pytest.raises(BadToken):
        known.authenticate(GOOD_PERSONAL)


@pytest.mark.parametrize(
    "broken",
    [
        lambda good: good[:-1],
        lambda good: good.replace(".0.", ".1."),
        lambda good: good.replace(".0.", ".00."),
        lambda good: good.replace(".0.", ".-1."),
        lambda good: good.replace(".0.", ".٠."),
        lambda good: good.replace(SESSION, SESSION[:-1] + "2"),
        lambda good: good.replace("cpr_", "cp_"),
        lambda good: good + "A",
        lambda good: good[:-43] + "A" * 43,
        lambda good: GOOD,
        lambda good: GOOD_PERSONAL,
        lambda good: "",
        lambda good: TokenSigner(b"another secret that is long enough", HUB_ID).refresh_token(SESSION, 0),
    ],
)
def test_forged_refresh_token_is_refused(broken: Callable[[str], str]):
    good = SIGNER.refresh_token(SESSION, 0)
    assert SIGNER.read_refresh_token(good) == (SESSION, 0)
    with pytest.raises(BadToken):
        SIGNER.read_refresh_token(broken(good))


def test_everything_of_a_disabled_user_is_refused_at_once_and_stays_so(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            pair = await hub.register()
            personal = (await hub.personal_token(pair["access_token"]))["token"]
            for token in (pair["access_token"], personal):
                assert (await hub.get("me", token)).status_code == 200
            run, now = hub.context.db.run, hub.clock.now
            hub.directory.revoke(await run(service.disable_user, pair["user_id"], now(), actor="hub"))
            await run(service.enable_user, pair["user_id"], now(), actor="hub")
            for token in (pair["access_token"], personal):
                assert (await hub.get("me", token)).json()["error"]["code"] == "token_revoked"
            refreshed = await hub.post("auth/refresh", {"refresh_token": pair["refresh_token"]})
            assert refreshed.status_code == 401

    asyncio.run(story())


def test_revocation_reaches_the_directory_by_event_alone(database_url):
    """As it does when another process, or another feature, has revoked."""

    async def story():
        async with small_hub(database_url) as hub:
            pair = await hub.register()
            personal = (await hub.personal_token(pair["access_token"]))["token"]
            await hub.context.db.run(service.disable_user, pair["user_id"], hub.clock.now(), actor="hub")
            async with asyncio.timeout(patience()):
                for token in (pair["access_token"], personal):
                    while (await hub.get("me", token)).status_code != 401:  # noqa: ASYNC110 - it is asked over HTTP
                        await asyncio.sleep(0.01)

    asyncio.run(story())


def test_role_change_ends_what_was_made_in_the_old_role(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            pair = await hub.register()
            user_id, now = pair["user_id"], hub.clock.now()
            hub.directory.revoke(await hub.context.db.run(service.set_role, user_id, Role.ADMIN, now, actor="hub"))
            assert (await hub.get("me", pair["access_token"])).status_code == 401

    asyncio.run(story())


def test_restart_forgets_no_revocation(database_url):
    async def story():
        async with small_hub(database_url) as hub:
            out, gone, kept = [await hub.register() for _ in range(3)]
            revoked = await hub.personal_token(kept["access_token"])
            alive = await hub.personal_token(kept["access_token"])
            await hub.post("auth/logout", {"refresh_token": out["refresh_token"]})
            await hub.context.db.run(service.disable_user, gone["user_id"], hub.clock.now(), actor="hub")
            await hub.delete(f"tokens/{revoked['id']}", kept["access_token"])
        async with small_hub(database_url) as hub:
            for token in (out["access_token"], gone["access_token"], revoked["token"]):
                assert (await hub.get("me", token)).json()["error"]["code"] == "token_revoked"
            for token in (kept["access_token"], alive["token"]):
                assert (await hub.get("me", token)).status_code == 200

    asyncio.run(story())
