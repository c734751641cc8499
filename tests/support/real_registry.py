"""A real image registry of the tests' own (Debian's `docker-registry`), on 127.0.0.1, with or without tokens."""

import base64
import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate
from support import engines
from support.fake_registry import digest_of
from support.secure_site import make_certificate
from support.services import free_ports
from support.waiting import eventually

SERVICE, ISSUER = "a registry of tests", "a service of tests"


@dataclass
class RealRegistry:
    address: str
    tokens: "TokenService | None"

    def _client(self, repository: str) -> httpx.Client:
        headers = {}
        if self.tokens is not None:
            headers["Authorization"] = f"Bearer {self.tokens.make(repository, ['pull', 'push'])}"
        return httpx.Client(base_url=f"http://{self.address}", headers=headers, trust_env=False)

    def push_blob(self, repository: str, content: bytes, kind: str) -> dict[str, Any]:
        """As a manifest names it."""
        digest = digest_of(content)
        with self._client(repository) as client:
            begun = client.post(f"/v2/{repository}/blobs/uploads/").raise_for_status()
            place = begun.headers["Location"]
            joint = "&" if "?" in place else "?"
            client.put(f"{place}{joint}digest={digest}", content=content).raise_for_status()
        return {"mediaType": kind, "digest": digest, "size": len(content)}

    def push_manifest(self, repository: str, manifest: dict[str, Any], tag: str | None = None) -> dict[str, Any]:
        content = json.dumps(manifest).encode()
        digest, kind = digest_of(content), manifest["mediaType"]
        with self._client(repository) as client:
            place = f"/v2/{repository}/manifests/{tag or digest}"
            client.put(place, content=content, headers={"Content-Type": kind}).raise_for_status()
        return {"mediaType": kind, "digest": digest, "size": len(content)}


class TokenService:
    """Gives everybody who asks a token for what they ask for, signed as the registry wants it."""

    def __init__(self, folder: Path) -> None:
        self.certificate = make_certificate(folder)
        pem = self.certificate.read_bytes()
        self._key: Any = load_pem_private_key(pem, None)
        self._chain = [base64.b64encode(load_pem_x509_certificate(pem).public_bytes(Encoding.DER)).decode()]
        self.asked: list[str] = []

    def make(self, repository: str, actions: list[str]) -> str:
        now = int(time.time())
        claims = {
            "iss": ISSUER, "aud": SERVICE, "sub": "", "iat": now, "nbf": now - 60, "exp": now + 600,
            "jti": os.urandom(8).hex(), "access": [{"type": "repository", "name": repository, "actions": actions}],
        }  # fmt: skip
        return jwt.encode(claims, self._key, "ES256", headers={"x5c": self._chain})

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """The realm."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.asked.append(self.path)
                scope = parse_qs(urlsplit(self.path).query)["scope"][-1]
                body = json.dumps({"token": service.make(scope.split(":")[1], ["pull"])}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Not into the tests' output."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/token"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@contextlib.contextmanager
def real_registry(*, with_tokens: bool = False) -> Iterator[RealRegistry]:
    engines.require("registry")
    with contextlib.ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="cp-registry-")))
        address = f"127.0.0.1:{free_ports(1)[0]}"
        settings: dict[str, Any] = {
            "version": 0.1,
            "log": {"level": "warn", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
            "http": {"addr": address, "secret": "of the tests"},
        }
        tokens = TokenService(folder) if with_tokens else None
        if tokens is not None:
            realm = closing.enter_context(tokens.serving())
            given = {"realm": realm, "service": SERVICE, "issuer": ISSUER, "rootcertbundle": str(tokens.certificate)}
            settings["auth"] = {"token": given}
        # JSON is YAML.
        (folder / "config.yml").write_text(json.dumps(settings))
        log = closing.enter_context((folder / "log").open("wb"))
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "docker-registry", "serve", str(folder / "config.yml")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            eventually(lambda: _answers(process, address, folder / "log"), "the registry answers")
            yield RealRegistry(address, tokens)
        finally:
            process.kill()
            process.wait()


def _answers(process: "subprocess.Popen[bytes]", address: str, log: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"docker-registry ended: {log.read_text(errors='replace')[-1000:]}")
    try:
        return httpx.get(f"http://{address}/v2/", trust_env=False).status_code in (200, 401)
    except httpx.HTTPError:
        return False
