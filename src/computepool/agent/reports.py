"""What one attempt still has to tell the hub: numbered, in order, repeated until acknowledged."""

from collections.abc import Iterable

from computepool.protocol.messages import Finished, Gone, Update

Report = Update | Finished | Gone

RECOVERED_SEQUENCE = 1_000
"""An agent that was restarted does not know how far it had counted; no attempt has this many reports."""
GONE_SEQUENCE = 0
"""The last word about an attempt; nothing else is pending beside it."""


class Reports:
    def __init__(self, *, first: int = 1) -> None:
        self._next = first
        self._unacked: dict[int, Report] = {}
        self._sent_at = 0.0

    def next_sequence(self) -> int:
        sequence = self._next
        self._next += 1
        return sequence

    def add(self, report: Report, now: float) -> None:
        self._unacked[report.sequence] = report
        self._sent_at = now

    def only(self, report: Report, now: float) -> None:
        """The last word: whatever else was still to be told does not matter any more."""
        self._unacked.clear()
        self.add(report, now)

    def acknowledge(self, sequence: int) -> Report | None:
        """The report that this confirms. Earlier ones are settled with it: states only move forward."""
        confirmed = self._unacked.get(sequence)
        if confirmed is not None:
            self._unacked = {number: report for number, report in self._unacked.items() if number > sequence}
        return confirmed

    def pending(self) -> Iterable[Report]:
        return tuple(self._unacked.values())

    def pending_since(self, now: float, seconds: float) -> Iterable[Report]:
        """All of them, when the last was sent that long ago: repeated in their order."""
        if not self._unacked or now - self._sent_at < seconds:
            return ()
        self._sent_at = now
        return self.pending()
