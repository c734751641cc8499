"""What kind of file an output is, by its name, and which kinds may be shown in a browser. Pure: no I/O.

A job's files are written by anybody: none of them may run as a page of the hub. Pictures, sound and films are shown as
what they are only where their first bytes say the same as their name. Every kind of text is shown as plain text. All
else is given as a file to keep. Browsers are told not to guess (nosniff) and not to run anything (`PREVIEW_POLICY`).
"""

from collections.abc import Mapping
from urllib.parse import quote

UNKNOWN = "application/octet-stream"
PLAIN_TEXT = "text/plain; charset=utf-8"
SNIFFED_BYTES = 4096
PREVIEW_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

_PLAIN_ENDINGS = """
    txt log out err text ini cfg conf diff patch py pyi r jl sh bash c h cc cpp hpp cu cuh go rs java kt ts tsx jsx
    rb pl lua sql tex bib rst vtt srt lock
"""
_TEXTS: Mapping[str, str] = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "ndjson": "application/x-ndjson",
    "geojson": "application/json",
    "ipynb": "application/x-ipynb+json",
    "md": "text/markdown",
    "html": "text/html",
    "htm": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "toml": "application/toml",
    **dict.fromkeys(_PLAIN_ENDINGS.split(), "text/plain"),
}
_SEEN: Mapping[str, str] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "svg": "image/svg+xml",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "oga": "audio/ogg",
    "opus": "audio/ogg",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "m4v": "video/mp4",
    "webm": "video/webm",
    "ogv": "video/ogg",
}
_OTHERS: Mapping[str, str] = {
    "zip": "application/zip",
    "gz": "application/gzip",
    "tgz": "application/gzip",
    "tar": "application/x-tar",
    "zst": "application/zstd",
    "pdf": "application/pdf",
    "parquet": "application/vnd.apache.parquet",
}
_TEXT_NAMES = frozenset({"readme", "license", "makefile", "dockerfile", "stdout", "stderr", "log", "requirements"})
PREVIEW_TYPES = sorted({*_SEEN.values(), "text/plain", UNKNOWN})
"""That a preview may be answered with."""


def media_type_of(path: str) -> str:
    """By the name alone."""
    ending = _ending(path)
    known = _TEXTS.get(ending) or _SEEN.get(ending) or _OTHERS.get(ending)
    return known or ("text/plain" if _is_text_name(path) else UNKNOWN)


def is_previewable(path: str) -> bool:
    ending = _ending(path)
    return ending in _SEEN or ending in _TEXTS or _is_text_name(path)


def preview_type(path: str, first_bytes: bytes) -> str | None:
    """How to show a file that begins so; None where it must not be shown. `first_bytes`: SNIFFED_BYTES of it."""
    if not is_previewable(path):
        return None
    claimed = _SEEN.get(_ending(path))
    if claimed is not None and _looks_like(claimed, first_bytes):
        return claimed
    return PLAIN_TEXT if _is_text(first_bytes) else None


def disposition(kind: str, filename: str) -> str:
    """The value of Content-Disposition, `inline` or `attachment`, for a name of any characters."""
    return f"{kind}; filename*=UTF-8''{quote(filename, safe='')}"


def _ending(path: str) -> str:
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and stem else ""


def _is_text_name(path: str) -> bool:
    return path.rpartition("/")[2].lower() in _TEXT_NAMES


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return len(data) == SNIFFED_BYTES and error.start > len(data) - 4  # cut within a character
    return True


def _looks_like(claimed: str, data: bytes) -> bool:
    if claimed == "image/svg+xml":
        return _is_text(data) and b"<svg" in data
    brand = data[8:12] if data[4:8] == b"ftyp" else b""
    begins: Mapping[str, bool] = {
        "image/png": data.startswith(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg": data.startswith(b"\xff\xd8\xff"),
        "image/gif": data.startswith((b"GIF87a", b"GIF89a")),
        "image/webp": data.startswith(b"RIFF") and data[8:12] == b"WEBP",
        "image/avif": brand in (b"avif", b"avis"),
        "image/bmp": data.startswith(b"BM"),
        "audio/mpeg": data.startswith((b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa")),
        "audio/wav": data.startswith(b"RIFF") and data[8:12] == b"WAVE",
        "audio/flac": data.startswith(b"fLaC"),
        "audio/ogg": data.startswith(b"OggS"),
        "video/ogg": data.startswith(b"OggS"),
        "video/webm": data.startswith(b"\x1a\x45\xdf\xa3"),
        "audio/mp4": bool(brand),
        "video/mp4": bool(brand),
    }
    return begins[claimed]
