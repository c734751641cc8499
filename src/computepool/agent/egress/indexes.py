"""The package indexes that this machine itself uses. None is written down here: its tools are asked.

Read are the tools' variables and files: pip, uv, npm, conda, apt; and the defaults of pip and npm, from their source.
Nothing of what is read is run.
"""

import ast
import configparser
import contextlib
import importlib.util
import re
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

MAX_FILE_BYTES = 1 << 20
PIP_KEYS = ("index-url", "extra-index-url", "find-links")
UV_KEYS = ("index-url", "default-index", "extra-index-url", "find-links")
URL = re.compile(r"""https?://[^\s'"\],]+""")
INDEX_MODULE = "pip/_internal/models/index.py"
CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Files of authorities that tools on this machine trust, such as a company's own."""
NPM_DEFINITIONS = "node_modules/@npmcli/config/lib/definitions/definitions.js"
NPM_DEFAULT = re.compile(r"""Definition\('registry',\s*\{\s*default:\s*['"`](https?://[^'"`]+)""")


@dataclass(frozen=True)
class IndexConfiguration:
    """Where to look: tests look elsewhere."""

    environ: Mapping[str, str]
    home: Path
    root: Path = Path("/")

    def variables(self, *names: str) -> list[str]:
        return [word for name in names for word in self.environ.get(name, "").split()]

    def named(self, variable: str, *others: Path) -> list[Path]:
        """Files that a tool reads, with the one that a variable names."""
        return [*others, *([Path(self.environ[variable])] if self.environ.get(variable) else [])]

    def etc(self, *names: str) -> list[Path]:
        return [self.root / "etc" / name for name in names]


def find_indexes(
    environ: Mapping[str, str],
    *,
    home: Path | None = None,
    root: Path = Path("/"),
    added: Iterable[str] = (),
    defaults: bool = True,
) -> frozenset[str]:
    """`host`, or `host:port` where the port is not the usual one. `added` may be URLs, or such places already."""
    machine = IndexConfiguration(environ, home or Path.home(), root)
    urls = [*_pip(machine), *_uv(machine), *_npm(machine), *_conda(machine), *_apt(machine)]
    urls += [*_pip_defaults(root), *_npm_default(root)] if defaults else []
    places = [place_of(url) for url in urls]
    places += [place_of(one if "://" in one else f"https://{one}") for one in added]
    return frozenset(place for place in places if place)


def find_mirrors(environ: Mapping[str, str], *, home: Path | None = None, root: Path = Path("/")) -> dict[str, str]:
    """The variables that make tools in a sandbox use what this machine is configured for, without any credentials."""
    machine = IndexConfiguration(environ, home or Path.home(), root)
    pip = _first_of_pip(machine)
    uv = _web_only(machine.variables("UV_DEFAULT_INDEX", "UV_INDEX_URL"))
    npm = _web_only(machine.variables("npm_config_registry", "NPM_CONFIG_REGISTRY")) or _web_only(
        url for path in _npm_files(machine) for name, url in _npm_settings(path) if name == "registry"
    )
    certificates = {name: [machine.environ[name]] for name in CERTIFICATES if _is_seen(machine.environ.get(name))}
    found = certificates | {
        "PIP_INDEX_URL": pip.get("index-url", [])[:1],
        "PIP_EXTRA_INDEX_URL": pip.get("extra-index-url", []),
        "PIP_TRUSTED_HOST": list(dict.fromkeys(_trusted_hosts(machine))),
        "UV_DEFAULT_INDEX": (uv or pip.get("index-url", []))[:1],
        "npm_config_registry": npm[:1],
    }
    return {name: " ".join(urls) for name, urls in found.items() if urls}


def find_pages(environ: Mapping[str, str], *, home: Path | None = None, root: Path = Path("/")) -> dict[str, str]:
    """By tool, a page that its index has for sure, if it is one: what the tool itself would ask for."""
    found = find_mirrors(environ, home=home, root=root)
    pip = found.get("PIP_INDEX_URL") or next((f"{url.rstrip('/')}/simple" for url in _pip_defaults(root)), "")
    npm = found.get("npm_config_registry") or next(iter(_npm_default(root)), "")
    pages = {"pip": (pip, "pip/"), "uv": (found.get("UV_DEFAULT_INDEX", ""), "uv/"), "npm": (npm, "npm")}
    return {tool: f"{url.rstrip('/')}/{name}" for tool, (url, name) in pages.items() if url}


def _is_seen(path: str | None) -> bool:
    """Whether jobs without an image see the file in the same place."""
    return path is not None and path.startswith(("/etc/ssl/certs/", "/etc/pki/", "/usr/")) and ".." not in path


def _pip(machine: IndexConfiguration) -> list[str]:
    urls = machine.variables("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
    for path in _pip_files(machine):
        urls += [url for values in _pip_settings(path).values() for url in values]
    return urls


def _first_of_pip(machine: IndexConfiguration) -> dict[str, list[str]]:
    """By key, what counts: a variable before a file, a person's file before the machine's."""
    found: dict[str, list[str]] = {}
    for path in _pip_files(machine):
        found |= {key: _web_only(urls) for key, urls in _pip_settings(path).items() if _web_only(urls)}
    for key, variable in (("index-url", "PIP_INDEX_URL"), ("extra-index-url", "PIP_EXTRA_INDEX_URL")):
        if urls := _web_only(machine.variables(variable)):
            found[key] = urls
    return found


def _trusted_hosts(machine: IndexConfiguration) -> Iterator[str]:
    """Of indexes without TLS, which pip uses only if it is told so."""
    for path in _pip_files(machine):
        for values in _pip_settings(path, ("trusted-host",)).values():
            yield from values
    yield from machine.variables("PIP_TRUSTED_HOST")


def _pip_files(machine: IndexConfiguration) -> list[Path]:
    home = machine.home
    paths = machine.etc("xdg/pip/pip.conf", "pip.conf")
    paths += [home / ".pip/pip.conf", home / "Library/Application Support/pip/pip.conf", home / ".config/pip/pip.conf"]
    if machine.environ.get("VIRTUAL_ENV"):
        paths.append(Path(machine.environ["VIRTUAL_ENV"]) / "pip.conf")
    return machine.named("PIP_CONFIG_FILE", *paths)


def _pip_settings(path: Path, keys: tuple[str, ...] = PIP_KEYS) -> dict[str, list[str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with contextlib.suppress(configparser.Error):
        parser.read_string(_text_of(path))
    found: dict[str, list[str]] = {}
    for section in ("global", "download", "wheel", "install"):
        if parser.has_section(section):
            for key in keys:
                value = parser[section].get(key) or parser[section].get(key.replace("-", "_"))
                if value:
                    found.setdefault(key, []).extend(value.split())
    return found


def _uv(machine: IndexConfiguration) -> list[str]:
    urls = machine.variables("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
    urls += [word.partition("=")[2] if "=" in word.split("://")[0] else word for word in machine.variables("UV_INDEX")]
    files = machine.named("UV_CONFIG_FILE", machine.root / "etc/uv/uv.toml", machine.home / ".config/uv/uv.toml")
    for path in files:
        with contextlib.suppress(tomllib.TOMLDecodeError):
            table = tomllib.loads(_text_of(path))
            urls += [*_uv_settings(table), *_uv_settings(table.get("pip"))]
    return urls


def _uv_settings(table: Any) -> Iterator[str]:
    if not isinstance(table, dict):
        return
    values = [table.get(key) for key in UV_KEYS]
    indexes = table.get("index")
    values += [one.get("url") for one in indexes if isinstance(one, dict)] if isinstance(indexes, list) else []
    for value in values:
        for url in value if isinstance(value, list) else [value]:
            if isinstance(url, str):
                yield url


def _npm(machine: IndexConfiguration) -> list[str]:
    urls = machine.variables("npm_config_registry", "NPM_CONFIG_REGISTRY")
    return urls + [url for path in _npm_files(machine) for _, url in _npm_settings(path)]


def _npm_files(machine: IndexConfiguration) -> list[Path]:
    etc = [*machine.etc("npmrc"), machine.root / "usr/etc/npmrc", machine.root / "usr/local/etc/npmrc"]
    return machine.named("NPM_CONFIG_USERCONFIG", machine.home / ".npmrc", *etc)


def _npm_settings(path: Path) -> Iterator[tuple[str, str]]:
    """`registry` and `@scope:registry`."""
    for line in _text_of(path).splitlines():
        name, _, value = (part.strip().strip("\"'") for part in line.partition("="))
        if name == "registry" or name.endswith(":registry"):
            yield name, value


def _conda(machine: IndexConfiguration) -> list[str]:
    places = [machine.home / ".condarc", machine.home / ".conda/.condarc", *machine.etc("conda/.condarc")]
    places += [machine.home / name / ".condarc" for name in ("miniconda3", "anaconda3", "miniforge3")]
    paths = machine.named("CONDARC", machine.root / "opt/conda/.condarc", *places)
    lines = [line.partition(" #")[0] for path in paths for line in _text_of(path).splitlines()]
    return [url for line in lines if not line.lstrip().startswith("#") for url in URL.findall(line)]


def _apt(machine: IndexConfiguration) -> list[str]:
    folder = machine.root / "etc/apt"
    paths = [folder / "sources.list"]
    with contextlib.suppress(OSError):
        paths += sorted(path for path in (folder / "sources.list.d").iterdir() if path.suffix in {".list", ".sources"})
    lines = [line.strip() for path in paths for line in _text_of(path).splitlines()]
    return [url for line in lines if re.match(r"deb\b|uris:", line, re.IGNORECASE) for url in URL.findall(line)]


def _pip_defaults(root: Path) -> list[str]:
    """What pip goes to where nobody told it anything: in its own source, installed or as Python carries it along."""
    debian = root / "usr/lib/python3/dist-packages/pip"
    sources = [_text_of(folder.parent / INDEX_MODULE) for folder in [*_folders_of("pip"), debian]]
    for folder in [*(place / "_bundled" for place in _folders_of("ensurepip")), root / "usr/share/python-wheels"]:
        for wheel in sorted(folder.glob("pip-*.whl")):
            with contextlib.suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(wheel) as archive:
                sources.append(archive.read(INDEX_MODULE).decode())
    return [url for source in sources for url in _urls_of_default_index(source)]


def _npm_default(root: Path) -> list[str]:
    """As with pip: what it says in its own source."""
    places = [root / "usr" / name / "npm" for name in ("lib/node_modules", "local/lib/node_modules", "share/nodejs")]
    texts = [_text_of(place / NPM_DEFINITIONS) for place in places]
    return [found[1] for text in texts if (found := NPM_DEFAULT.search(text))]


def _folders_of(package: str) -> list[Path]:
    """Where it is installed; it is not imported."""
    spec = importlib.util.find_spec(package)
    return [Path(place) for place in spec.submodule_search_locations or []] if spec else []


def _urls_of_default_index(source: str) -> Iterator[str]:
    """Of `PyPI = PackageIndex(url, file_storage_domain=domain)`."""
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_called_pypi(node.targets):
                arguments = [*node.value.args, *(keyword.value for keyword in node.value.keywords)]
                for argument in arguments:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        yield argument.value if "://" in argument.value else f"https://{argument.value}"


def _is_called_pypi(targets: list[ast.expr]) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "PyPI" for target in targets)


def _text_of(path: Path) -> str:
    """Of a small file; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _web_only(urls: Iterable[str]) -> list[str]:
    """Those of the web, without the credentials of this machine's owner."""
    found = []
    for url in urls:
        with contextlib.suppress(ValueError):
            parts = urlsplit(url)
            if place_of(url):
                found.append(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))
    return found


def place_of(url: str) -> str | None:
    """`host`, or `host:port` where the URL names a port; None for what is no URL of the web."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not host:
        return None
    shown = f"[{host}]" if ":" in host else host.removesuffix(".")
    return shown if port is None else f"{shown}:{port}"
