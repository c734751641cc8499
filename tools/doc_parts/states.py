"""What becomes what, and when."""

from collections.abc import Iterable

from computepool.protocol.states import State, Table
from tools.doc_parts.layout import table


def _diagram(states: Table[State], first: State, group: str = "", members: Iterable[State] = ()) -> str:
    """Arrows that all members of a group have are drawn once, from the group."""
    inside = [state for state in states if state in set(members)]
    common = frozenset.intersection(*(states[state] for state in inside)) if inside else frozenset[State]()
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first}"]
    if inside:
        lines += [f"    state {group} {{", *(f"        {state}" for state in inside), "    }"]
        lines += [f"    {group} --> {target}" for target in states if target in common]
    for state, after in states.items():
        drawn = after - common if state in inside else after
        lines += [f"    {state} --> {target}" for target in states if target in drawn]
        if not after:
            lines.append(f"    {state} --> [*]")
    return "\n".join([*lines, "```"])


def job_states() -> str:
    from computepool.protocol.states import JOB_NEXT, JobState

    return _diagram(JOB_NEXT, JobState.QUEUED)


def attempt_states() -> str:
    from computepool.protocol.states import ATTEMPT_LIVE, ATTEMPT_NEXT, AttemptState

    return _diagram(ATTEMPT_NEXT, AttemptState.LEASED, "live", ATTEMPT_LIVE)


def node_states() -> str:
    """A table: almost every arrow exists, and a picture of that says nothing."""
    from computepool.protocol.states import NODE_NEXT

    rows = [
        (f"`{state}`", ", ".join(f"`{one}`" for one in NODE_NEXT if one in after)) for state, after in NODE_NEXT.items()
    ]
    return table(("a node that is", "may become"), rows)


def ends() -> str:
    """What each end that a node's receipt may name leads to, asked of the very functions that decide it."""
    from computepool.hub.jobs.policy import Tries, ending_of, next_step
    from computepool.protocol.receipt import EndReason

    rows = []
    for reason, exit_code in [(EndReason.EXITED, 0), *((reason, 1) for reason in EndReason)]:
        end = ending_of(reason, exit_code, "")
        allowed = next_step(end, Tries(failures=0, losses=0, retries_allowed=1), cancel_requested=False)
        used_up = next_step(end, Tries(failures=1, losses=0, retries_allowed=1), cancel_requested=False)
        name = f"{reason}, exit code {'0' if exit_code == 0 else 'not 0'}" if reason is EndReason.EXITED else reason
        elsewhere = " elsewhere, if there is an elsewhere" if allowed.avoid_node else ""
        rows.append((f"`{name}`", end.verdict, f"{allowed.state}{elsewhere}", f"{used_up.state}{elsewhere}"))
    return table(("end", "verdict", "the slice is then, with retries left", "without"), rows)


def timing() -> str:
    from computepool.protocol import timing as module

    names = [name for name in vars(module) if name.isupper()]
    return table(("constant", "value"), [(f"`{name}`", _seconds(getattr(module, name))) for name in names])


def _seconds(value: object) -> str:
    if isinstance(value, tuple):
        return " to ".join(f"{one:g}" for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
