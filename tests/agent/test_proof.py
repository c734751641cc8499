from computepool.agent.clock import SystemClock
from computepool.agent.proof import FRESH_SECONDS, Proof
from computepool.protocol.states import IsolationLevel

LEVEL = IsolationLevel.BUBBLEWRAP


class HandClock(SystemClock):
    elapsed = 0.0

    def monotonic(self):
        return 1000.0 + self.elapsed


def test_what_was_just_proven_is_not_proven_again_by_the_next_start_alone(tmp_path):
    clock, file = HandClock(), tmp_path / "proven.json"
    first = Proof(file, clock)
    assert not first.is_fresh(LEVEL)
    first.note(LEVEL)
    clock.elapsed = 5
    second = Proof(file, clock)
    assert second.is_fresh(LEVEL)
    assert not second.is_fresh(IsolationLevel.GVISOR)
    assert not Proof(file, clock).is_fresh(LEVEL)


def test_proof_grows_old(tmp_path):
    clock, file = HandClock(), tmp_path / "proven.json"
    Proof(file, clock).note(LEVEL)
    clock.elapsed = FRESH_SECONDS + 1
    assert not Proof(file, clock).is_fresh(LEVEL)


def test_file_of_another_boot_or_nonsense_proves_nothing(tmp_path):
    file = tmp_path / "proven.json"
    for text in ("", "[]", '{"boot": "another", "proven": {"bubblewrap": 1000.0}}', '{"boot": null, "proven": 5}'):
        file.write_text(text)
        assert not Proof(file, HandClock()).is_fresh(LEVEL)
