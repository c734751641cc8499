"""One image's registry, asked over the agent's own way out: manifests, tokens, content, and wherever it redirects to.

Each connection goes through the proxy that jobs have, so each name is resolved and checked when it is connected to:
that of the registry, of the realm that gives tokens, and of the store that a redirect names. A token goes to the
registry that asked for it and to nobody else.
"""

import asyncio
import contextlib
import hashlib
import json
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from computepool.agent.egress import Egress, EgressPolicy, HomePolicy, Mode, Refused
from computepool.agent.egress.addresses import is_home
from computepool.agent.egress.policy import MAIL_PORTS
from computepool.agent.egress.proxy import Around
from computepool.agent.images import ImageFailed, ImageMissing, ImageUnavailable, RegistryUnreachable
from computepool.agent.inputs import BadInput, MakeRoom, persist
from computepool.agent.outside import Outside
from computepool.agent.partial import Partial
from computepool.agent.ports import TransferFailed
from computepool.agent.web import (
    ANSWERED,
    MOVED,
    NODES_OWN,
    REDIRECTS,
    TRIES,
    TRY_AGAIN,
    BadUrl,
    DownloadPace,
    check_url,
    headers_from,
    next_url,
    receive,
    way_out,
)

from .content import ACCEPTED, DOCUMENT_LIMIT_BYTES, Descriptor
from .names import DIGEST, HTTP_PORT, HTTPS_PORT, ImageName

if TYPE_CHECKING:
    import httpx

DOCUMENT_SECONDS = 60.0
"""For a manifest, a configuration or a token, with all redirects."""
TOKEN_LIMIT_BYTES = 256 * 1024
_BEARER = re.compile(r"\bbearer\s+(.*)", re.IGNORECASE)
_PARAMETER = re.compile(r'([A-Za-z]+)=(?:"([^"]*)"|([^\s,"]+))')
_TOKEN = re.compile(r"[\x21-\x7e]{1,65536}")


class RegistrySession:
    def __init__(
        self, outside: Outside, image: ImageName, egress: Egress, client: "httpx.AsyncClient", schemes: Sequence[str]
    ) -> None:
        self._image = image
        self.clock = outside.clock
        self._egress = egress
        self._client = client
        self._schemes = schemes
        self._scheme = schemes[0]
        self._token: str | None = None

    @property
    def tag(self) -> str:
        """Of the registry's content in the cache: see `Source`."""
        return hashlib.sha256(f"registry {self._image.registry}".encode()).hexdigest()[:32]

    async def find_scheme(self) -> None:
        """Whether a registry at home speaks TLS. Raises ImageFailed."""
        for scheme in self._schemes:
            self._scheme = scheme
            try:
                async with self._document("/v2/", "GET"):
                    return
            except _PlainHttp:
                continue
            except (ImageMissing, RegistryUnreachable):
                return  # what it is asked for next says what is wrong

    async def digest_of_tag(self) -> str | None:
        """What it says that the tag means now; None if it does not say: it may not know HEAD. Raises ImageFailed."""
        try:
            async with self._document(self._manifest(self._image.wanted), "HEAD") as response:
                digest = str(response.headers.get("docker-content-digest", ""))
        except ImageMissing:
            return None
        return digest if DIGEST.fullmatch(digest) else None

    async def manifest(self, wanted: str) -> tuple[bytes, str]:
        """Of a tag, or of a digest, which is then checked; with its type. Raises ImageFailed."""
        async with self._document(self._manifest(wanted), "GET") as response:
            content = await self._read(response, DOCUMENT_LIMIT_BYTES)
            if DIGEST.fullmatch(wanted) and digest_of(content) != wanted:
                raise ImageMissing(f"the registry gives {digest_of(content)} for {wanted}")
            return content, str(response.headers.get("content-type", ""))

    async def config(self, wanted: Descriptor) -> bytes:
        """Raises ImageFailed."""
        async with self._document(self._blob(wanted.digest), "GET") as response:
            content = await self._read(response, wanted.size_bytes)
        if digest_of(content) != wanted.digest:
            raise ImageMissing(f"the registry gives {digest_of(content)} for {wanted.digest}")
        return content

    def layer(self, wanted: Descriptor) -> "FromRegistry":
        return FromRegistry(self, wanted)

    async def receive_layer(
        self, wanted: Descriptor, partial: Partial, make_room: MakeRoom, pace: DownloadPace
    ) -> None:
        """What is missing of it. Raises TransferFailed, InputFailed, ImageFailed."""

        def too_large(size_bytes: int | None) -> BadInput:
            size = f"{size_bytes} bytes" if size_bytes is not None else "more"
            return BadInput(f"the registry gives {size} for {wanted.digest}, which should have {wanted.size_bytes}")

        import httpx

        try:
            asked = self._asked("GET", self._blob(wanted.digest), headers_from(partial.part_bytes))
            async with asyncio.timeout(DOCUMENT_SECONDS) as waiting, asked as response:
                waiting.reschedule(None)
                if response.status_code not in ANSWERED:
                    raise self._failed(response.status_code)
                limit = wanted.size_bytes
                await receive(response, partial, make_room, limit_bytes=limit, too_large=too_large, pace=pace)
        except TimeoutError:
            raise TransferFailed(f"it did not answer within {DOCUMENT_SECONDS:.0f} seconds", retry=True) from None
        except httpx.HTTPError as error:
            raise self._broken(error) from None

    def _manifest(self, wanted: str) -> str:
        return f"/v2/{self._image.path}/manifests/{wanted}"

    def _blob(self, digest: str) -> str:
        return f"/v2/{self._image.path}/blobs/{digest}"

    def _is_ours(self, request: "httpx.Request") -> bool:
        """Whether it goes to the registry itself, as the name of the image says."""
        url = request.url
        port = url.port or (HTTPS_PORT if url.scheme == "https" else HTTP_PORT)
        return (url.scheme, url.host.lower(), port) == (self._scheme, self._image.host, self._image.port)

    @contextlib.asynccontextmanager
    async def _document(self, path: str, method: str) -> "AsyncIterator[httpx.Response]":
        """A good answer that is small, and soon here. Raises ImageFailed."""
        import httpx

        headers = {"Accept": ACCEPTED if "/manifests/" in path else "*/*", "Accept-Encoding": "identity"}
        try:
            async with asyncio.timeout(DOCUMENT_SECONDS), self._asked(method, path, headers) as response:
                if response.status_code != 200:
                    raise self._failed(response.status_code)
                yield response
        except TransferFailed as error:
            raise RegistryUnreachable(str(error)) from None
        except TimeoutError:
            raise RegistryUnreachable(f"it did not answer within {DOCUMENT_SECONDS:.0f} seconds") from None
        except httpx.HTTPError as error:
            failure = self._broken(error)
            raise RegistryUnreachable(str(failure)) if isinstance(failure, TransferFailed) else failure from None

    @contextlib.asynccontextmanager
    async def _asked(self, method: str, path: str, headers: dict[str, str]) -> "AsyncIterator[httpx.Response]":
        """The registry's answer, or that of whom it redirects to. Raises httpx.HTTPError, TransferFailed,
        ImageFailed."""
        image, scheme = self._image, self._scheme
        place = image.host if (scheme, image.port) == ("https", HTTPS_PORT) else image.registry
        url = f"{scheme}://{place}{path}"
        has_new_token = False
        for _ in range(REDIRECTS + 2):
            async with self._sent(method, url, headers) as response:
                if response.status_code in MOVED:
                    url = self._redirected(url, response.headers.get("location"))
                    await _drain(response)
                elif response.status_code == 401 and self._is_ours(response.request) and not has_new_token:
                    has_new_token = True
                    await _drain(response)
                    self._token = await self._new_token(response.headers.get_list("www-authenticate"))
                else:
                    yield response
                    return
        raise ImageMissing(f"its registry redirects more than {REDIRECTS} times")

    @contextlib.asynccontextmanager
    async def _sent(self, method: str, url: str, headers: dict[str, str]) -> "AsyncIterator[httpx.Response]":
        import httpx

        self._egress.refusal = None
        try:
            check_url(url, self._schemes)
            request = self._client.build_request(method, url, headers=headers)
        except (BadUrl, httpx.InvalidURL, ValueError) as error:
            raise ImageMissing(f"its registry leads to a place that the agent does not ask: {error}") from None
        if self._token is not None and self._is_ours(request):
            request.headers["Authorization"] = f"Bearer {self._token}"
        response = await self._client.send(request, stream=True)
        try:
            if self._egress.refusal is not None:
                # A plain request that the proxy answered by itself.
                raise self._refused(self._egress.refusal)
            yield response
        finally:
            await response.aclose()

    def _redirected(self, url: str, location: str | None) -> str:
        try:
            return next_url(url, location)
        except BadUrl as error:
            raise ImageMissing(f"its registry leads to a place that the agent does not ask: {error}") from None

    async def _new_token(self, challenges: Sequence[str]) -> str:
        """Everybody's: nobody's name or password is ever sent. Raises ImageFailed, httpx.HTTPError."""
        bearer = next(filter(None, map(_BEARER.search, challenges)), None)
        found = _PARAMETER.findall(bearer[1]) if bearer else []
        given = {name.lower(): quoted or bare for name, quoted, bare in found}
        realm = given.get("realm")
        if not realm:
            raise ImageMissing("it is not public: its registry wants a password")
        scope = f"repository:{self._image.path}:pull"
        query = [("service", given["service"])] if "service" in given else []
        query += [("scope", one) for one in dict.fromkeys(filter(None, (given.get("scope"), scope)))]
        url = f"{realm}{'&' if '?' in realm else '?'}{urlencode(query)}"
        # Without a token of the registry's own: a realm is another place.
        for _ in range(REDIRECTS + 1):
            async with self._sent("GET", url, {"Accept-Encoding": "identity"}) as response:
                if response.status_code in MOVED:
                    url = self._redirected(url, response.headers.get("location"))
                    continue
                if response.status_code != 200:
                    raise self._failed(response.status_code, "the service that gives its tokens")
                return read_token(await self._read(response, TOKEN_LIMIT_BYTES))
        raise ImageMissing(f"the service that gives its tokens redirects more than {REDIRECTS} times")

    async def _read(self, response: "httpx.Response", limit_bytes: int) -> bytes:
        content = bytearray()
        async for piece in response.aiter_raw():
            content += piece
            if len(content) > limit_bytes:
                raise ImageMissing(f"its registry answers with more than {limit_bytes} bytes where less is due")
        return bytes(content)

    def _failed(self, status: int, who: str = "its registry") -> Exception:
        """ImageMissing for what the renter can mend, TransferFailed for the rest."""
        if status in TRY_AGAIN or not 400 <= status < 500:
            return TransferFailed(f"{who} answers HTTP {status}", retry=True)
        return ImageMissing(
            f"there is no such image that everybody may pull: {who} answers HTTP {status}; check its name, and that it "
            "is public"
        )

    def _broken(self, error: "httpx.HTTPError") -> "ImageFailed | TransferFailed":
        if self._egress.refusal is not None:
            return self._refused(self._egress.refusal)
        if _is_plain_http(error) and self._scheme == "https" and "http" in self._schemes:
            return _PlainHttp(str(error))
        import httpx

        if isinstance(error, httpx.ProxyError):
            # The agent's own proxy: a status, and why.
            return TransferFailed(str(error).partition(" ")[2] or str(error), retry=True)
        return TransferFailed(f"its registry does not answer well: {type(error).__name__} {error}", retry=True)

    def _refused(self, refusal: Refused) -> ImageFailed:
        if refusal.code in NODES_OWN:
            return ImageUnavailable(str(refusal))
        return ImageMissing(f"its registry leads to a place that was refused: {refusal}")


class _PlainHttp(RegistryUnreachable):
    """Who was asked for TLS does not speak it."""


class FromRegistry:
    """One layer. A `Source` of the cache."""

    wrong = BadInput

    def __init__(self, session: RegistrySession, wanted: Descriptor) -> None:
        self._session = session
        self._wanted = wanted
        self.tag = session.tag

    async def bring(self, partial: Partial, make_room: MakeRoom) -> None:
        pace = DownloadPace(self._session.clock)

        async def fetch() -> None:
            await self._session.receive_layer(self._wanted, partial, make_room, pace)

        try:
            await persist(partial, fetch, TRIES)
        except TransferFailed as error:
            raise RegistryUnreachable(str(error)) from None


async def _drain(response: "httpx.Response") -> None:
    """What is said beside a redirect or a challenge, if it is little: the connection can then be used again."""
    if re.fullmatch(r"\d{1,5}", response.headers.get("content-length", "")):
        async for _ in response.aiter_raw():
            pass
    await response.aclose()


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def read_token(content: bytes) -> str:
    """Raises ImageMissing."""
    try:
        said = json.loads(content)
        token = said.get("token") or said.get("access_token")
    except (ValueError, RecursionError, AttributeError):
        token = None
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ImageMissing("the service that gives its registry's tokens gives none")
    return token


def _is_plain_http(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return not isinstance(cause, ssl.SSLCertVerificationError)
        cause = cause.__cause__ or cause.__context__
    return False


@contextlib.asynccontextmanager
async def open_registry(outside: Outside, image: ImageName, *, own: bool) -> AsyncIterator[RegistrySession]:
    """Strangers' images come from the public internet by HTTPS. The owner's own may be at a registry on this machine
    or the network around it, which may speak plain HTTP. Raises ImageFailed."""
    policy = await _policy(outside, image) if own else EgressPolicy(Mode.INTERNET)
    at_home = isinstance(policy, HomePolicy)
    # The way of the host's own proxy leads out of the house.
    used = replace(outside, upstream=None) if at_home else outside
    async with way_out(used, policy, own=own) as (egress, client):
        session = RegistrySession(used, image, egress, client, ("https", "http") if at_home else ("https",))
        if at_home:
            await session.find_scheme()
        yield session


async def _policy(outside: Outside, image: ImageName) -> EgressPolicy:
    public = EgressPolicy(Mode.INTERNET, more_ports=frozenset({image.port}) - MAIL_PORTS)
    home = HomePolicy(Mode.INTERNET, registry=image.host)
    try:
        literal = home.check_name(image.host, image.port)
        addresses = [literal] if literal is not None else await outside.lookup(image.host, image.port)
    except (Refused, OSError):  # a TimeoutError is one
        return public
    around = Around(outside.clock)()
    return home if addresses and all(is_home(address, around) for address in addresses) else public
