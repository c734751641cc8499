"""The constants of the line and of leases, known to both sides. Seconds.

0 ─ last renewal ─────── 45 offline ──────── 105 frozen ── 120 lease over ── 135 requeued ──►
"""

HEARTBEAT_SECONDS = 10.0
OFFLINE_AFTER_SECONDS = 45.0
LEASE_SECONDS = 120.0
FREEZE_AFTER_SECONDS = 105.0
"""A job with network access stands still before the pool may give its slice to another."""
REQUEUE_AFTER_SECONDS = 135.0
RECONNECT_LIMIT_WITH_JOB_SECONDS = 15.0
RECONNECT_LIMIT_IDLE_SECONDS = 60.0
POLL_IDLE_SECONDS = (10.0, 60.0)
MANIFEST_VALID_SECONDS = 300.0
STOP_GRACE_SECONDS = 10.0
EVICT_GRACE_SECONDS = 30.0
"""For a job that has to make room for another: to save its checkpoint and leave by itself."""
BEGIN_SECONDS = 30.0
"""In which a node that can be heard begins a stranger's slice, or at least says that it prepares it."""
PROGRESS_SECONDS = 120.0
"""How long such a node may then say nothing of it, until its command runs."""
FETCH_SECONDS = 90 * 60.0
"""How long an image and the https inputs of a stranger's slice may take to arrive, all together. The spec chose where
they come from, so what takes longer ends the attempt with a renter's verdict."""
LAST_CHECKPOINT_SECONDS = 15 * 60.0
"""How long a job that has left may keep its node busy with the upload of its last checkpoint."""
OVERDUE_SECONDS = 60.0
"""An agent ends attempts by itself, in time and when told. One that has not by so much later is given up by the hub."""
SPOOL_KEPT_SECONDS = 24 * 3600.0
LOST_LIMIT = 10
"""Times that a slice may lose its node before it fails and says so."""
