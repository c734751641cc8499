"""What the documentation says is so: commands, options, specs, settings, links, names of code, generated tables."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import yaml

from computepool.cli.app import cli
from computepool.hub.artifacts.settings import S3Settings
from computepool.hub.core.settings import Settings
from computepool.hub.core.variables import PREFIX
from computepool.hub.ledger.kinds import ENTRY_KINDS
from computepool.protocol.spec import not_supported_yet, parse_spec
from computepool.protocol.spec_aliases import SPEC_KEYS
from computepool.protocol.spec_support import NOT_YET
from tools.doc_parts.interfaces import commands
from tools.docs import PARTLY, ROOT, pages, refreshed

SOURCE = ROOT / "src" / "computepool"
FENCE = re.compile(r"^```([a-z]*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
CODE = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(r"(?:[a-z_]+/)*[a-z_0-9]+\.py(?::([A-Za-z_]+))?")
VARIABLE = re.compile(r"\b(?:COMPUTEPOOL|AWS)_[A-Z][A-Z_]*[A-Z]\b")
FOLDERS = ("", "src/computepool/")
PAGES = pages()


class Block(NamedTuple):
    page: str
    kind: str
    text: str


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(*kinds: str) -> list[Block]:
    found = [Block(name_of(page), kind, text) for page in PAGES for kind, text in FENCE.findall(page.read_text())]
    return [block for block in found if block.kind in kinds]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text())


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@each_page
def test_generated_parts_are_current(page: Path) -> None:
    text = page.read_text()
    assert refreshed(text) == text, f"{name_of(page)} is behind the code: ./dev run python -m tools.docs"


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: block.page)
def test_every_spec_is_one_that_works_today(block: Block) -> None:
    spec = parse_spec(yaml.safe_load(block.text))
    assert not_supported_yet(spec) == []


def test_partly_supported_keys_are_described_as_they_are() -> None:
    assert set(PARTLY) <= {field for field, _, _ in NOT_YET} <= set(SPEC_KEYS)
    for works in ({"isolation": "process"}, {"isolation": "gvisor"}, {"where": {"trust": "verified"}}):
        assert not not_supported_yet(parse_spec({"run": "true", **works}))


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def typed_lines() -> Iterator[tuple[str, str]]:
    """Everything that a reader may type: whole blocks of sh, the lines after $ in transcripts, code in the text."""
    for block in blocks("sh"):
        for line in block.text.replace("\\\n", " ").splitlines():
            yield block.page, line
    for block in blocks("console"):
        for line in block.text.splitlines():
            if line.startswith("$ "):
                yield block.page, line[2:]
    for page in PAGES:
        for code in CODE.findall(prose(page)):
            yield name_of(page), code


def calls() -> Iterator[tuple[str, list[str]]]:
    for page, line in typed_lines():
        if "computepool" not in line and "./dev" not in line:
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue  # a piece of code that is not a shell
        for part in " ".join(f"\0{word}" for word in words).split("\0&&"):
            call = [word.strip() for word in part.split("\0") if word.strip()]
            while call and re.fullmatch(r"[A-Z_]+=.*", call[0]):
                call.pop(0)
            if call and Path(call[0]).name in ("computepool", "dev"):
                yield page, call


def dev_commands() -> set[str]:
    help_text = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
    return {"help", *re.findall(r"^  ([a-z]+) ", help_text, re.MULTILINE)}


def check_call(words: list[str]) -> None:
    """Follow the tree as far as the words go; then every option has to be the command's own."""
    command: click.Command = cli
    rest = words[1:]
    while isinstance(command, click.Group):
        while rest and rest[0].startswith("-"):
            assert rest[0] in options_of(command), f"{rest[0]} is not an option of computepool"
            rest = rest[1:]
        if not rest or rest[0] in ("…", "COMMAND"):
            return
        below = command.get_command(click.Context(command), rest[0])
        assert below is not None, f"there is no command {rest[0]!r} in {' '.join(words)}"
        command, rest = below, rest[1:]
    for word in own_words(command, rest):
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in options_of(command), f"{word} is not an option of {' '.join(words[:3])}"


def options_of(command: click.Command) -> dict[str, click.Option]:
    found = {"-h": click.Option(["-h"], is_flag=True), "--help": click.Option(["--help"], is_flag=True)}
    for one in command.params:
        if isinstance(one, click.Option):
            found |= dict.fromkeys(one.opts, one)
    return found


def own_words(command: click.Command, words: list[str]) -> Iterator[str]:
    """Those that are the command's; after --, or after the script of `run`, they are the job's."""
    known, values_left = options_of(command), 0
    for word in words:
        if word == "--":
            return
        yield word
        if values_left:
            values_left -= 1
        elif word.startswith("-"):
            option = known.get(word)
            values_left = 0 if option is None or option.is_flag or option.count else 1
        elif command.name == "run" and not word.endswith((".yaml", "…")):
            return


@pytest.mark.parametrize(("page", "words"), list(calls()), ids=lambda value: str(value)[:60])
def test_every_command_exists_with_its_options(page: str, words: list[str]) -> None:
    if Path(words[0]).name == "computepool":
        check_call(words)
        return
    assert len(words) == 1 or words[1] in dev_commands(), f"{page}: ./dev has no {words[1]}"
    if words[1:2] == ["up"]:
        check_call(["computepool", *words[1:]])
    if words[1:3] == ["run", "computepool"]:
        check_call(words[2:])


def test_the_readme_begins_with_the_two_commands() -> None:
    first = next(block for block in blocks("sh") if block.page == "README.md")
    lines = [line.partition("#")[0].strip() for line in first.text.splitlines()]
    assert lines == ["./dev up", "./dev run computepool run -- python3 -c 'print(6*7)'"]


def test_every_command_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text()
    assert [words for words, _ in commands() if f"`{words}" not in reference] == []


def test_the_program_in_the_readme_does_what_its_transcript_says(tmp_path: Path) -> None:
    (program,) = (block.text for block in blocks("python") if block.page == "README.md")
    transcript = next(block.text for block in blocks("console") if "count.py" in block.text)
    (tmp_path / "count.py").write_text(program)
    (tmp_path / "words.txt").write_text(shlex.split(transcript.splitlines()[0])[2])
    for part in range(3):
        variables = {"COMPUTEPOOL_SLICE": str(part), "COMPUTEPOOL_SLICES": "3"}
        done = subprocess.run(
            [sys.executable, "count.py"], cwd=tmp_path, env=variables, capture_output=True, text=True, check=True
        )
        assert f"[{part}] {done.stdout}" in transcript


def test_every_python_example_is_python() -> None:
    for block in blocks("python"):
        ast.parse(block.text)


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def source() -> str:
    return "\n".join(path.read_text() for path in sorted(SOURCE.rglob("*.py")))


@each_page
def test_every_setting_exists(page: Path, source: str) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    known |= {f"AWS_{name.upper()}" for name in S3Settings.model_fields}
    for variable in set(VARIABLE.findall(page.read_text())) - known:
        assert re.search(rf"[\"']{variable}[\"']", source), f"{variable} is not in the code"


@each_page
def test_every_place_in_the_code_exists(page: Path) -> None:
    for code in CODE.findall(prose(page)):
        found = PLACE.fullmatch(code)
        if found is None or "/" not in code:
            continue
        path, _, name = code.partition(":")
        place = next((ROOT / folder / path for folder in FOLDERS if (ROOT / folder / path).is_file()), None)
        assert place is not None, f"{code}: there is no such file"
        if name:
            defined = rf"^\s*(?:async )?(?:def|class) {name}\b|^{name}\b.*="
            assert re.search(defined, place.read_text(), re.MULTILINE), f"{code}: there is no such name"


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_every_link_leads_somewhere(page: Path) -> None:
    for pair in LINK.findall(prose(page)):
        target = pair[0] or pair[1]
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{target}: there is no such file"
        assert place.is_relative_to(ROOT), f"{target} leads out of the project"
        if anchor:
            assert anchor in anchors(place.read_text()), f"{target}: there is no such heading"


def test_every_kind_of_entry_is_explained() -> None:
    table = (ROOT / "docs/guides/money.md").read_text().partition("| kind | what it is |")[2].partition("\n\n")[0]
    missing = ENTRY_KINDS - set(CODE.findall(table))
    assert not missing, f"the table of kinds in docs/guides/money.md lacks {sorted(missing)}"


def test_every_decision_has_its_parts_and_is_listed() -> None:
    folder = ROOT / "docs" / "adr"
    listed = (folder / "README.md").read_text()
    numbered = sorted(folder.glob("[0-9]*.md"))
    numbers = [page.name[:4] for page in numbered]
    # A number is taken before its page is written, so there may be gaps; two pages never share one.
    assert len(numbers) == len(set(numbers))
    assert all(re.fullmatch(r"\d{4}", number) for number in numbers)
    for page in numbered:
        headings = re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], page.name
        assert f"({page.name})" in listed, f"{page.name} is not in docs/adr/README.md"


def test_every_defence_names_tests_that_exist() -> None:
    rows = (ROOT / "SECURITY.md").read_text().partition("## Threats")[2].partition("\n## ")[0].splitlines()
    threats = [row for row in rows if row.startswith("| ")][1:]
    assert len(threats) > 10
    for row in threats:
        named = re.findall(r"`(tests/[^`]+)`", row)
        assert named, f"no test: {row}"
        for path in named:
            assert (ROOT / path).is_file(), f"SECURITY.md names {path}, which does not exist"
