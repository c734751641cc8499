import json
from pathlib import Path

from click.testing import CliRunner

from computepool.cli.app import cli


def run(home: Path, *words: str):
    return CliRunner().invoke(cli, ["agent", "policy", *words, "--home", str(home)], standalone_mode=False)


def test_policy_is_shown_whole_with_what_each_setting_means(tmp_path):
    shown = run(tmp_path)
    assert "after_idle" in shown.output
    assert "keyboard and mouse" in shown.output


def test_one_setting_is_changed_and_kept(tmp_path):
    assert 'start.after_idle = "5m"' in run(tmp_path, "start.after_idle", "5m").output
    assert 'start.after_idle = "5m"' in run(tmp_path, "start.after_idle").output
    run(tmp_path, "reactions.owner", '["suspend 5m", "evict"]')
    values = json.loads(run(tmp_path, "reactions.owner", "--json").stdout)
    assert values == {"reactions.owner": ["suspend 5m", "evict"]}
    assert run(tmp_path, "gpu.GPU-1.share", "false").exception is None
    assert "gpu.GPU-1.share = false" in run(tmp_path, "gpu.GPU-1.share").output


def test_part_of_the_policy_is_shown_as_it_is_written(tmp_path):
    shown = run(tmp_path, "start").output
    assert 'start.hours = "always"' in shown
    assert "start.on_battery = false" in shown
    name, _, value = shown.splitlines()[0].partition(" = ")
    assert run(tmp_path, name, value).exception is None


def test_wrong_settings_and_values_are_told_and_change_nothing(tmp_path):
    for words in (("start.after_idel", "5m"), ("start.after_idle", "soon"), ("nonsense",), ("nonsense", "1")):
        failed = run(tmp_path, *words)
        assert failed.exception is not None, words
    assert 'start.after_idle = "15m"' in run(tmp_path, "start.after_idle").output


def test_broken_file_is_told_and_not_overwritten(tmp_path):
    run(tmp_path, "start.after_idle", "5m")
    file = tmp_path / "agent" / "policy.toml"
    file.write_text("start = [")
    assert run(tmp_path, "start.after_idle", "6m").exception is not None
    assert file.read_text() == "start = ["
