"""What is wrong with a job spec: everything at once, each with its field, its value and what to write instead."""

from collections.abc import Iterable, Mapping

from pydantic import BaseModel, ConfigDict

from computepool.protocol.errors import FieldError
from computepool.protocol.units import short_repr

MAX_PROBLEMS = 50
"""More than anybody mends in one go; keeps the answer to a hostile spec small."""


class FieldProblem(BaseModel):
    """One wrong field: its dotted path, what was written there, what is wrong with it and what to write instead."""

    model_config = ConfigDict(frozen=True)

    field: str
    message: str
    value: str | None = None
    hint: str | None = None

    def to_error(self) -> FieldError:
        """In the shape in which errors travel."""
        return FieldError(field=self.field, message=self.message, value=self.value, hint=self.hint)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class SpecError(Exception):
    """The spec cannot be used. `problems` is never empty."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = list(problems)
        count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n".join([f"The job spec has {count}:", *(f"  {problem}" for problem in self.problems)]))


class Problems:
    """Collects while a spec is read. The first word on a field stands: what follows from it would only confuse."""

    def __init__(self) -> None:
        self._found: dict[str, FieldProblem] = {}
        self.origins: Mapping[str, str] = {}
        """Where a field of ours is written, in a file of another system."""

    def add(self, field: str, value: object, message: str, hint: str | None = None) -> None:
        self._add(FieldProblem(field=self._origin(field), value=short_repr(value), message=message, hint=hint))

    def add_hidden(self, field: str, message: str, hint: str | None = None) -> None:
        """Without the value, which may be a secret."""
        self._add(FieldProblem(field=self._origin(field), message=message, hint=hint))

    def _add(self, problem: FieldProblem) -> None:
        if problem.field not in self._found and len(self._found) < MAX_PROBLEMS:
            self._found[problem.field] = problem

    def _origin(self, field: str) -> str:
        above = field
        while above:
            if above in self.origins:
                return self.origins[above] + field[len(above) :]
            above = above[: max(above.rfind("."), above.rfind("["), 0)]
        return field

    def raise_if_any(self) -> None:
        if self._found:
            raise SpecError(self._found.values())
