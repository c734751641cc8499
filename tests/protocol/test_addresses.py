import pytest

from computepool.agent.enrol import _hub_url
from computepool.client.config import normal_url
from computepool.protocol.addresses import with_scheme


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("pool.example.org", "https://pool.example.org"),
        ("pool.example.org:8443", "https://pool.example.org:8443"),
        ("192.168.1.5:8000", "https://192.168.1.5:8000"),
        ("http://192.168.1.5:8000", "http://192.168.1.5:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("localhost", "http://localhost"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("[::1]", "http://[::1]"),
    ],
)
def test_address_means_the_same_to_whoever_reads_it(written, meant):
    assert with_scheme(written) == normal_url(written) == _hub_url(written) == meant
