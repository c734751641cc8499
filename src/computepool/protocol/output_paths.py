"""Which names an output may have: one rule for the node that collects it and the hub that takes it."""

OUTPUT_PATH_LIMIT_BYTES = 1024
_SHOWN_CHARACTERS = 80


def find_path_problem(path: str) -> str | None:
    """None for a good path. It ends up on the renter's disk: it may only lead downwards, whatever system that is."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "is not UTF-8"
    if size > OUTPUT_PATH_LIMIT_BYTES:
        return f"is longer than {OUTPUT_PATH_LIMIT_BYTES} bytes"
    if not path.isprintable():
        return "has a control or invisible character"
    if "\\" in path:
        return "has a backslash"
    if any(name in {"", ".", ".."} for name in path.split("/")):
        return "does not lead downwards"
    return None


def show_path(path: str) -> str:
    """As it may be read anywhere: escaped where it is not printable, and not too long."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path[:_SHOWN_CHARACTERS])
    return text if len(path) <= _SHOWN_CHARACTERS else f"{text}…"
