"""
NotFound
├── NoSuchJob
├── NoSuchShare            revoked, expired, or never made
└── Removed                its logs or outputs were deleted
Conflict
├── StaleLease             the reporter's lease was given to somebody else
├── JobNotFinal            it is still under way
├── QueueFull              its owner has as much waiting as it may
├── JobDisputed            an operator needs what it left behind
├── NoReceipt              no attempt of it ended on its node
└── ArtifactInUse          a job that is under way needs it
Invalid
├── BadSpec                each wrong field, with what would be right
├── NotSupportedYet        understood, but this pool cannot do it
├── BadBundle              the bundle is not there, or not the caller's
├── BadInputs              inputs are not there, not the caller's, or too large
└── BadOwnJob              the signature that came with the job is under something else
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from computepool.hub.core.errors import Conflict, Invalid, NotFound
from computepool.protocol.errors import FieldError
from computepool.protocol.states import AttemptState


class NoSuchJob(NotFound):
    code = "no_such_job"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id} that you can see.", hint="`computepool ps -a` lists yours.")


class NoSuchShare(NotFound):
    code = "no_such_share"

    def __init__(self) -> None:
        hint = "It may have expired, or its owner revoked it. Ask the owner for a new one."
        super().__init__("This link is not valid.", hint=hint)


class StaleLease(Conflict):
    code = "stale_lease"

    def __init__(self, attempt_id: str, fence: int, target: AttemptState | str) -> None:
        super().__init__(f"{attempt_id} cannot become {target}: fence {fence} is not the current one. Stop it.")


class JobNotFinal(Conflict):
    code = "job_not_final"

    def __init__(self, job_id: str, state: str) -> None:
        super().__init__(f"{job_id} is still {state}.", hint="Cancel it, or wait until it has ended. Then try again.")


class QueueFull(Conflict):
    code = "queue_full"

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="Wait until some of your jobs have started, or cancel some. List them with: computepool ps"
        )


class JobDisputed(Conflict):
    code = "job_disputed"

    def __init__(self, job_id: str, dispute_id: str) -> None:
        super().__init__(
            f"{job_id} is disputed ({dispute_id}), and its files are needed to decide the dispute.",
            hint="Delete it after the dispute is resolved.",
        )


class NoReceipt(Conflict):
    code = "no_receipt"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"{job_id} has no receipt, because no attempt of it has ended on a node.")


class ArtifactInUse(Conflict):
    code = "artifact_in_use"

    def __init__(self, artifact_id: str, job_id: str | None) -> None:
        who = f"{job_id}, which has not ended" if job_id is not None else "a job that is being submitted"
        super().__init__(f"{artifact_id} is needed by {who}.", hint="Cancel the job, or wait until it has ended.")


class Removed(NotFound):
    code = "removed"

    def __init__(self, what: str, job_id: str, at: datetime) -> None:
        super().__init__(f"The {what} of {job_id} were deleted on {at.astimezone(UTC):%Y-%m-%d}.")


class BadSpec(Invalid):
    code = "bad_spec"

    def __init__(self, fields: Sequence[FieldError]) -> None:
        first = fields[0]
        more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
        super().__init__(f"The job spec is not valid: {first.field}: {first.message}{more}", fields=fields)


class NotSupportedYet(Invalid):
    code = "not_supported_yet"

    def __init__(self, fields: Sequence[FieldError]) -> None:
        names = ", ".join(field.field for field in fields)
        super().__init__(f"Not supported yet by this pool: {names}.", fields=fields)


class BadBundle(Invalid):
    code = "bad_bundle"


class BadOwnJob(Invalid):
    code = "bad_signature"

    def __init__(self, why: str) -> None:
        hint = "Update the program that signed it, or submit the job without a signature."
        super().__init__(f"The job's signature is not valid: {why}.", hint=hint)


class BadInputs(Invalid):
    code = "bad_inputs"

    def __init__(self, fields: Sequence[FieldError]) -> None:
        first = fields[0]
        more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
        super().__init__(f"{first.field}: {first.message}{more}", hint=first.hint, fields=fields)
