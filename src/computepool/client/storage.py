"""What an account has stored, and how to delete it; for admins, what everybody has."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from computepool.client.cash_outs import one_name
from computepool.client.names import owner_path

if TYPE_CHECKING:
    from computepool.client.http import Http

PAGE_LIMIT = 500


class Storage:
    """Everything here is as the hub tells it."""

    def __init__(self, http: "Http") -> None:
        self._http = http

    def files(self, kinds: Sequence[str] = (), limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Bundles, inputs, outputs and what checkpoints are made of, the newest first."""
        cursor: str | None = None
        left = limit
        while left is None or left > 0:
            size = PAGE_LIMIT if left is None else min(left, PAGE_LIMIT)
            page = self._http.get("/artifacts", {"kind": list(kinds) or None, "limit": size, "cursor": cursor})
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return
            left = None if left is None else left - len(page["items"])

    def usage(self) -> dict[str, Any]:
        return dict(self._http.get("/me/storage"))

    def delete_artifact(self, artifact_id: str) -> None:
        self._http.request("DELETE", f"/artifacts/{one_name(artifact_id, 'artifact')}", retry="unsent")

    def delete_job(self, job_id: str) -> None:
        """With its logs, outputs and checkpoints; it must have ended."""
        self._http.request("DELETE", f"/jobs/{one_name(job_id, 'job')}", retry="unsent")

    # ── for admins ───────────────────────────────────────────────────────────────────────────────────────────────────

    def everybody(self, limit: int = 100) -> dict[str, Any]:
        return dict(self._http.get("/admin/storage", {"limit": limit}))

    def of(self, owner_id: str) -> dict[str, Any]:
        return dict(self._http.get(owner_path("storage", owner_id)))

    def set_limits(self, owner_id: str, limit_bytes: int | None, limit_objects: int | None) -> dict[str, Any]:
        body = {"bytes": limit_bytes, "objects": limit_objects}
        return dict(self._http.request("PUT", owner_path("storage", owner_id), json=body).json())

    def reconcile(self, owner_id: str) -> dict[str, Any]:
        return dict(self._http.post(f"{owner_path('storage', owner_id)}/reconcile", repeatable=True))
