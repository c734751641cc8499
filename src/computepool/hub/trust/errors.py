from computepool.hub.core.errors import Conflict, NotFound


class BadCanary(Conflict):
    code = "bad_canary"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"{job_id} cannot be used as a canary: its correct result is unknown, or can differ from run to run.",
            hint="Use a succeeded slice of a deterministic job without network and without setup.",
        )


class NoSuchAnswer(NotFound):
    code = "no_such_canary_answer"

    def __init__(self, check_id: str) -> None:
        super().__init__(
            f"There is no result {check_id[:40]} that an operator confirmed.",
            hint="List them with: computepool admin canaries list",
        )


class NoSuchAccusation(NotFound):
    code = "no_such_accusation"

    def __init__(self, accusation_id: str) -> None:
        super().__init__(
            f"There is no accusation {accusation_id[:40]}.", hint="List them with: computepool admin accusations list"
        )


class AlreadyDecided(Conflict):
    code = "accusation_decided"

    def __init__(self, accusation_id: str, state: str) -> None:
        super().__init__(
            f"The accusation {accusation_id} is already {state}.",
            hint="The host can contest a confirmed accusation. List contests with: computepool admin contests",
        )
