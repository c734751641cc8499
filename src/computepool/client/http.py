"""One hub over HTTP: signed-in requests, patient with a hub that is away for a moment, impatient with a wrong address.

What is retried: lost connections and the answers 429, 502, 503, 504 — for requests that may be repeated without harm:
reads, and posts that carry an idempotency key or are idempotent by themselves. A request that was one too many may
always be repeated. The wait is at least what `Retry-After` says.
"""

import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

from computepool import __version__
from computepool.client.errors import HubUnreachable, InsecureAddress, TransferError, WrongKey, error_from
from computepool.protocol.addresses import (
    INSECURE_HINT,
    insecure_message,
    is_exposed,
    is_loopback,
    same_origin,
    split_fingerprint,
    with_fingerprint,
)
from computepool.protocol.pinning import COMPARE_KEYS, PinMismatch, PinnedContext, pin_mismatch

API = "/api/v1"
RETRIED_STATUS = frozenset({429, 502, 503, 504})
FIRST_CONTACT_SECONDS = 2.0
"""Before the first answer a dead address is more likely a mistake than a restart."""
PATIENCE_SECONDS = 60.0
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 5.0
RETRY_AFTER_LIMIT_SECONDS = 30.0
TIMEOUT = httpx.Timeout(30.0, connect=10.0)
AGENT = {"User-Agent": f"computepool/{__version__}"}
TOO_MANY_REQUESTS = "too_many_requests"

Retry = Literal["always", "unsent", "never"]
"""`unsent`: only while no connection could be made, so that nothing can have been done twice."""


class Backoff:
    """Growing waits with jitter, until the patience is used up."""

    def __init__(self, patience_seconds: float, sleep: Callable[[float], None], chance: random.Random) -> None:
        self._deadline = time.monotonic() + patience_seconds
        self._sleep = sleep
        self._chance = chance
        self._wait = FIRST_WAIT_SECONDS

    def wait(self, at_least: float = 0.0) -> bool:
        """False when there is no time left to try again."""
        wait = max(self._wait * self._chance.uniform(0.5, 1.0), at_least)
        if time.monotonic() + wait > self._deadline:
            return False
        self._sleep(wait)
        self._wait = min(self._wait * 2, LONGEST_WAIT_SECONDS)
        return True


class Http:
    """The connection of one `Pool`."""

    def __init__(
        self,
        address: str,
        token: str | None,
        *,
        insecure: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        chance: random.Random | None = None,
    ) -> None:
        """`address` ends in `#sha256:…` where no authority signed the hub's certificate. Raises InsecureAddress."""
        self.url, self.fingerprint = split_fingerprint(address)
        url = self.url
        if is_exposed(url) and not insecure:
            raise InsecureAddress(f"{insecure_message(url)}.", hint=INSECURE_HINT)
        self.token = token
        self.patience_seconds = patience_seconds
        self.sleep = sleep
        self._chance = chance or random.Random()
        self.reached = False
        headers = AGENT | ({"Authorization": f"Bearer {token}"} if token else {})
        # A proxy from the environment cannot know this machine's own loopback.
        self.is_local = is_loopback(urlsplit(url).hostname or "")
        self._making = threading.Lock()
        self._client = httpx.Client(
            base_url=url + API, headers=headers, timeout=TIMEOUT, trust_env=not self.is_local, verify=self.hub_trust
        )

    @cached_property
    def hub_trust(self) -> ssl.SSLContext:
        """Which certificates the hub may show."""
        if urlsplit(self.url).scheme != "https":
            return _trusts_nobody()
        return PinnedContext(self.fingerprint) if self.fingerprint else self._trust

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """To read all authorities takes longer than most commands do: once, and only for those who need them."""
        return httpx.create_ssl_context(trust_env=not self.is_local)

    # Signed URLs carry their own right. The token is for the hub alone, and must not reach a storage server.

    @cached_property
    def _bare(self) -> httpx.Client:
        return httpx.Client(
            headers=AGENT,
            timeout=TIMEOUT,
            follow_redirects=True,
            trust_env=not self.is_local,
            verify=self._trust,
            event_hooks={"response": [_refuse_downgrade]},
        )

    @cached_property
    def _bare_hub(self) -> httpx.Client:
        """For signed URLs of the hub itself, which does not redirect them."""
        return httpx.Client(headers=AGENT, timeout=TIMEOUT, trust_env=not self.is_local, verify=self.hub_trust)

    def _signed(self, url: str) -> httpx.Client:
        with self._making:  # downloads ask from several threads
            return self._bare_hub if same_origin(url, self.url) else self._bare

    def close(self) -> None:
        self._client.close()
        for name in ("_bare", "_bare_hub"):
            if name in vars(self):
                vars(self)[name].close()

    # ── the hub ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, path: str, params: Mapping[str, object] | None = None) -> Any:
        return self.request("GET", path, params=_query(params)).json()

    def post(
        self,
        path: str,
        json: object = None,
        *,
        params: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        repeatable: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """`repeatable`: doing it twice is the same as doing it once, so a lost answer may be asked for again."""
        sent = {**(headers or {}), **({"Idempotency-Key": idempotency_key} if idempotency_key else {})}
        retry: Retry = "always" if repeatable or idempotency_key else "unsent"
        response = self.request("POST", path, json=json, params=_query(params), headers=sent, retry=retry)
        return response.json() if response.content else None

    def request(self, method: str, path: str, *, retry: Retry = "always", **options: Any) -> httpx.Response:
        backoff = self.backoff()
        while True:
            try:
                response = self._client.request(method, path, **options)
            except httpx.TransportError as error:
                if mismatch := pin_mismatch(error):
                    raise self.wrong_key(mismatch) from None
                may_repeat = retry == "always" or (retry == "unsent" and isinstance(error, httpx.ConnectError))
                if may_repeat and backoff.wait():
                    continue
                raise self.unreachable(error) from None
            if not self.reached:  # it is there: worth more patience than an address that may be wrong
                self.reached, backoff = True, Backoff(self.patience_seconds, self.sleep, self._chance)
            may_repeat = response.status_code in RETRIED_STATUS if retry == "always" else _is_untouched(response, retry)
            if may_repeat and backoff.wait(_retry_after(response)):
                continue
            return _checked(response)

    @contextmanager
    def stream(self, path: str, params: Mapping[str, object] | None = None) -> Iterator[httpx.Response]:
        """A response whose body is read as it comes. Not retried: the caller knows how far it got."""
        with self._client.stream("GET", path, params=_query(params)) as response:
            if response.is_error:
                response.read()
            yield _checked(response)

    def backoff(self, patience_seconds: float | None = None) -> Backoff:
        patience = self.patience_seconds if patience_seconds is None else patience_seconds
        if not self.reached:
            patience = min(patience, FIRST_CONTACT_SECONDS)
        return Backoff(patience, self.sleep, self._chance)

    def unreachable(self, error: Exception) -> HubUnreachable:
        hint = "Is it running, and is this its address? Start one here with: computepool up"
        if self.reached:
            hint = "It answered before: it may be restarting. Try again in a moment."
        return HubUnreachable(f"The hub at {self.url} does not answer ({_reason(error)}).", hint=hint)

    def wrong_key(self, mismatch: PinMismatch) -> WrongKey:
        told = mismatch.told(self.url)
        again = f"computepool login {with_fingerprint(self.url, mismatch.found)}"
        return WrongKey(f"{told[:1].upper()}{told[1:]}.", hint=f"{COMPARE_KEYS}: {again}")

    # ── signed URLs ──────────────────────────────────────────────────────────────────────────────────────────────────

    def put_part(self, url: str, data: bytes, headers: Mapping[str, str]) -> None:
        """With the headers that the URL was signed for. Raises `TransferError`, `url_refused` when its time is over."""
        backoff = self.backoff()
        while True:
            try:
                where = self.absolute(url)
                response = self._signed(where).put(where, content=data, headers=dict(headers))
            except httpx.TransportError as error:
                if mismatch := pin_mismatch(error):
                    raise self.wrong_key(mismatch) from None
                if backoff.wait():
                    continue
                raise TransferError(f"An upload was cut off ({_reason(error)}).", hint=RESUME_HINT) from None
            if response.is_success:
                return
            if response.status_code in RETRIED_STATUS and backoff.wait(_retry_after(response)):
                continue
            raise _transfer_refused(response)

    @contextmanager
    def open_signed(self, url: str, start: int) -> Iterator[httpx.Response]:
        """A download from byte `start` on; the answer is 206, or 200 from a server that cannot resume."""
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
        where = self.absolute(url)
        try:
            with self._signed(where).stream("GET", where, headers=headers) as response:
                if response.is_error:
                    response.read()
                    raise _transfer_refused(response)
                yield response
        except httpx.TransportError as error:
            if mismatch := pin_mismatch(error):
                raise self.wrong_key(mismatch) from None
            raise

    def absolute(self, url: str) -> str:
        return str(httpx.URL(self.url + "/").join(url))


def _trusts_nobody() -> ssl.SSLContext:
    """For a hub without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _refuse_downgrade(response: httpx.Response) -> None:
    """A signed URL is a secret while it is good."""
    if not response.has_redirect_location or response.url.scheme != "https":
        return
    if response.url.join(response.headers["Location"]).scheme != "https":
        raise TransferError(f"{response.url.host} redirects a signed URL to plain HTTP; it was not followed.")


RESUME_HINT = "Run the same command again: it goes on where it stopped."


def _transfer_refused(response: httpx.Response) -> TransferError:
    if response.status_code in (401, 403, 410):
        return TransferError("The storage no longer accepts this URL.", hint=RESUME_HINT, code="url_refused")
    error = error_from(response.status_code, _json_or_none(response))
    code = "transfer_unavailable" if response.status_code in RETRIED_STATUS else error.code
    failure = TransferError(error.message, hint=error.hint, code=code)
    failure.retry_after_seconds = _retry_after(response)
    return failure


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    error = error_from(response.status_code, _json_or_none(response))
    error.retry_after_seconds = _retry_after(response)
    raise error


def _is_untouched(response: httpx.Response, retry: Retry) -> bool:
    """Whether the hub counted too many requests and looked no further, so that nothing can have been done."""
    if retry == "never" or response.status_code != 429:
        return False
    return error_from(429, _json_or_none(response)).code == TOO_MANY_REQUESTS


def _json_or_none(response: httpx.Response) -> object:
    try:
        return response.json()
    except ValueError:
        return None


def _query(params: Mapping[str, object] | None) -> dict[str, Any] | None:
    """None where nothing is asked for: an empty one would take away what the path itself asks for."""
    if params is None:
        return None
    return {name: value for name, value in params.items() if value is not None}


def _retry_after(response: httpx.Response) -> float:
    value = response.headers.get("Retry-After", "")
    return min(float(value), RETRY_AFTER_LIMIT_SECONDS) if value.isdecimal() else 0.0


def _reason(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return (
            "its certificate cannot be verified: where the hub made it itself, its address needs the #sha256:… that "
            "`computepool up --host` prints"
        )
    return "connection refused" if "refused" in text.lower() else text
