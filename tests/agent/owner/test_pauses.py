"""A pause survives restarts, reboots and a wall clock that is set."""

from datetime import UTC, datetime, timedelta

import pytest

from computepool.agent.owner.pauses import NAME, PauseBook


class Clocks:
    def __init__(self):
        self.wall, self.elapsed, self.boot = datetime(2026, 1, 1, tzinfo=UTC), 500.0, "first"

    def now(self):
        return self.wall

    def monotonic(self):
        return self.elapsed

    def go(self, seconds):
        self.wall += timedelta(seconds=seconds)
        self.elapsed += seconds

    def reboot(self, away_seconds=60):
        self.wall += timedelta(seconds=away_seconds)
        self.elapsed, self.boot = 20.0, "second"


@pytest.fixture
def clocks():
    return Clocks()


@pytest.fixture
def opened(tmp_path, clocks):
    return lambda: PauseBook(tmp_path, clocks, lambda: clocks.boot)


def paused(opened, seconds=None):
    book = opened()
    book.pause(seconds)
    book.save()
    return book


def test_pause_ends_by_itself(opened, clocks):
    book = paused(opened, 7200)
    clocks.go(7199)
    assert book.current().remaining_seconds == pytest.approx(1)
    clocks.go(1)
    assert book.current() is None
    assert opened().current() is None


def test_pause_without_an_end_waits_for_resume(opened, clocks):
    book = paused(opened)
    clocks.go(10**8)
    assert book.current().remaining_seconds is None
    assert opened().current() is not None
    book.resume()
    book.save()
    assert book.current() is None
    assert opened().current() is None


def test_restarted_agent_is_still_paused_for_the_rest(opened, clocks):
    paused(opened, 7200)
    clocks.go(600)
    again = opened().current()
    assert (again.since_seconds, again.remaining_seconds) == (pytest.approx(600), pytest.approx(6600))


def test_rebooted_machine_is_still_paused_for_the_rest(opened, clocks):
    paused(opened, 7200)
    clocks.reboot(600)
    assert opened().current().remaining_seconds == pytest.approx(6600)
    clocks.go(6600)
    assert opened().current() is None


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(days=-400)])
def test_wall_clock_that_is_set_does_not_move_the_end(opened, clocks, jump):
    book = paused(opened, 7200)
    clocks.wall += jump
    clocks.go(100)
    assert book.current().remaining_seconds == pytest.approx(7100)
    assert opened().current().remaining_seconds == pytest.approx(7100)


def test_clock_set_back_over_a_reboot_does_not_prolong_a_pause(opened, clocks):
    paused(opened, 7200)
    clocks.reboot()
    clocks.wall -= timedelta(days=400)
    assert opened().current().remaining_seconds == pytest.approx(7200)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00\xff", b'{"since": "2026-01-01T00:00:00", "for_seconds": -1}'])
def test_damaged_file_is_a_pause_that_says_how_to_end_it(tmp_path, opened, content):
    (tmp_path / NAME).write_bytes(content)
    book = opened()
    assert "computepool agent resume" in book.current().note
    book.resume()
    book.save()
    assert opened().current() is None


def test_time_without_a_zone_in_the_file_is_damage_not_a_crash(tmp_path, opened):
    (tmp_path / NAME).write_bytes(b'{"since": "2026-01-01T00:00:00"}')
    assert opened().current() is not None


@pytest.mark.parametrize("seconds", [0, -5, float("nan"), float("inf"), 1e12])
def test_pause_must_last_some_time_and_end_some_day(opened, seconds):
    with pytest.raises(ValueError, match="ten years"):
        opened().pause(seconds)
