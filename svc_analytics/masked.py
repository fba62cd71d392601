"""Keys and secrets that cannot be printed by accident."""

from typing import NoReturn


class Masked:  # no dataclass: `asdict` would take it apart
    """A key or secret. `reveal()` is the only way to its text; every repr hides it.

    >>> Masked("svc_live_0123")
    Masked(***)
    """

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        message = "a key or secret does not change"
        raise AttributeError(message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Masked) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def reveal(self) -> str:
        """Return the text itself, for the one place that sends it or signs with it."""
        return self._text

    def __repr__(self) -> str:
        return "Masked(***)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[object, ...]:
        message = "a key or secret is not pickled"
        raise TypeError(message)
