"""Layout of a page: title, style, and what the browser may load and where it may post."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from starlette.responses import HTMLResponse

from svc_analytics.instants import MINUTE, from_micros, parse_instant
from svc_analytics.sandbox.html import Html, alert, join, tag
from svc_analytics.sandbox.validation import Record

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


# ---------- The style of every page; it asks for no file


STYLE = """
*{box-sizing:border-box}
:root{color-scheme:light}
body{font:16px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans","Noto Sans Arabic",sans-serif;
color:#1b2430;background:#eef1f5;margin:0;overflow-wrap:anywhere}
main{background:#fff;max-width:30rem;margin:2.5rem auto;padding:1.75rem 2rem 1.25rem;
border:1px solid #dbe0e7;border-radius:.9rem;box-shadow:0 6px 24px rgb(20 35 60/.07)}
main.wide{max-width:60rem}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 .4rem}
h2{font-size:1.05rem;margin:2rem 0 .6rem}
.step h2{margin-top:1.25rem}
form>button{margin-top:.35rem}
form>button.quiet,.bar form>button,.line form>button{margin-top:0}
p{margin:.5rem 0}
a{color:#174ea6}
.small,.foot{font-size:.82rem;color:#566273}
.foot{border-top:1px solid #e6e9ee;margin-top:1.75rem;padding-top:.75rem}
.brand{display:flex;align-items:center;gap:.75rem;padding-bottom:1rem;margin-bottom:1.1rem;
border-bottom:1px solid #e6e9ee}
.brand strong,.brand span{display:block;line-height:1.3}
.brand span span{font-size:.9rem;color:#566273}
.logo{position:relative;flex:none;width:2.75rem;height:2.75rem;border-radius:.6rem;
overflow:hidden;background:#8f3f12;color:#fff;font-weight:700;text-align:center}
.logo:has(img){background:#e9edf2}
.brand .logo{line-height:2.75rem}
.logo img{position:absolute;inset:0;width:100%;height:100%;object-fit:contain}
.logo img::after{content:attr(data-initial);position:absolute;inset:0;background:#8f3f12;color:#fff}
.due{background:#f5f8fc;border:1px solid #dde6f2;border-radius:.6rem;padding:.8rem 1rem;
margin:1rem 0}
.due p{margin:0}
.due .sum{font-size:1.75rem;line-height:1.25;font-weight:700}
.due ul{list-style:none;margin:.5rem 0 0;padding:0}
.due li{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem;
border-top:1px solid #dde6f2;padding:.3rem 0}
.due .by{margin-top:.5rem;font-size:.9rem;color:#3d4858}
.who{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:.25rem 1rem;
margin:1rem 0}
.who p{margin:0}
label{display:block;font-weight:600}
input,select{display:block;font:inherit;font-weight:400;padding:.55rem .65rem;margin-top:.25rem;
width:100%;max-width:26rem;border:1px solid #76839a;border-radius:.45rem;background:#fff;
color:inherit}
button,a.button{display:inline-block;font:inherit;font-weight:600;padding:.55rem 1.1rem;
border:1px solid #1b57b5;border-radius:.45rem;background:#1b57b5;color:#fff;cursor:pointer;
text-decoration:none;text-align:center}
button.danger{background:#fff;color:#a8071a;border-color:#a8071a}
button.danger.sure{background:#a8071a;color:#fff}
button.quiet{background:none;border:0;padding:.35rem 0;color:#174ea6;text-decoration:underline;
font-weight:400}
button.plain{background:#fff;color:#174ea6}
.step button:not(.quiet),.step a.button{width:100%;padding:.75rem 1rem;font-size:1.05rem}
.step input,.step select{max-width:none}
:focus-visible{outline:3px solid #b4470b;outline-offset:2px}
.ticks{display:flex;flex-wrap:wrap;gap:.4rem 1.4rem;border:0;margin:.5rem 0;padding:0}
.ticks legend{font-weight:600;padding:0;margin-bottom:.25rem}
.ticks label{display:flex;align-items:center;gap:.45rem;font-weight:400;min-height:2rem}
.ticks input{width:1.1rem;height:1.1rem;margin:0}
.bar{display:flex;flex-wrap:wrap;gap:.6rem;margin:1rem 0}
.line{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;
gap:.25rem 1rem;min-height:3rem;padding:.3rem 0;border-top:1px solid #e6e9ee}
.notice{border-left:.3rem solid #1b57b5;background:#eef4fd;border-radius:.3rem;
padding:.55rem .9rem;margin:1rem 0}
.notice p{margin:.15rem 0}
.notice.good{border-color:#1a7f37;background:#edf8f0}
.notice.warn{border-color:#b35c00;background:#fff5e5}
.notice.bad{border-color:#a8071a;background:#fdeff0}
code{font:.9rem/1.5 ui-monospace,"DejaVu Sans Mono",monospace}
code.secret{display:block;background:#fff;border:1px solid #c7d2e3;border-radius:.3rem;
padding:.5rem .65rem;margin:.4rem 0;user-select:all}
dl{margin:.75rem 0}
dl div{display:flex;flex-wrap:wrap;gap:0 1rem;border-top:1px solid #e6e9ee;padding:.4rem 0}
dt{flex:0 0 8.5rem;color:#566273}
.wide dt{flex-basis:15rem}
dd{flex:1 1 12rem;margin:0}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.4rem .9rem .4rem 0;vertical-align:top}
td{border-top:1px solid #e6e9ee}
td ul{list-style:none;margin:0;padding:0}
@media(min-width:44rem){td:nth-child(-n+2){overflow-wrap:normal}}
@media(max-width:44rem){
main{margin:0;border:0;border-radius:0;padding:1.1rem 1rem;box-shadow:none;max-width:none}
main.wide button{padding:.6rem .9rem}
dt,.wide dt{flex-basis:100%}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
tr{display:block;border-top:1px solid #c7d2e3;padding:.4rem 0}
td{display:block;border:0;padding:.1rem 0}
td::before{content:attr(data-head);display:block;font-size:.8rem;color:#566273}
}
""".replace("\n", "")


# ---------- Texts of the pages: amounts, times and errors as people read them


_MONTHS = "January February March April May June July August September October November December"
_CENT = Decimal("0.01")


def coin_text(amount: str, slug: str) -> str:
    """Write an amount of a coin exactly, without the zeros at its end.

    >>> coin_text("20.000000", "usdt"), coin_text("1234.011281753340202391", "eth")
    ('20 USDT', '1,234.011281753340202391 ETH')
    """
    return f"{_grouped(amount)} {slug.upper()}"


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


# ---------- Sentences for the error codes that a person on these pages can meet


# What a customer reads in the widget.
WIDGET = {
    "PAY_SESSION_NOT_FOUND": "There is no such checkout.",
    "PAY_SESSION_EXPIRED": "This checkout has expired. Nothing was charged.",
    "PAY_SESSION_STATE": "This checkout is closed. Nothing was charged.",
    "PAY_CURRENCY_NOT_ACCEPTED": "This order cannot be paid in that coin: choose another.",
    "PAY_BINDING_REQUIRED": "Link your account to this shop first.",
    "PAY_BINDING_REVIEW": (
        "The shop is reviewing your account, because your name differs from the one it knows."
        " Please come back later: you can pay as soon as it agrees."
    ),
    "PAY_BINDING_MISMATCH": (
        "This order belongs to a customer of the shop who is linked to another account."
        " Sign in with that account, or ask the shop."
    ),
    "PAY_BINDING_CONFLICT": (
        "This customer of the shop, or your account, is linked already. Ask the shop to end"
        " the wrong link."
    ),
    "PAY_SELF_PAYMENT": "This account is the shop itself: a business cannot pay itself.",
    "INSUFFICIENT_BALANCE": "Your balance does not cover this amount. Nothing was charged.",
    "TOTP_REQUIRED": "Enter the code of your second factor.",
    "TOTP_INVALID": "That code is not right. Nothing was charged.",
    "TOTP_NOT_ENROLLED": "Set up a second factor first: this payment needs one.",
    "RATE_LIMITED": "Too many wrong codes. Please wait a quarter of an hour, then try again.",
    "MERCHANT_DISABLED": "This shop cannot take payments now. Nothing was charged.",
    "MAINTENANCE_MODE": "Payments are under maintenance. Please try again later.",
}

# What the business reads in its console.
CONSOLE = {
    "MERCHANT_WEBHOOK_SECRET_UNSEEN": (
        "Open the webhook secret first: without it nobody can verify the test event."
    ),
    "MERCHANT_WEBHOOK_URL_INVALID": (
        "This webhook URL was not set: it must be https and publicly reachable, or http on this"
        " machine."
    ),
    "MERCHANT_KEY_LIMIT": "Five keys of this class are enabled already: revoke one first.",
    "MERCHANT_PAYOUTS_DISABLED": (
        "Nothing was paid: payouts are not armed, a limit is not set, or the business is"
        " suspended. See the payout terms."
    ),
    "PAY_AMOUNT_INVALID": (
        "Nothing was paid: the amount must be above zero and have no more decimals than the coin."
    ),
    "PAY_CURRENCY_NOT_ACCEPTED": "Nothing was paid: the platform does not move this coin.",
    "PAY_RECIPIENT_INVALID": (
        "Nothing was paid: the recipient must be the payer_id of a customer who has paid this"
        " business and whose account is in order."
    ),
    "PAY_PAYOUT_LIMIT": "Nothing was paid: this goes beyond the limits of the payout terms.",
    "PAY_RATE_UNAVAILABLE": "Nothing was paid: the coin has no USD rate now. Try again later.",
    "INSUFFICIENT_BALANCE": "Nothing was paid: the wallet does not cover the amount and its fee.",
    "CONFLICT": "This key was revoked before.",
    "NOT_FOUND": "There is no such key.",
}


def alerts(codes: Iterable[str], sentences: dict[str, str]) -> list[Html]:
    """Return an alert for each code: its sentence, and the code in small print."""
    return [alert(sentences.get(code, "This did not work."), code) for code in codes]
