"""A fake image registry: the half of the registry API that a pull needs, on 127.0.0.1, over plain HTTP or TLS.

Not a registry: no pushes, no passwords. It serves images that tests make, asks for tokens if it is told to, and can be
slow, break off in the middle, send something else than its name says, be out of order, or say whatever a test wants.
"""

import contextlib
import gzip
import hashlib
import io
import json
import ssl
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
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


class Asked(NamedTuple):
    host: str
    path: str
    authorization: str


@dataclass(frozen=True)
class Reply:
    """What a test wants to be said."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    endless: bool = False
    """The body again and again, until nobody listens; with no length."""


@dataclass
class FakeRegistry:
    address: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    layers: set[str] = field(default_factory=set)
    seen: list[Asked] = field(default_factory=list)
    """Everything that was asked, in order."""
    realm: str | None = None
    """Who gives tokens, which are then asked for. `/token`, on any host, is such a place."""
    token: str = "everybodys"
    replies: dict[str, Reply] = field(default_factory=dict)
    """By host and path, or by path: said instead of the truth."""
    # How it misbehaves.
    bytes_per_second: float | None = None
    break_off_after: dict[str, int] = field(default_factory=dict)
    out_of_order: int | None = None
    no_head: bool = False

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
        return self.put_manifest(repository, tag, manifest)

    def add_list(self, repository: str, tag: str, **platforms: str) -> str:
        """A list of manifests that are there already, by `os_architecture`: its digest, which is returned."""
        entries = []
        for platform, digest in platforms.items():
            system, _, architecture = platform.partition("_")
            size = len(self.manifests[repository, digest])
            described = {"os": system, "architecture": architecture}
            entries.append({"mediaType": MANIFEST, "size": size, "digest": digest, "platform": described})
        return self.put_manifest(repository, tag, {"schemaVersion": 2, "mediaType": LIST, "manifests": entries})

    def put_manifest(self, repository: str, tag: str, manifest: Any) -> str:
        content = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
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
        self.bytes_per_second, self.out_of_order, self.realm, self.no_head = None, None, None, False
        for noted in (self.break_off_after, self.asked, self.seen, self.replies):
            noted.clear()


def _handler(registry: FakeRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def log_message(self, format: str, *args: Any) -> None:
            """Not into the tests' output."""

        def _answer(self, *, with_body: bool) -> None:
            host, path = self.headers.get("Host", "").partition(":")[0], self.path.partition("?")[0]
            registry.seen.append(Asked(host, self.path, self.headers.get("Authorization", "")))
            if reply := registry.replies.get(f"{host}{path}") or registry.replies.get(path):
                return self._reply(reply, with_body)
            if path == "/token":
                return self._say(200, json.dumps({"token": registry.token}).encode(), "application/json", with_body)
            if registry.realm and self.headers.get("Authorization") != f"Bearer {registry.token}":
                challenge = f'Bearer realm="{registry.realm}",service="fake"'
                return self._reply(Reply(b"{}", 401, {"WWW-Authenticate": challenge}), with_body)
            if registry.no_head and not with_body:
                return self._reply(Reply(status=405), with_body)
            if registry.out_of_order:
                return self._say(registry.out_of_order, b"{}", "application/json", with_body)
            parts = self.path.strip("/").split("/")
            if parts == ["v2"]:
                return self._say(200, b"{}", "application/json", with_body)
            if len(parts) < 4:
                return self._say(404, b"{}", "application/json", with_body)
            repository, kind, name = "/".join(parts[1:-2]), parts[-2], parts[-1]
            if with_body:
                registry.asked[f"{kind} {name}"] += 1
            if kind == "manifests" and (repository, name) in registry.manifests:
                content = registry.manifests[repository, name]
                return self._say(200, content, _kind_of(content), with_body)
            if kind == "blobs" and name in registry.blobs:
                return self._send_blob(name, with_body)
            unknown = "MANIFEST_UNKNOWN" if kind == "manifests" else "BLOB_UNKNOWN"
            wrong = {"errors": [{"code": unknown, "message": f"{kind} unknown"}]}
            return self._say(404, json.dumps(wrong).encode(), "application/json", with_body)

        def _reply(self, reply: Reply, with_body: bool) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.endless or "Content-Length" in reply.headers:
                self.send_header("Connection", "close")
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                while with_body:
                    self.wfile.write(reply.body)
                    if not reply.endless:
                        return

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


def _kind_of(manifest: bytes) -> str:
    try:
        return str(json.loads(manifest).get("mediaType", MANIFEST))
    except (ValueError, AttributeError, RecursionError):
        return MANIFEST


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave in the middle, or do not trust it."""


@contextlib.contextmanager
def fake_registry(tls: ssl.SSLContext | None = None) -> Iterator[FakeRegistry]:
    registry = FakeRegistry()
    server = _Server(("127.0.0.1", 0), _handler(registry))
    if tls is not None:
        # The handshake is each connection's own: one that never comes must not hold up the others.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    registry.address = f"127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
