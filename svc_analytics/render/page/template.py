"""The templates of pages, which escape every text."""

from functools import cache, partial

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

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
    )
    environment.filters["visible"] = lambda text: escape_invisible(str(text))
    environment.filters["instant"] = _instant
    environment.globals["families"] = css_families()
    environment.globals["narrow_families"] = css_families("DejaVu Sans Condensed")
    environment.globals["meaning"] = partial(meaning, "summary")
    return environment.get_template(name)


def _instant(text: str) -> str:
    return readable_instant(from_micros(parse_instant(text)[0]))
