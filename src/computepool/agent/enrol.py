"""How this machine becomes a node: `join` makes the keys, shows them to the hub, and pins the hub's."""

import contextlib
import json
import socket
import ssl
from typing import Any

import httpx
from pydantic import ValidationError

from computepool.agent.home import AgentHome, NodeRecord
from computepool.protocol.addresses import INSECURE_HINT, insecure_message, is_exposed, with_scheme
from computepool.protocol.capacity import Capacity
from computepool.protocol.enrol import ENROL_PROOF, EnrolReply, EnrolRequest, enrol_proof_body
from computepool.protocol.pinning import COMPARE_KEYS, PinnedContext, pin_mismatch
from computepool.protocol.problem_words import words_for

ENROL_PATH = "/api/v1/nodes/enroll"
KEYS_PATH = "/api/v1/keys"
TIMEOUT_SECONDS = 30.0


class JoinFailed(Exception):
    """This machine did not become a node. The message says why, and what to do."""

    def __init__(self, message: str, code: str = "join_failed") -> None:
        super().__init__(message)
        self.code = code


_BAD_TOKEN = (
    "the hub does not take this join token: it is unknown, used up or expired. Make a new one with"
    " `computepool node join-token`, or copy the whole line that `computepool up` prints"
)


def join(
    home: AgentHome,
    url: str,
    token: str,
    *,
    fingerprint: str | None = None,
    insecure: bool = False,
    capacity: Capacity,
    agent_version: str,
    name: str | None = None,
    country: str | None = None,
    tags: tuple[str, ...] = (),
    replace: str | None = None,
    client: httpx.Client | None = None,
) -> NodeRecord:
    """Enrol this machine with the hub at `url`; its record is stored in `home`, with the hub's keys pinned.

    `fingerprint` is that of the hub's own certificate. Plain HTTP to another machine is refused without `insecure`.
    """
    if home.is_enrolled():
        known = home.node()
        raise JoinFailed(
            f"this machine is node {known.node_id} of {known.hub_url} already. Start it with `computepool agent start`;"
            " to join another pool beside it, use another --home",
            "already_joined",
        )
    hub_url = _hub_url(url)
    refuse_exposed(hub_url, insecure=insecure)
    home.prepare()
    identity = home.identity()
    sign_key, seal_key = identity.public_sign_key, identity.public_seal_key
    try:
        request = EnrolRequest(
            token=token.strip(),
            name=name or socket.gethostname()[:64] or "node",
            country=country.upper() if country else None,
            tags=tags,
            sign_key=sign_key,
            seal_key=seal_key,
            signature=identity.sign(ENROL_PROOF, enrol_proof_body(token.strip(), sign_key, seal_key)).signature,
            capacity=capacity,
            agent_version=agent_version,
            replace=replace,
        )
    except ValidationError as error:
        raise JoinFailed(_field_problem(error), "invalid") from None
    reply = _enrol(hub_url, request, client, fingerprint)
    node = NodeRecord(
        hub_url=hub_url,
        hub_id=reply.hub_id,
        node_id=reply.node_id,
        name=reply.name,
        hub_keys=reply.keys,
        fingerprint=fingerprint,
        insecure=insecure,
    )
    home.save_node(node)
    return node


def refuse_exposed(hub_url: str, *, insecure: bool) -> None:
    """Before anything is sent."""
    if is_exposed(hub_url) and not insecure:
        raise JoinFailed(f"{insecure_message(hub_url)}; {INSECURE_HINT}", "insecure_address")


def find_again(home: AgentHome, url: str, fingerprint: str | None, *, insecure: bool) -> bool:
    """Whether the hub at `url` is the one that this machine joined. It is then reached there from now on, with the
    certificate that was named."""
    node, hub_url = home.node(), _hub_url(url)
    refuse_exposed(hub_url, insecure=insecure or (node.insecure and node.hub_url == hub_url))
    if (node.hub_url, node.fingerprint) == (hub_url, fingerprint or node.fingerprint):
        return True
    try:
        response = httpx.get(hub_url + KEYS_PATH, timeout=TIMEOUT_SECONDS, verify=_verify(fingerprint))
        document = response.json() if response.is_success else None
    except httpx.HTTPError as error:
        raise _unreachable(hub_url, error) from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("hub_id") != node.hub_id:
        return False
    home.save_node(node.changed(hub_url=hub_url, fingerprint=fingerprint, insecure=insecure))
    return True


def _verify(fingerprint: str | None) -> ssl.SSLContext | bool:
    return PinnedContext(fingerprint) if fingerprint else True


def _hub_url(url: str) -> str:
    text = with_scheme(url).rstrip("/")
    try:
        parsed = httpx.URL(text)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise JoinFailed(f"{url} is not a hub's address; it looks like https://pool.example.org", "invalid_url")
    return text


def _enrol(hub_url: str, request: EnrolRequest, client: httpx.Client | None, fingerprint: str | None) -> EnrolReply:
    with contextlib.ExitStack() as closing:
        own = client or closing.enter_context(httpx.Client(verify=_verify(fingerprint)))
        try:
            response = own.post(
                hub_url + ENROL_PATH,
                content=request.to_bytes(),
                headers={"Content-Type": "application/json"},
                timeout=TIMEOUT_SECONDS,
            )
        except httpx.HTTPError as error:
            raise _unreachable(hub_url, error) from None
    if response.is_success:
        try:
            return EnrolReply.model_validate_json(response.content)
        except ValidationError:
            raise JoinFailed(f"what answers at {hub_url} is not a ComputePool hub", "not_a_hub") from None
    raise _refusal(hub_url, response)


def _unreachable(hub_url: str, error: httpx.HTTPError) -> JoinFailed:
    if mismatch := pin_mismatch(error):
        return JoinFailed(f"{mismatch.told(hub_url)}. {COMPARE_KEYS}, join with it: URL#{mismatch.found}", "wrong_key")
    hint = "Check the address, and that the hub runs"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        hint = "Where the hub made its certificate itself, join with the #sha256:… that `computepool up --host` prints"
    return JoinFailed(f"the hub at {hub_url} cannot be reached ({error}). {hint}", "unreachable")


def _refusal(hub_url: str, response: httpx.Response) -> JoinFailed:
    error = error_of(response)
    if error is None:
        return JoinFailed(
            f"what answers at {hub_url} is not a ComputePool hub (HTTP {response.status_code})", "not_a_hub"
        )
    code = str(error.get("code", "refused"))
    if code == "bad_join_token":
        return JoinFailed(_BAD_TOKEN, code)
    message, hint = str(error.get("message", "the hub refused")), error.get("hint")
    return JoinFailed(f"{message.rstrip('.')}. {hint}" if hint else message, code)


def error_of(response: httpx.Response) -> dict[str, Any] | None:
    try:
        body = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return None
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else None


def _field_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {words_for(first)}"
