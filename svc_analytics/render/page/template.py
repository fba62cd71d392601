"""The templates of pages, which escape every text."""

from functools import cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from svc_analytics.charts.palette import dark_styles
from svc_analytics.formatting.sanitize import escape_invisible
from svc_analytics.instants import from_micros, parse_instant, readable_instant
from svc_analytics.language.fonts import css_families
from svc_analytics.render.figures import meaning


@cache
def load_template(name: str) -> Template:
    """Return a page's template, which escapes every text."""
    environment = Environment(
        loader=PackageLoader("svc_analytics.render.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters["instant"] = instant_text
    environment.globals["families"] = css_families()
    environment.globals["narrow_families"] = css_families("DejaVu Sans Condensed")
    environment.globals["dark_charts"] = dark_styles("figure svg")
    environment.globals["meaning"] = partial(meaning, "summary")
    return environment.get_template(name)


def _visible(value: object) -> object:
    """Return a value of a template: HTML as it is, any other with its characters visible."""
    return value if hasattr(value, "__html__") else escape_invisible(str(value))


def instant_text(text: str) -> str:
    """Write an instant of a manifest for people."""
    return readable_instant(from_micros(parse_instant(text)[0]))
