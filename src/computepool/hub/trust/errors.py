from computepool.hub.core.errors import Conflict, NotFound


class BadCanary(Conflict):
    code = "bad_canary"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"{job_id} is not a canary: its right result is not known, or may differ from run to run.",
            hint="Take a slice that succeeded, of a deterministic job without network and without setup.",
        )


class NoSuchAnswer(NotFound):
    code = "no_such_canary_answer"

    def __init__(self, check_id: str) -> None:
        super().__init__(
            f"There is no result {check_id[:40]} that an operator vouched for.", hint="computepool admin canaries list"
        )


class NoSuchAccusation(NotFound):
    code = "no_such_accusation"

    def __init__(self, accusation_id: str) -> None:
        super().__init__(f"There is no accusation {accusation_id[:40]}.", hint="computepool admin accusations list")


class AlreadyDecided(Conflict):
    code = "accusation_decided"

    def __init__(self, accusation_id: str, state: str) -> None:
        super().__init__(
            f"The accusation {accusation_id} is {state} already.",
            hint="The host can contest one that was confirmed: computepool admin contests",
        )
