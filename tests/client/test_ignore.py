"""Which files a bundle leaves out: what git would, compared with the real git, and what `.computepoolignore` says."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from computepool.client.bundle import list_files


def fill(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def names(folder: Path, *excludes: str) -> list[str]:
    return [entry.name for entry in list_files(folder, extra_excludes=excludes).files]


FILES = [
    ".env", "README.md", "a.log", "build/out.o", "build/keep/x", "data/big.bin", "data/small.csv", "docs/a.md",
    "docs/build/index.html", "logs/a.log", "logs/keep.log", "src/a.py", "src/a.pyc", "src/b.txt", "src/deep/c.py",
    "src/deep/d.txt", "src/deep/er/e.py", "vendor/x/y/z.c", "!odd", "#odd", "sp ace", "trail ", "tést/ä.txt", "[x]",
    "x", "foo.c", "foo.h", "Foo.c", "9.txt", "a-b", "back\\slash",
]  # fmt: skip

GIT_CASES: dict[str, dict[str, str]] = {
    "nothing": {},
    "plain-name": {"": "a.log\nx"},
    "any-depth": {"": "*.log"},
    "anchored": {"": "/build"},
    "anchored-by-middle": {"": "docs/build"},
    "folder-only": {"": "build/"},
    "folder-only-is-no-file": {"": "x/"},
    "negation": {"": "*.log\n!keep.log"},
    "negation-below-ignored-folder": {"": "logs/\n!logs/keep.log"},
    "negation-below-starred-folder": {"": "logs/*\n!logs/keep.log"},
    "only-python": {"": "*\n!*/\n!*.py"},
    "only-one-folder": {"": "/*\n!/src"},
    "only-one-file-deep": {"": "/*\n!/src\n/src/*\n!/src/deep"},
    "last-rule-wins": {"": "!a.log\na.log\n!a.log"},
    "double-star-front": {"": "**/build"},
    "double-star-middle": {"": "src/**/*.py"},
    "double-star-end": {"": "src/**"},
    "double-star-alone": {"": "**"},
    "double-star-in-name": {"": "src/d**p"},
    "triple-star": {"": "***/c.py"},
    "star-does-not-cross": {"": "src/*.py"},
    "question-mark": {"": "foo.?"},
    "question-mark-is-a-byte": {"": "t?st"},
    "set": {"": "foo.[ch]"},
    "range": {"": "[0-9].txt"},
    "backward-range": {"": "[z-x]"},
    "negated-set": {"": "foo.[!c]"},
    "caret-set": {"": "foo.[^c]"},
    "class": {"": "[[:digit:]].txt"},
    "upper-class": {"": "[[:upper:]]oo.c"},
    "unknown-class": {"": "[[:nonsense:]]"},
    "set-with-bracket": {"": "[]x]"},
    "set-not-closed": {"": "foo.[c"},
    "literal-brackets": {"": "\\[x\\]"},
    "escaped-bang": {"": "\\!odd"},
    "escaped-hash": {"": "\\#odd"},
    "comment": {"": "#odd\n # x\nx # y"},
    "trailing-space-cut": {"": "x   "},
    "trailing-space-kept": {"": "trail\\ "},
    "inner-space": {"": "sp ace"},
    "backslash-name": {"": "back\\\\slash"},
    "backslash-at-end": {"": "x\\"},
    "windows-lines": {"": "*.log\r\nbuild/\r\n"},
    "byte-order-mark": {"": "\ufeff*.log"},
    "empty-lines": {"": "\n\n*.log\n\n"},
    "slash-alone": {"": "/"},
    "bang-alone": {"": "!"},
    "unicode": {"": "tést/"},
    "case": {"": "FOO.C"},
    "nested-file": {"src": "*.py"},
    "nested-anchored": {"src": "/a.py\n/deep/d.txt"},
    "nested-overrules": {"": "*.py", "src/deep": "!*.py"},
    "nested-cannot-save-an-ignored-folder": {"": "src/", "src": "!a.py"},
    "nested-ignores-itself": {"src/deep": "*"},
    "deepest-wins": {"": "!*.txt", "src": "*.txt", "src/deep": "!d.txt"},
    "dot-file": {"": ".*"},
    "dot-slash-never-matches": {"": "./x"},
    "double-slash-never-matches": {"": "src//a.py"},
    "set-never-matches-a-slash": {"": "/src[.-0]a.py\n/src[!a]b.txt"},
    "suffix": {"": "*.py[co]"},
    "a-minus-in-a-set": {"": "a[-x]b"},
}  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("repository")
    git(place, "init", "--quiet")
    return fill(place, dict.fromkeys(FILES, "x"))


def git(place: Path, *words: str) -> str:
    """Without the rules that somebody may have for all of their repositories."""
    settings = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "XDG_CONFIG_HOME": "none",
    }
    done = subprocess.run(["git", "-C", str(place), *words], capture_output=True, env=settings, check=True)
    return os.fsdecode(done.stdout)


def files_for_git(place: Path) -> list[str]:
    found = git(place, "ls-files", "-z", "--others", "--exclude-standard").split("\0")
    return sorted(filter(None, found), key=os.fsencode)


@pytest.mark.engine("git")
@pytest.mark.parametrize("case", GIT_CASES)
def test_the_same_files_are_ignored_as_git_ignores(case: str, repository: Path) -> None:
    rules = [repository / place / ".gitignore" for place in GIT_CASES[case]]
    for path, text in zip(rules, GIT_CASES[case].values(), strict=True):
        path.write_bytes(text.encode())
    try:
        expected = files_for_git(repository)
        assert names(repository) == expected
        below = files_for_git(repository / "src")
        if "src/" not in GIT_CASES[case].get("", "").split("\n"):
            assert names(repository / "src") == below, "the rules above a folder count for it"
    finally:
        for path in rules:
            path.unlink()


@pytest.mark.engine("git")
@pytest.mark.parametrize("seed", range(25))
def test_random_rules_ignore_what_git_ignores(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    atoms = [
        "a", "b", "c", "ab", "*", "**", "?", "*.x", "a*", "[ab]", "[!a]", "a.x", "b.x", "[a-c]*", "\\a", ".h",
        "[[:alpha:]]", "[]a]", "*b*", "a**b", "**a", "***", "!", "#", "\\!", "[b-a]", "[^b]", "[", "]", "[a", "\\", "é",
        "[é]", "a ", "\\ ",
    ]  # fmt: skip
    some = ["a", "b", "c", "ab", "a.x", "b.x", ".h", "aab", "é", "!", "#", " ", "]", "a b"]

    def rule() -> str:
        text = "/".join(rng.choices(atoms, k=rng.choice([1, 1, 1, 2, 2, 3])))
        return rng.choice(["", "", "", "!"]) + rng.choice(["", "", "/"]) + text + rng.choice(["", "", "/"])

    def plant(place: Path, depth: int) -> None:
        for name in rng.sample(some, rng.randint(1, 6)):
            if depth < 3 and rng.random() < 0.4:
                (place / name).mkdir()
                plant(place / name, depth + 1)
            else:
                (place / name).touch()
        if depth == 0 or rng.random() < 0.3:
            (place / ".gitignore").write_text("\n".join(rule() for _ in range(rng.randint(1, 4))))

    plant(tmp_path, 0)
    git(tmp_path, "init", "--quiet")
    rules = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob(".gitignore")}
    assert names(tmp_path) == files_for_git(tmp_path), rules


def test_poolignore_has_the_last_word(tmp_path: Path) -> None:
    work = fill(tmp_path, {"a.py": "", "b.bin": "", "c.log": "", "sub/d.log": "", "sub/.gitignore": "d.log"})
    fill(work, {".gitignore": "*.bin\n", ".computepoolignore": "!b.bin\n!d.log\n*.py\n.*ignore\n"})
    assert names(work) == ["b.bin", "c.log", "sub/d.log"]


def test_extra_excludes_come_on_top_of_everything(tmp_path: Path) -> None:
    work = fill(tmp_path, {"a.py": "", "b.bin": "", ".computepoolignore": "!b.bin"})
    assert names(work, "*.bin", "/.computepoolignore") == ["a.py"]


def test_state_and_leftovers_are_left_out_without_any_rule(tmp_path: Path) -> None:
    work = fill(tmp_path, {"a.py": "", ".git/config": "", "sub/.git": "gitdir: x", ".computepool/key": "secret"})
    fill(work, {"sub/__pycache__/a.pyc": "", ".venv/bin/x": "", "node_modules/x.js": "", "sub/b.py": ""})
    assert names(work) == ["a.py", "node_modules/x.js", "sub/b.py"]


def test_leftovers_can_be_taken_back_but_the_pools_state_cannot(tmp_path: Path) -> None:
    work = fill(tmp_path, {".venv/x": "", ".git/config": "", ".computepool/key": "secret"})
    fill(work, {".computepoolignore": "!.venv/\n!.git/\n!.computepool/\n.computepoolignore"})
    assert names(work) == [".venv/x"]


def test_rules_above_the_folder_stop_at_the_repositorys_root(tmp_path: Path) -> None:
    fill(tmp_path, {".gitignore": "*.py", "repo/.gitignore": "*.env\n/work/data/", "repo/.git/HEAD": "ref"})
    work = fill(tmp_path / "repo" / "work", {"a.py": "", "x.env": "secret", "data/d": "", "sub/data/d": ""})
    assert names(work) == ["a.py", "sub/data/d"]


def test_folder_that_is_itself_ignored_is_packed_when_it_is_asked_for(tmp_path: Path) -> None:
    fill(tmp_path, {".gitignore": "build/", ".git/HEAD": "ref", "build/a": "", "build/sub/b": ""})
    assert names(tmp_path / "build") == ["a", "sub/b"]
