"""
NoSuchArtifact     404   it does not exist, or not for you
NotUploadedYet     409   parts are missing
DigestMismatch     422   the bytes are not those that were announced
AnnouncedOtherwise 409   the digest is known, with another size
OutputAltered      409   an attempt's output was stored already, with other bytes
UploadTooLarge     413
StorageExceeded    413   the owner has stored all that it may
DailyStorageExceeded     the same, of what an account that never paid may store in a day
StorageUnpaid      402   what the owner stores was not paid for longer than the grace
TooManyBundles     429   bundles that come with their specs are in the hub's temporary folder until they are stored
BadUpload          422   `fields` says what is wrong with the announcement
"""

from collections.abc import Sequence

from computepool.hub.core.errors import Conflict, Invalid, NotFound, TooLarge, TooMany
from computepool.protocol.errors import ErrorCode, FieldError
from computepool.protocol.units import about_bytes, spell_credits


class NoSuchArtifact(NotFound):
    def __init__(self, artifact_id: str) -> None:
        super().__init__(f"There is no artifact {artifact_id}.")


class NotUploadedYet(Conflict):
    code = "upload_incomplete"

    def __init__(self, missing: Sequence[int]) -> None:
        shown = ", ".join(str(part) for part in missing[:20]) + (" …" if len(missing) > 20 else "")
        super().__init__(
            f"The upload is incomplete. Missing parts: {shown}.",
            hint="POST artifacts with the same digest again: the answer lists the missing parts.",
        )


class DigestMismatch(Invalid):
    code = "digest_mismatch"

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"The uploaded bytes do not have the digest {digest}, so they were deleted.",
            hint="Upload the file again. If that fails too, check whether the file changes during the upload.",
        )


class AnnouncedOtherwise(Conflict):
    code = "size_mismatch"

    def __init__(self, digest: str, size_bytes: int) -> None:
        super().__init__(
            f"{digest} is already known with {size_bytes} bytes, which differs from the size in this request."
        )


class OutputAltered(Conflict):
    code = "output_altered"

    def __init__(self, path: str) -> None:
        super().__init__(f"The output {path} of this attempt is already stored with different content.")


class UploadTooLarge(TooLarge):
    pass


class TooManyBundles(TooMany):
    code = "too_many_bundles"
    retry_after_seconds = 5

    def __init__(self) -> None:
        super().__init__(
            "Too many bundles are being sent with their specs at the same time.",
            hint="Send one after the other, or upload the bundle first: POST /api/v1/artifacts, then "
            "POST /api/v1/jobs?bundle=artifact_….",
        )


class BadUpload(Invalid):
    def __init__(self, field: str, message: str, value: str | None = None) -> None:
        super().__init__(
            "The upload request is not valid.", fields=[FieldError(field=field, message=message, value=value)]
        )


class StorageExceeded(TooLarge):
    code: ErrorCode = "storage_quota"

    def __init__(self, limit: str) -> None:
        super().__init__(
            f"Your storage is full: the limit is {limit}.",
            hint="Delete what you no longer need: computepool artifacts list, computepool prune --older-than 30d.",
        )

    @classmethod
    def of_bytes(cls, limit_bytes: int) -> "StorageExceeded":
        return cls(about_bytes(limit_bytes))

    @classmethod
    def of_objects(cls, limit_objects: int) -> "StorageExceeded":
        return cls(f"{limit_objects} files and logs")


class DailyStorageExceeded(StorageExceeded):
    code = "storage_daily_quota"

    def __init__(self, limit_bytes: int, retry_after_seconds: int) -> None:
        TooLarge.__init__(
            self,
            f"You may store {about_bytes(limit_bytes)} in a day until you have bought credits.",
            hint="Continue tomorrow (UTC), or buy credits: computepool wallet top-up.",
        )
        self.retry_after_seconds = retry_after_seconds


class StorageUnpaid(StorageExceeded):
    status = 402
    code = "storage_unpaid"

    def __init__(self, unpaid_micros: int) -> None:
        TooLarge.__init__(
            self,
            f"{spell_credits(unpaid_micros)} for your storage could not be paid, so uploads are refused.",
            hint="Buy credits: computepool wallet top-up. Or delete what you no longer need: computepool artifacts "
            "list, computepool prune --older-than 30d.",
        )
