"""Whether two jobs may share an environment: the same key only if `setup` was given the same to build it from."""

import os
import tracemalloc

import pytest
from support.agents import enrolled_home
from support.fake_hub import FakeHub

from computepool.agent import environment_keys
from computepool.agent.environment_keys import key_of
from computepool.agent.environments import look
from computepool.protocol.manifest import BundleRef

INSTALL = ("sh", "-c", "pip install -r requirements.txt")


@pytest.fixture
def key(tmp_path):
    """key(setup, file="content", …): of a job that was sent these files."""
    hub = FakeHub()
    _, node = enrolled_home(hub, tmp_path)
    count = 0

    def make(setup, files=(), folder=None, **changes):
        nonlocal count
        count += 1
        folder = folder or tmp_path / f"job{count}"
        (folder / "work").mkdir(parents=True, exist_ok=True)
        for name, text in dict(files).items():
            path = folder / "work" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        # Each job was sent something else, as far as its bundle tells.
        bundle = BundleRef(digest=f"sha256:{count:064}", size_bytes=1)
        return key_of(hub.manifest(node, ("true",), setup=setup, **{"bundle": bundle, **changes}), folder, None)

    return make


def test_other_code_with_the_same_requirements_has_the_same_key(key):
    requirements = """\
# what we need
--index-url https://packages.example/simple
tiny[extra]==1.* ; python_version > "3"   # a remark
other @ https://www.example/other.git
hashed==2 \\
    --hash=sha256:0123
-r more/others.txt
--constraint=constraints.txt
"""
    files = {"requirements.txt": requirements, "more/others.txt": "numpy", "constraints.txt": "numpy<2"}
    first = key(INSTALL, files | {"train.py": "1"})
    assert key(INSTALL, files | {"train.py": "2"}) == first
    assert key(("pip", "install", "numpy==1.*", "requests[socks]"), files) == key(
        ("pip", "install", "numpy==1.*", "requests[socks]"), files
    )


@pytest.mark.parametrize(
    "line", ["-r deep/base.txt", "-rdeep/base.txt", "-c deep/base.txt", "--requirement=deep/base.txt"]
)
def test_files_that_requirements_include_count_however_deep(key, line):
    files = {"requirements.txt": line, "deep/base.txt": "-r last.in\n", "deep/last.in": "tiny==1"}
    first = key(INSTALL, files)
    assert key(INSTALL, files) == first
    assert key(INSTALL, files | {"deep/last.in": "tiny==2"}) != first


def test_files_that_include_each_other_come_to_an_end(key):
    files = {"requirements.txt": "-r other.txt", "other.txt": "-r requirements.txt"}
    assert key(INSTALL, files) == key(INSTALL, files)


@pytest.mark.parametrize(
    "line",
    ["-r ../up.txt", "-r ${WHICH}", "-r https://www.example/r.txt", "-e .", "./mine", "mine/", "mine.whl", "-f wheels",
     "mine @ file:mine", "-r missing.txt", "-r \\"],
)  # fmt: skip
def test_requirements_that_may_mean_anything_that_was_sent_let_all_of_it_count(key, line):
    assert key(INSTALL, {"requirements.txt": line}) != key(INSTALL, {"requirements.txt": line})


@pytest.mark.parametrize(
    "command",
    ["pip install .", "pip install -e .[dev]", "pip install wheels/*.whl", "pip install *.whl", "sh install.sh",
     "./install.sh", "pip install -r ~/work/requirements.txt", "pip install -r /job/work/requirements.txt",
     "pip install -r $PWD/requirements.txt", "cd wheels; pip install a"],
)  # fmt: skip
def test_setup_that_may_read_anything_that_was_sent_lets_all_of_it_count(key, command):
    files = {"requirements.txt": "tiny", "install.sh": "true", "wheels/a.whl": ""}
    assert key(("sh", "-c", command), files) != key(("sh", "-c", command), files)


def test_link_in_place_of_requirements_is_not_followed(key, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "work").mkdir(parents=True)
        (tmp_path / name / "work/requirements.txt").symlink_to("/etc/hostname")
    assert key(INSTALL, folder=tmp_path / "one") != key(INSTALL, folder=tmp_path / "two")


def test_account_network_and_variables_count(key):
    first = key(INSTALL)
    assert key(INSTALL) == first
    others = [key(INSTALL, renter="another"), key(INSTALL, network=True), key(INSTALL, env={"A": "1"}), key(("true",))]
    assert len({first, *others}) == 5


def test_large_files_are_not_read_and_links_only_once(key, tmp_path, monkeypatch):
    work = tmp_path / "hostile" / "work"
    work.mkdir(parents=True)
    with (work / "huge.lock").open("wb") as file:
        file.truncate(1 << 40)
    (work / "requirements.txt").write_text("tiny\n" * 1000)
    # Were each of them read, it would be too much.
    monkeypatch.setattr(environment_keys, "MOST_LINES", 1500)
    for number in range(200):
        os.link(work / "requirements.txt", work / f"requirements{number}.txt")
    tracemalloc.start()
    key(INSTALL, folder=work.parent)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    (work / "huge.lock").unlink()
    assert key(INSTALL, folder=work.parent) == key(INSTALL, folder=work.parent)
    (work / "requirements-more.txt").write_text("tiny\n" * 1000)
    assert key(INSTALL, folder=work.parent) != key(INSTALL, folder=work.parent)


@pytest.mark.parametrize("word", ["x" * 5000, "[", "-r", "$COMPUTEPOOL_ENV/bin"])
def test_word_that_is_no_file_is_just_a_word(key, word):
    files = {"train.py": ""}
    assert key(("sh", "-c", f"echo {word}"), files) == key(("sh", "-c", f"echo {word}"), files)


@pytest.mark.parametrize("place", ["work/made", "marker", "checkpoint/model", "output/file", ".cache/models/weights"])
def test_whatever_setup_writes_beside_the_environment_is_seen(tmp_path, place):
    for name in ("work", "env", "output", "checkpoint"):
        (tmp_path / name).mkdir()
    before = look(tmp_path)
    for name in ("env/bin/tool", "work/__pycache__/a.pyc", ".npm/_logs/log", ".cache/pip/http/a", ".cache/uv/b"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("installed")
    assert look(tmp_path) == before
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("made")
    assert look(tmp_path) != before
