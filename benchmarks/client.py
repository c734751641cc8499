"""The client that measures: the same requests, over one kept connection, to the floor and to the pool."""

import asyncio
import re
import time
from collections.abc import Sequence
from typing import Any

import httpx

TIMEOUT_SECONDS = 60.0
CONNECTIONS = 16
GLANCE_SECONDS = 0.001
"""Between looks for the end of a single job, once it is due."""
REFILL_SECONDS = 0.025
"""Between looks at how many are still open: a few ask for nothing, in this time."""
EXPECTED_SHARE = 0.8
"""A job is left in peace for this share of what the one before it took."""
SETTLE_SECONDS = 0.02


class Client:
    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = f"{url}/api/v1/"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        # There is no TLS here, so nobody needs the certificates, which take long to load.
        self.http = httpx.Client(base_url=self._url, headers=self._headers, timeout=TIMEOUT_SECONDS, verify=False)
        # A hub shows everybody the same `stats` for a second, and its metrics as they are.
        self._counts_url = f"{url}/metrics" if token else "stats"
        self._expected_seconds = 0.02

    def submit(self, run: Sequence[str], isolation: str = "bubblewrap", **resources: str) -> str:
        spec = {"run": list(run), "isolation": isolation, "resources": resources}
        return str(_good(self.http.post("jobs", json=spec)).json()["id"])

    def log(self, job_id: str) -> bytes | None:
        """All that it printed, once it has ended."""
        response = _good(self.http.get(f"jobs/{job_id}/logs"))
        return response.content if response.headers["X-Log-Complete"] == "1" else None

    def get(self, path: str, **query: Any) -> Any:
        return _good(self.http.get(path, params=query)).json()

    def cancel(self, job_id: str) -> None:
        """Until nothing runs any more."""
        _good(self.http.post(f"jobs/{job_id}/cancel"))
        while self.busy():
            time.sleep(SETTLE_SECONDS)

    def busy(self) -> int:
        return sum(self.slices())

    def slices(self) -> tuple[int, int]:
        """How many run, and how many wait."""
        return _slices(_good(self.http.get(self._counts_url)))

    def nodes_online(self) -> int:
        """Of a hub; it needs a token."""
        return _gauge(_good(self.http.get(self._counts_url)), "nodes_online")

    def start_seconds(self, run: Sequence[str], isolation: str = "bubblewrap") -> tuple[float, float]:
        """From before the submit until the job, which prints its clock, runs; and how long the submit itself took.

        Nobody asks for anything in between: the job has the machine for itself.
        """
        began = time.time()
        job_id = self.submit(run, isolation)
        submitted = time.time() - began
        time.sleep(2 * self._expected_seconds)
        while (output := self.log(job_id)) is None:
            time.sleep(SETTLE_SECONDS / 2)
        time.sleep(SETTLE_SECONDS)
        started = float(output) - began
        self._expected_seconds = max(self._expected_seconds * 0.9, started)
        return started, submitted

    def one_by_one(self, run: Sequence[str], count: int) -> float:
        """Whole jobs, each submitted when the one before it is over. How long all of them took."""
        began, expected = time.monotonic(), 0.0
        for _ in range(count):
            submitted = time.monotonic()
            self.submit(run)
            time.sleep(max(0.0, expected * EXPECTED_SHARE - (time.monotonic() - submitted)))
            while self.busy():
                time.sleep(GLANCE_SECONDS)
            expected = time.monotonic() - submitted
        return time.monotonic() - began

    def many_at_once(self, run: Sequence[str], count: int, in_flight: int) -> float:
        return asyncio.run(self._many_at_once(run, count, in_flight))

    async def _many_at_once(self, run: Sequence[str], count: int, in_flight: int) -> float:
        """As many open at a time as said, until all are done."""
        limits = httpx.Limits(max_connections=CONNECTIONS)
        async with httpx.AsyncClient(
            base_url=self._url, headers=self._headers, timeout=TIMEOUT_SECONDS, limits=limits, verify=False
        ) as http:

            async def submit() -> None:
                _good(await http.post("jobs", json={"run": list(run), "isolation": "bubblewrap"}))

            began, left, still_open = time.monotonic(), count, 0
            while left or still_open:
                now = min(left, in_flight - still_open)
                await asyncio.gather(*(submit() for _ in range(now)))
                left -= now
                await asyncio.sleep(REFILL_SECONDS if left or still_open > in_flight // 4 else GLANCE_SECONDS * 5)
                still_open = sum(_slices(_good(await http.get(self._counts_url))))
            return time.monotonic() - began

    def close(self) -> None:
        self.http.close()


def _good(response: httpx.Response) -> httpx.Response:
    if response.is_error:
        raise RuntimeError(f"{response.request.method} {response.request.url}: {response.status_code} {response.text}")
    return response


def _slices(response: httpx.Response) -> tuple[int, int]:
    if "json" in response.headers["Content-Type"]:
        stats = response.json()
        return int(stats["slices_running"]), int(stats["slices_queued"])
    return _gauge(response, "slices_running"), _gauge(response, "slices_queued")


def _gauge(response: httpx.Response, name: str) -> int:
    found = re.search(rf"(?m)^\w*{name} (\d+)", response.text)
    assert found is not None, f"the hub's metrics have no {name}"
    return int(found[1])
