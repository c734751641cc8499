from computepool.hub.core.errors import Conflict


class BadCanary(Conflict):
    code = "bad_canary"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"{job_id} is no canary: its right result is not known, or may differ from run to run.",
            hint="Take a slice that succeeded, of a deterministic job without network and without setup.",
        )
