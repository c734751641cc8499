"""Which results are computed again, and what a node's audits so far mean for it. Pure.

A node cannot tell: chance decides when the result is there already, and what is asked of others looks like paid work.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from computepool.hub.core.ids import RandomBits
from computepool.hub.trust.judgement import Finding

ALL_UNTIL = 10
"""Valid results in a row, before which every one is audited."""
LEAST_SHARE = 0.02
CHANCE_BITS = 32
BAN_FROM = 2
"""Times that a node was proven wrong. Once may be a machine with broken memory, which its owner can mend."""
GUILTY_QUARANTINE = timedelta(hours=24)


def share_audited(valid_in_a_row: int) -> float:
    if valid_in_a_row < ALL_UNTIL:
        return 1.0
    return max(1 / valid_in_a_row, LEAST_SHARE)


def is_drawn(share: float, randbits: RandomBits) -> bool:
    return randbits(CHANCE_BITS) < share * float(2**CHANCE_BITS)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Of one node. Never a sum of good and bad: one wrong result makes ten thousand right ones worthless."""

    valid_in_a_row: int = 0
    guilty: int = 0
    last_valid_at: datetime | None = None
    """When the newest result that was audited and found valid had been given."""

    @property
    def may_judge(self) -> bool:
        """Its answer can prove another wrong. Who was once proven wrong judges nobody any more."""
        return self.valid_in_a_row >= ALL_UNTIL and not self.guilty

    def after(self, finding: Finding, given_at: datetime) -> "AuditRecord":
        """`given_at`: when the audited result was given, which may be long before it is found to be so."""
        if finding is Finding.VALID:
            latest = max(self.last_valid_at or given_at, given_at)
            return replace(self, valid_in_a_row=self.valid_in_a_row + 1, last_valid_at=latest)
        if finding is Finding.GUILTY:
            return AuditRecord(0, self.guilty + 1, None)
        return self


def is_banned(record: AuditRecord, ban_from: int = BAN_FROM) -> bool:
    return 0 < ban_from <= record.guilty
