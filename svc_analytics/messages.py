"""Messages: a code with its values, of which English is one rendering.

`en.toml` holds the English of each code; the catalogue of another language holds its own words
under the same codes. In both, `{name}` is a value that stays as it is, and `{NAME}` a text that
is translated too: another message, or what the caller says to be `translated(...)`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

_Text = TypeVar("_Text", bound=str)
ENGLISH = Path(__file__).parent / "language" / "en.toml"
# The column of a table that keeps, as JSON, what one of TEXTS is made of.
MESSAGE_COLUMN = "message"
TEXTS = ("detail", "note")
PLACE = re.compile(r"\{([A-Za-z_0-9]+)\}")  # of a value in a text


class Message(str):
    """A text of ours: its English, with the code and the values that it was made of.

    Where no file keeps the sentence, the code may be its English with places. Programs branch on
    `code`; nobody needs to take the English apart.

    Examples:
        >>> reason = Message("token.lacks", fields="amount")
        >>> reason, reason.code, reason.values
        ('the payload lacks amount', 'token.lacks', {'fields': 'amount'})
    """

    __slots__ = ("code", "values")

    code: str
    values: Mapping[str, object]

    def __new__(cls, code: str, /, **values: object) -> Message:
        template = english_templates().get(code, code)
        places = {_place_of(name, value, template): value for name, value in values.items()}
        return cls._of(template.format(**places), code, places)

    @classmethod
    def _of(cls, text: str, code: str, values: Mapping[str, object]) -> Message:
        message = super().__new__(cls, text)
        message.code, message.values = code, values
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of, (str(self), self.code, self.values)

    def codes(self) -> Iterator[str]:
        """Yield its code, and those of the messages within it.

        >>> list(clauses(Message("receipt.signed"), Message("receipt.no_payment")).codes())
        ['text.clauses', 'receipt.signed', 'receipt.no_payment']
        """
        yield self.code
        for value in self.values.values():
            if isinstance(value, Message):
                yield from value.codes()

    def replaced(self, code: str, other: Message) -> Message:
        """Return it with another message in the place of the one of a code."""
        if self.code == code:
            return other
        if code not in self.codes():
            return self  # in the English that was kept of it
        values = {
            name: value.replaced(code, other) if isinstance(value, Message) else value
            for name, value in self.values.items()
        }
        return Message(self.code, **values)

    def to_json(self) -> dict[str, Any]:
        """Return its code and values as JSON holds them."""
        values = {
            name: value.to_json() if isinstance(value, Message) else str(value)
            for name, value in self.values.items()
        }
        return {"code": self.code, **({"values": values} if values else {})}

    @classmethod
    def from_json(cls, document: dict[str, Any], english: str | None = None) -> Message:
        """Return the message that `to_json` wrote, in the English that was kept beside it."""
        values = {
            name: cls.from_json(value) if isinstance(value, dict) else _read_text(name, value)
            for name, value in document.get("values", {}).items()
        }
        code = str(document["code"])
        return cls(code, **values) if english is None else cls._of(english, code, values)


class Label(str):
    """A text of ours without a code, such as the name of a figure: catalogues have it too."""

    __slots__ = ()


def translated(text: str) -> Message | Label:
    """Mark a value of a message as words of ours, which another language has too.

    >>> Message("part.year", name=translated("Year"), year=2026).values
    {'NAME': 'Year', 'year': 2026}
    """
    return text if isinstance(text, Message) else Label(text)


def _place_of(name: str, value: object, template: str) -> str:
    place = name.upper()
    if f"{{{place}}}" not in template:
        return name
    if not isinstance(value, Message | Label):
        raise TypeError(f"{name} of {template!r} is translated: give it translated(...)")
    return place


def _read_text(name: str, text: str) -> str:
    return Label(text) if name.isupper() else text


def json_of(text: str) -> str | None:
    """Return a message as files keep it beside its English, in JSON; None for any other text."""
    return json.dumps(text.to_json(), ensure_ascii=False) if isinstance(text, Message) else None


def stored_text(english: str, message: str | dict[str, Any] | None) -> str:
    """Return a text that a file keeps, as the message that it keeps beside it, if there is one.

    A message of another release, whose code is unknown here, or one that is none, is left out.

    >>> stored_text("the text is empty", json_of(Message("token.empty"))).code
    'token.empty'
    >>> stored_text("as it was said", '{"code": "of a later release"}')
    'as it was said'
    """
    with suppress(LookupError, TypeError, AttributeError, ValueError):
        document = json.loads(message) if isinstance(message, str) else message
        stored = Message.from_json(document or {}, english)
        if english_templates().keys() >= {*stored.codes()}:
            return stored
    return english


def messages_of(documents: Any) -> list[Message]:
    """Return the messages that a list in JSON holds; none where it holds anything else.

    >>> messages_of([Message("token.empty").to_json()]), messages_of([{"code": "Pay to me."}])
    (['the text is empty'], [])
    """
    with suppress(LookupError, TypeError, AttributeError, ValueError):
        messages = [Message.from_json(document) for document in documents or ()]
        if english_templates().keys() >= {code for each in messages for code in each.codes()}:
            return messages
    return []


def joined(code: str, texts: Sequence[_Text]) -> _Text | Message:
    """Return texts as one, each put behind those before it by a message of `list`."""
    text: _Text | Message = texts[0]
    for other in texts[1:]:
        text = Message(code, first=translated(text), rest=translated(other))
    return text


def listed(texts: Sequence[str]) -> Message | Label:
    """Return texts as a list in a sentence.

    >>> listed(["net sales", "refunds", "payouts"])
    'net sales, refunds and payouts'
    """
    *others, last = map(translated, texts)
    return Message("list.last", first=joined("list.comma", others), last=last) if others else last


def clauses(first: _Text, *others: str) -> _Text | Message:
    """Return texts as clauses of one, with semicolons between them."""
    if not others:
        return first
    return Message("text.clauses", first=translated(first), rest=translated(clauses(*others)))


@cache
def english_templates() -> dict[str, str]:
    """Return the English of each code."""
    import tomllib  # not every command says something

    text = ENGLISH.read_text(encoding="utf-8")
    return {
        f"{section}.{code}": english
        for section, texts in tomllib.loads(text).items()
        for code, english in texts.items()
    }
