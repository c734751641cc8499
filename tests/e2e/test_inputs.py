"""Files that a renter gives to a job, all the way: from a folder here, through a real hub, into a real sandbox."""

import hashlib
import os

import pytest

# A job with the id of an artifact has no signature, so no machine runs it without a sandbox.
pytestmark = [pytest.mark.slow, pytest.mark.engine("bwrap")]

SPEC = """
name: count
workdir: .
run: cat main.txt && wc -c < data/big.bin && cat notes.txt
inputs:
  data/big.bin: big.bin
  notes.txt: {notes}
resources: {{cpus: 0.1, memory: 64MB, disk: 128MB}}
"""


def test_input_is_uploaded_once_fetched_once_and_lies_where_the_job_reads_it(pool, tmp_path):
    folder = tmp_path / "job"  # beside the pool, whose files are not the job's
    folder.mkdir()
    agent = pool.join("alpha")
    big = os.urandom(3_000_000)
    (folder / "big.bin").write_bytes(big)
    (folder / "main.txt").write_text("main\n")
    (folder / "notes").write_text("kept\n")
    notes = pool.client.upload(folder / "notes", kind="input")
    (folder / "notes").unlink()
    (folder / "pool.yaml").write_text(SPEC.format(notes=notes.id))
    for _ in range(2):
        done = pool.cli("run", "pool.yaml", "-y", cwd=folder).expect(0)
        assert done.text.split() == ["main", "3000000", "kept"], done
    digest = hashlib.sha256(big).hexdigest()
    cached = agent.files.cache / digest
    assert cached.stat().st_size == len(big)
    first = cached.stat().st_ino
    same = pool.cli("run", "-y", "--input", f"x={folder / 'big.bin'}", "--", "sha256sum", "x").expect(0)
    assert same.text.split()[0] == digest
    assert cached.stat().st_ino == first, "it was fetched again"
    refused = pool.cli("run", "-y", "--input", "x=artifact_nobodys", "--", "true")
    assert refused.code != 0
    assert "There is no artifact artifact_nobodys of yours" in refused.err
