"""Layout of a page: title, style, and what the browser may load and where it may post."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import HTMLResponse

from svc_analytics.sandbox.core.html import Html, join, tag
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
