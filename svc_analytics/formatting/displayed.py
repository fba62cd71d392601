"""What shows itself: as HTML in a notebook, with a plain-text twin everywhere else."""

from typing import Any


class Displayable:
    """Shown by `render.sheets`, which knows how each of these objects looks.

    A display never raises an error of ours: it says in one line what is wrong.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Each class its own: IPython takes a dataclass's repr before what it inherits.
        cls._repr_pretty_ = Displayable._repr_pretty_  # type: ignore[method-assign]

    def __str__(self) -> str:
        return repr(self._sheet())

    def _repr_html_(self) -> str:
        return str(self._sheet()._repr_html_())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _sheet(self) -> Any:
        from svc_analytics.render.sheets import sheet_of

        return sheet_of(self)
