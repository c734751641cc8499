"""Which cores a job may use where no cgroup can say how much of them: the least used ones, whole."""

import math
import os
from collections import Counter
from collections.abc import Callable


class Cores:
    def __init__(self) -> None:
        self._all = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._jobs: Counter[int] = Counter()

    def give(self, pid: int, cpus: float) -> Callable[[], None]:
        """Pin a process, and so its children; returns what gives the cores back. Some system calls undo it: soft."""
        wanted = max(1, math.ceil(cpus))
        if wanted >= len(self._all):
            return lambda: None
        chosen = sorted(self._all, key=lambda core: self._jobs[core])[:wanted]
        os.sched_setaffinity(pid, chosen)
        self._jobs.update(chosen)
        return lambda: self._jobs.subtract(chosen)
