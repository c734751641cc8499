"""What is asked through the hub: hours, idle rules and a pause, and nothing else, whatever a hub says."""

import pytest
from support.watching import in_virtual_time

from computepool.agent.outgoing import Outgoing
from computepool.agent.owner.policy import Policy
from computepool.agent.owner.policy_file import NAME, parse_policy
from computepool.agent.owner.remote import EDITABLE, RemoteOwner, settings_of_policy
from computepool.protocol.owner_requests import OwnerRequest, PolicyReport

OWN_FILE = """\
# my machine
seat = "no"
[start]
after_idle = "20s"  # because I type slowly
# hours = "always"

[welcome]
strangers = true  # all of them
"""


def opened(tmp_path, watch):
    outgoing = Outgoing()
    outgoing.begin()
    return RemoteOwner(tmp_path, watch, outgoing), outgoing


def answer(remote, kind="policy"):
    return next(one for one in remote.report().answers if one.kind == kind)


def test_hours_are_written_into_the_file_and_the_owners_comments_stay(tmp_path):
    async def story(_desk, watch):
        remote, outgoing = opened(tmp_path, watch)
        remote.tick("line")
        remote.tick("line")
        first = PolicyReport.model_validate_json(await outgoing.next())
        shown = {one.key: one for one in first.settings}
        assert (shown["start.after_idle"].value, shown["start.after_idle"].default) == ("20s", "15m")
        assert [shown[key].editable for key in ("start.hours", "welcome.isolation")] == [True, False]
        assert all(one.meaning for one in first.settings)
        changes: dict[str, bool | str] = {"start.hours": "22:00-07:00", "start.after_idle": "5m"}
        changes["start.typing_over_ssh"] = False
        remote.handle(OwnerRequest(kind="policy", number=7, changes=changes))
        assert answer(remote).refused == ""
        text = (tmp_path / NAME).read_text()
        assert all(comment in text for comment in ("# my machine", "# all of them", "# because I type slowly"))
        now = parse_policy(text)
        assert (now.start.hours.text, now.start.after_idle, now.start.typing_over_ssh) == ("22:00-07:00", 300, False)
        assert watch.policy == now

        # Told again after its answer was lost, it does not undo what was changed here since; nor does an earlier one.
        (tmp_path / NAME).write_text(OWN_FILE)
        for number in (7, 6):
            remote.handle(OwnerRequest(kind="policy", number=number, changes=changes))
        again, _ = opened(tmp_path, watch)
        again.handle(OwnerRequest(kind="policy", number=7, changes=changes))
        assert (tmp_path / NAME).read_text() == OWN_FILE
        again.handle(OwnerRequest(kind="policy", number=8, changes={"start.hours": "sometimes"}))
        assert "start.hours" in answer(again).refused
        assert (tmp_path / NAME).read_text() == OWN_FILE

    in_virtual_time(tmp_path, story, OWN_FILE)


def test_lying_hub_changes_no_other_setting(tmp_path):
    async def story(_desk, watch):
        remote, _ = opened(tmp_path, watch)
        before = (tmp_path / NAME).read_text()
        others = [one for one in settings_of_policy(Policy()) if one.key not in EDITABLE]
        assert len(others) > 25
        hostile = [(one.key, one.value if isinstance(one.value, bool | str) else "1") for one in others]
        hostile += [("own.process", True), ("welcome.isolation", "process"), ("remote_edits", True), ("start", "x")]
        hostile += [("gpu.GPU-1.hours", "always"), ("start.hours\n[own]\nprocess", True), ("", "x")]
        for number, (key, value) in enumerate(hostile, start=1):
            for more in ({}, {"start.hours": "22:00-07:00"}):
                remote.handle(OwnerRequest(kind="policy", number=2 * number + bool(more), changes={key: value, **more}))
                assert answer(remote).refused, key
        remote.handle(
            OwnerRequest(kind="policy", number=10_000, changes={"start.hours": 'always"\n[own]\nprocess=true'})
        )
        assert answer(remote).refused
        assert (tmp_path / NAME).read_text() == before

    in_virtual_time(tmp_path, story, OWN_FILE)


def test_pause_of_the_machine_itself_is_neither_ended_nor_shortened_by_the_hub(tmp_path):
    async def story(_desk, watch):
        remote, _ = opened(tmp_path, watch)
        remote.handle(OwnerRequest(kind="pause", number=1, pause=True))
        assert remote.report().paused == "hub"
        assert not watch.decision.own_welcome
        remote.handle(OwnerRequest(kind="pause", number=2, pause=False))
        assert remote.report().paused is None
        watch.pause()
        remote.handle(OwnerRequest(kind="pause", number=3, pause=True, for_seconds=1))
        assert (remote.report().paused, remote.report().paused_until) == ("machine", None)
        remote.handle(OwnerRequest(kind="pause", number=4, pause=False))
        assert "on the machine itself" in answer(remote, "pause").refused
        assert not watch.decision.own_welcome

    in_virtual_time(tmp_path, story, OWN_FILE)


@pytest.mark.parametrize("kind", ["policy", "pause"])
def test_owner_may_refuse_whatever_comes_through_the_hub(tmp_path, kind):
    async def story(_desk, watch):
        remote, _ = opened(tmp_path, watch)
        remote.handle(OwnerRequest(kind=kind, number=1, changes={"start.hours": "22:00-07:00"}))
        assert "remote_edits" in answer(remote, kind).refused
        assert not remote.report().remote_edits
        assert watch.paused_by is None

    in_virtual_time(tmp_path, story, "remote_edits = false\n" + OWN_FILE)
