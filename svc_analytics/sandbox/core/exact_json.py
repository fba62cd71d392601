"""JSON with every number kept digit by digit: the service passes metadata through."""

import json
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec


def decode_exactly(raw: bytes | str) -> Any:
    """Decode JSON, or raise ValueError or RecursionError.

    A number that Python would write otherwise is a `msgspec.Raw` of its text, which is
    encoded as it came.

    >>> msgspec.json.encode(decode_exactly('[1, 2.50, 1e400]'))
    b'[1,2.50,1e400]'
    """
    return _DECODER.decode(raw if isinstance(raw, str) else raw.decode())


def as_integer(value: object) -> int | None:
    """Return a JSON number of up to six digits that is whole, however it is written.

    >>> as_integer(30), as_integer(msgspec.Raw(b"3e1")), as_integer(30.5), as_integer(True)
    (30, 30, None, None)
    """
    if not isinstance(value, int | float | msgspec.Raw) or isinstance(value, bool):
        return None
    try:
        number = Decimal(bytes(value).decode() if isinstance(value, msgspec.Raw) else str(value))
        return int(number) if abs(number) < 10**6 and number == int(number) else None
    except (InvalidOperation, ValueError):
        return None


def _lossless(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            value = convert(text)
        except ValueError:  # an integer of more digits than Python reads
            return msgspec.Raw(text.encode())
        is_same = msgspec.json.encode(value) == text.encode()
        return value if is_same else msgspec.Raw(text.encode())

    return read


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    parse_int=_lossless(int), parse_float=_lossless(float), parse_constant=_refuse
)
