"""A fake image registry: the half of the registry API that a pull needs, over plain HTTP on 127.0.0.1.

Not a registry: no pushes, no authentication, no lists. It serves images that tests make, and can be slow, break off in
the middle, send something else than its name says, or be out of order.
"""

import contextlib
import gzip
import hashlib
import io
import json
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
PIECE_BYTES = 1 << 16


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def make_layer(files: Mapping[str, bytes]) -> tuple[bytes, str]:
    """A compressed layer, and the digest of what is in it."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.mode = 0o755
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(content.getvalue(), compresslevel=1, mtime=0), digest_of(content.getvalue())


@dataclass
class FakeRegistry:
    address: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    layers: set[str] = field(default_factory=set)
    # How it misbehaves.
    bytes_per_second: float | None = None
    break_off_after: dict[str, int] = field(default_factory=dict)
    out_of_order: int | None = None

    def add(self, repository: str, tag: str, *layers: Mapping[str, bytes], **config: Any) -> str:
        """An image, by its tag and by its digest, which is returned. `config` is its Env, Volumes, Entrypoint …"""
        made = [make_layer(files) for files in layers]
        rootfs = {"type": "layers", "diff_ids": [inner for _, inner in made]}
        described = {"architecture": "amd64", "os": "linux", "config": config, "rootfs": rootfs}
        settings = json.dumps(described).encode()
        entries = [self._keep(layer, LAYER) for layer, _ in made]
        self.layers |= {entry["digest"] for entry in entries}
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self._keep(settings, CONFIG),
            "layers": entries,
        }
        content = json.dumps(manifest).encode()
        digest = digest_of(content)
        self.manifests[repository, tag] = self.manifests[repository, digest] = content
        return digest

    def _keep(self, content: bytes, kind: str) -> dict[str, Any]:
        digest = digest_of(content)
        self.blobs[digest] = content
        return {"mediaType": kind, "size": len(content), "digest": digest}

    def name(self, repository: str, tag: str = "latest") -> str:
        return f"{self.address}/{repository}:{tag}"

    def layers_asked(self) -> int:
        """How often one was downloaded, or begun to be."""
        return sum(self.asked[f"blobs {layer}"] for layer in self.layers)

    def behave(self) -> None:
        self.bytes_per_second, self.out_of_order = None, None
        self.break_off_after.clear()
        self.asked.clear()


def _handler(registry: FakeRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def log_message(self, format: str, *args: Any) -> None:
            """Not into the tests' output."""

        def _answer(self, *, with_body: bool) -> None:
            if registry.out_of_order:
                return self._say(registry.out_of_order, b"{}", "application/json", with_body)
            parts = self.path.strip("/").split("/")
            if parts == ["v2"]:
                return self._say(200, b"{}", "application/json", with_body)
            repository, kind, name = "/".join(parts[1:-2]), parts[-2], parts[-1]
            if with_body:
                registry.asked[f"{kind} {name}"] += 1
            if kind == "manifests" and (repository, name) in registry.manifests:
                return self._say(200, registry.manifests[repository, name], MANIFEST, with_body)
            if kind == "blobs" and name in registry.blobs:
                return self._send_blob(name, with_body)
            unknown = "MANIFEST_UNKNOWN" if kind == "manifests" else "BLOB_UNKNOWN"
            wrong = {"errors": [{"code": unknown, "message": f"{kind} unknown"}]}
            return self._say(404, json.dumps(wrong).encode(), "application/json", with_body)

        def _say(self, status: int, content: bytes, kind: str, with_body: bool) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", digest_of(content))
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            self.end_headers()
            if with_body:
                self.wfile.write(content)

        def _send_blob(self, name: str, with_body: bool) -> None:
            content = registry.blobs[name]
            wanted = self.headers.get("Range", "")
            first = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(content) - first))
            self.send_header("Accept-Ranges", "bytes")
            if wanted:
                self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
            self.end_headers()
            if with_body:
                self._send_slowly(name, content, first)

        def _send_slowly(self, name: str, content: bytes, first: int) -> None:
            last = registry.break_off_after.pop(name, len(content))
            piece = PIECE_BYTES if registry.bytes_per_second is None else int(registry.bytes_per_second / 10)
            with contextlib.suppress(OSError):
                for place in range(first, last, piece):
                    self.wfile.write(content[place : min(place + piece, last)])
                    if registry.bytes_per_second is not None:
                        time.sleep(0.1)
            if last < len(content):
                self.close_connection = True

    return Handler


@contextlib.contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    registry = FakeRegistry()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(registry))
    server.daemon_threads = True
    registry.address = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
