import pytest

from computepool.agent.enrol import _hub_url
from computepool.client.config import normal_url
from computepool.protocol.addresses import is_exposed, is_loopback, split_fingerprint, with_scheme


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


@pytest.mark.parametrize(
    ("host", "stays"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("192.0.2.7", False),
        ("::ffff:192.0.2.7", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("pool.example.org", False),
        ("", False),
    ],
)
def test_loopback_is_what_stays_on_this_machine(host, stays):
    assert is_loopback(host) is stays


def test_plain_http_is_exposed_beyond_loopback_alone():
    assert is_exposed("http://192.0.2.7:8000")
    assert not is_exposed("http://127.0.0.1:8000")
    assert not is_exposed("http://[::1]:8000/x")
    assert not is_exposed("https://192.0.2.7:8000")


def test_fingerprint_is_read_however_it_was_typed():
    digits = "ab" * 32
    meant = ("https://pool:8000", f"sha256:{digits}")
    assert split_fingerprint(f"https://pool:8000#sha256:{digits}") == meant
    assert split_fingerprint(f"https://pool:8000#SHA256:{':'.join(['AB'] * 32)} ") == meant
    assert split_fingerprint("https://pool:8000") == ("https://pool:8000", None)
    assert normal_url(f"pool:8000#sha256:{digits}") == "https://pool:8000"
    for wrong in ("", "sha256:", f"sha256:{digits[1:]}", f"md5:{digits}", digits, "sha256:" + "xy" * 32):
        with pytest.raises(ValueError, match="fingerprint"):
            split_fingerprint(f"https://pool:8000#{wrong}")
