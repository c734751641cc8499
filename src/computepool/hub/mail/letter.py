"""A mail as bytes: plain text, nothing that loads or tells anybody that it was read."""

import re
import unicodedata
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime
from typing import Any

from computepool.hub.core.smtp_url import usable_address
from computepool.hub.mail.tables import SUBJECT_LIMIT

_ENDS_A_LINE_OR_HIDES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of letters that break a line, change a text's direction, or that nobody sees."""
_PLAIN_AT_MOST, _BYTES_OF_A_WORD = 66, 39
"""Letters of a subject in one line as it is; bytes in an encoded word, so that a line has no more than 76."""
_LINK = re.compile(r"\S*://\S*|\bwww\.\S+", re.IGNORECASE)


@dataclass(frozen=True)
class Letter:
    mail_id: str
    address: str
    message_id: str
    subject: str
    body: str
    at: datetime


def one_line(text: object, limit: int) -> str:
    """What a person typed, as it may stand in a head or in the middle of a text: one line, of bounded length."""
    plain = "".join(" " if unicodedata.category(one) in _ENDS_A_LINE_OR_HIDES else one for one in str(text))
    line = " ".join(plain.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def of_a_stranger(text: object, limit: int) -> str:
    """The same of somebody whom the reader has no reason to believe: mail programs make links of what looks like one.
    Whoever registers with another person's address could send them anything else, in the pool's name."""
    return one_line(_LINK.sub("[link]", one_line(text, 8 * limit)), limit)


class _AsWritten(EmailPolicy):
    """Python's own way to fold a subject loses spaces between words of other alphabets, where a line ends."""

    def fold(self, name: str, value: Any) -> str:
        return _subject_lines(str(value), self.linesep) if name == "Subject" else super().fold(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode() if name == "Subject" else super().fold_binary(name, value)


def _subject_lines(subject: str, linesep: str) -> str:
    """As it is, if any mail program can read that; else all of it encoded, with no space outside that could get
    lost (RFC 2047)."""
    if subject.isascii() and len(subject) <= _PLAIN_AT_MOST:
        return f"Subject: {subject}{linesep}"
    parts = [b""]
    for one in subject:
        letter = one.encode()
        if len(parts[-1]) + len(letter) > _BYTES_OF_A_WORD:
            parts.append(b"")
        parts[-1] += letter
    words = [f"=?utf-8?b?{b64encode(part).decode()}?=" for part in parts]
    return f"Subject: {f'{linesep} '.join(words)}{linesep}"


def compose(letter: Letter, sender: Address) -> EmailMessage:
    """Raises ValueError for an address that no mail can go to."""
    to = usable_address(letter.address)
    if to is None:
        raise ValueError("no mail can go to this address")
    message = EmailMessage(policy=_AsWritten(linesep="\r\n", utf8=not to.addr_spec.isascii()))
    message["From"] = sender
    message["To"] = to
    # Python reads `=?utf-8?q?=0A?=` in a value as what it stands for, and would write a new line into the head.
    message["Subject"] = one_line(letter.subject, SUBJECT_LIMIT).replace("=?", "= ?")
    message["Date"] = format_datetime(letter.at)
    message["Message-ID"] = letter.message_id
    message["Auto-Submitted"] = "auto-generated"  # so that no machine answers this one
    message.set_content(letter.body, charset="utf-8", cte="quoted-printable")
    return message
