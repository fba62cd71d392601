"""Messages: a code with its values, of which English is one rendering.

`en.toml` holds the English of each code; the catalogue of another language holds its own words
under the same codes. In both, `{name}` is a value that stays as it is, and `{NAME}` a text
that is translated too, such as another message.
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
KEPT = "message"  # the column of a table that keeps, as JSON, what one of TEXTS is made of
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
        text = english_templates().get(code, code).format(**values)
        return cls._of(text, code, values)

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
            name: cls.from_json(value) if isinstance(value, dict) else value
            for name, value in document.get("values", {}).items()
        }
        code = str(document["code"])
        return cls(code, **values) if english is None else cls._of(english, code, values)


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
        text = Message(code, FIRST=text, REST=other)
    return text


def listed(texts: Sequence[str]) -> str:
    """Return texts as a list in a sentence.

    >>> listed(["net sales", "refunds", "payouts"])
    'net sales, refunds and payouts'
    """
    *others, last = texts
    return Message("list.last", FIRST=joined("list.comma", others), LAST=last) if others else last


def clauses(first: _Text, *others: str) -> _Text | Message:
    """Return texts as clauses of one, with semicolons between them."""
    return Message("text.clauses", FIRST=first, REST=clauses(*others)) if others else first


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
