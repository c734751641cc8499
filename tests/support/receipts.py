"""Makes signed orders and receipts as a hub and a node would."""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from support.fake_api import digest

from computepool.protocol.manifest import MANIFEST, Grant, Manifest
from computepool.protocol.receipt import RECEIPT, EndReason, OutputRef, Receipt, Usage
from computepool.protocol.signing import Signed, key_id_of, sign
from computepool.protocol.states import IsolationLevel

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Signer:
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def raw(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def text(self) -> str:
        return base64.b64encode(self.raw).decode()

    @property
    def hub_key(self) -> dict[str, str]:
        return {"key_id": key_id_of(self.raw), "public_key": self.text}

    def sign(self, type: str, body: bytes) -> Signed:
        return sign(self.key, key_id_of(self.raw), type, body)


def receipt_item(
    hub: Signer,
    node: Signer,
    job_id: str = "job_1",
    *,
    log: bytes = b"",
    outputs: dict[str, bytes] | None = None,
    manifest: dict[str, Any] | None = None,
    receipt: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One item of `GET jobs/{id}/receipts`; `manifest` and `receipt` change fields before they are signed."""
    order = Manifest(
        **{
            "hub_id": "hub_1",
            "node_id": "node_1",
            "job_id": job_id,
            "attempt_id": "attempt_1",
            "attempt_number": 1,
            "slice_index": 0,
            "slices": 1,
            "fence": 7,
            "issued_at": AT,
            "expires_at": AT + timedelta(seconds=300),
            "spec_digest": "sha256:spec",
            "name": "x",
            "argv": ("true",),
            "env": {},
            "grant": Grant(cpus=1, memory_bytes=1, disk_bytes=1),
            "isolation": IsolationLevel.PROCESS,
            "own": True,
            "max_runtime_seconds": 60,
            **(manifest or {}),
        }
    )
    signed = hub.sign(MANIFEST, order.to_bytes())
    answer = Receipt(
        **{
            "node_id": "node_1",
            "job_id": job_id,
            "attempt_id": "attempt_1",
            "fence": 7,
            "spec_digest": "sha256:spec",
            "manifest_digest": digest(signed.body.encode()),
            "isolation": IsolationLevel.BUBBLEWRAP,
            "exit_code": 0,
            "reason": EndReason.EXITED,
            "log_bytes": len(log),
            "log_digest": digest(log),
            "outputs": tuple(
                OutputRef(path=path, digest=digest(content), size_bytes=len(content))
                for path, content in (outputs or {}).items()
            ),
            "usage": Usage(running_seconds=1),
            "started_at": AT,
            "finished_at": AT,
            **(receipt or {}),
        }
    )
    return {
        "slice": 0,
        "attempt": 1,
        "manifest": signed.model_dump(mode="json"),
        "receipt": node.sign(RECEIPT, answer.to_bytes()).model_dump(mode="json"),
        "node": {"id": "node_1", "name": "alpha", "sign_key": node.text},
        "hub_keys": [hub.hub_key],
    }
