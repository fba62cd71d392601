"""Pages: the templates, and what a browser may load and where it may post."""

import re
import tomllib
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from svc_analytics.instants import MINUTE, SECOND, from_micros, parse_instant
from svc_analytics.sandbox.app import date_header, first
from svc_analytics.sandbox.service import Service

# What a policy may name as one image: in any other text a ; or a blank would begin a new rule.
_IMAGE = re.compile(r"https://([A-Za-z0-9.-]+)(:[0-9]{1,5})?/[A-Za-z0-9._~/%-]*\Z")
_MONTHS = "January February March April May June July August September October November December"
_CENT = Decimal("0.01")


def page(
    service: Service, template: str, *, status: int = 200, is_led_away: bool = False, **values: Any
) -> HTMLResponse:
    """Return a page with its policy; a form of one that is led away leads to the merchant's."""
    shop = service.profile()
    logo = loadable(shop["logo_url"])
    image, away = f" img-src {logo};" if logo else "", " https:" if is_led_away else ""
    headers = {
        "content-security-policy": (
            f"default-src 'none'; style-src 'unsafe-inline';{image} form-action 'self'{away};"
            " frame-ancestors 'none'; base-uri 'none'"
        ),
        "cache-control": "no-store",
        "referrer-policy": "same-origin",  # the address of a checkout is its customer's
        "x-content-type-options": "nosniff",
        **date_header(service),
    }
    text = TEMPLATES.get_template(template).render(shop=shop, logo=logo, **values)
    return HTMLResponse(text, status, headers)


def redirect(service: Service, address: str) -> RedirectResponse:
    """Lead a browser to another page."""
    return RedirectResponse(address, 303, date_header(service))


def loadable(url: object) -> str | None:
    """Return an image's address if a policy can name exactly it, else None.

    No host has a name under .example: asking for it would only make the browser wait.

    >>> loadable("https://tile.shop/logo.svg"), loadable("https://tile.shop/a;b")
    ('https://tile.shop/logo.svg', None)
    >>> loadable("https://saffron-tile.example/logo.svg")
    """
    match = _IMAGE.match(url) if isinstance(url, str) else None
    return match[0] if match and not match[1].lower().endswith(".example") else None


def coin_text(quote: dict[str, str], name: str = "amount") -> str:
    """Write an amount of a quote or record exactly, without the zeros at its end.

    >>> coin_text({"currency": "usdt", "amount": "20.000000"})
    '20 USDT'
    >>> coin_text({"currency": "eth", "amount": "1234.011281753340202391"})
    '1,234.011281753340202391 ETH'
    """
    return f"{_grouped(quote[name])} {quote['currency'].upper()}"


def price_text(price_usd: str) -> str:
    """Write a price in US dollars exactly, with two decimals at least.

    >>> price_text("20"), price_text("1000.5"), price_text("0.00000001")
    ('20.00 USD', '1,000.50 USD', '0.00000001 USD')
    """
    whole, _, fraction = _grouped(price_usd).partition(".")
    return f"{whole}.{fraction.ljust(2, '0')} USD"


def value_text(usd_value: str | None) -> str:
    """Write a value in US dollars to the cent, as the coin's price is only about right.

    >>> value_text("28.069999"), value_text("0.004999"), value_text(None)
    ('≈ 28.07 USD', 'less than 0.01 USD', 'no USD value')
    """
    if usd_value is None:
        return "no USD value"
    cents = Decimal(usd_value).quantize(_CENT, ROUND_HALF_UP)
    return f"≈ {cents:,} USD" if cents else "less than 0.01 USD"


def time_text(micros: int) -> str:
    """Write an instant to the minute, with its zone.

    >>> time_text(0)
    '1 January 1970, 00:00 UTC'
    """
    at = from_micros(micros)
    return f"{at.day} {_MONTHS.split()[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def moment_text(instant: str) -> str:
    """Write an instant of a record to the second.

    >>> moment_text("2026-11-20T12:00:05.123Z")
    '2026-11-20 12:00:05 UTC'
    """
    return f"{from_micros(parse_instant(instant)[0]):%Y-%m-%d %H:%M:%S} UTC"


def left_text(micros: int) -> str:
    """Write a span of time in hours and minutes, rounded down.

    >>> left_text(90 * MINUTE), left_text(MINUTE), left_text(1)
    ('1 hour 30 minutes', '1 minute', 'less than a minute')
    """
    hours, minutes = divmod(micros // MINUTE, 60)
    parts = ((hours, "hour"), (minutes, "minute"))
    words = [f"{count} {unit}{'s' * (count > 1)}" for count, unit in parts if count]
    return " ".join(words) or "less than a minute"


def _grouped(amount: str) -> str:
    """Group the digits before the point and take away the zeros at the end behind it."""
    whole, _, fraction = amount.partition(".")
    digits = fraction.rstrip("0")
    return f"{int(whole):,}" + (f".{digits}" if digits else "")


TEXTS = tomllib.loads((files("svc_analytics.sandbox") / "texts.toml").read_text(encoding="utf-8"))
TEMPLATES = Environment(
    loader=PackageLoader("svc_analytics.sandbox"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
TEMPLATES.globals |= {"texts": TEXTS, "zip": zip}
TEMPLATES.filters |= {
    "coin": coin_text,
    "left": left_text,
    "micros": lambda instant: parse_instant(instant)[0],
    "moment": moment_text,
    "seconds": lambda micros: max(0, micros) // SECOND,
    "place": lambda title: title.lower().replace(" ", "-"),
    "sent": first,
    "time": time_text,
    "value": value_text,
}
