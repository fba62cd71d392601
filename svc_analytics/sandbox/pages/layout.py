"""Layout of a page: title, style, and what the browser may load and where it may post."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import HTMLResponse

from svc_analytics.sandbox.core.html import Html, join, tag
from svc_analytics.sandbox.pages.style import STYLE
from svc_analytics.sandbox.state.records import Record

# What a policy may name as one image: in any other text a ; or a blank would begin a new rule.
_IMAGE = re.compile(r"https://([A-Za-z0-9.-]+)(:[0-9]{1,5})?/[A-Za-z0-9._~/%-]*\Z")


@dataclass(frozen=True)
class ShopPage:
    """Hold a page below the shop's name; the shop's logo is all that may be loaded."""

    title: str
    shop: Record  # the merchant profile
    parts: tuple[str, ...]
    status: int = 200
    is_wide: bool = False
    is_led_away: bool = False  # a form of it leads to the merchant's own https pages
    reload_in: int | None = None  # seconds; without a script

    def response(self, headers: Mapping[str, str]) -> HTMLResponse:
        """Return the page with its policy."""
        main = tag("main", _brand(self.shop), *self.parts, class_="wide" if self.is_wide else None)
        text = join((Html('<!doctype html><html lang="en">'), self._head, main, Html("</html>")))
        more = {
            "content-security-policy": self._policy,
            "cache-control": "no-store",
            "referrer-policy": "same-origin",  # the address of a checkout is its customer's
            "x-content-type-options": "nosniff",
            **headers,
        }
        return HTMLResponse(str(text), self.status, more)

    @property
    def _head(self) -> Html:
        refresh = [] if self.reload_in is None else [_refresh(self.reload_in)]
        wide = tag("meta", name="viewport", content="width=device-width,initial-scale=1")
        style, title = (
            tag("style", Html(STYLE)),
            tag("title", f"{self.title} · {self.shop['display_name']}"),
        )
        return tag("head", tag("meta", charset="utf-8"), title, wide, *refresh, style)

    @property
    def _policy(self) -> str:
        logo = loadable(self.shop["logo_url"])
        image = f" img-src {logo};" if logo else ""
        away = " https:" if self.is_led_away else ""
        return (
            f"default-src 'none'; style-src 'unsafe-inline';{image} form-action 'self'{away};"
            " frame-ancestors 'none'; base-uri 'none'"
        )


def loadable(url: object) -> str | None:
    """Return an image's address if a policy can name exactly it, else None.

    No host has a name under .example: asking for it would only make the browser wait.

    >>> loadable("https://tile.shop/logo.svg"), loadable("https://tile.shop/a;b")
    ('https://tile.shop/logo.svg', None)
    >>> loadable("https://saffron-tile.example/logo.svg")
    """
    match = _IMAGE.match(url) if isinstance(url, str) else None
    return match[0] if match and not match[1].lower().endswith(".example") else None


def _brand(shop: Record) -> Html:
    """Return the shop's names and its logo; its initial where no logo can be shown."""
    name, native = shop["display_name"], shop["display_name_fa"]
    initial, logo = name[:1], loadable(shop["logo_url"])
    # Decoration: the name stands beside it.
    more = {"alt": "", "loading": "lazy", "referrerpolicy": "no-referrer"}
    shown = tag("img", src=logo, data_initial=initial, **more) if logo else initial
    names = tag("strong", name), tag("span", native, lang="fa", dir="rtl")
    mark = tag("span", shown, class_="logo", aria_hidden="true")
    return tag("div", mark, tag("span", *names), class_="brand")


def _refresh(seconds: int) -> Html:
    return tag("meta", http_equiv="refresh", content=str(seconds))
