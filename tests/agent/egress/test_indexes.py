"""Package indexes are what this machine's own tools are configured for."""

import zipfile
from pathlib import Path

import pytest

from computepool.agent.egress import find_indexes, find_mirrors, proxy_environment
from computepool.agent.egress.indexes import INDEX_MODULE, NPM_DEFINITIONS, _urls_of_default_index

FILES = {
    "etc/pip.conf": "[global]\nindex-url = https://name:word@pip-etc.example/simple\n[install]\n"
    "extra-index-url =\n    https://extra-a.example:8443/simple\n    http://extra-b.example/simple\n",
    "home/.config/pip/pip.conf": "[global]\nindex_url = https://pip-home.example/simple\nfind-links = /opt/wheels\n",
    "etc/uv/uv.toml": '[[index]]\nname = "a"\nurl = "https://uv-index.example/simple"\n[pip]\nindex-url = '
    '"https://uv-pip.example/simple"\n',
    "home/.config/uv/uv.toml": 'extra-index-url = ["https://uv-extra.example/simple"]\nfind-links = []\n',
    "home/.npmrc": "registry=https://npm.example/\n@corp:registry = 'https://npm-scope.example:4873/'\n"
    "//npm.example/:_authToken=secret\n",
    "home/.condarc": "channels:\n  - https://conda.example/main  # https://comment.example\n#  - https://off.example\n"
    "channel_alias: https://conda-alias.example\n",
    "etc/apt/sources.list": "deb [signed-by=/x.gpg] http://apt.example/debian stable main\n# deb http://off.example x\n"
    "deb cdrom:[Debian]/ stable main\n",
    "etc/apt/sources.list.d/more.sources": "Types: deb\nURIs: https://apt-a.example/x http://apt-b.example:8080/y\n",
    "etc/apt/sources.list.d/old.list.save": "deb http://off.example stable main\n",
}
FOUND = {
    "pip-etc.example", "extra-a.example:8443", "extra-b.example", "pip-home.example", "uv-index.example",
    "uv-pip.example", "uv-extra.example", "npm.example", "npm-scope.example:4873", "conda.example",
    "conda-alias.example", "apt.example", "apt-a.example", "apt-b.example:8080",
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_tools_files_are_read(root):
    assert find_indexes({}, home=root / "home", root=root, defaults=False) == FOUND


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"PIP_INDEX_URL": "https://a.example/simple"}, "a.example"),
        ({"PIP_EXTRA_INDEX_URL": "https://x.example/s https://b.example:444/s"}, "b.example:444"),
        ({"UV_INDEX_URL": "https://c.example/s"}, "c.example"),
        ({"UV_DEFAULT_INDEX": "https://d.example/s"}, "d.example"),
        ({"UV_INDEX": "corp=https://e.example/s"}, "e.example"),
        ({"UV_INDEX": "https://f.example/s?x=1"}, "f.example"),
        ({"npm_config_registry": "https://g.example/"}, "g.example"),
        ({"NPM_CONFIG_REGISTRY": "https://H.example/"}, "h.example"),
        ({"PIP_INDEX_URL": "http://[fd00::5]:3141/s"}, "[fd00::5]:3141"),
    ],
)
def test_variables_count(tmp_path, environ, place):
    assert place in find_indexes(environ, home=tmp_path, root=tmp_path, defaults=False)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PIP_CONFIG_FILE", "[global]\nindex-url = https://named.example/s\n"),
        ("UV_CONFIG_FILE", 'index-url = "https://named.example/s"\n'),
        ("NPM_CONFIG_USERCONFIG", "registry=https://named.example\n"),
        ("CONDARC", "channels: [https://named.example/x, defaults]\n"),
    ],
)
def test_files_that_variables_name_are_read(tmp_path, variable, text):
    named = tmp_path / "file"
    named.write_text(text)
    found = find_indexes({variable: str(named)}, home=tmp_path / "home", root=tmp_path, defaults=False)
    assert found == {"named.example"}


def test_broken_files_and_other_schemes_are_no_trouble(tmp_path):
    (tmp_path / "etc/uv").mkdir(parents=True)
    (tmp_path / "etc/pip.conf").write_bytes(b"\xff\xfe no section\nindex-url = x")
    (tmp_path / "etc/uv/uv.toml").write_text("index-url = [[[")
    (tmp_path / ".npmrc").mkdir()
    environ = {"PIP_INDEX_URL": "file:///opt/index", "PIP_EXTRA_INDEX_URL": "http://[bad http://x:port/ nonsense"}
    assert find_indexes(environ, home=tmp_path, root=tmp_path, defaults=False) == frozenset()
    assert find_mirrors(environ, home=tmp_path, root=tmp_path) == {}


def test_what_the_operator_adds_is_there(tmp_path):
    added = ["https://wheels.example/whl", "more.example", "port.example:8443"]
    found = find_indexes({}, home=tmp_path, root=tmp_path, added=added, defaults=False)
    assert found == {"wheels.example", "more.example", "port.example:8443"}


def test_pips_own_default_is_read_from_its_source(tmp_path):
    source = (
        "class PackageIndex: ...\n"
        'PyPI = PackageIndex("https://default.example/", file_storage_domain="files.example")\n'
        'TestPyPI = PackageIndex("https://test.example/", file_storage_domain="test-files.example")\n'
    )
    assert list(_urls_of_default_index(source)) == ["https://default.example/", "https://files.example"]
    wheels = tmp_path / "usr/share/python-wheels"
    wheels.mkdir(parents=True)
    with zipfile.ZipFile(wheels / "pip-99.whl", "w") as wheel:
        wheel.writestr(INDEX_MODULE, source)
    (wheels / "pip-0.whl").write_bytes(b"no archive")
    found = find_indexes({}, home=tmp_path, root=tmp_path)
    assert {"default.example", "files.example"} <= found
    assert "test.example" not in found


def test_npms_own_default_is_read_from_its_source(tmp_path):
    place = tmp_path / "usr/lib/node_modules/npm" / NPM_DEFINITIONS
    place.parent.mkdir(parents=True)
    place.write_text(
        "const a = {\n'omit': new Definition('omit', { default: 'https://no.example' }),\n"
        "  registry: new Definition('registry', {\n    default: 'https://npm-default.example/',\n})}"
    )
    found = find_indexes({}, home=tmp_path, root=tmp_path)
    assert "npm-default.example" in found
    assert "no.example" not in found


def test_this_pythons_pip_has_a_default(tmp_path):
    """From pip itself, or from the copy that Python carries."""
    assert len(find_indexes({}, home=tmp_path, root=tmp_path)) >= 2


def test_job_is_pointed_at_the_machines_mirror_without_its_credentials(root):
    assert find_mirrors({}, home=root / "home", root=root) == {
        "PIP_INDEX_URL": "https://pip-home.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://extra-a.example:8443/simple http://extra-b.example/simple",
        "UV_DEFAULT_INDEX": "https://pip-home.example/simple",
        "npm_config_registry": "https://npm.example/",
    }
    environ = {"PIP_INDEX_URL": "https://me:secret@mirror.example:444/simple"}
    assert find_mirrors(environ, home=root / "home", root=root)["PIP_INDEX_URL"] == "https://mirror.example:444/simple"


def test_certificates_that_jobs_see_and_hosts_without_tls_are_passed_on(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/pip.conf").write_text("[global]\ntrusted-host =\n    a.example\n    b.example:8080\n")
    environ = {
        "PIP_CERT": "/etc/ssl/certs/corp.pem",
        "SSL_CERT_FILE": "/root/corp.pem",
        "PIP_TRUSTED_HOST": "c.example",
    }
    assert find_mirrors(environ, home=tmp_path, root=tmp_path) == {
        "PIP_CERT": "/etc/ssl/certs/corp.pem",
        "PIP_TRUSTED_HOST": "a.example b.example:8080 c.example",
    }


def test_proxy_is_named_in_both_cases():
    given = proxy_environment(3128)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        assert given[name] == given[name.upper()] == "http://127.0.0.1:3128"
    assert given["no_proxy"] == given["NO_PROXY"] == "localhost,127.0.0.1,::1"
