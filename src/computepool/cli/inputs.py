"""Inputs as people write them: files of this machine are uploaded before the job is, the rest is the spec's own.

While the request is put together a local file has a stand-in, so that the spec's rules on paths hold for it too.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from computepool.cli.errors import CliError

if TYPE_CHECKING:
    from computepool.protocol.spec import JobSpec

KEYS = ("inputs", "file_mounts", "files")
STAND_IN = "artifact_local"
_ELSEWHERE = re.compile(r"artifact_[0-9a-z]+|[A-Za-z][A-Za-z0-9+.-]*:.*", re.DOTALL)
_PATTERN_CHARACTERS = re.compile(r"([\\*?\[\]!# ])")


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
        found = {}
        for pair in pairs:
            path, equals, source = pair.partition("=")
            if not equals or not path or not source:
                raise CliError(
                    f"--input {pair}: that is not PATH=SOURCE.",
                    "Such as --input data/train.csv=train.csv, =artifact_… or =https://…#sha256:…",
                    2,
                )
            if path in found:
                raise CliError(f"--input {path} is given twice.", "Keep one of the two.", 2)
            found[path] = self._source(path, source, Path())
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
            return {path: self._source(str(path), source, folder) for path, source in value.items()}
        if isinstance(value, list):
            return [self._item(item, folder) for item in value]
        return value

    def _item(self, item: Any, folder: Path) -> Any:
        """dstack's `source:path`, or one path that is both."""
        if not isinstance(item, str) or re.match(r"artifact_[0-9a-z]+:|https?:", item):
            return item
        source, colon, path = item.partition(":")
        path = path if colon else source
        return f"{self._source(path, source, folder)}:{path}"

    def _source(self, path: str, source: Any, folder: Path) -> Any:
        if not isinstance(source, str) or _ELSEWHERE.fullmatch(source):
            return source
        file = folder / source
        if file.is_dir():
            hint = "An input is a file. Send folders with `workdir`, or pack this one into an archive."
            raise CliError(f"{file}, the input {path}, is a folder.", hint, 2)
        if not file.is_file():
            hint = "Name a file, a stored artifact (artifact_…) or https://…#sha256:…"
            raise CliError(f"There is no file {file} for the input {path}.", hint, 2)
        self._files.append(file)
        return f"{STAND_IN}{len(self._files) - 1}"


def not_packed(paths: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Patterns for what the folder need not send along, because it comes as an input."""
    for path in paths:
        above = next((p for p in reversed(Path(path).parents) if (folder / p).is_file()), None)
        if above is not None:
            raise CliError(f"{folder / above} is a file, and the input {path} is below it.", "Choose another path.", 2)
        if (folder / path).is_dir():
            raise CliError(f"{folder / path} is a folder, and an input has that path.", "Choose another path.", 2)
    return tuple("/" + _PATTERN_CHARACTERS.sub(r"\\\1", path) for path in paths)
