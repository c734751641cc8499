"""The refresh token of a browser's session, in a cookie that no script can read.

Only `auth/refresh` and `auth/logout` read it, and only from pages of the hub itself. It exists only where the public
URL is https: cookies ignore ports, so on plain HTTP every other server of the machine would get it. ADR 0048.
"""

from starlette.requests import Request
from starlette.responses import Response

from computepool.hub.accounts.errors import BadToken
from computepool.hub.accounts.service import SESSION_IDLE
from computepool.hub.core.origins import ForeignPage, public_origin
from computepool.hub.core.settings import Settings

NAME = "__Host-cp-refresh"
"""With this prefix browsers take it only from the host itself over HTTPS, for all its paths, and for no subdomain."""


class BrowserCookie:
    def __init__(self, settings: Settings) -> None:
        origin = public_origin(settings)
        self._origin = origin if origin is not None and origin.startswith("https://") else None

    @property
    def is_possible(self) -> bool:
        return self._origin is not None

    def is_for(self, request: Request, *, wanted: bool) -> bool:
        """Whether a session that begins with this request is kept in a cookie. A page at another address of the hub, or
        a program, gets its refresh token in the answer, also if it asks for a cookie."""
        return wanted and self._origin is not None and request.headers.get("origin") == self._origin

    def find(self, request: Request) -> str | None:
        """The refresh token of the cookie, whoever sent it: see `check_page`."""
        if self._origin is None:
            return None
        pairs = [pair.strip().partition("=") for pair in ";".join(request.headers.getlist("cookie")).split(";")]
        found = [value for name, _, value in pairs if name == NAME]
        if len(found) > 1:
            raise BadToken(f"The cookie {NAME} was sent {len(found)} times.", hint="Clear the cookies of this site.")
        return found[0] if found else None

    def is_own_page(self, request: Request) -> bool:
        """As browsers tell it; those that are too old for that send the origin."""
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        return self._origin is not None and request.headers.get("origin") == self._origin

    def check_page(self, request: Request) -> None:
        """Raises ForeignPage: another site's page must neither renew nor end somebody's session."""
        if not self.is_own_page(request):
            raise ForeignPage("The session cookie")

    def put(self, response: Response, refresh_token: str) -> None:
        seconds = int(SESSION_IDLE.total_seconds())
        response.set_cookie(NAME, refresh_token, seconds, path="/", secure=True, httponly=True, samesite="strict")

    def drop(self, response: Response) -> None:
        response.delete_cookie(NAME, path="/", secure=True, httponly=True, samesite="strict")
