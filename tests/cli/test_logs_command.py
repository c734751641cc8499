"""`logs`: what there is, what comes, and whose it is."""

import base64
import json
import threading

import pytest
from support.fake_api import FakeHub, FakeJob
from support.waiting import eventually


def job(hub: FakeHub, *logs: bytes) -> FakeJob:
    made = hub.add_job({"run": "x", "slices": len(logs)})
    for index, data in enumerate(logs):
        made.begin(index)
        made.write(data, index)
    return made


def test_log_is_printed_byte_for_byte(hub, cli):
    data = bytes(range(256)) * 100
    job(hub, data).finish()
    assert cli("logs", "last").out == data


def test_following_ends_with_the_job_and_survives_a_restart(hub, cli):
    made = job(hub, b"one\n")

    def go_on() -> None:
        eventually(lambda: made.streamed, "the log is followed")
        hub.restart(0.2)
        made.write(b"two\n")
        made.finish(3)

    threading.Thread(target=go_on, daemon=True).start()
    result = cli("logs", "-f", "last")
    assert result.out == b"one\ntwo\n"
    assert result.code == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], b"[0] a\n[0] b\n[1] c\n[1] d\n"),
        (["-f"], b"[0] a\n[0] b\n[1] c\n[1] d\n"),
        (["--tail", "1"], b"[0] b\n[1] d\n"),
        (["-f", "--tail", "1"], b"[0] b\n[1] d\n"),
        (["--slice", "1"], b"c\nd"),
        (["--slice", "1", "-f"], b"c\nd"),
        (["--slice", "1", "--tail", "1"], b"d"),
        (["--tail", "0"], b""),
    ],
)
def test_slices_tails_and_following_go_together(hub, cli, words, expected):
    job(hub, b"a\nb\n", b"c\nd").finish()
    result = cli("logs", "last", *words)
    assert sorted(result.out.splitlines()) == sorted(expected.splitlines())


def test_earlier_attempt_can_be_seen(hub, cli):
    made = job(hub, b"first")
    made.lose()
    made.begin()
    made.write(b"second")
    made.finish()
    assert cli("logs", "last").out == b"second"
    assert cli("logs", "last", "--attempt", "1").out == b"first"
    assert cli("logs", "last", "--attempt", "1", "-f").out == b"first"


def test_json_lines_carry_text_bytes_and_place(hub, cli):
    job(hub, "grüße\n".encode()).finish()
    (line,) = [json.loads(line) for line in cli("logs", "last", "--json").out.splitlines()]
    assert line["text"] == "grüße\n"
    assert base64.b64decode(line["data"]).decode() == "grüße\n"
    assert (line["slice"], line["attempt"], line["offset"]) == (0, 1, 0)


def test_job_that_has_not_started_says_so(hub, cli):
    hub.add_job({"run": "x"})
    assert "has not started" in cli("logs", "last").err


@pytest.mark.parametrize("words", [[], ["-f"], ["--slice", "1"], ["--json"]])
def test_attempt_that_is_not_there_is_a_usage_error(hub, cli, words):
    job(hub, b"a", b"b").finish()
    result = cli("logs", "last", "--attempt", "9", *words)
    assert (result.code, result.out) == (2, b"")
    assert "no attempt 9: there is only attempt 1" in result.err


def test_attempt_of_some_slices_alone_is_printed(hub, cli):
    made = job(hub, b"a\n", b"b\n")
    made.lose(1)
    made.begin(1)
    made.write(b"again\n", 1)
    made.finish()
    assert cli("logs", "last", "--attempt", "2").out == b"[1] again\n"


def test_slice_that_is_not_there_is_a_usage_error(hub, cli):
    job(hub, b"").finish()
    result = cli("logs", "last", "--slice", "4")
    assert result.code == 2
    assert "no slice 4" in result.err


def test_late_slice_of_a_job_with_very_many_is_printed(hub, cli):
    hub.shown_slices = 10
    job(hub, *(b"%d\n" % index for index in range(15))).finish()
    assert cli("logs", "last", "--slice", "12").out == b"12\n"
    assert cli("logs", "last").out == b"".join(b"[%d] %d\n" % (index, index) for index in range(15))
    shown = cli("show", "last")
    assert "9.1" in shown.text
    assert "10.1" not in shown.text
    assert "Slices 0 to 9 of 15. The next: computepool show" in shown.err
    assert "--from-slice 10" in shown.err
    rest = cli("show", "last", "--from-slice", "10")
    assert "14.1" in rest.text
    assert "The next" not in rest.err
    assert json.loads(cli("show", "last", "--json").text)["next_slice"] == 10
