"""Checking receipts: that the hub ordered exactly this, that the node answered exactly that order, and that
what was downloaded is what the node signed for.

A pure function of what it is given. Whose keys to trust is the caller's to say: the keys that come with a receipt only
show that it is consistent, keys that were known before show that it is genuine.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import ValidationError

from computepool.protocol.hub_keys import HubKey, ends_of, trusted_keys
from computepool.protocol.manifest import MANIFEST, Manifest
from computepool.protocol.receipt import RECEIPT, EndReason, Receipt
from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, load_public_key
from computepool.protocol.signing import verify as open_signed
from computepool.protocol.spec import JobSpec
from computepool.protocol.states import IsolationLevel

INSTEAD = 0
"""The number under which an attempt is told whose outputs replaced those of the job's own: these count from 1."""
SAME_WORK = (
    *("hub_id", "renter", "name", "spec_digest", "slice_index", "slices", "argv", "env", "bundle", "inputs", "outputs"),
    *("image", "setup", "checkpoint", "network", "max_runtime_seconds", "links"),
)
"""What two orders of the same slice have in common."""


TITLES = {
    "hub signature": "The hub signed the order.",
    "node signature": "The node signed its receipt.",
    "node key": "The node's key was valid when the order was given.",
    "receipt answers order": "The receipt answers exactly this order.",
    "isolation": "It ran at least as isolated as was ordered.",
    "spec": "What was ordered is what was submitted.",
    "outputs": "The stored outputs are those that the node signed for.",
    "log": "The log is the one that the node signed for.",
    "same work": "The attempt whose outputs count was told to do the same.",
    "receipt": "A node's receipt says that the slice succeeded.",
}
"""Of each check, what holds if it passed."""


class SigningNode(Protocol):
    """Who signed a receipt."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def sign_key(self) -> str: ...
    @property
    def key_ended_at(self) -> datetime | None: ...


class OrderAndAnswer(Protocol):
    """The order of an attempt and the answer to it."""

    @property
    def attempt(self) -> int: ...
    @property
    def manifest(self) -> Signed: ...
    @property
    def receipt(self) -> Signed: ...
    @property
    def node(self) -> SigningNode: ...


class OtherPapers(OrderAndAnswer, Protocol):
    """Those of an attempt that ran the slice once more, and whose outputs count."""

    @property
    def job_id(self) -> str: ...


class Papers(OrderAndAnswer, Protocol):
    """Those of an attempt of the job itself."""

    @property
    def slice(self) -> int: ...
    @property
    def hub_keys(self) -> Sequence[HubKey]: ...
    @property
    def instead(self) -> OtherPapers | None: ...


@dataclass(frozen=True, slots=True)
class _OfOther:
    slice: int
    attempt: int
    manifest: Signed
    receipt: Signed
    node: SigningNode
    hub_keys: Sequence[HubKey]
    instead: None = None


@dataclass(frozen=True, slots=True)
class Check:
    slice: int
    attempt: int
    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the caller has of one attempt, to be held against its receipt."""

    outputs: Mapping[str, str] | None = None
    """Path → digest; None when they were not looked at."""
    log_digest: str | None = None
    log_bytes: int | None = None


def digest_of_bytes(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def verify(
    items: Iterable[Papers],
    *,
    hub_keys: Sequence[HubKey] | None = None,
    job_id: str | None = None,
    spec: JobSpec | None = None,
    succeeded: Iterable[int] = (),
    evidence: Mapping[tuple[int, int], Evidence] | None = None,
) -> list[Check]:
    """All checks of all receipts. `hub_keys` are those that the caller trusts; without them, those beside a receipt.

    `job_id` and `spec` are what the caller asked for, `succeeded` the slices that are said to have succeeded;
    `evidence` is keyed by (slice, attempt), with `INSTEAD` for an attempt whose outputs count instead of the job's own.
    """
    checks: list[Check] = []
    shown: set[int] = set()
    for item in items:
        judge = _Judge(item)
        found = (evidence or {}).get((item.slice, item.attempt))
        checks += judge.run(hub_keys, job_id, spec, found)
        if item.instead is not None:
            judge = _JudgeOfOther(item, item.instead, judge.manifest)
            found = (evidence or {}).get((item.slice, INSTEAD))
            checks += judge.run(hub_keys, item.instead.job_id, spec, found)
        if judge.shows_success:
            shown.add(item.slice)
    missing = sorted(set(succeeded) - shown)
    checks += [
        Check(index, 0, "receipt", False, "it is said to have succeeded, and no node's receipt says so")
        for index in missing
    ]
    return checks


class _Judge:
    def __init__(self, item: Papers) -> None:
        self._item = item
        self._checks: list[Check] = []
        self.manifest: Manifest | None = None
        """What the hub ordered, if it did."""
        self.shows_success = False
        """A node signed that the command ended well."""

    def run(
        self,
        hub_keys: Sequence[HubKey] | None,
        job_id: str | None,
        spec: JobSpec | None,
        evidence: Evidence | None,
    ) -> list[Check]:
        item = self._item
        manifest = self.manifest = self._manifest(item.hub_keys if hub_keys is None else hub_keys)
        receipt = self._receipt()
        ended_at = item.node.key_ended_at
        if manifest is not None and ended_at is not None and manifest.issued_at > ended_at:
            self._say(
                "node key", False, f"the order is newer than the end of its node's key, {ended_at:%Y-%m-%d %H:%M} UTC"
            )
        if manifest is not None and receipt is not None:
            self._belong_together(manifest, receipt, job_id)
            self._isolation(manifest, receipt)
        if manifest is not None and spec is not None:
            self._spec(manifest, spec)
        if receipt is not None:
            self.shows_success = receipt.reason is EndReason.EXITED and receipt.exit_code == 0
        if receipt is not None and evidence is not None:
            self._outputs(receipt, evidence)
            self._log(receipt, evidence)
        return self._checks

    @property
    def _number(self) -> int:
        """Of the attempt, within its job."""
        return self._item.attempt

    def _say(self, name: str, passed: bool, detail: str) -> None:
        self._checks.append(Check(self._item.slice, self._item.attempt, name, passed, detail))

    def _manifest(self, keys: Sequence[HubKey]) -> Manifest | None:
        try:
            body = open_signed(self._item.manifest, MANIFEST, trusted_keys(keys))
            manifest = Manifest.model_validate_json(body)
            signer = self._item.manifest.key_id
            end = ends_of(keys).get(signer)
            if end is not None and manifest.issued_at > end:
                raise SignatureRefused(f"the order was issued after its key {signer} ended at {end:%Y-%m-%d %H:%M} UTC")
        except SignatureRefused as error:
            self._say("hub signature", False, str(error))
            return None
        except ValidationError as error:
            self._say("hub signature", False, f"the manifest holds nonsense: {error.errors()[0]['msg']}")
            return None
        self._say("hub signature", True, f"the order is signed by {self._item.manifest.key_id}")
        return manifest

    def _receipt(self) -> Receipt | None:
        node = self._item.node
        try:
            raw = base64.b64decode(node.sign_key, validate=True)
            keys = {key_id_of(raw): load_public_key(raw)}
            receipt = Receipt.model_validate_json(open_signed(self._item.receipt, RECEIPT, keys))
        except (binascii.Error, ValueError, SignatureRefused) as error:
            text = "the receipt holds nonsense" if isinstance(error, ValidationError) else str(error)
            self._say("node signature", False, text)
            return None
        self._say("node signature", True, f"the receipt is signed by {node.name or node.id}")
        return receipt

    def _belong_together(self, manifest: Manifest, receipt: Receipt, job_id: str | None) -> None:
        item = self._item
        pairs: tuple[tuple[str, object, object], ...] = (
            ("job", receipt.job_id, manifest.job_id),
            ("attempt", receipt.attempt_id, manifest.attempt_id),
            ("fence", receipt.fence, manifest.fence),
            ("spec digest", receipt.spec_digest, manifest.spec_digest),
            ("node", receipt.node_id, manifest.node_id),
            ("node of the key", item.node.id, manifest.node_id),
            ("manifest digest", receipt.manifest_digest, digest_of_bytes(item.manifest.body.encode())),
            ("slice", item.slice, manifest.slice_index),
            ("number of the attempt", self._number, manifest.attempt_number),
            ("job that was asked for", job_id or manifest.job_id, manifest.job_id),
        )
        wrong = [f"{name}: {one} is not {other}" for name, one, other in pairs if one != other]
        detail = "; ".join(wrong) or f"the receipt answers this order (fence {manifest.fence})"
        self._say("receipt answers order", not wrong, detail)

    def _spec(self, manifest: Manifest, spec: JobSpec) -> None:
        """The digest is only what the hub says of the order: what the node was told to do is compared itself."""
        pairs: tuple[tuple[str, object, object], ...] = (
            ("command", manifest.argv, spec.argv()),
            ("shell", True, manifest.run_shell in (None, spec.run_shell)),
            ("env", manifest.env, dict(spec.env)),
            ("outputs", manifest.outputs, tuple(spec.outputs)),
            ("max_runtime", manifest.max_runtime_seconds, spec.max_runtime_seconds),
            ("slices", manifest.slices, spec.slices),
            ("network", manifest.network, spec.network),
            ("links", manifest.links, dict(spec.links)),
            ("isolation", True, spec.isolation is None or manifest.isolation.rank >= spec.isolation.rank),
            ("spec digest", manifest.spec_digest, spec.digest()),
        )
        wrong = [name for name, ordered, asked in pairs if ordered != asked]
        detail = f"another spec was ordered: {', '.join(wrong)}"
        self._say("spec", not wrong, detail if wrong else "what was ordered is what was submitted")

    def _isolation(self, manifest: Manifest, receipt: Receipt) -> None:
        if receipt.isolation is None:
            started = receipt.exit_code is not None
            self._say("isolation", not started, "not told" if started else "the command never started")
            return
        enough = receipt.isolation.rank >= manifest.isolation.rank
        if receipt.isolation is IsolationLevel.PROCESS and not manifest.own:
            enough = False
        detail = f"ran at level {receipt.isolation}, ordered at least {manifest.isolation}"
        if receipt.isolation is IsolationLevel.PROCESS and enough:
            detail += "; not isolated: the owner's own job on their own node"
        self._say("isolation", enough, detail)

    def _outputs(self, receipt: Receipt, evidence: Evidence) -> None:
        if evidence.outputs is None:
            return
        signed = {output.path: output.digest for output in receipt.outputs}
        wrong = [path for path, digest in evidence.outputs.items() if signed.get(path) != digest]
        missing = [path for path in signed if path not in evidence.outputs]
        if wrong or missing:
            parts = [f"{path} differs" if path in signed else f"{path} was not signed for" for path in wrong]
            self._say("outputs", False, "; ".join(parts + [f"{path} is missing" for path in missing]))
        else:
            self._say("outputs", True, f"{len(signed)} of {len(signed)} as signed")

    def _log(self, receipt: Receipt, evidence: Evidence) -> None:
        if evidence.log_digest is None:
            return
        same = evidence.log_digest == receipt.log_digest
        detail = f"{receipt.log_bytes} bytes match"
        if not same:
            detail = f"the log of {evidence.log_bytes} bytes is not the one of {receipt.log_bytes} that the node signed"
        self._say("log", same, detail)


class _JudgeOfOther(_Judge):
    """Of an attempt that ran the slice once more for another's sake: it counts only if it was told to do the very same.

    Its job is another one, which the caller never saw. What ties it to the caller's is the hub's signature under an
    order in the same renter's name, equal in all that a node is told to do.
    """

    def __init__(self, item: Papers, instead: OtherPapers, replaced: Manifest | None) -> None:
        super().__init__(
            _OfOther(
                slice=item.slice,
                attempt=INSTEAD,
                manifest=instead.manifest,
                receipt=instead.receipt,
                node=instead.node,
                hub_keys=item.hub_keys,
            )
        )
        self._instead = instead
        self._replaced = replaced

    @property
    def _number(self) -> int:
        return self._instead.attempt

    def _belong_together(self, manifest: Manifest, receipt: Receipt, job_id: str | None) -> None:
        super()._belong_together(manifest, receipt, job_id)
        replaced = self._replaced
        if replaced is None:
            self._say("same work", False, "nothing that the hub ordered for this job can be compared with it")
            return
        wrong = [name for name in SAME_WORK if getattr(manifest, name) != getattr(replaced, name)]
        if replaced.image_digest not in (None, manifest.image_digest):
            wrong.append("image_digest")  # which the first attempt may not have known
        if manifest.node_id == replaced.node_id:
            wrong.append("node_id")
        detail = f"the other order is not for the same: {', '.join(wrong)}"
        told = f"others proved {replaced.node_id} wrong; what {self._instead.node.name or manifest.node_id} gave counts"
        self._say("same work", not wrong, detail if wrong else told)
