"""`run` with inputs: files of this machine are uploaded, artifacts and URLs passed on, and nothing is sent twice."""

import json
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from support.fake_api import FakeHub, digest

from computepool.cli.inputs import MAX_FILES
from computepool.protocol.spec_sections import MAX_INPUTS

SHA = "ab" * 32
URL = f"https://data.example.org/x.csv#sha256:{SHA}"
ARTIFACT = "artifact_01j9zxy3v8k5m2n4p6q7r8s9ta"


def sent(hub: FakeHub) -> tuple[dict[str, object], set[str]]:
    """The inputs of the job's spec, and the names in its bundle."""
    (job,) = hub.jobs.values()
    bundle, names = job.document.get("bundle"), set()
    if bundle is not None:
        blob = next(data for key, data in hub.blobs.items() if "artifact_" + key[7:33] == bundle)
        with tarfile.open(fileobj=BytesIO(blob)) as archive:
            names = {member.name for member in archive.getmembers() if member.isfile()}
    return job.document["spec"].get("inputs", {}), names


def id_of(data: bytes) -> str:
    return "artifact_" + digest(data)[7:33]


def test_file_is_uploaded_and_named_by_its_artifact(hub, cli):
    Path("train.csv").write_bytes(b"1,2\n")
    result = cli(
        "run", "--input", "data/train.csv=train.csv", "--input", f"b={ARTIFACT}", "--input", f"c={URL}", "--", "true"
    )
    assert result.code == 0, result.err
    inputs, _ = sent(hub)
    assert inputs == {
        "data/train.csv": id_of(b"1,2\n"),
        "b": ARTIFACT,
        "c": {"url": "https://data.example.org/x.csv", "sha256": SHA},
    }
    assert hub.blobs[digest(b"1,2\n")] == b"1,2\n"
    assert "3 inputs" in result.err


def test_spec_file_may_name_files_beside_it(hub, cli):
    folder = Path("project")
    folder.mkdir()
    (folder / "train.csv").write_bytes(b"train")
    (folder / "more.csv").write_bytes(b"more")
    (folder / "pool.yaml").write_text(f"run: 'true'\ninputs: {{data/a: train.csv, ./b: ./more.csv, c: {ARTIFACT}}}\n")
    Path("typed.csv").write_bytes(b"typed")
    result = cli("run", "project/pool.yaml", "--input", "b=typed.csv")
    assert result.code == 0, result.err
    inputs, _ = sent(hub)
    assert inputs == {"data/a": id_of(b"train"), "b": id_of(b"typed"), "c": ARTIFACT}


@pytest.mark.parametrize(
    "section",
    ["files: {data/a: train.csv}", "files: ['train.csv:data/a']"],
)
def test_files_mean_the_same_as_inputs(hub, cli, section):
    Path("train.csv").write_bytes(b"train")
    Path("pool.yaml").write_text(f"run: 'true'\n{section}\n")
    result = cli("run", "pool.yaml")
    assert result.code == 0, result.err
    assert sent(hub)[0] == {"data/a": id_of(b"train")}


def test_what_comes_as_an_input_is_not_packed_too(hub, cli):
    Path("data").mkdir()
    for name in ("data/big [1]*.csv", "data/big x.csv", "main.py"):
        Path(name).write_bytes(name.encode())
    result = cli("run", "--workdir", ".", "--input", "data/big [1]*.csv=data/big [1]*.csv", "main.py")
    assert result.code == 0, result.err
    inputs, names = sent(hub)
    assert inputs == {"data/big [1]*.csv": id_of(b"data/big [1]*.csv")}
    assert names == {"main.py", "data/big x.csv"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("data", {"in/a.csv", "in/b.txt", "in/deep/c.csv"}),
        ("data/*.csv", {"in/a.csv"}),
        ("data/**/*.csv", {"in/a.csv", "in/deep/c.csv"}),
        ("./data/", {"in/a.csv", "in/b.txt", "in/deep/c.csv"}),
    ],
)
@pytest.mark.parametrize("form", ["typed", "inputs", "files"])
def test_folders_and_patterns_are_many_inputs(hub, cli, source, expected, form):
    for name in ("a.csv", "b.txt", "deep/c.csv", ".git/x.csv"):
        file = Path("data") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    words = ["--input", f"in={source}", "--", "true"]
    if form != "typed":
        written = {"run": "true", "inputs": {"in": source}} if form == "inputs" else {"run": "true"}
        Path("job.yaml").write_text(json.dumps(written | ({"files": [f"{source}:in"]} if form == "files" else {})))
        words = ["job.yaml"]
    result = cli("run", *words)
    assert result.code == 0, result.err
    assert sent(hub)[0] == {path: id_of(path.removeprefix("in/").encode()) for path in expected}


def test_most_files_of_a_pattern_are_as_many_as_a_spec_takes():
    assert MAX_FILES == MAX_INPUTS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--input", "train.csv"], "is not PATH=SOURCE"),
        (["--input", "a=nowhere.csv"], "There is no file nowhere.csv for the input a."),
        (["--input", "a=empty"], "There is no file in empty for the input a."),
        (["--input", "a=*.none"], "There is no file *.none for the input a."),
        (["--input", "a=folder", "--input", "a/x=train.csv"], "a/x is given twice"),
        (["--input", "a=train.csv", "--input", "a=train.csv"], "given twice"),
        (["--input", "../a=train.csv"], "leaves the job's folder"),
        (["--input", "a=train.csv", "--input", "a/b=train.csv"], "a is an input too"),
        (["--input", "a=https://x.org/a"], "no SHA-256 digest"),
        (["--input", f"a=http://x.org/a#sha256:{SHA}"], "not an https URL"),
        (["--workdir", ".", "--input", "folder=train.csv"], "An input has the path folder, but folder is a folder"),
        (
            ["--workdir", ".", "--input", "train.csv/x=train.csv"],
            "train.csv/x cannot be below train.csv, which is a file",
        ),
    ],
)
def test_wrong_inputs_are_told_before_anything_is_sent(hub, cli, words, said):
    Path("train.csv").write_bytes(b"train")
    Path("folder").mkdir()
    Path("folder/x").write_bytes(b"x")
    Path("empty").mkdir()
    result = cli("run", *words, "--", "true")
    assert result.code == 2, result.err
    assert said in result.err
    assert not hub.jobs


def test_script_and_input_of_the_same_name_are_refused(hub, cli):
    Path("main.py").write_text("print(1)")
    result = cli("run", "--input", "main.py=main.py", "main.py")
    assert (result.code, hub.jobs) == (2, {})
    assert "main.py is both the script and an input" in result.err
