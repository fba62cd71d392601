"""Objects that display themselves: HTML in a notebook, plain text elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc_analytics.errors import SvcError, class_name

if TYPE_CHECKING:
    from svc_analytics.formatting.display import Display


class Displayable:
    """An object that displays itself by its own `_display`.

    Displaying it never raises an error of ours: the error is shown in one line instead.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # IPython prefers a dataclass's own repr to an inherited _repr_pretty_.
        cls._repr_pretty_ = Displayable._repr_pretty_  # type: ignore[method-assign]

    def __str__(self) -> str:
        return repr(self._safe_display())

    def _repr_html_(self) -> str:
        return self._safe_display()._repr_html_()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _display(self) -> Display:
        """Return the object's display: every class has its own."""
        raise NotImplementedError

    def _safe_display(self) -> Display:
        from svc_analytics.formatting.display import Display  # loads pyarrow

        try:
            return self._display()
        except SvcError as error:
            return Display(repr(self), [f"{class_name(error)}: {error}"])
