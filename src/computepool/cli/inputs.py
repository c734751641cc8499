"""Inputs as people write them: files of this machine are uploaded before the job is, the rest is the spec's own.

While the request is put together a local file has a stand-in, so that the spec's rules on paths hold for it too.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from computepool.cli.errors import CliError

if TYPE_CHECKING:
    from computepool.protocol.spec import JobSpec

KEYS = ("inputs", "file_mounts", "files")
STAND_IN = "artifact_local"
MAX_FILES = 1000
"""Inputs of a job; a test compares it with the spec's own limit."""
_ELSEWHERE = re.compile(r"artifact_[0-9a-z]+|[A-Za-z][A-Za-z0-9+.-]*:.*", re.DOTALL)


class LocalFiles:
    def __init__(self) -> None:
        self._files: list[Path] = []

    def take_from(self, data: Any, folder: Path) -> Any:
        """A spec file's content, with a stand-in for every local file; they are relative to `folder`."""
        if not isinstance(data, Mapping):
            return data
        return {key: self._section(value, folder) if key in KEYS else value for key, value in data.items()}

    def take_typed(self, pairs: Sequence[str]) -> dict[str, str]:
        """What `--input PATH=SOURCE` says."""
        found: dict[str, str] = {}
        for pair in pairs:
            path, equals, source = pair.partition("=")
            if not equals or not path or not source:
                raise CliError(
                    f"--input {pair}: that is not PATH=SOURCE.",
                    "Such as --input data/train.csv=train.csv, --input data=folder or --input x=https://…#sha256:…",
                    2,
                )
            added = self._source(path, source, Path())
            if twice := next((path for path in added if path in found), None):
                raise CliError(f"--input {twice} is given twice.", "Keep one of the two.", 2)
            found |= added
        return found

    def of(self, spec: "JobSpec") -> dict[str, Path]:
        """By their paths in the job's folder."""
        return {
            path: self._files[int(source.artifact_id.removeprefix(STAND_IN))]
            for path, source in spec.inputs.items()
            if source.artifact_id is not None and source.artifact_id.startswith(STAND_IN)
        }

    def _section(self, value: Any, folder: Path) -> Any:
        if isinstance(value, Mapping):
            found: dict[Any, Any] = {}
            for path, source in value.items():
                found |= self._source(path, source, folder)
            return found
        if isinstance(value, list):
            return [one for item in value for one in self._items(item, folder)]
        return value

    def _items(self, item: Any, folder: Path) -> list[Any]:
        """dstack's `source:path`, or one path that is both."""
        if not isinstance(item, str) or re.match(r"artifact_[0-9a-z]+:|https?:", item):
            return [item]
        source, colon, path = item.partition(":")
        found = self._source(path if colon else source, source, folder)
        return [f"{source}:{path}" for path, source in found.items()]

    def _source(self, path: Any, source: Any, folder: Path) -> dict[Any, Any]:
        """Sources by their paths in the job's folder: of a folder or a pattern there are many."""
        if not isinstance(source, str) or not isinstance(path, str) or _ELSEWHERE.fullmatch(source):
            return {path: source}
        place = folder / Path(source).expanduser()
        if place.is_file():
            return {path: self._stand_in(place)}
        top, files = _files_below(place) if place.is_dir() else _files_like(place)
        if not files:
            what = "no file in" if place.is_dir() else "no file"
            hint = "Name a file, a folder, a pattern such as 'data/*.csv', a stored artifact (artifact_…) or https://…"
            raise CliError(f"There is {what} {place} for the input {path}.", hint, 2)
        if len(files) > MAX_FILES:
            raise CliError(
                f"The input {path} stands for {len(files):,} files, and a job has at most {MAX_FILES:,} inputs.",
                "Send the folder with `workdir`, or pack it into one archive.",
                2,
            )
        above = PurePosixPath(path)
        return {(above / file.relative_to(top).as_posix()).as_posix(): self._stand_in(file) for file in files}

    def _stand_in(self, file: Path) -> str:
        self._files.append(file)
        return f"{STAND_IN}{len(self._files) - 1}"


def _files_below(folder: Path) -> tuple[Path, list[Path]]:
    """A folder's files. It was named, so no rule file leaves anything out of it."""
    return folder, _plain_files(folder, folder.rglob("*"))


def _files_like(pattern: Path) -> tuple[Path, list[Path]]:
    """What matches a pattern, and the folder that the names of the matches are relative to."""
    import glob

    fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts))
    if fixed == pattern:
        return fixed, []
    return fixed, _plain_files(fixed, fixed.glob(pattern.relative_to(fixed).as_posix()))


def _plain_files(top: Path, found: Iterable[Path]) -> list[Path]:
    from computepool.client.listing import NEVER_PACKED

    return sorted(f for f in found if f.is_file() and not set(NEVER_PACKED) & set(f.relative_to(top).parts))


def not_packed(paths: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Patterns for what the folder need not send along, because it comes as an input."""
    from computepool.client.listing import literal_pattern

    for path in paths:
        above = next((p for p in reversed(Path(path).parents) if (folder / p).is_file()), None)
        if above is not None:
            raise CliError(
                f"The input {path} cannot be below {folder / above}, which is a file.", "Choose another path.", 2
            )
        if (folder / path).is_dir():
            raise CliError(f"An input has the path {path}, but {folder / path} is a folder.", "Choose another path.", 2)
    return tuple("/" + literal_pattern(path) for path in paths)
