"""`# /// script` in a Python script: what of it becomes `setup`."""

import shlex
import subprocess
import sys

import pytest

from computepool.cli.errors import CliError
from computepool.cli.script_metadata import read_metadata

HEAD = "#!/usr/bin/env -S uv run --script\n# /// script\n"


def block(*lines: str) -> str:
    return HEAD + "".join(f"# {line}\n" if line else "#\n" for line in lines) + "# ///\nimport requests\n"


def test_dependencies_become_setup_and_are_said():
    text = block(
        'requires-python = ">=3.9"', "dependencies = [", '  "requests<3",', "  \"rich; os_name == 'posix'\",", "]"
    )
    found = read_metadata(text, "train.py")
    assert found is not None
    spec, notes = found.added_to({"run": ["python3", "train.py"]})
    check, install = spec["setup"].rsplit("\n", 1)
    assert install == f"pip install --quiet {shlex.join(found.dependencies)}"
    assert found.dependencies == ("requests<3", "rich; os_name == 'posix'")
    assert [note.code for note in notes] == ["other_systems_key", "other_systems_key"]
    assert "pip install" in notes[1].message
    assert subprocess.run(["sh", "-c", check.replace("python3", sys.executable, 1)], check=False).returncode == 0


def test_script_is_submitted_with_its_setup_and_the_plan_says_so(hub, cli, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(block('dependencies = ["rich"]'))
    told = cli("run", str(script), "--epochs", "3").err
    (job,) = hub.jobs.values()
    assert job.document["spec"]["setup"] == "pip install --quiet rich"
    assert job.document["spec"]["run"] == ["python3", "train.py", "--epochs", "3"]
    assert "`dependencies` in train.py is read as `setup: pip install --quiet rich`." in told

    script.write_text(block("dependencies = [rich]"))
    refused = cli("run", str(script))
    assert refused.code == 2
    assert "train.py, line 3: it is not TOML" in refused.err
    assert len(hub.jobs) == 1


def test_other_python_ends_setup_with_what_to_do():
    found = read_metadata(block('requires-python = "~=3.7.1"'), "old.py")
    assert found is not None
    line = found.added_to({})[0]["setup"].replace("python3", sys.executable, 1)
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "old.py requires Python ~=3.7.1, and this is Python 3." in ended.stderr
    assert "--image python:3.7" in ended.stderr


def test_what_is_given_counts():
    found = read_metadata(block('requires-python = ">=3.12"', 'dependencies = ["rich"]', "[tool.uv]"), "a.py")
    assert found is not None
    spec, notes = found.added_to({"setup": "make"})
    assert (spec, [note.code for note in notes]) == ({"setup": "make"}, ["dropped_key"])
    spec, notes = found.added_to({"image": "mine"})
    assert spec == {"image": "mine", "setup": "pip install --quiet rich"}
    assert [note.field for note in notes if note.code == "dropped_key"] == ["image", "setup"]
    assert read_metadata("# /// other\n# x = 1\n# ///\nimport os\n", "a.py") is None
    assert read_metadata("print('# /// script')\n", "a.py") is None


@pytest.mark.parametrize(
    ("requires", "yes", "no"),
    [
        (">=3.11", (3, 11, 0), (3, 10, 9)),
        (">3.11", (3, 11, 1), (3, 11, 0)),
        (">=3.10, <3.13", (3, 12, 9), (3, 13, 0)),
        ("<=3.12", (3, 12, 0), (3, 12, 1)),
        ("~=3.10", (3, 14, 0), (4, 0, 0)),
        ("~=3.10.2", (3, 10, 9), (3, 11, 0)),
        ("==3.12.*", (3, 12, 7), (3, 13, 0)),
        ("==3.12.4", (3, 12, 4), (3, 12, 5)),
        (">=3.9,!=3.9.7", (3, 9, 8), (3, 9, 7)),
        ("!=3.10.*", (3, 11, 0), (3, 10, 3)),
    ],
)
def test_versions_of_python(requires, yes, no):
    found = read_metadata(block(f'requires-python = "{requires}"'), "a.py")
    assert found is not None
    assert found.accepts(yes)
    assert not found.accepts(no)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HEAD + '# dependencies = ["a"]\nimport a\n', 2, "no end"),
        (block('dependencies = ["a"]') + block(), 7, "second `script` block"),
        (block('requires-python = ">=3.11"', "dependencies = [a]"), 4, "not TOML"),
        (block("", 'dependencies = "a"'), 4, "not a list"),
        (block("dependencies = [", '"a", "--index-url=http://x"]'), 4, "'--index-url=http://x' is not a dependency"),
        (block("dependencies = [7]"), 3, "7 is not a dependency"),
        (block('requires-python = "3.11"'), 3, "names no versions"),
        (block('requires-python = ">=3.11.*"'), 3, "names no versions"),
        (block("requires-python = 3.11"), 3, "names no versions"),
    ],
)
def test_malformed_metadata_is_an_error_with_its_line(text, line, message):
    with pytest.raises(CliError, match=message) as caught:
        read_metadata(text, "a.py")
    assert f"a.py, line {line}: " in caught.value.message
