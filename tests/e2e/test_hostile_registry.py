"""An image at a registry that wants to see the host's own network."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from support.pool import TINY, Pool, path_without
from support.private_engines import docker_engine
from support.secure_registry import SecureRegistry, secure_registry
from support.secure_site import PUBLIC

pytestmark = pytest.mark.slow
PRIVATE = "10.11.12.13"
"""Where the proxy is asked to go if the agent does not refuse it."""
SECRET = "what-only-the-house-may-know"


@pytest.fixture
def internal() -> Iterator[HTTPServer]:
    """Something on the host's own network: it gives whoever asks a secret, and notes who asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = json.dumps({"token": SECRET}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Not into the tests' output."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = asked  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def world() -> Iterator[SecureRegistry]:
    with secure_registry() as world:
        yield world


@pytest.mark.engine("docker", "gvisor", "busybox")
def test_registry_cannot_make_a_host_ask_its_own_network(
    pool: Pool, internal: HTTPServer, world: SecureRegistry
) -> None:
    """Its 401 names an internal address as the realm. Nobody asks there, and the registry gets no token."""
    registry = world.registry
    busybox = Path("/bin/busybox").read_bytes()
    registry.add("tools/shell", "1", {"bin/busybox": busybox, "bin/sh": busybox})
    way_out = {"HTTPS_PROXY": f"http://127.0.0.1:{world.proxy_port}", "SSL_CERT_FILE": str(world.certificate)}
    bob = pool.register("bob")

    def run() -> dict:
        spec = {**TINY, "image": f"{PUBLIC}/tools/shell:1", "run": ["/bin/busybox", "echo", "hello"]}
        (pool.folder / "job.yaml").write_text(json.dumps(spec))
        job_id = bob.cli("run", "job.yaml", "-d", "-y", "--json").expect(0).json["id"]

        def ended() -> dict | None:
            job = bob.cli("show", job_id, "--json").expect(0).json
            return job if job["state"] in ("succeeded", "failed") else None

        return pool.until(ended, "the job ends")

    with docker_engine(way_out) as engine:
        pool.join("host", PATH=path_without("bwrap"), DOCKER_HOST=f"unix://{engine.socket}", **way_out)
        # By the scheme, the port and the address: each realm is refused by another rule.
        port = internal.server_address[1]
        for realm in (f"http://127.0.0.1:{port}", f"https://127.0.0.1:{port}", f"https://{PRIVATE}"):
            registry.realm = f"{realm}/token"
            refused = run()
            assert internal.asked == []  # type: ignore[attr-defined]
            assert not {f"127.0.0.1:{port}", f"{PRIVATE}:443"} & set(world.targets), realm
            assert not [asked for asked in registry.seen if SECRET in asked.authorization]
            assert (refused["state"], refused["verdict"]) == ("failed", "renter"), f"{realm}\n{pool.story()}"
        assert [asked.path for asked in registry.seen][:1] == ["/v2/tools/shell/manifests/1"], "it was never asked"
        # The control: with a realm on the public internet, the same image runs.
        registry.realm = f"https://{PUBLIC}/token"
        assert run()["state"] == "succeeded", pool.story()
        assert {asked.authorization for asked in registry.seen} == {"", f"Bearer {registry.token}"}
