"""The variables by which programs in a sandbox find the proxy."""

from computepool.agent.sandbox.interface import EGRESS_PORT

# The job's own loopback interface: what it starts there itself needs no proxy, which would refuse it.
OWN_LOOPBACK = "localhost,127.0.0.1,::1"


def proxy_environment(port: int = EGRESS_PORT) -> dict[str, str]:
    """In both cases, because programs do not agree which to read."""
    url = f"http://127.0.0.1:{port}"
    values = {"http_proxy": url, "https_proxy": url, "all_proxy": url, "no_proxy": OWN_LOOPBACK}
    return {**values, **{name.upper(): value for name, value in values.items()}}
