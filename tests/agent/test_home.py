"""The agent's folder: keys made once and closed to others, one agent at a time, files whole or not there."""

import subprocess
import sys

import pytest

from computepool.agent.home import AgentHome, AlreadyRunning, HomeError, NodeRecord, NotEnrolled, write_atomically
from computepool.protocol.hub_keys import HubKey

RECORD = NodeRecord(hub_url="http://hub", hub_id="hub_1", node_id="node_1", name="n", hub_keys=())


def mode(path):
    return path.stat().st_mode & 0o777


def test_keys_are_made_once_and_readable_by_nobody_else(tmp_path):
    home = AgentHome(tmp_path / "agent")
    first = home.identity()
    assert AgentHome(tmp_path / "agent").identity().key_id == first.key_id
    assert mode(home.root) == 0o700
    assert mode(home.identity_path) == 0o600
    assert first.public_sign_key != first.public_seal_key


def test_machine_that_never_joined_is_told_how(tmp_path):
    home = AgentHome(tmp_path / "agent")
    assert not home.is_enrolled()
    with pytest.raises(NotEnrolled, match="computepool join"):
        home.node()


def test_record_of_the_hub_survives_with_its_pinned_keys(tmp_path):
    home = AgentHome(tmp_path / "agent")
    key = HubKey(key_id="ed25519:1", public_key="A" * 43 + "=")
    home.save_node(RECORD.trusting(key))
    assert home.node().hub_keys == (key,)
    assert list(home.node().trusted_keys) == ["ed25519:1"]
    assert home.node().trusting(key).hub_keys == (key,)
    assert mode(home.node_path) == 0o600


def test_damaged_file_says_what_to_do(tmp_path):
    home = AgentHome(tmp_path / "agent")
    home.prepare()
    home.node_path.write_text('{"hub_url": 1')
    with pytest.raises(HomeError, match="--replace"):
        home.node()


def test_second_agent_in_the_same_folder_is_refused(tmp_path):
    home = AgentHome(tmp_path / "agent")
    home.prepare()
    with home.lock():
        with pytest.raises(AlreadyRunning, match="computepool agent stop"), home.lock():
            pass
        script = (
            "import pathlib, sys; from computepool.agent.home import *\n"
            "with AgentHome(pathlib.Path(sys.argv[1])).lock(): pass"
        )
        other = subprocess.run(
            [sys.executable, "-c", script, str(home.root)], capture_output=True, text=True, check=False
        )
        assert "AlreadyRunning" in other.stderr
    with home.lock():
        pass


def test_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
