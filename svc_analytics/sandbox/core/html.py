"""HTML pages without scripts; every text is escaped."""

from collections.abc import Iterable, Mapping
from html import escape

from starlette.responses import HTMLResponse

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1c2430;background:#f4f5f7;margin:0}"
    "main{background:#fff;max-width:48rem;margin:2rem auto;padding:1.5rem 2rem;"
    "border:1px solid #dde1e6;border-radius:.5rem}"
    "h1{font-size:1.5rem;margin:0 0 1rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
    "label{display:block}select,input{display:block;font:inherit;padding:.4rem .5rem;"
    "width:100%;max-width:24rem;box-sizing:border-box}"
    "button{font:inherit;padding:.4rem .9rem;border:0;border-radius:.3rem;"
    "background:#1f5fbf;color:#fff;cursor:pointer}"
    ".ticks{display:flex;flex-wrap:wrap;gap:1.2rem}.ticks input{display:inline;width:auto}"
    ".bar{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:1rem}"
    ".line{display:flex;justify-content:space-between;align-items:center;gap:1rem;"
    "min-height:2.6rem;border-top:1px solid #e6e9ed}"
    "table{border-collapse:collapse;width:100%}td{border-top:1px solid #e6e9ed}"
    "td,th{text-align:left;padding:.35rem .8rem .35rem 0;vertical-align:top}"
    "td:last-child{overflow-wrap:anywhere}"  # other cells do not break words
    "[role=alert]{border-left:4px solid #b00;padding-left:.8rem}"
)
# After payment the form redirects to the merchant's own https pages.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self' https:;"
    " frame-ancestors 'none'; base-uri 'none'"
)


def page(title: str, *parts: str, status: int = 200, headers: Mapping[str, str]) -> HTMLResponse:
    """Return a page; the parts are HTML already."""
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style><main><h1>{escape(title)}</h1>{''.join(parts)}</main>"
    )
    more = {"content-security-policy": _POLICY, "cache-control": "no-store", **headers}
    return HTMLResponse(text, status, more)


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def alert(text: str) -> str:
    return f'<p role="alert">{escape(text)}</p>'


def link(url: str, text: str) -> str:
    return f'<p><a href="{escape(url)}">{escape(text)}</a></p>'


def hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def text_field(name: str, label: str, value: str = "") -> str:
    field = f'<input name="{escape(name)}" value="{escape(value)}" autocomplete="off">'
    return f"<p><label>{escape(label)} {field}</label></p>"


def select(name: str, label: str, options: Iterable[tuple[str, str]], chosen: str = "") -> str:
    """Return a labelled drop-down list of (value, text) options."""
    shown = "".join(
        f'<option value="{escape(value)}"{" selected" * (value == chosen)}>{escape(text)}'
        for value, text in options
    )
    return f'<p><label>{escape(label)} <select name="{escape(name)}">{shown}</select></label></p>'


def checkboxes(name: str, options: Iterable[tuple[str, bool]]) -> str:
    """Return a checkbox for each (value, is ticked), all with one name."""
    boxes = "".join(
        f'<label><input type="checkbox" name="{escape(name)}" value="{escape(value)}"'
        f"{' checked' * is_ticked}> {escape(value)}</label>"
        for value, is_ticked in options
    )
    return f'<p class="ticks">{boxes}</p>'


def form(submit: str, *fields: str, method: str = "post", action: str = "") -> str:
    """Return a form with a button; the fields are HTML already."""
    target = f' action="{escape(action)}"' if action else ""
    button = f"<button>{escape(submit)}</button>"
    return f'<form method="{method}"{target}>{"".join(fields)}{button}</form>'


def button_bar(*forms: str) -> str:
    return f'<div class="bar">{"".join(forms)}</div>'


def row(text: str, form: str = "") -> str:
    """Return a row with a text and a form to its right."""
    return f'<div class="line"><span>{escape(text)}</span>{form}</div>'


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(text)}" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}" for cell in row) for row in rows)
    return f"<table><tr>{head}{body}</table>"
