"""The people of a pool, for its operators."""

from typing import TYPE_CHECKING, Any

from computepool.client.cash_outs import one_name

if TYPE_CHECKING:
    from computepool.client.http import Http

PAGE_LIMIT = 200


class Users:
    """Everything here is as the hub tells it. A user is named by id or e-mail address."""

    def __init__(self, http: "Http") -> None:
        self._http = http

    def list_all(
        self,
        search: str | None = None,
        role: str | None = None,
        limit: int = 1000,
        *,
        disabled: bool | None = None,
    ) -> tuple[list[dict[str, Any]], bool]:
        """Up to `limit` of them, the newest first, and whether there are more."""
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            size = min(limit - len(items), PAGE_LIMIT)
            asked = {"search": search, "role": role, "disabled": disabled, "limit": size, "cursor": cursor}
            page = self._http.get("/admin/users", asked)
            items += page["items"]
            cursor = page.get("next")
            if cursor is None or len(items) >= limit:
                return items, cursor is not None

    def show(self, user: str) -> dict[str, Any]:
        return dict(self._http.get(f"/admin/users/{one_name(user, 'user')}"))

    def set_role(self, user: str, role: str) -> dict[str, Any]:
        """`admin` or `user`. Their sessions and tokens end."""
        path = f"/admin/users/{one_name(user, 'user')}/role"
        return dict(self._http.request("PUT", path, json={"role": role}, retry="always").json())

    def disable(self, user: str, reason: str, *, cancel_jobs: bool = False) -> dict[str, Any]:
        """Close the account: sessions and tokens end at once."""
        path = f"/admin/users/{one_name(user, 'user')}/disable"
        body = {"reason": reason, "cancel_jobs": cancel_jobs}
        return dict(self._http.request("POST", path, json=body, retry="always").json())

    def enable(self, user: str) -> dict[str, Any]:
        path = f"/admin/users/{one_name(user, 'user')}/enable"
        return dict(self._http.request("POST", path, retry="always").json())
