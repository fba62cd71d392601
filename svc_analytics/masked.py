"""Keys and secrets that cannot be printed by accident."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Masked:
    """A key or secret. `reveal()` is the only way to its text; every repr hides it.

    >>> Masked("svc_live_0123")
    Masked(***)
    """

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """Return the text itself, for the one place that sends it or signs with it."""
        return self._text

    def __repr__(self) -> str:
        return "Masked(***)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[object, ...]:
        message = "a key or secret is not pickled"
        raise TypeError(message)
