"""Mails as programs save them: a body in base64 is the text that a person reads."""

import base64
import re
from collections.abc import Iterator

_IN_BASE64 = re.compile(r"content-transfer-encoding:\s*base64\s*\Z", re.IGNORECASE)
_CODED = re.compile(r"[A-Za-z0-9+/]{1,76}={0,2}\s*\Z", re.ASCII)
_MOST_LINES = 20_000  # of a body that is read: more is no text that a person wrote


def readable_bodies(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a mail; the whole text of a body in base64 stands in its first line.

    Its other lines are left blank, so that each line keeps its number.

    >>> mail = ["Content-Transfer-Encoding: base64\\n", "\\n", "UmVj\\n", "ZWlwdA==\\n", "\\n"]
    >>> list(readable_bodies(iter(mail)))[2:]
    ['Receipt', '\\n', '\\n']
    """
    for line in lines:
        yield line
        if _IN_BASE64.match(line):
            yield from _head(lines)
            yield from _body(lines)


def _head(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines up to the blank one behind the fields."""
    for line in lines:
        yield line
        if not line.strip():
            return


def _body(lines: Iterator[str]) -> Iterator[str]:
    coded: list[str] = []
    behind = ""
    for line in lines:
        if not _CODED.match(line) or len(coded) == _MOST_LINES:
            behind = line
            break
        coded.append(line)
    try:
        text = base64.b64decode("".join(coded)).decode("utf-8", "replace")
    except ValueError:  # torn: as it stands
        yield from coded
    else:
        yield from [text, *["\n"] * (len(coded) - 1)] if coded else []
    if behind:
        yield behind
