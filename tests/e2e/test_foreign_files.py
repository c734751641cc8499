"""Files of dstack and SkyPilot, as they are, through a real hub into a real sandbox."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.engine("bwrap")]

DSTACK = """
type: task
name: count
files: [main.txt, '../shared:/shared']
env: [WORDS=three]
commands:
  - export FIRST=1
  - |
    false
    cat main.txt /shared/notes.txt
  - test "$FIRST$DSTACK_NODES_NUM" = 11 && echo "$WORDS"
  - echo stops here; false
  - echo never
resources: {cpu: 1.., memory: 64MB.., disk: 128MB..}
ports: [8080]
"""

SKYPILOT = """
name: count
num_nodes: 1
workdir: project
file_mounts:
  /inputs: shared
  ~/notes.txt: shared/notes.txt
  /outputs: {name: my-bucket, mode: MOUNT}
envs: {WHO: sky}
resources: {cpus: 1, memory: 1, disk_size: 1, infra: aws}
run: |
  false
  cat main.txt ~/sky_workdir/main.txt /inputs/notes.txt ~/notes.txt
  echo "$WHO $SKYPILOT_NODE_RANK" > /outputs/result.txt
"""


def test_files_of_other_systems_run_as_they_are(pool, tmp_path):
    folder = tmp_path / "job"
    for name, text in (("project/main.txt", "main\n"), ("shared/notes.txt", "notes\n")):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    pool.join("alpha")

    (folder / "project" / "task.dstack.yml").write_text(DSTACK)
    done = pool.cli("run", "project/task.dstack.yml", "-y", cwd=folder)  # its paths are relative to the file
    assert done.code == 1, done
    assert done.text.split() == ["main", "notes", "three", "stops", "here"]
    assert "`ports` of dstack is ignored: jobs accept no connections yet." in done.err
    assert "with internet" in done.err

    (folder / "project" / "sky.yaml").write_text(SKYPILOT)
    done = pool.cli("run", "project/sky.yaml", "-y", "-o", "results", cwd=folder).expect(0)  # relative to the caller
    assert done.text.split() == ["main", "main", "notes", "notes"]
    assert (folder / "results" / "outputs" / "result.txt").read_text() == "sky 0\n"
    assert "`resources.infra` of SkyPilot is ignored" in done.err

    plan = pool.cli("run", "project/sky.yaml", "--dry-run", cwd=folder).expect(0)
    assert "`resources.infra` of SkyPilot is ignored" in plan.text
    assert "network: true" in plan.text
