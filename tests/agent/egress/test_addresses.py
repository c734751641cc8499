"""What is the public internet, and what is not, in every form that an address may take."""

from ipaddress import ip_address, ip_network

import pytest

from computepool.agent.egress.addresses import surroundings, why_not_public

PUBLIC = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1",
          "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "223.255.255.1"]  # fmt: skip
NOT_PUBLIC = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
    "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
    "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1",
    "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "100::1", "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::",
    "2002:a9fe:a9fe::1", "2002:808:808::1", "2a00::5efe:a00:1", "2a00::200:5efe:a00:1", "3fff::1", "4000::1",
    "5f00::1", "fc00::1", "fd00:ec2::254", "fdff::1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "ff02::1",
]  # fmt: skip


@pytest.mark.parametrize("text", PUBLIC)
def test_public_address_is_public(text):
    assert why_not_public(ip_address(text)) is None


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_address_that_is_not_public_says_what_it_is(text):
    assert why_not_public(ip_address(text))


def test_nothing_is_public_that_the_standard_library_calls_private():
    """A second opinion, on an address from each /16 and each /12."""
    for number in range(1 << 16):
        address = ip_address((number << 16) + 7)
        if not address.is_global or address.is_multicast:
            assert why_not_public(address), address
    for number in range(1 << 12):
        address = ip_address((number << 116) + 7)
        if not address.is_global or address.is_multicast:
            assert why_not_public(address), address


TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     |-- 128.0.0.0
        /1 link UNICAST
     |-- 9.8.7.0
        /24 link UNICAST
     |-- 9.8.7.6
        /32 host LOCAL
     |-- 9.8.7.255
        /32 link BROADCAST
     |-- 5.0.0.0
        /8 universe UNICAST
"""
INET6 = """00000000000000000000000000000001 01 80 10 80       lo
2a001234567890ab0000000000000005 02 40 00 80     eth0
fe8000000000000000fc00fffe000001 02 40 20 80     eth0
"""


def test_what_is_on_the_same_wire_is_known(tmp_path):
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "fib_trie").write_text(TRIE)
    (tmp_path / "net" / "if_inet6").write_text(INET6)
    around = surroundings(tmp_path)

    def is_around(text: str) -> bool:
        return any(ip_address(text) in network for network in around)

    assert is_around("9.8.7.6")
    assert is_around("9.8.7.99")
    assert is_around("2a00:1234:5678:90ab::77")
    assert is_around("2a00:1234:5678:90ff::1")  # another network of the same home
    assert not is_around("2a00:1234:5678:91ab::77")
    assert not is_around("200.1.1.1")  # a tunnel to half the internet is no wire
    assert not is_around("5.6.7.8")


def test_machine_without_proc_knows_itself_by_its_name(tmp_path):
    assert surroundings(tmp_path)


def test_this_machine_knows_its_loopback():
    assert any(ip_network("127.0.0.1/32").subnet_of(one) for one in surroundings() if one.version == 4)  # type: ignore[arg-type]
