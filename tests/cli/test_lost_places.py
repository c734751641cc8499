"""Where the output has nowhere to go: the job's end is told all the same."""

import subprocess
from pathlib import Path

import pytest
from support.children import COMPUTEPOOL, environment_with
from support.fake_api import FakeHub, prints
from support.waiting import patience


@pytest.mark.parametrize("words", [["run", "--", "seq", "5"], ["run", "--json", "--", "seq", "5"], ["nodes"], ["ps"]])
def test_closed_standard_output_is_no_fault(hub: FakeHub, cli, words):
    hub.play = prints(b"1\n2\nno newline", 3)
    line = ["sh", "-c", 'exec "$@" >&-', "sh", *COMPUTEPOOL, *words]
    ended = subprocess.run(
        line, env=environment_with(), stderr=subprocess.PIPE, text=True, timeout=patience(), check=False
    )
    assert "fault" not in ended.stderr
    assert ended.returncode == (3 if words[0] == "run" else 0)


def test_closed_standard_error_leaves_the_output_alone(hub: FakeHub, cli):
    hub.play = prints(b"42\n", 3)
    line = ["sh", "-c", 'exec "$@" 2>&- <&-', "sh", *COMPUTEPOOL, "run", "--", "x"]
    ended = subprocess.run(line, env=environment_with(), stdout=subprocess.PIPE, timeout=patience(), check=False)
    assert (ended.returncode, ended.stdout) == (3, b"42\n")


@pytest.mark.parametrize(("job_code", "code"), [(0, 1), (3, 3)])
def test_outputs_that_cannot_be_written_do_not_hide_the_verdict(hub: FakeHub, cli, job_code, code):
    hub.play = prints(b"", job_code, {"model.bin": b"1"})
    Path("in-the-way").write_text("a file")
    result = cli("run", "-o", "in-the-way/outputs", "--", "x")
    assert result.code == code
    assert ("succeeded" if job_code == 0 else "failed") in result.err
    (job,) = hub.jobs
    assert f"computepool get {job} -o DIR" in result.err
