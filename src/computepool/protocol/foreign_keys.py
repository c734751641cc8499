"""Job files of other systems: how one key of theirs is taken, and what a file becomes while it is read.

Each system has one table (`foreign_dstack.KEYS`, `foreign_skypilot.KEYS`). The reader works by it, and the table in
`docs/reference.md` is generated from it, so the two cannot differ.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from computepool.protocol.gpus import parse_gpu
from computepool.protocol.spec_aliases import RESOURCE_ALIASES, RESOURCE_KEYS, SPEC_ALIASES, SPEC_KEYS
from computepool.protocol.spec_errors import Problems
from computepool.protocol.spec_input import join_path
from computepool.protocol.units import BadValueError, nearest, short_repr

NoteCode = Literal["dropped_key", "other_systems_key", "range_gets_minimum"]


class System(StrEnum):
    DSTACK = "dstack"
    SKYPILOT = "SkyPilot"


class Fate(StrEnum):
    READ = "read"
    DROPPED = "ignored"
    """It has no meaning here. The plan says so by name."""
    REFUSED = "refused"
    """Without it the job would give a wrong result."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    name: str
    """With its section: `resources.ports`."""
    fate: Fate
    note: str
    """READ: what becomes of it. DROPPED: why. REFUSED: why, and after a colon what to do."""
    becomes: str | None = None
    """The key of ours that takes the value as it is."""
    read: "Callable[[Translation, str, object], None] | None" = None


def read(name: str, note: str, how: "str | Callable[[Translation, str, object], None]") -> ForeignKey:
    if isinstance(how, str):
        return ForeignKey(name, Fate.READ, note, becomes=how)
    return ForeignKey(name, Fate.READ, note, read=how)


def dropped(name: str, note: str) -> ForeignKey:
    return ForeignKey(name, Fate.DROPPED, note)


def refused(name: str, note: str) -> ForeignKey:
    return ForeignKey(name, Fate.REFUSED, note)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the person who submits should know."""

    code: NoteCode
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class LocalPart:
    """A file or folder of the machine that submits, and its place in the job's working folder (`.`: all of it)."""

    source: str
    place: str
    field: str


RESULT_FOLDERS = re.compile(
    r"(?:^|[-_/.])(?:out(?:puts?)?|results?|artifacts?|logs?|samples?)(?:$|[-_/.])", re.IGNORECASE
)
CHECKPOINT_FOLDERS = re.compile(r"(?:^|[-_/.])(?:checkpoints?|ckpts?|chkpts?)(?:$|[-_/.])", re.IGNORECASE)
PLACES = ".places"
"""Below the working folder: what the file puts at absolute paths and in the home folder."""


@dataclass
class Translation:
    """A file of another system on its way to the keys of ours."""

    system: System
    problems: Problems
    values: dict[str, object] = field(default_factory=dict)
    """In our keys."""
    origins: dict[str, str] = field(default_factory=dict)
    """The key in the file, by ours."""
    notes: list[Note] = field(default_factory=list)
    local: list[LocalPart] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    prelude: list[str] = field(default_factory=list)
    """Lines before the file's own first command."""
    inside: tuple[str, ...] = ()
    """Folders that are the working folder here: `~/sky_workdir`, dstack's `working_dir`."""
    environment: Mapping[str, object] = field(default_factory=dict)
    """What the file sets, for systems that put it into paths."""
    system_env: dict[str, str] = field(default_factory=dict)
    """The system's own variables, as far as one machine has them."""

    def put(self, key: str, value: object, origin: str) -> None:
        outer, _, inner = key.partition(".")
        target: dict[str, object] = self.values
        if inner:
            section = self.values.setdefault(outer, {})
            assert isinstance(section, dict)
            target, key_here = section, inner
        else:
            key_here = outer
        if key_here in target:
            self.refuse(origin, value, f"{self.origins.get(key, key)} says the same", "keep one of the two")
            return
        target[key_here] = value
        self.origins.setdefault(key, origin)

    def refuse(self, name: str, value: object, message: str, hint: str) -> None:
        self.problems.add(name, value, message, hint)

    def note(self, code: NoteCode, name: str, message: str) -> None:
        self.notes.append(Note(code, name, message))

    def walk(self, table: Mapping[str, ForeignKey], data: Mapping[str, object], section: str = "") -> None:
        """Each key by its row. Our own keys may stand among theirs."""
        resources, top = (*RESOURCE_KEYS, *RESOURCE_ALIASES), (*SPEC_KEYS, *SPEC_ALIASES)
        ours = resources if section == "resources" else () if section else top
        for key, value in data.items():
            name = join_path(section, key)
            row = table.get(name)
            if row is not None:
                self._take(row, name, value)
            elif key in ours:
                self.put(join_path(section, key), value, name)
            else:
                here = [other.rpartition(".")[2] for other in table if other.rpartition(".")[0] == section]
                meant = nearest(key, (*here, *ours))
                hint = (
                    f"did you mean {meant!r}?"
                    if meant
                    else f"it is no key of a {self.system} file either: leave it out"
                )
                self.refuse(name, value, f"the key {short_repr(key)} is not known here", hint)

    def _take(self, row: ForeignKey, name: str, value: object) -> None:
        if value is None or (row.fate is not Fate.READ and value in (False, [], {}, "")):
            return
        if row.fate is Fate.DROPPED:
            self.note("dropped_key", name, f"`{name}` of {self.system} is ignored: {row.note}.")
        elif row.fate is Fate.REFUSED:
            why, _, hint = row.note.partition(": ")
            self.refuse(name, value, why, hint)
        elif row.read is not None:
            row.read(self, name, value)
        else:
            assert row.becomes is not None
            self.put(row.becomes, value, name)
            if row.becomes != name:
                self.note("other_systems_key", name, f"`{name}` is read as `{row.becomes}`.")

    def give_variables(self, prefix: str, variables: dict[str, str]) -> None:
        """The system's own, if the commands name one, or files come along whose programs may read them."""
        texts = (self.values.get("run"), self.values.get("setup"))
        if self.local or self.prelude or any(prefix in str(text) for text in texts):
            self.system_env |= variables

    # ── places ──

    def place_of(self, name: str, target: str) -> str:
        """Where in the working folder a path of the file's job lies. Others than relative ones get a link."""
        for folder in self.inside:
            if target.rstrip("/") == folder:
                return "."
            if target.startswith(f"{folder}/"):
                return target[len(folder) + 1 :].strip("/")
        if not target.startswith(("/", "~")):
            return re.sub(r"^(?:\./+)+", "", target).rstrip("/") or "."
        place = f"{PLACES}/{target.lstrip('~').strip('/')}"
        self.link(name, target, place)
        return place

    def link(self, name: str, target: str, place: str) -> None:
        """Nothing is to be linked inside of what is a link already: its place lies inside, too."""
        target = target.rstrip("/")
        if not any(target.startswith(f"{above}/") for above in self.links):
            for below in [path for path in self.links if path.startswith(f"{target}/")]:
                del self.links[below]
            self.links[target] = place
            self.origins[join_path("links", target)] = name

    def keep_results(self, name: str, target: str, what: str) -> bool:
        """A folder of theirs that outlives the job: here its files are outputs, or a checkpoint. False if its path
        does not say that it is for results: then it may hold data that the job reads."""
        is_checkpoint = CHECKPOINT_FOLDERS.search(target) is not None
        if not is_checkpoint and not RESULT_FOLDERS.search(target):
            return False
        place = target.lstrip("~").strip("/")
        if target.startswith(("/", "~")):
            self.link(name, target, place)
        outputs = self.values.setdefault("outputs", [])
        if isinstance(outputs, list):
            outputs.append(f"{place}/**")
            self.origins.setdefault("outputs", name)
        kept = "kept as outputs"
        if is_checkpoint and "checkpoint" not in self.values:
            self.values["checkpoint"], self.origins["checkpoint"] = place, name
            kept = "saved as the job's checkpoint, and kept as outputs"
        self.note(
            "other_systems_key",
            name,
            f"{what} `{target}` is an empty folder here; what the job writes there is {kept}.",
        )
        return True

    # ── GPUs ──

    def gpus(self, name: str, value: object) -> None:
        """`resources.gpu`, of what may name several: those with another count than the first are left out."""
        choices = _choices(value)
        possible = [choice for choice in choices if not is_accelerator(choice)]
        if choices and not possible:
            refuse_accelerator(self, name, value, choices[0])
            return
        for choice in choices:
            if choice not in possible:
                self.note("dropped_key", name, f"{choice} is left out of `{name}`: nodes have GPUs only.")
        if len(possible) > 1:
            value = self._of_one_count(name, possible)
        elif len(choices) > 1:
            value = possible[0]
        self.put("resources.gpu", value, name)

    def _of_one_count(self, name: str, choices: list[str]) -> object:
        counts = {}
        for choice in choices:
            try:
                asked = parse_gpu(choice)
            except BadValueError as bad:
                self.refuse(name, choice, bad.message, bad.hint or "")
                return None
            counts[choice] = asked.count if asked is not None else 0
        first = counts[choices[0]]
        left_out = [choice for choice in choices if counts[choice] != first]
        if left_out:
            words = ", ".join(left_out)
            self.note(
                "dropped_key", name, f"{words} is left out of `{name}`: alternatives have the same number of GPUs."
            )
        return [choice for choice in choices if counts[choice] == first]


def _choices(value: object) -> list[str]:
    """Every form that means one GPU of several: a list, `{A100: 1, L4: 1}`, `{'A100:1': null}`."""
    if isinstance(value, list):
        return [each for item in value for each in _choices(item)]
    if isinstance(value, Mapping) and not {"name", "memory", "count", "vendor"} & set(value):
        return [f"{key}:{count}" if count is not None else str(key) for key, count in value.items()]
    return [value] if isinstance(value, str) else []


_ACCELERATOR = re.compile(
    r"tpu.*|v\d+[a-z]*(?:pod|lite.*)?-\d+|v5litepod.*|inferentia\d*|trainium\d*|(?:google|tenstorrent|tt)[-:].*|tt-.*|google",
    re.IGNORECASE,
)


def is_accelerator(choice: str) -> bool:
    """TPUs, Inferentia and others that are not GPUs."""
    return any(_ACCELERATOR.fullmatch(part.strip()) for part in choice.split(":")[:2])


def refuse_accelerator(translation: Translation, name: str, value: object, choice: str) -> None:
    message = f"{choice} is not a GPU, and the pool's nodes have GPUs only"
    translation.refuse(name, value, message, "name a GPU with enough memory, such as A100, H100 or 24GB..")


def gpu_count(translation: Translation) -> str:
    """How many GPUs the job gets; none if what it asks for cannot be read, which is told elsewhere."""
    resources = translation.values.get("resources")
    try:
        asked = parse_gpu(resources.get("gpu")) if isinstance(resources, Mapping) else None
    except BadValueError:
        asked = None
    return str(asked.count if asked is not None else 0)


# ── what both systems' jobs expect to find ──

_INSTALLS = re.compile(r"\b(?:pip3?|uvx?)\b")
_UV = re.compile(r"\buvx?\b")
VENV = (
    'python3 -m venv --system-site-packages "$HOME/.venv" && . "$HOME/.venv/bin/activate"',
    "command -v uv >/dev/null 2>&1 || pip install -q uv",
)
USER_PROGRAMS = 'export PATH="$HOME/.local/bin:$PATH"'


def install_lines(text: str, *, own_image: bool) -> list[str]:
    """Their jobs are root and install where they like. Here packages go to the job's home, and are found there.

    `own_image`: the file names an image, which has a Python of its own; else there is a virtual environment, as theirs.
    """
    if not _INSTALLS.search(text):
        return []
    if own_image:
        return [USER_PROGRAMS]
    return list(VENV if _UV.search(text) else VENV[:1])


def clone_line(url: str, ref: str) -> str:
    """A repository, as the content of the working folder."""
    return f"[ -e .git ] || {{ git init -q . && git fetch -q {url} {ref} && git checkout -q FETCH_HEAD; }} || exit 1"
