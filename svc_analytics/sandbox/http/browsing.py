"""Browsing: what a form sent, and whether a page of our own sent it."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.requests import Request

Form = Mapping[str, list[str]]  # the submitted fields, each with all its values


async def read_form(request: Request) -> Form:
    """Return the fields of a submitted form."""
    return parse_qs((await request.body()).decode("utf-8", "replace"))


def first(form: Form, name: str) -> str:
    """Return a field's first value, or an empty text."""
    return form.get(name, [""])[0]


def is_browser(request: Request) -> bool:
    """Tell whether a browser posted this: each names the page it posts from."""
    return "origin" in request.headers


def is_own_page(request: Request) -> bool:
    """Tell whether a request comes from our own pages, from a person or from a script.

    Pages of other sites must neither press these buttons nor confirm for a customer. Other
    ports of this machine are other sites.
    """
    origin = request.headers.get("origin")
    is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    return is_ours and request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
