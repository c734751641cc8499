"""The watch: quick where it matters, cheap where it does not, and never hiding the owner behind a tool that hangs."""

import asyncio
import json
from datetime import datetime, timedelta

import pytest
from support.watching import in_virtual_time

from computepool.agent.owner.causes import Cause
from computepool.agent.owner.ladder import Reaction
from computepool.agent.owner.readings import GpuReading, Unknown


def test_returning_owner_is_noticed_within_a_second_while_strangers_work_runs(tmp_path):
    async def story(desk, watch):
        assert watch.decision.strangers_welcome
        desk.working = True
        watch.look_again()
        for _ in range(10):
            await asyncio.sleep(77.3)
            assert watch.decision.reaction is Reaction.NONE
            desk.touch()
            touched = desk.clock.monotonic()
            await asyncio.sleep(1.0)
            when, decision = desk.told[-1]
            assert decision.reaction is Reaction.SUSPEND
            assert when - touched < 1.0

    in_virtual_time(tmp_path, story, 'start.after_idle = "20s"')


def test_desk_without_work_is_looked_at_seldom(tmp_path):
    async def story(desk, watch):
        desk.reads.clear()
        await asyncio.sleep(600)
        assert watch.decision.strangers_welcome
        assert desk.reads["idle"] <= 310
        assert desk.reads["metered"] <= 11
        assert desk.reads["gpus"] <= 45
        desk.touch()
        await asyncio.sleep(10)
        desk.reads.clear()
        await asyncio.sleep(600)
        assert not watch.decision.strangers_welcome
        assert desk.reads["idle"] <= 25

    in_virtual_time(tmp_path, story)


def test_keyboard_of_a_server_is_not_looked_at(tmp_path):
    async def story(desk, watch):
        desk.working = True
        await asyncio.sleep(3600)
        assert desk.reads["idle"] == 0
        assert watch.decision.strangers_welcome

    in_virtual_time(tmp_path, story, 'seat = "no"')


def test_work_is_welcome_again_once_the_desk_was_left_for_long_enough(tmp_path):
    async def story(desk, watch):
        desk.touch()
        await asyncio.sleep(3)
        assert not watch.decision.strangers_welcome
        await asyncio.sleep(895)
        assert not watch.decision.strangers_welcome
        await asyncio.sleep(4)
        assert watch.decision.strangers_welcome

    in_virtual_time(tmp_path, story)


def test_only_changes_are_told(tmp_path):
    async def story(desk, watch):
        await asyncio.sleep(3000)
        assert len(desk.told) == 1
        desk.touch()
        await asyncio.sleep(600)
        assert len(desk.told) == 2
        first = watch.decision.reason
        await asyncio.sleep(120)
        assert watch.decision.reason != first, "the words go on counting"
        assert len(desk.told) == 2

    in_virtual_time(tmp_path, story)


def test_pause_is_told_before_the_call_returns_and_kept_for_the_next_start(tmp_path):
    async def story(desk, watch):
        decision = watch.pause(7200)
        assert desk.told[-1][1] is decision
        assert (decision.strangers_welcome, decision.own_welcome) == (False, False)
        assert decision.reaction is decision.own_reaction is Reaction.SUSPEND
        assert json.loads((tmp_path / "pause.json").read_text())["for_seconds"] == 7200
        restarted = desk.watch()
        assert not restarted.decision.own_welcome
        await asyncio.sleep(601)
        assert watch.decision.own_reaction is Reaction.EVICT
        await asyncio.sleep(7200 - 601 + 2)
        assert watch.decision.own_welcome
        assert watch.decision.strangers_welcome
        watch.pause()
        assert watch.resume().own_welcome
        assert not (tmp_path / "pause.json").exists()
        with pytest.raises(ValueError, match="ten years"):
            watch.pause(-1)
        assert watch.decision.own_welcome

    in_virtual_time(tmp_path, story)


def test_status_shows_the_decision_the_end_of_a_pause_and_what_is_wrong(tmp_path):
    async def story(desk, watch):
        assert watch.status()["paused_until"] is None
        (tmp_path / "policy.toml").write_text("nonsense = 1")
        await asyncio.sleep(6)
        watch.pause(60)
        status = json.loads(json.dumps(watch.status()))
        assert datetime.fromisoformat(status["paused_until"]) == desk.clock.now() + timedelta(seconds=60)
        assert status["policy"]["reason"] == "paused for another 1 minute"
        assert status["policy"]["until"] == status["paused_until"]
        assert status["policy"]["causes"] == ["pause"]
        assert "no such setting" in status["policy"]["problems"][0]

    in_virtual_time(tmp_path, story)


def test_pause_is_told_even_if_the_disk_is_full(tmp_path):
    async def story(desk, watch):
        (tmp_path / "pause.json").mkdir()
        with pytest.raises(OSError, match="pause"):
            watch.pause()
        assert not desk.told[-1][1].own_welcome

    in_virtual_time(tmp_path, story)


def test_screen_battery_and_gpus_are_noticed_within_seconds_while_work_runs(tmp_path):
    async def story(desk, watch):
        desk.working = True
        watch.look_again()
        await asyncio.sleep(20)
        for name, value, cause in (
            ("full_screen", "game", Cause.FULL_SCREEN),
            ("on_battery", True, Cause.BATTERY),
            ("gpus", (GpuReading("GPU-a", foreign_bytes=2**34),), Cause.GPU_PROCESS),
        ):
            desk.values[name] = value
            await asyncio.sleep(3)
            assert cause in watch.decision.causes

    in_virtual_time(tmp_path, story)


def test_saved_policy_holds_within_seconds_and_a_broken_one_is_told(tmp_path):
    async def story(desk, watch):
        (tmp_path / "policy.toml").write_text('start.hours = "sat"')
        await asyncio.sleep(6)
        assert watch.decision.causes == {Cause.HOURS}
        (tmp_path / "policy.toml").write_text('start.hourz = "sat"')
        watch.look_again()
        await asyncio.sleep(0.1)
        assert watch.decision.causes == {Cause.HOURS}
        assert "did you mean hours?" in watch.problems[0]

    in_virtual_time(tmp_path, story)


def test_signal_that_fails_is_unknown_and_the_watch_goes_on(tmp_path):
    async def story(desk, watch):
        for name in desk.values:
            desk.values[name] = RuntimeError("a fault")
        await asyncio.sleep(120)
        assert isinstance(watch.readings.on_battery, Unknown)
        desk.touch()
        await asyncio.sleep(5)
        assert Cause.INPUT in watch.decision.causes

    in_virtual_time(tmp_path, story)


def test_fault_of_whoever_is_told_does_not_end_the_watch(tmp_path):
    async def story(desk, watch):
        heard = []

        def deaf(decision):
            heard.append(decision)
            if len(heard) == 1:
                raise RuntimeError("a fault")

        watch._on_change = deaf
        desk.touch()
        await asyncio.sleep(40)
        assert len(heard) == 2, "told again, and then no more"
        assert Cause.INPUT in watch.decision.causes

    in_virtual_time(tmp_path, story)


def test_gpu_that_cannot_be_read_any_more_stays_in_use(tmp_path):
    async def story(desk, watch):
        desk.values["gpus"] = (GpuReading("GPU-a", foreign_bytes=2**34),)
        await asyncio.sleep(20)
        assert watch.decision.gpus_in_use == ("GPU-a",)
        for broken in (Unknown("the driver fails"), RuntimeError("a fault"), ()):
            desk.values["gpus"] = broken
            await asyncio.sleep(200)
            assert watch.decision.gpus_in_use == ("GPU-a",)
            assert any("the last reading holds" in problem for problem in watch.problems)

    in_virtual_time(tmp_path, story)


def test_slow_signals_that_hang_do_not_hide_the_owner(tmp_path):
    async def story(desk, watch):
        desk.working = True
        watch.look_again()
        await asyncio.sleep(10)
        desk.hanging.add("slow")
        await asyncio.sleep(30)
        desk.touch()
        await asyncio.sleep(1)
        assert watch.decision.reaction is Reaction.SUSPEND
        assert isinstance(watch.readings.on_battery, Unknown)
        assert watch.readings.seat is True

    in_virtual_time(tmp_path, story)


def test_keyboard_that_cannot_be_read_in_time_counts_as_used(tmp_path):
    async def story(desk, watch):
        desk.working = True
        watch.look_again()
        await asyncio.sleep(10)
        desk.hanging.add("idle")
        await asyncio.sleep(4)
        assert watch.decision.causes == {Cause.UNSEEN}
        assert watch.decision.reaction is Reaction.SUSPEND
        assert "does not answer" in watch.decision.reason
        desk.hanging.clear()
        await asyncio.sleep(1100)
        assert watch.decision.strangers_welcome

    in_virtual_time(tmp_path, story)
