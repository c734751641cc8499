"""Packages from the index that this machine is set up for: pip, uv and npm, and a program that `setup` compiles."""

import os

import pytest
import yaml
from support.pool import Pool

from computepool.agent.egress import find_indexes
from computepool.agent.owner.policy import Network, Own, Policy
from computepool.agent.owner.policy_file import PolicyFile

LEARN = """
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
x, y = load_iris(return_X_y=True)
print("score", round(LogisticRegression(max_iter=500).fit(x, y).score(x, y), 2))
"""
JOBS = {
    "score 0.97": {"setup": "pip install --quiet scikit-learn", "run": f"python3 - <<'END'{LEARN}END"},
    "1.0 GB": {
        "setup": 'pip install --quiet uv\nuv pip install --quiet --python "$COMPUTEPOOL_ENV/bin/python" humanize',
        "run": "python3 -c 'import humanize; print(humanize.naturalsize(10**9))'",
    },
    "007": {
        "setup": 'npm install --silent --prefix "$COMPUTEPOOL_ENV" left-pad',
        "run": "export NODE_PATH=$COMPUTEPOOL_ENV/node_modules\nnode -e 'console.log(require(\"left-pad\")(7, 3, 0))'",
    },
    "compiled 42": {
        "setup": "source=$COMPUTEPOOL_ENV/answer.c\nprintf 'int main(void) { return 42; }' > \"$source\"\n"
        'cc -O2 -o "$COMPUTEPOOL_ENV/bin/answer" "$source"',
        "run": "answer || echo compiled $?",
    },
}


SCRIPT = """\
# /// script
# requires-python = ">=3.9"
# dependencies = ["humanize"]
# ///
import sys, humanize
print(humanize.naturalsize(int(sys.argv[1])))
"""


@pytest.mark.slow
@pytest.mark.proof(long=True)
@pytest.mark.engine("bwrap")
def test_packages_of_the_machines_own_index_are_installed_and_used(pool: Pool) -> None:
    machine = pool.join("machine")
    allowed = Network(indexes=tuple(sorted(find_indexes(os.environ))))
    PolicyFile(machine.files.root).write(Policy(own=Own(process=True), network=allowed))
    for expected, job in JOBS.items():
        path = pool.folder / "pool.yaml"
        path.write_text(yaml.safe_dump({**job, "isolation": "bubblewrap"}))
        assert expected in pool.cli("run", "-y", str(path)).expect(0).text
    (pool.folder / "sizes.py").write_text(SCRIPT)
    options = ("-y", "--isolation", "bubblewrap")
    assert pool.cli("run", *options, "sizes.py", "2000000000", cwd=pool.folder).expect(0).text == "2.0 GB\n"
    (pool.folder / "sizes.py").write_text(SCRIPT.replace(">=3.9", "<3.9"))
    failed = pool.cli("run", *options, "sizes.py", "1", cwd=pool.folder).expect(1)
    assert "--image python:3.8" in failed.err + failed.text
