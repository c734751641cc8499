"""A disk whose power can be cut.

`Recorder` is a SQLite VFS that notes every write, truncate, sync, create and delete of a database's files, together
with the moments at which the hub acknowledged something. `cuts` then replays the notes up to a moment and yields what
a disk could hold after the power went out just there: everything that was synced, and of what was not, any part, torn
into sectors and in any order. A name in a folder is as durable as the last sync that covered the folder.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import apsw

SECTOR = 512
FILES = ("", "-wal", "-journal")
"""What a database consists of; the shared memory file is made anew after a restart."""


# ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Create:
    name: str
    file: int


@dataclass(frozen=True)
class Delete:
    name: str


@dataclass(frozen=True)
class Write:
    file: int
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    file: int
    size: int


@dataclass(frozen=True)
class Sync:
    file: int
    folder_too: bool
    """SQLite syncs the folder along with the first sync of a journal that it made."""


@dataclass(frozen=True)
class Acknowledged:
    names: tuple[str, ...]


Step = Create | Delete | Write | Truncate | Sync | Acknowledged


# ── writing it down ──────────────────────────────────────────────────────────────────────────────────────────────────


class Recorder(apsw.VFS):
    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self.name = name
        self.steps: list[Step] = []
        self._files: dict[str, int] = {}
        self._numbers = 0

    def acknowledge(self, *names: str) -> None:
        self.steps.append(Acknowledged(names))

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        assert name is not None, "a temporary file would not be seen"
        path = name if isinstance(name, str) else name.filename()
        is_new = path not in self._files
        if is_new:
            self._numbers += 1
            self._files[path] = self._numbers
            self.steps.append(Create(Path(path).name, self._numbers))
        is_journal = path.endswith(FILES[1:])
        return _File(self, name, flags, self._files[path], syncs_folder=is_new and is_journal)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, False)
        self._files.pop(filename, None)
        self.steps.append(Delete(Path(filename).name))


class _File(apsw.VFSFile):
    def __init__(
        self, recorder: Recorder, name: str | apsw.URIFilename, flags: list[int], number: int, *, syncs_folder: bool
    ) -> None:
        super().__init__("", name, flags)
        self._steps = recorder.steps
        self._number = number
        self._syncs_folder = syncs_folder

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._steps.append(Write(self._number, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._steps.append(Truncate(self._number, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        # Only noted: what is really on this machine's disk does not matter here.
        self._steps.append(Sync(self._number, self._syncs_folder))
        self._syncs_folder = False


# ── what is left of it ───────────────────────────────────────────────────────────────────────────────────────────────


class Luck(StrEnum):
    """What the disk had done by itself of what nobody had asked it to make safe."""

    NOTHING = "nothing"
    EVERYTHING = "everything"
    THE_FIRST = "the first"
    SOME = "some"
    TORN = "torn"


@dataclass
class _Content:
    safe: bytearray = field(default_factory=bytearray)
    pending: list[Write | Truncate] = field(default_factory=list)

    def sync(self) -> None:
        for step in self.pending:
            _apply(self.safe, step)
        self.pending.clear()

    def after_cut(self, luck: Luck, chance: random.Random, faults: Counter[str]) -> bytes:
        found = bytearray(self.safe)
        kept = _kept(self.pending, luck, chance)
        if len(kept) < len(self.pending) or luck is Luck.TORN:
            faults["unsynced writes dropped"] += bool(self.pending)
        for step in kept:
            if isinstance(step, Write) and luck is Luck.TORN:
                faults["torn writes"] += _apply_torn(found, step, chance)
            else:
                _apply(found, step)
        return bytes(found)


@dataclass
class Disk:
    contents: dict[int, _Content] = field(default_factory=dict)
    safe_names: dict[str, int] = field(default_factory=dict)
    pending_names: list[Create | Delete] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)

    def do(self, step: Step) -> None:
        match step:
            case Create(_, file):
                self.contents[file] = _Content()
                self.pending_names.append(step)
            case Delete():
                self.pending_names.append(step)
            case Write(file) | Truncate(file):
                self.contents[file].pending.append(step)
            case Sync(file, folder_too):
                self.contents[file].sync()
                if folder_too:
                    _rename(self.safe_names, self.pending_names)
                    self.pending_names.clear()
            case Acknowledged(names):
                self.acknowledged.extend(names)

    def after_cut(self, luck: Luck, chance: random.Random, faults: Counter[str]) -> dict[str, bytes]:
        names = dict(self.safe_names)
        done = chance.randint(0, len(self.pending_names))  # file systems keep the order of names
        faults["unsynced names dropped"] += done < len(self.pending_names)
        _rename(names, self.pending_names[:done])
        return {name: self.contents[file].after_cut(luck, chance, faults) for name, file in names.items()}


def _rename(names: dict[str, int], steps: list[Create | Delete]) -> None:
    for step in steps:
        if isinstance(step, Create):
            names[step.name] = step.file
        else:
            names.pop(step.name, None)


def _kept(pending: list[Write | Truncate], luck: Luck, chance: random.Random) -> list[Write | Truncate]:
    match luck:
        case Luck.NOTHING:
            return []
        case Luck.THE_FIRST:
            return pending[: chance.randint(0, len(pending))]
        case Luck.SOME:
            return [step for step in pending if chance.random() < 0.5]
        case _:
            return pending


def _apply(content: bytearray, step: Write | Truncate) -> None:
    if isinstance(step, Truncate):
        del content[step.size :]
        content.extend(bytes(step.size - len(content)))
        return
    end = step.offset + len(step.data)
    content.extend(bytes(max(0, end - len(content))))
    content[step.offset : end] = step.data


def _apply_torn(content: bytearray, step: Write, chance: random.Random) -> bool:
    """Of each sector that it touches, the write arrives or it does not. Whether it was really torn."""
    arrived = []
    at = step.offset
    while at < step.offset + len(step.data):
        end = min(at - at % SECTOR + SECTOR, step.offset + len(step.data))
        arrived.append(chance.random() < 0.5)
        if arrived[-1]:
            _apply(content, Write(step.file, at, step.data[at - step.offset : end - step.offset]))
        at = end
    return len(set(arrived)) == 2


# ── all together ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Cut:
    at: int
    luck: Luck
    files: dict[str, bytes]
    acknowledged: list[str]
    """What the hub had promised by then."""


def cuts(steps: list[Step], first: int, count: int, seed: int, faults: Counter[str]) -> Iterator[Cut]:
    """`count` power cuts at random moments after step `first`. Counts in `faults` what they really did.

    Files are made and deleted at few moments, when the hub starts and stops: every tenth cut goes there.
    """
    chance = random.Random(seed)
    named = [at for at, step in enumerate(steps) if at >= first and isinstance(step, Create | Delete)]
    around = [min(at + after, len(steps)) for at in named for after in range(1, 5)]
    moments = sorted(
        chance.choice(around) if number % 10 == 0 else chance.randint(first, len(steps)) for number in range(count)
    )
    disk, done = Disk(), 0
    for moment in moments:
        for step in steps[done:moment]:
            disk.do(step)
        done = moment
        luck = chance.choice(list(Luck))
        files = disk.after_cut(luck, chance, faults)
        faults[f"luck: {luck}"] += 1
        yield Cut(moment, luck, files, list(disk.acknowledged))


def put_back(cut: Cut, folder: Path) -> None:
    """The files as the restarted machine finds them."""
    for leftover in folder.iterdir():
        leftover.unlink()
    for name, content in cut.files.items():
        (folder / name).write_bytes(content)
