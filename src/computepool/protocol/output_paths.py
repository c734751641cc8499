"""Which names an output may have: one rule for the node that collects it and the hub that takes it."""

from computepool.protocol.limits import NAME_LIMIT_BYTES, PATH_LIMIT_BYTES

_SHOWN_CHARACTERS = 80


def find_path_problem(path: str) -> str | None:
    """None for a good path. It ends up on the renter's disk: it may only lead downwards, whatever system that is."""
    names = path.split("/")
    try:
        sizes = [len(name.encode()) for name in names]
    except UnicodeEncodeError:
        return "is not UTF-8"
    if sum(sizes) + len(names) - 1 > PATH_LIMIT_BYTES:
        return f"is longer than {PATH_LIMIT_BYTES} bytes"
    if max(sizes) > NAME_LIMIT_BYTES:
        return f"has a name longer than {NAME_LIMIT_BYTES} bytes"
    if not path.isprintable():
        return "has a control or invisible character"
    if "\\" in path:
        return "has a backslash"
    if any(name in {"", ".", ".."} for name in names):
        return "does not lead downwards"
    return None


def show_path(path: str) -> str:
    """As it may be read anywhere: escaped where it is not printable, and not too long."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path[:_SHOWN_CHARACTERS])
    return text if len(path) <= _SHOWN_CHARACTERS else f"{text}…"
