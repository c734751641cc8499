"""`Pool`: one hub, as one person."""

import random
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast

from computepool.client.config import find_target
from computepool.client.downloads import Downloader, Fetched, newest_outputs
from computepool.client.errors import ClientError, HubError, NotFound
from computepool.client.follow import Ended, Event, Follower
from computepool.client.http import PATIENCE_SECONDS, Http
from computepool.client.logs import LogChunk, LogReader, Position, find_slice, follow_attempt, read_logs, slices_of
from computepool.client.models import (
    Artifact,
    Job,
    JoinToken,
    Node,
    Output,
    Slice,
    User,
    Why,
)
from computepool.client.names import jobs_named, limits_path, refuse_nothing
from computepool.client.signing_key import JobSigner
from computepool.client.uploads import Progress, upload

if TYPE_CHECKING:
    from computepool.client.bundle import Bundle
    from computepool.client.cash_outs import CashOuts
    from computepool.client.disputes import Disputes
    from computepool.client.market import Market
    from computepool.client.payments import Payments
    from computepool.client.receipts import ReceiptItem
    from computepool.client.storage import Storage
    from computepool.client.users import Users
    from computepool.client.wallet import Wallet
    from computepool.protocol.hub_keys import HubKey
    from computepool.protocol.spec import JobSpec

PAGE_LIMIT = 100
JOIN_TOKEN_SECONDS = 900


class Pool:
    """A hub to submit to and ask. Without arguments it is the one that this machine is signed in to. `url` may end in
    `#sha256:…`, the fingerprint of the hub's key; `insecure` allows plain HTTP to another machine."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        home: str | Path | None = None,
        *,
        insecure: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        chance: random.Random | None = None,
    ) -> None:
        self.target = find_target(url, token, home, insecure=insecure)
        self._http = Http(
            self.target.address,
            self.target.token,
            insecure=self.target.insecure,
            patience_seconds=patience_seconds,
            sleep=sleep,
            chance=chance,
        )
        self.signer = JobSigner(self.target.home, self.hub_id)

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(
        self,
        spec: "Mapping[str, object] | JobSpec",
        *,
        bundle: "Path | Bundle | Artifact | str | None" = None,
        inputs: Mapping[str, Path | Artifact] | None = None,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> Job:
        """A new job. A lost answer is asked for again with the same key, so it never becomes two.

        It is signed with this home's key, if all of its files were uploaded here: then it is its owner's own on the
        owner's nodes.

        `bundle`: a folder or an archive to send along, what `pack` made of one, or a stored artifact (or its id).
        Without it the spec's `workdir` is sent, which is relative to the current folder.
        `inputs`: files of this machine, or stored artifacts, by their path in the job's folder; those of the spec stay.
        """
        from computepool.protocol.spec import JobSpec, parse_spec

        parsed = spec if isinstance(spec, JobSpec) else parse_spec(spec)
        if bundle is None and not isinstance(spec, JobSpec):
            _refuse_local_parts(spec)
        if bundle is None and parsed.workdir is not None:
            bundle = Path(parsed.workdir)
        if inputs:
            wire = parsed.to_wire()
            given = {path: self._input_id(source, parsed.team, progress) for path, source in inputs.items()}
            parsed = parse_spec({**wire, "inputs": {**cast("dict[str, object]", wire.get("inputs", {})), **given}})
        artifact = self._bundle_id(bundle, parsed, progress)
        answer = self._http.post(
            "/jobs",
            parsed.to_wire(),
            params={"bundle": artifact},
            idempotency_key=idempotency_key or secrets.token_hex(16),
            headers=self.signer.headers_for(parsed, artifact),
        )
        return Job.model_validate(answer)

    def job(self, job_id: str) -> Job:
        return Job.model_validate(self.job_document(job_id))

    def job_document(self, job_id: str, *, from_slice: int = 0) -> dict[str, Any]:
        """The job exactly as the hub tells it, with its slices from there on; `next_slice` says if there are more."""
        return dict(self._http.get(f"/jobs/{job_id}", {"from_slice": from_slice or None}))

    def slices(self, job_id: str) -> Iterator[Slice]:
        """Every slice, however many there are."""
        return slices_of(self._http, self.job(job_id))

    def slice(self, job_id: str, index: int) -> Slice:
        page = self._http.get(f"/jobs/{job_id}", {"from_slice": index, "slice_limit": 1})
        return find_slice(self._http, Job.model_validate(page), index)

    def jobs(self, *, state: str | None = None, limit: int = PAGE_LIMIT, mine: bool = False) -> Iterator[Job]:
        """The newest first, up to `limit`; `mine`: not those of others that an admin sees."""
        for document in self._pages("/jobs", {"state": state, "mine": mine or None}, limit):
            yield Job.model_validate(document)

    def job_page(
        self, *, states: Sequence[str] = (), limit: int = PAGE_LIMIT, mine: bool = False, **filters: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Up to `limit` jobs, exactly as the hub tells them, and the cursor of what comes after. `filters` and `order`
        are those of `GET jobs`. A `search` in the default order goes on until it has searched all jobs."""
        items, cursor = list[dict[str, Any]](), None
        while True:
            size = min(limit - len(items), PAGE_LIMIT)
            query = {"state": list(states), "limit": size, "cursor": cursor, "mine": mine or None}
            page = self._http.get("/jobs", {**query, **filters})
            items += page["items"][:size]
            cursor = page.get("next")
            earlier = page.get("searched_since") if cursor is None and filters.get("order") is None else None
            if len(items) >= limit or (cursor is None and earlier is None):
                return items, cursor
            if earlier is not None:
                filters["until"] = earlier

    def cancel(self, job_id: str) -> Job:
        return Job.model_validate(self._http.post(f"/jobs/{job_id}/cancel", repeatable=True))

    def retry(self, job_id: str, *, every_slice: bool = False, idempotency_key: str | None = None) -> Job:
        """A new job with the same spec and bundle, linked to the old one: those slices that did not succeed, with
        their numbers, or every slice."""
        key = idempotency_key or secrets.token_hex(16)
        params = {"all": "true"} if every_slice else None
        return Job.model_validate(self._http.post(f"/jobs/{job_id}/retry", params=params, idempotency_key=key))

    def limits(self, owner_id: str | None = None) -> dict[str, Any]:
        """How much of other people's nodes one may have, and has. Another's only for admins."""
        return dict(self._http.get("/me/limits" if owner_id is None else limits_path(owner_id)))

    def change_limits(self, owner_id: str, limits: Mapping[str, int | None]) -> dict[str, Any]:
        answer = self._http.request("PUT", limits_path(owner_id), json=dict(limits), retry="always")
        return dict(answer.json())

    def why(self, job_id: str) -> Why:
        return Why.model_validate(self.why_document(job_id))

    def why_document(self, job_id: str) -> dict[str, Any]:
        return dict(self._http.get(f"/jobs/{job_id}/why"))

    def find_job(self, text: str, *, newest: bool = True) -> str:
        """The id that a person meant: whole, its unique beginning (with or without `job_`), `last` or `-`, or a name.
        Of several jobs with that name the newest, unless `newest` is false: then it has to be one."""
        if text.startswith("job_") and len(text) == len("job_") + 26:
            return text
        refuse_nothing(text, "job")
        if text in ("last", "-"):
            for job in self.jobs(limit=1, mine=True):
                return job.id
            raise NotFound("You have no job yet.", status=404, hint="Run one: computepool run -- echo hello")
        # One's own first: an admin who writes a few letters does not mean a stranger's job.
        found = jobs_named(text, self.jobs(limit=1000, mine=True)) or jobs_named(text, self.jobs(limit=1000))
        if len(found) == 1 or (found and newest and found[0].name == text):
            return found[0].id
        if not found:
            raise NotFound(f"There is no job {text!r}.", status=404, hint="computepool ps -a lists them.")
        some = ", ".join(job.id for job in found[:3])
        raise ClientError(f"{text!r} could be any of {len(found)} jobs: {some} …", hint="Write more of its id.")

    # ── logs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def logs(
        self,
        job_id: str,
        *,
        follow: bool = False,
        slice: int | None = None,
        attempt: int | None = None,
        tail: int | None = None,
    ) -> Iterator[LogChunk]:
        """The log's bytes, of each slice's newest attempt; with `follow` until the job is over."""
        if follow and attempt is None:
            events = self.follow(job_id, slice=slice, tail=tail)
            yield from (event for event in events if isinstance(event, LogChunk))
            return
        reader = LogReader(self._http, job_id)
        if follow and attempt is not None:
            yield from follow_attempt(reader, self.slice(job_id, slice or 0), attempt, tail, self._http.sleep)
            return
        slices = self.slices(job_id) if slice is None else [self.slice(job_id, slice)]
        yield from read_logs(reader, slices, attempt=attempt, tail=tail)

    def follow(self, job_id: str, *, slice: int | None = None, tail: int | None = None) -> Iterator[Event]:
        """States and log as they come, until `Ended`; `Idle` now and then while nothing comes."""
        positions: dict[int, Position] = {}
        if tail is not None:
            reader = LogReader(self._http, job_id)
            for part in self.slices(job_id) if slice is None else [self.slice(job_id, slice)]:
                if part.newest is not None:
                    start = reader.tail_start(part.index, part.newest, tail)
                    positions[part.index] = Position(part.newest.number, start)
        yield from Follower(self._http, job_id, slice=slice, positions=positions).events()

    def wait(self, job_id: str) -> Job:
        for event in self.follow(job_id):
            if isinstance(event, Ended):
                return event.job
        raise AssertionError("following ends with Ended or raises")

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def upload(
        self,
        path: Path | str,
        *,
        kind: Literal["bundle", "input"] = "bundle",
        team: str | None = None,
        progress: Progress | None = None,
    ) -> Artifact:
        """A stored file, of yours or of a team: an archive to send along with jobs, or an input of theirs."""
        return self.signer.know(upload(self._http, Path(path), kind=kind, team=team, progress=progress))

    def _input_id(self, source: Path | Artifact, team: str | None, progress: Progress | None) -> str:
        if isinstance(source, Artifact):
            return source.id
        return self.upload(source, kind="input", team=team, progress=progress).id

    def _bundle_id(
        self, bundle: "Path | Bundle | Artifact | str | None", spec: "JobSpec", progress: Progress | None
    ) -> str | None:
        if bundle is None:
            return None
        from computepool.client.bundle import Bundle, pack, result_folders

        if isinstance(bundle, str):
            return bundle
        if isinstance(bundle, Artifact):
            return bundle.id
        if isinstance(bundle, Bundle):
            if bundle.path is None:
                raise ClientError("This bundle was packed into an open file.", hint="Pack it into a path instead.")
            stored = upload(
                self._http,
                bundle.path,
                digest=bundle.digest,
                size_bytes=bundle.size_bytes,
                team=spec.team,
                progress=progress,
            )
            return self.signer.know(stored).id
        if bundle.is_dir():
            with tempfile.TemporaryDirectory(prefix="computepool-") as folder:
                packed = pack(bundle, Path(folder) / "bundle.tar.gz", result_folders=result_folders(spec.outputs))
                return self._bundle_id(packed, spec, progress)
        if not bundle.is_file():
            raise ClientError(f"There is no file or folder {bundle} to send along.", hint="Check its path.")
        return self.upload(bundle, team=spec.team, progress=progress).id

    def outputs(self, job_id: str) -> list[Output]:
        return newest_outputs(
            Output.model_validate(item) for item in self._pages(f"/jobs/{job_id}/artifacts", {}, limit=None)
        )

    def download_outputs(
        self,
        job: str | Job,
        folder: Path | str,
        *,
        outputs: Sequence[Output] | None = None,
        progress: Progress | None = None,
    ) -> list[Fetched]:
        """Every output below `folder`, checked; with several slices each under its number."""
        known = self.job(job) if isinstance(job, str) else job
        root = Path(folder).absolute()
        found = self.outputs(known.id) if outputs is None else list(outputs)
        downloader = Downloader(self._http, root, lambda: self.outputs(known.id))
        return downloader.fetch(found, by_slice=known.has_several, progress=progress)

    # ── receipts ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def receipts(self, job_id: str) -> "list[ReceiptItem]":
        from computepool.client.receipts import read_receipt

        return [read_receipt(item) for item in self._pages(f"/jobs/{job_id}/receipts", {}, limit=None)]

    def hub_keys(self) -> "list[HubKey]":
        from computepool.protocol.hub_keys import HubKey

        return [HubKey.model_validate(item) for item in self._http.get("/keys")["items"]]

    def hub_id(self) -> str:
        return str(self._http.get("/keys")["hub_id"])

    @property
    def market(self) -> "Market":
        from computepool.client.market import Market

        return Market(self._http)

    @property
    def wallet(self) -> "Wallet":
        return self.wallet_of(None)

    def wallet_of(self, owner_id: str | None) -> "Wallet":
        """A team's wallet; for an admin, anybody's."""
        from computepool.client.wallet import Wallet

        return Wallet(self._http, owner_id)

    @property
    def cash_outs(self) -> "CashOuts":
        """With vouchers."""
        from computepool.client.cash_outs import CashOuts

        return CashOuts(self._http)

    @property
    def disputes(self) -> "Disputes":
        from computepool.client.disputes import Disputes

        return Disputes(self._http)

    @property
    def users(self) -> "Users":
        from computepool.client.users import Users

        return Users(self._http)

    @property
    def storage(self) -> "Storage":
        from computepool.client.storage import Storage

        return Storage(self._http)

    @property
    def payments(self) -> "Payments":
        from computepool.client.payments import Payments

        return Payments(self._http)

    # ── nodes and people ─────────────────────────────────────────────────────────────────────────────────────────────

    def nodes(self) -> list[Node]:
        return [Node.model_validate(item) for item in self.node_documents()]

    def node_documents(self) -> list[dict[str, Any]]:
        return list(self._pages("/nodes", {}, limit=None))

    def node_document(self, node_id: str) -> dict[str, Any]:
        return dict(self._http.get(f"/nodes/{node_id}"))

    def node_events(self, node_id: str, limit: int = 50) -> list[dict[str, Any]]:
        """What moved its reliability, newest first."""
        return list(self._http.get(f"/nodes/{node_id}/reliability", params={"limit": limit})["items"])

    def change_node(self, node_id: str, changes: Mapping[str, object]) -> dict[str, Any]:
        return dict(self.call("PATCH", f"/nodes/{node_id}", dict(changes)))

    def find_node(self, text: str) -> str:
        refuse_nothing(text, "node")
        if text.startswith("node_") and len(text) == len("node_") + 26:
            return text
        nodes = self.nodes()
        beginning = text if text.startswith("node_") else f"node_{text.lower()}"
        found = [node for node in nodes if node.name == text] or [n for n in nodes if n.id.startswith(beginning)]
        if len(found) == 1:
            return found[0].id
        if not found:
            raise NotFound(f"There is no node {text!r}.", status=404, hint="computepool nodes lists them.")
        raise ClientError(f"{text!r} could be any of {len(found)} nodes.", hint="Write its id.")

    def join_token(self, *, uses: int = 1, expires_in_seconds: int = JOIN_TOKEN_SECONDS) -> JoinToken:
        body = {"uses": uses, "expires_in_seconds": expires_in_seconds}
        return JoinToken.model_validate(
            self._http.post("/nodes/join-tokens", body, idempotency_key=secrets.token_hex(16))
        )

    def me(self) -> User:
        return User.model_validate(self.me_document())

    def me_document(self) -> dict[str, Any]:
        return dict(self._http.get("/me"))

    def tokens(self) -> list[dict[str, Any]]:
        return list(self._pages("/tokens", {}, limit=None))

    def create_token(
        self, name: str, *, scopes: Sequence[str] | None = None, expires_in_days: int | None = None
    ) -> dict[str, Any]:
        body: dict[str, object] = {"name": name}
        if scopes:
            body["scopes"] = list(scopes)
        if expires_in_days is not None:
            body["expires_in_days"] = expires_in_days
        return dict(self._http.post("/tokens", body, idempotency_key=secrets.token_hex(16)))

    def revoke_token(self, token_id: str) -> None:
        self._http.request("DELETE", f"/tokens/{token_id}", retry="unsent")

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Any other route under `/api/v1`, with this client's sign-in and errors."""
        if method in ("DELETE", "PATCH", "PUT"):
            answer = self._http.request(method, path, json=body, retry="always" if method == "PATCH" else "unsent")
            return answer if method == "DELETE" else answer.json()
        return self._http.get(path) if method == "GET" else self._http.post(path, body)

    def nodes_in_pool(self) -> int:
        """How many machines there are, of everybody, online or not; 0 where the hub does not tell."""
        try:
            found = self._http.get("/stats").get("nodes_total")
        except HubError:
            return 0
        return found if isinstance(found, int) else 0

    def version(self) -> str:
        return str(self._http.get("/version")["version"])

    def has_money(self) -> bool:
        """Whether work on other people's nodes is paid for in this pool."""
        return bool(self._http.get("/version").get("money", True))

    def _pages(self, path: str, params: Mapping[str, object], limit: int | None) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        left = limit
        while left is None or left > 0:
            size = PAGE_LIMIT if left is None else min(left, PAGE_LIMIT)
            page = self._http.get(path, {**params, "limit": size, "cursor": cursor})
            yield from page["items"][:left]
            cursor = page.get("next")
            if cursor is None:
                return
            left = None if left is None else left - len(page["items"])


def _refuse_local_parts(spec: Mapping[str, object]) -> None:
    """A file of another system may name files to send, which only a bundle brings."""
    from computepool.protocol.foreign import read_foreign

    foreign = read_foreign(spec)
    if foreign is not None and foreign.local:
        names = ", ".join(dict.fromkeys(part.source for part in foreign.local))
        raise ClientError(f"The spec sends {names}, and `bundle` is not given.", hint="Pass a folder as `bundle`.")
