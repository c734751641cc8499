"""Where a job may go, by name, by number, by port."""

from ipaddress import ip_address, ip_network

import pytest

from computepool.agent.egress import EgressPolicy, Mode, Refused

INTERNET = EgressPolicy(Mode.INTERNET)
INDEXES = EgressPolicy(
    Mode.INDEXES,
    indexes=frozenset({"index.example", "mirror.corp.example:8443", "nexus", "10.1.2.3:3141"}),
    added=frozenset({"wheels.example", "10.9.9.9"}),
)


def refusal(
    policy: EgressPolicy, host: str, port: int = 443, *addresses: str, around: tuple[str, ...] = ()
) -> str | None:
    """The code of the refusal, if any, for a name that leads to the given addresses."""
    try:
        literal = policy.check_name(host, port)
        found = [literal] if literal else [ip_address(text) for text in addresses]
        policy.check_addresses(host, port, found, frozenset(map(ip_network, around)))
    except Refused as refused:
        return refused.code if refused.why and refused.advice else "no words"
    return None


ODD_SPELLINGS = [
    "2130706433", "017700000001", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "127.1", "127.0.1", "0",
    "127.0.0.01", "127.0.0.0x1", "00.0.0.0", "0x", "1.0x", "127.0.0.1.", "256.256.256.256", "1.2.3.4.5", "3232235777",
]  # fmt: skip


@pytest.mark.parametrize("host", ODD_SPELLINGS)
def test_unusual_spellings_of_numbers_are_refused(host):
    assert refusal(INTERNET, host, 443, "1.1.1.1") == "spelling"


@pytest.mark.parametrize("host", ["", "a b", "a\tb", "ex_ample.com\0", "[::1", "a..b", "-a.com", "é.example", "a/b",
                                  "a@b.example", "x" * 64 + ".com", "::1%lo", "fe80::1%eth0", "::g"])  # fmt: skip
def test_what_is_no_host_is_refused(host):
    assert refusal(INTERNET, host, 443, "1.1.1.1") == "spelling"


@pytest.mark.parametrize("host", ["localhost", "x.localhost", "printer", "nas.local", "metadata.google.internal",
                                  "host.docker.internal", "router.lan", "x.home.arpa", "localhost.localdomain",
                                  "fritz.home", "intra.corp", "ip6-localhost"])  # fmt: skip
def test_names_of_local_networks_are_refused_wherever_they_lead(host):
    assert refusal(INTERNET, host, 443, "1.1.1.1") == "local_name"


@pytest.mark.parametrize("port", [1, 22, 25, 53, 445, 587, 3306, 8080, 65535])
def test_other_ports_are_refused(port):
    assert refusal(INTERNET, "site.example", port, "1.1.1.1") == "port"


def test_ports_can_be_added_but_none_for_mail():
    policy = EgressPolicy(Mode.INTERNET, more_ports=frozenset({22, 8080}))
    assert refusal(policy, "site.example", 8080, "1.1.1.1") is None
    assert refusal(policy, "site.example", 9090, "1.1.1.1") == "port"
    with pytest.raises(ValueError, match="mail"):
        EgressPolicy(Mode.INTERNET, more_ports=frozenset({25}))


def test_public_names_and_addresses_are_let_through():
    assert refusal(INTERNET, "site.example", 443, "1.1.1.1", "2606:4700::1111") is None
    assert refusal(INTERNET, "1.1.1.1", 80) is None
    assert refusal(INTERNET, "2606:4700::1111", 80) is None


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", "::ffff:192.168.1.1", "169.254.169.254", "fd00:ec2::254"])
def test_one_address_that_is_not_public_is_enough(address):
    assert refusal(INTERNET, "site.example", 443, address) == "not_public"
    assert refusal(INTERNET, "site.example", 443, "1.1.1.1", address) == "not_public"
    assert refusal(INTERNET, address) == "not_public"


def test_public_addresses_of_this_machine_and_its_wire_are_refused():
    around = ("9.8.7.0/24", "2a00:1234::/56")
    assert refusal(INTERNET, "me.example", 443, "9.8.7.6", around=around) == "around"
    assert refusal(INTERNET, "me.example", 443, "::ffff:9.8.7.6", around=around) == "around"
    assert refusal(INTERNET, "2a00:1234::5", 443, around=around) == "around"
    assert refusal(INTERNET, "9.8.6.6", 443, around=around) is None


def test_setup_reaches_indexes_and_nothing_else():
    assert refusal(INDEXES, "index.example", 443, "1.1.1.1") is None
    assert refusal(INDEXES, "index.example", 80, "1.1.1.1") is None
    assert refusal(INDEXES, "wheels.example", 443, "1.1.1.1") is None
    assert refusal(INDEXES, "mirror.corp.example", 8443, "1.1.1.1") is None
    for host, port in [("site.example", 443), ("index.example", 8443), ("mirror.corp.example", 443),
                       ("sub.index.example", 443), ("xindex.example", 443), ("1.1.1.1", 443)]:  # fmt: skip
        assert refusal(INDEXES, host, port, "1.1.1.1") == "not_an_index", (host, port)


def test_private_index_needs_the_hosts_word():
    assert refusal(INDEXES, "mirror.corp.example", 8443, "10.1.1.1") == "not_public"
    assert refusal(INDEXES, "nexus", 443, "10.1.1.1") == "local_name"
    assert refusal(INDEXES, "10.1.2.3", 3141) == "not_public"


@pytest.mark.parametrize("mode", list(Mode))
def test_index_that_the_host_allows_may_be_private_or_on_this_machine(mode):
    """Also for a command with the internet: what others call `run` installs packages too."""
    trusting = EgressPolicy(
        mode, INDEXES.indexes, INDEXES.added, frozenset({"mirror.corp.example:8443", "nexus", "10.1.2.3:3141"})
    )
    wire = ("192.168.1.0/24", "192.168.1.1/32")
    assert refusal(trusting, "mirror.corp.example", 8443, "10.1.1.1") is None
    assert refusal(trusting, "nexus", 443, "192.168.1.1") is None
    assert refusal(trusting, "10.1.2.3", 3141) is None
    assert refusal(trusting, "10.1.2.3", 443) in {"not_an_index", "not_public"}
    assert refusal(trusting, "10.1.2.3", 8080) in {"not_an_index", "port"}
    assert refusal(trusting, "wheels.example", 443, "10.1.1.1") == "not_public"  # an operator's word is not the host's
    assert refusal(trusting, "10.9.9.9", 443) == "not_public"
    for address in ("127.0.0.1", "::1", "203.0.113.80", "240.0.0.1", "fd00::1"):
        assert refusal(trusting, "nexus", 443, address) is None
    for address in ("169.254.169.254", "168.63.129.16", "fe80::1", "0.0.0.0", "224.0.0.1", "192.0.0.192"):
        assert refusal(trusting, "nexus", 443, address) == "not_public"
    assert refusal(trusting, "nexus", 443, "192.168.1.1", around=wire) is None
    assert refusal(trusting, "nexus", 443, "192.168.1.7", around=wire) is None
    assert refusal(trusting, "wheels.example", 443, "192.168.1.7", around=wire) == "around"


@pytest.mark.parametrize(
    ("host", "port", "addresses", "setting"),
    [
        ("mirror.corp.example", 8443, ["10.1.1.1"], 'indexes = ["mirror.corp.example:8443"]'),
        ("nexus", 443, ["10.1.1.1"], 'indexes = ["nexus"]'),
        ("index.example", 443, ["203.0.113.80"], 'indexes = ["index.example"]'),
        ("unknown.example", 443, [], 'indexes = ["unknown.example"]'),
    ],
)
def test_refused_index_names_the_setting_that_allows_it(host, port, addresses, setting):
    def check():
        INDEXES.check_name(host, port)
        INDEXES.check_addresses(host, port, map(ip_address, addresses), frozenset())

    with pytest.raises(Refused) as caught:
        check()
    assert f"{setting} under [network] in policy.toml" in caught.value.advice
