"""The text of `run` and `setup` in the shell that there is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from computepool.agent.shells import in_shell
from computepool.agent.simulated.plan import _told
from computepool.protocol.shell import Shell

BASH_ONLY = 'source ./lib; [[ $who == pool ]] && for i in {1..3}; do printf "$i"; done'


def run(text: str, shell: Shell | None, folder: Path, path: str = "/usr/bin:/bin") -> tuple[int, str]:
    ended = subprocess.run(
        in_shell(("sh", "-c", text), shell), cwd=folder, env={"PATH": path}, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout


@pytest.fixture
def only_sh(tmp_path: Path) -> str:
    """A PATH without bash, as in a small image."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("sh", "false", "true", "cat"):
        found = shutil.which(name)
        assert found is not None
        (place / name).symlink_to(found)
    return str(place)


@pytest.mark.parametrize("shell", list(Shell))
def test_text_is_run_by_bash_where_there_is_one(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "lib").write_text("who=pool\n")
    assert run(BASH_ONLY, shell, tmp_path) == (0, "123")


@pytest.mark.parametrize(
    ("text", "strict", "plain"),
    [
        ("false\necho on", (1, ""), (0, "on\n")),
        ("cd /nowhere; echo on", (1, ""), (0, "on\n")),
        ("false | cat\necho on", (1, ""), (0, "on\n")),
        ("false || echo saved", (0, "saved\n"), (0, "saved\n")),
        ("if false; then :; fi\necho on", (0, "on\n"), (0, "on\n")),
        ("exit 7", (7, ""), (7, "")),
    ],
)
def test_strict_text_stops_at_the_first_line_that_fails(
    text: str, strict: tuple[int, str], plain: tuple[int, str], tmp_path: Path
) -> None:
    assert run(text, Shell.STRICT, tmp_path) == strict
    assert run(text, Shell.PLAIN, tmp_path) == plain


def test_without_bash_sh_stops_at_the_first_line_too(only_sh: str, tmp_path: Path) -> None:
    assert run("false\necho on", Shell.STRICT, tmp_path, only_sh) == (1, "")
    assert run("false\necho on", Shell.PLAIN, tmp_path, only_sh) == (0, "on\n")
    assert run("echo 'a  b' \"$0\"", Shell.STRICT, tmp_path, only_sh) == (0, "a  b sh\n")


def test_a_program_with_arguments_and_an_older_hubs_order_are_run_as_they_are(tmp_path: Path) -> None:
    assert in_shell(("python3", "a.py"), None) == ("python3", "a.py")
    assert run("false\necho on", None, tmp_path) == (0, "on\n")


@pytest.mark.parametrize("shell", [*Shell, None])
def test_simulated_node_shows_the_text_that_the_renter_wrote(shell: Shell | None) -> None:
    assert _told(in_shell(("sh", "-c", "make"), shell)) == (("sh", "-c", "make"), False)
