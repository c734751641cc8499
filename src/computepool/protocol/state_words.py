"""Sentences for the words of the protocol, for people who meet one in a list or a picker."""

from collections.abc import Mapping
from typing import Annotated

from computepool.protocol.model import OneOf
from computepool.protocol.receipt import EndReason
from computepool.protocol.spec_models import Optimize, Trust
from computepool.protocol.states import AttemptState, IsolationLevel, JobState, NodeState, Verdict

JOB_STATES: Mapping[str, str] = {
    JobState.QUEUED: "Waits for a node.",
    JobState.RUNNING: "At least one slice has a node.",
    JobState.SUCCEEDED: "Every slice ended well.",
    JobState.FAILED: "A slice failed and is not tried again.",
    JobState.CANCELED: "Somebody canceled it.",
}
ATTEMPT_STATES: Mapping[str, str] = {
    AttemptState.LEASED: "The node was given the work and has not begun it.",
    AttemptState.PREPARING: "The node fetches the image and the inputs.",
    AttemptState.RUNNING: "`setup` or the command runs.",
    AttemptState.SUSPENDED: "Frozen in memory, because the node's owner uses the machine or the line is down.",
    AttemptState.FINISHING: "The command has ended, and outputs are uploaded.",
    AttemptState.SUCCEEDED: "The command ended with exit code 0, and its outputs are stored.",
    AttemptState.FAILED: "It ended without success.",
    AttemptState.LOST: "The hub lost sight of it; it may still come back.",
    AttemptState.CANCELED: "Somebody canceled it.",
    AttemptState.SUPERSEDED: "Another attempt took its place.",
}
NODE_STATES: Mapping[str, str] = {
    NodeState.ONLINE: "Connected, and takes work.",
    NodeState.PAUSED: "Its owner has paused it.",
    NodeState.DRAINING: "Finishes what it runs, and takes nothing new.",
    NodeState.QUARANTINED: "Kept from other people's work for a while, after failures.",
    NodeState.OFFLINE: "Not connected.",
    NodeState.BANNED: "Excluded for good.",
}
VERDICTS: Mapping[str, str] = {
    Verdict.OK: "It ended well.",
    Verdict.RENTER: "The job itself: its command, its files or its limits.",
    Verdict.HOST: "The node failed.",
    Verdict.OWNER: "The node's owner took the machine back.",
    Verdict.PREEMPTED: "It made room for other jobs.",
    Verdict.HUB: "The hub or the line to it failed.",
    Verdict.BUDGET: "The money for it ran out.",
}
REASONS: Mapping[str, str] = {
    EndReason.EXITED: "The command ended; the exit code says how.",
    EndReason.MEMORY: "The command used more memory than `resources.memory` allows.",
    EndReason.DISK: "The command wrote more than `resources.disk` allows.",
    EndReason.RUNTIME: "The command ran longer than `max_runtime` allows.",
    EndReason.CANCELED: "Somebody canceled it.",
    EndReason.OUTPUTS: "The outputs are too large or cannot be read.",
    EndReason.BUNDLE: "The bundle was refused.",
    EndReason.START_FAILED: "The command could not be started.",
    EndReason.SANDBOX: "The node's sandbox does not work.",
    EndReason.INPUT: "What came from the hub arrived with another digest.",
    EndReason.BAD_INPUT: "An input is not what the spec says.",
    EndReason.UNREACHABLE: "An image or an input could not be fetched.",
    EndReason.SLOW_INPUT: "An image or an input came too slowly.",
    EndReason.NODE_DISK: "The node ran out of disk.",
    EndReason.DECLINED: "The node did not want it now.",
    "agent_restarted": "The node's agent was restarted.",
    "bad_receipt": "The node's receipt cannot be read.",
    "budget": "The money for it ran out: its budget, or the renter's credits.",
    "digest_mismatch": "Replicas of it agree on another result.",
    "failed_audit": "Others computed it again and agree on another result.",
    "forgotten_by_agent": "The node's agent does not know it any more.",
    "hub_downtime": "The hub was away for too long.",
    "lease_expired": "The node was not heard of in time.",
    "never_delivered": "The order never reached the node.",
    "node_banned": "The node was excluded from the pool.",
    "not_begun": "The node did not begin it in time.",
    "not_deterministic": "Replicas of it have different results, and none has a majority.",
    "outputs_missing": "Outputs that the receipt names were not stored.",
    "overdue": "The node did not end it in time.",
    "preempted": "It made room for other jobs.",
    "receipt_mismatch": "The node's receipt is about something else.",
    "replica_failed": "A replica could not be run to its end, so that its result could not be checked.",
    "stalled": "The node got no further with it.",
    "storage": "Its log is more than the renter may store.",
    "taken_back_by_owner": "The node's owner took the machine back.",
    "wrong_result": "Others computed the same and agree on another result.",
}
"""Why an attempt ended: as its node told, and as the hub decided."""
EndedBy = Annotated[
    str, OneOf("AttemptReason", REASONS, "Why an attempt ended. `GET catalog` has a sentence for each; more may come.")
]
ISOLATION: Mapping[str, str] = {
    IsolationLevel.PROCESS: "A plain process, without isolation: only on your own nodes.",
    IsolationLevel.BUBBLEWRAP: "Linux namespaces without an image: starts at once, sees none of the host's files.",
    IsolationLevel.CONTAINER: "A Docker or podman container, rootless where possible; needed for `image`.",
    IsolationLevel.GVISOR: "A container whose system calls gVisor serves, not the host's kernel: the strongest.",
}
TRUST: Mapping[str, str] = {
    Trust.MINE: "Only your own nodes.",
    Trust.VERIFIED: "Your own nodes, and those of hosts whose results were checked and found right.",
    Trust.ANY: "Any node of the pool.",
}
OPTIMIZE: Mapping[str, str] = {
    Optimize.COST: "The cheapest node.",
    Optimize.SPEED: "The fastest node.",
    Optimize.BALANCED: "Between the two, weighed with reliability.",
}
