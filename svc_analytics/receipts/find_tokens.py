"""Tokens as people have them: in a row of a file, in JSON, or among words, in a link, a mail.

A person sees a token through tags, escapes, marks of quoting and line breaks; so does this.
What looks like a token and is none is found too: to be told as malformed, and not passed over. A
record of JSON that cannot be read has no token but never ends the run.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import chain, islice
from typing import Any
from urllib.parse import unquote

import msgspec

from svc_analytics.errors import ConfigError
from svc_analytics.records.raw_json import (
    UNREADABLE,
    Members,
    begins_document,
    decode_pairs,
    document_values,
    items_of,
    whole_document,
)
from svc_analytics.signing.receipt_tokens import MAX_TOKEN_LENGTH, has_token_form

NAMES = ("receipt", "receipt_token", "token")  # of a column or member that holds tokens
MOST_COLUMNS = 1_000  # of JSON records, which may name others in each line

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


# ---------- JSON: a record in each line, or a document of records, in members however deep


def json_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    """Yield the tokens of each record, in the line in which each begins."""
    is_empty = True
    for number, record in _records(lines, source):
        cells = _cells(record, keep)
        for token in _tokens_of(record, column, source):
            is_empty = False
            place = max(record.find(token), 0) if token and is_like_token(token) else 0
            yield number + record.count("\n", 0, place), token, cells
    if is_empty:
        raise holds_none(source)


def json_columns(lines: Iterator[str], source: str, column: str | None) -> list[str]:
    """Return the names of the members of all records."""
    names: dict[str, None] = {}
    for _, record in _records(lines, source):
        names |= dict.fromkeys(_members(record))
        if len(names) > MOST_COLUMNS:
            message = f"{source} has more than {MOST_COLUMNS:,} columns: name those to keep"
            raise ConfigError(message)
    return list(names)


def _records(lines: Iterator[str], source: str) -> Iterator[tuple[int, str]]:
    """Yield each record with the number of its first line."""
    values = _values(lines, source)
    opening = list(islice(values, 2))
    for number, value in chain(opening, values):
        place = 0
        for record in _parts(value, is_whole=len(opening) == 1):
            start = value.index(record, place)
            number, place = number + value.count("\n", place, start), start
            yield number, record


def _values(lines: Iterator[str], source: str) -> Iterator[tuple[int, str]]:
    """Yield each value with the number of its first line: one in a line, or over several."""
    numbered = enumerate(lines, 1)
    number, first = next(((each, line) for each, line in numbered if line.strip()), (1, ""))
    if begins_document(first):
        why = " that can be read; it is one long JSON document: write each record in a line"
        text = whole_document(chain([first], lines), holds_none(source, why))
        yield from document_values(text, number)
        return
    rest = ((each, line.strip()) for each, line in chain([(number, first)], numbered))
    yield from ((each, line) for each, line in rest if line)


def _parts(value: str, *, is_whole: bool) -> list[str]:
    """Return the records of a value: of a list, of the list that an object is about, or itself."""
    try:
        if value.startswith("["):
            return items_of(value)
        if is_whole and (listed := _list_of_tokens(value)):
            return [item for item in items_of(listed) if _tokens_within(item) or _is_named(item)]
    except UNREADABLE:
        pass
    return [value]


def _list_of_tokens(document: str) -> str | None:
    """Return the member of an object that is a list and holds each token of it, if one does."""
    tokens = _tokens_within(document)
    texts = [bytes(raw).decode() for raw in _members(document).values() if tokens]
    lists = (text for text in texts if text.startswith("["))
    return next((text for text in lists if _tokens_within(text) == tokens), None)


def _tokens_within(value: str) -> list[str]:
    return [token for _, text in _texts(decode_pairs(value)) for token in every_token(text)]


def _is_named(record: str) -> bool:
    return any(f'"{name}"' in record for name in NAMES)


def _tokens_of(record: str, column: str | None, source: str) -> list[str | None]:
    """Return the tokens of a record; refuse to choose where members hold different ones."""
    try:
        texts = list(_texts(decode_pairs(record)))
        "".join(text for _, text in texts).encode()  # refuses half a character
    except UNREADABLE:
        return [None]
    if column is not None:
        texts = [each for each in texts if f"{each[0]}.".startswith(f"{column}.")]
    tokens: dict[str, list[str]] = {}
    for name, text in texts:
        tokens.setdefault(name, []).extend(every_token(text))
    holding = {name: dict.fromkeys(each) for name, each in tokens.items() if each}
    if column is None and any(each != next(iter(holding.values())) for each in holding.values()):
        require_one(list(holding), source)
    distinct = {token: None for each in holding.values() for token in each}
    is_other = column is None and record.startswith("{") and not _is_named(record)
    return list(distinct) or ([] if is_other else _named_texts(texts, column))


def _named_texts(texts: list[tuple[str, str]], column: str | None) -> list[str | None]:
    """Return the texts that stand where a token should; words that a person named are none."""
    names = NAMES if column is None else (column,)
    named = [text for name, text in texts if name in names or not name]
    if column is not None and named and all(map(has_words, named)):
        return []
    return [token for text in named for token in tokens_in(text)] or [None]


def _texts(value: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text within a value, with the names that lead to it: `custom_fields.value`."""
    if isinstance(value, str):
        yield above, value
    elif isinstance(value, Members):
        for name, member in value:
            yield from _texts(member, f"{above}.{name}".lstrip("."))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, above)


def _cells(record: str, keep: tuple[str, ...]) -> Cells:
    """Return members as texts: a text as it is, a number digit for digit, null as nothing."""
    if not keep:
        return ()
    members = _members(record)
    return tuple(_json_text(bytes(members[name])) if name in members else None for name in keep)


def _members(record: str) -> dict[str, msgspec.Raw]:
    """Return an object's members as they are written; none where the record is no object."""
    try:
        return msgspec.json.decode(record, type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return {}


def _json_text(raw: bytes) -> str | None:
    if raw == b"null":
        return None
    return msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
