"""Tokens as people have them: a row of a file, or among words, in a link, a mail, a cell.

A person sees a token through tags, escapes, marks of quoting and line breaks; so does this.
What looks like a token and is none is found too: to be told as malformed, and not passed over.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from html import unescape
from urllib.parse import unquote

from svc_analytics.errors import ConfigError
from svc_analytics.signing.receipt_tokens import MAX_TOKEN_LENGTH, has_token_form

NAMES = ("receipt", "receipt_token", "token")  # of a column or member that holds tokens

Cells = tuple[str | None, ...]
# The number of a line from 1, its token if there is one, and the cells of columns to keep.
Row = tuple[int, str | None, Cells]


def require_one(names: list[str], source: str) -> None:
    """Refuse to choose among several columns of tokens."""
    if len(names) > 1:
        shown = ", ".join(names[:10])[:200]
        raise ConfigError(f"{source} has receipt tokens in {shown}: name one with --column")


def require_unique(names: list[str], name: str, source: str) -> str:
    """Return the name of a column; refuse one that two columns have."""
    if names.count(name) > 1:
        message = f"{source} has {names.count(name)} columns named {name!r}"
        raise ConfigError(f"{message}: give one another name, and name it with --column")
    return name


def holds_none(source: str, why: str = "") -> ConfigError:
    """Return the refusal of a file without a token."""
    what = "give a table, a list or a text of them (v1.…), or name their column with --column"
    return ConfigError(f"{source} holds no receipt tokens{why}: {what}")


# What mail and spreadsheets put around a token: blanks, quotes, brackets.
AROUND = " \t\r\n\u00a0'\"`<>()[]\u2018\u2019\u201c\u201d\u00ab\u00bb"
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff")) | {0xA0: " "}
# A letter as JSON within a text writes it.
_ESCAPE = re.compile(r"\\(?:u00([2-7][0-9A-Fa-f])|[nrt])")
_LIKE = re.compile(r"(?<![A-Za-z0-9])v\d+\.")
_WORDS = re.compile(r"\S\s+\S|\A[^\W\d_]+[,:.!]\Z")
_ALONE = re.compile(r"v\d+\.\S*")
# A line break within a token: how mail wraps lines, marks them as quoted, and writes a soft break.
_BREAK = r"=?[ \t]*[\r\n\v\f\u2028][\s>|]*(?!v\d+\.)"
_PAYLOAD = rf"(?:[\w-]++|{_BREAK})++={{0,2}}"
_SIGNATURE = rf"(?:{_BREAK})?(?:[\w-](?:{_BREAK})?){{42}}[\w-](?:=(?![\r\n]))?"
_WHOLE = rf"v\d+\.{_PAYLOAD}\.{_SIGNATURE}(?![\w-]|=[^\r\n]|\.[\w-])"
# One that is not whole begins like a JSON object in base64: else "v1.2" would be one.
_PART = r"v\d+\.e[wy3][\w=-]*(?:\.[\w=-]*)?"
_TOKEN = re.compile(rf"(?<![A-Za-z0-9.])(?:{_WHOLE}|{_PART})", re.ASCII)
_BROKEN = re.compile(_BREAK, re.ASCII)
_BEGUN = re.compile(r"v\d+\.[\w-]*={0,2}(?:\.[\w-]{0,42})?=?\Z", re.ASCII)
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?=[\s/>])[^<>\n]*>|<!--(?:[^<>\n]*)-->")
# Tags that part no words, and the one that ends a line.
_LETTER_TAG = re.compile(r"a|abbr|b|big|code|em|font|i|mark|small|span|strong|tt|u|wbr")
_LINE_TAG = "br"
_ENCODINGS = 3  # of a link within a link
_MOST_LINES = 100  # into which one token is wrapped


def is_like_token(text: str | None) -> bool:
    """Tell whether a text may be a token, perhaps a broken one.

    >>> [is_like_token(text) for text in ("v1.abc", "see v1.e30.e30", "SVC-000017", None)]
    [True, True, False, False]
    """
    if not text:
        return False
    return bool(every_token(text) or _ALONE.fullmatch(readable(text).strip(AROUND)))


def tokens_in(text: str) -> list[str]:
    """Return each token in a text once; of a text without one, what may have been one.

    >>> tokens_in("I paid: <p>v1.e30.e30</p>, and https://shop.example/?receipt=v1.e31.e30&x=1.")
    ['v1.e30.e30', 'v1.e31.e30']
    >>> tokens_in("\u200b<v1.broken>")
    ['v1.broken']
    """
    return every_token(text) or [readable(text).strip(AROUND)[: MAX_TOKEN_LENGTH + 1]]


def has_words(text: str) -> bool:
    """Tell whether a text is words, and not one token or whatever stands in its place.

    >>> [has_words(text) for text in ("see v1.e30.e30", "Hello,", "v1.e30.e30", "SVC-000017")]
    [True, True, False, False]
    """
    return _WORDS.search(text.strip()) is not None


def are_words(opening: Iterable[str | None]) -> bool:
    """Tell whether tokens stand among words in a column that begins with these cells.

    There a cell without one is no broken token.
    """
    return any(cell and has_words(cell) and every_token(cell) for cell in opening)


def every_token(text: str) -> list[str]:
    """Return each token in a text once, whole or the part of one."""
    if has_token_form(bare := text.strip()):
        return [bare]
    if not _LIKE.search(text := readable(text)):
        return []
    if has_token_form(joined := "".join(text.split())):
        return [joined]
    return list(dict.fromkeys(_BROKEN.sub("", token) for token in _TOKEN.findall(text)))


def readable(text: str) -> str:
    """Return a text as a person sees it: no tags, escapes and letters without a width."""
    for _ in range(_ENCODINGS):
        text = unquote(text) if "%" in text else text
    if "\\" in text:
        text = _ESCAPE.sub(lambda each: chr(int(each[1], 16)) if each[1] else "\v", text)
    if "&" in text:
        text = unescape(text)
    if "<" in text:
        text = _TAG.sub(_shown, text)
    text = text.replace("=3D", "=").replace("=2E", ".")
    return text if text.isascii() else text.translate(_UNSEEN)


def unwrapped(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines with each wrapped token whole in its first line; its others are left blank."""
    ahead: deque[str] = deque()
    while line := (ahead.popleft() if ahead else next(lines, "")):
        text, count = line, 0
        while _ends_within_token(text) and count < _MOST_LINES:
            if count == len(ahead):
                ahead.append(next(lines, ""))
            if not ahead[count] or _LIKE.search(ahead[count]):
                break
            text, count = text + ahead[count], count + 1
        whole = _joined(text) if count else text
        if count and "\n" not in whole.rstrip("\r\n"):
            line = whole
            for place in range(count):
                ahead[place] = "\n"
        yield line


def _joined(text: str) -> str:
    return _TOKEN.sub(lambda token: _BROKEN.sub("", token[0]), readable(text))


def _ends_within_token(text: str) -> bool:
    """Tell whether a token begins in a text and is not whole at its end."""
    if has_token_form(text.rstrip()):
        return False
    tail = readable(text)[-2 * MAX_TOKEN_LENGTH :]
    begins = [match.start() for match in _LIKE.finditer(tail)]
    return bool(begins and _BEGUN.fullmatch(_BROKEN.sub("", tail[begins[-1] :]).strip()))


def _shown(tag: re.Match[str]) -> str:
    """Return the text that a tag of a page shows: a link within it stands as it is."""
    if _LIKE.search(tag[0]):
        return tag[0]
    name = (tag[1] or "").lower()
    return "" if _LETTER_TAG.fullmatch(name) else "\v" if name == _LINE_TAG else " "
