"""Texts of several lines that lie in files as they read: values are put into their places."""

from collections.abc import Callable
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template


def load_text(
    package: str,
    name: str,
    write: Callable[[object], str] | None = None,
    **filters: Callable[..., str],
) -> Template:
    """Load a text from the templates of a package; `write` makes a text of each value in it."""
    environment = Environment(
        autoescape=False,  # noqa: S701 - a text is no page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=write,
    )
    environment.filters |= filters
    text = files(package).joinpath("templates", name).read_text("utf-8")
    return environment.from_string(text)
