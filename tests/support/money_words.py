"""Finds what speaks of money in an answer, or on a screen."""

import re
from collections.abc import Iterator
from typing import Any

_WORD = re.compile(
    r"(?<![a-z0-9])(budget|ceiling|costs?|credits?|currency|debt|earn(ed|ings)?|fees?|ledger|micros|money|paid|pay"
    r"|payments?|priced?|prices|refunds?|spend(ing)?|spent|spot|wallet)"
    r"(?![a-z0-9]|:(?:payout|read|write)\b)",
    re.IGNORECASE,
)
"""Not in the name of a scope, such as `wallet:read`: whoever looks at a token sees all that it may do, because money
can come back."""
_RANDOM = re.compile(r"(?=[\w+/=-]*\d)[\w+/=-]{24,}")
"""A token, key, digest or signature, which has words by chance."""
NO_MONEY = "works without money"


def words_in(text: str) -> list[str]:
    """`price_micros` is two words, and so is `credits/h`."""
    return [found[0] for found in _WORD.finditer(_RANDOM.sub("", text))]


def told_in(document: Any, path: str = "") -> Iterator[str]:
    """Where a document tells something about money: a name with a value, or a text. Null and false tell nothing."""
    if isinstance(document, dict):
        for name, value in document.items():
            here = f"{path}.{name}"
            if words_in(name) and value is not None and value is not False:
                yield here
            else:
                yield from told_in(value, here)
    elif isinstance(document, list):
        for place, value in enumerate(document):
            yield from told_in(value, f"{path}[{place}]")
    elif isinstance(document, str) and words_in(document) and not path.endswith(".signature"):
        yield f"{path}: {document}"
