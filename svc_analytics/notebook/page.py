"""An executed notebook as a page for readers: status at the head, no code, fit for paper.

What it says of itself was asked in the notebook's own kernel.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from svc_analytics.errors import SvcError, needs_extra
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.status_line import status_line_of
from svc_analytics.formatting.texts import single_line
from svc_analytics.instants import format_instant
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.desk.panel import Desk
from svc_analytics.notebook.show import is_statement
from svc_analytics.render.document import status_look, status_word

_WIDGET = "application/vnd.jupyter.widget-view+json"
_STYLED = re.compile(r'(?<=<t[dhr] )style="([^"]*)"')  # of a cell or a row, which has no class
_FOLDER = files("svc_analytics.notebook")
# Runs behind the last cell; what it prints is read and taken out again.
QUESTION = "print(__import__('svc_analytics.notebook.page', fromlist=['_']).page_facts(globals()))"


def make_page(notebook: Any, facts: dict[str, str], data_dir: Path, *, has_code: bool) -> str:
    """Return an executed notebook as one HTML page that loads nothing from elsewhere.

    The head says merchant, period and status as its `facts` do, the foot how the page was
    made. Without code, cells that show nothing are left out, and the prose before them.
    Pickers need a running kernel, so the page has none; it names no folder of this machine.
    """
    with needs_extra("lab"):
        import nbconvert  # an optional extra
    pages: Any = nbconvert.HTMLExporter
    readable = _readable(notebook, has_code=has_code)
    readable.cells = [*_opening(readable.cells, facts), *readable.cells[1:], _cell(_foot(facts))]
    exporter = pages(
        exclude_input=not has_code,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        template_file=str(_FOLDER / "page.html.j2"),
    )
    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    resources = {"metadata": {"name": page_title(notebook, facts)}, "page_style": style}
    page, _ = exporter.from_notebook_node(_without_path(readable, data_dir), resources)
    page, looks = _with_classes(page)
    return page.replace("</head>", f"<style>\n{looks}</style>\n</head>", 1)


def _with_classes(page: str) -> tuple[str, str]:
    """Return a page whose cells name their look, and the looks: most of a long table is these."""
    names = {style: f"t{n}" for n, style in enumerate(dict.fromkeys(_STYLED.findall(page)))}
    short = _STYLED.sub(lambda match: f'class="{names[match[1]]}"', page)
    important = {name: style.replace(";", " !important;") for style, name in names.items()}
    return short, "".join(
        f"main .{name} {{{each} !important}}\n" for name, each in important.items()
    )


def page_title(notebook: Any, facts: dict[str, str]) -> str:
    """Return a page's title: the notebook's question, the period and the merchant."""
    question = notebook.cells[0].source.partition("\n")[0].lstrip("# ")
    about = " \N{EN DASH} ".join(filter(None, [facts.get("period"), facts.get("merchant")]))
    return single_line(f"{question} {about}")


def _readable(notebook: Any, *, has_code: bool) -> Any:
    """Return a copy with the cells that a reader needs."""
    copy = deepcopy(notebook)
    copy.metadata.pop("widgets", None)
    cells: list[Any] = []
    for cell in copy.cells:
        if cell.cell_type != "code":
            cells.append(cell)
            continue
        outputs = cell.outputs
        cell.outputs = [out for out in outputs if _WIDGET not in out.get("data", {})]
        is_default = "parameters" in cell.metadata.get("tags", ())  # another cell sets them
        is_coded = has_code and not is_default
        is_whole = bool(outputs) and cell.outputs == outputs
        if not is_coded and not is_whole and len(cells) > 1 and cells[-1].cell_type != "code":
            cells.pop()  # it introduces a picker, or what is not shown
        if is_coded or cell.outputs:
            cells.append(cell)
    copy.cells = cells
    return copy


def _opening(cells: list[Any], facts: dict[str, str]) -> Iterator[Any]:
    """Yield the question, the page's head and the rest of the first cell."""
    question, _, rest = cells[0].source.partition("\n")
    title = f"<h1>{escape(question.lstrip('# '))}</h1>"
    yield _cell(f'<div class="page-top">{title}{_head(facts)}</div>')
    if rest.strip():
        yield _cell(rest)


def _cell(source: str) -> Any:
    import nbformat  # an optional extra

    return nbformat.v4.new_markdown_cell(source)  # type: ignore[no-untyped-call]


def _head(facts: dict[str, str]) -> str:
    """Return merchant and status as HTML."""
    lines = [("merchant", facts.get("merchant")), ("standing", facts.get("standing"))]
    shown = "".join(
        f'<div class="{name}" dir="auto">{escape(single_line(text))}</div>'
        for name, text in lines
        if text
    )
    return f'<div class="page-head {escape(facts.get("look", ""))}">{shown}</div>'


def _foot(facts: dict[str, str]) -> str:
    """Return how the page was made as HTML."""
    read = f"; data read up to {facts['read_to']}" if facts.get("read_to") else ""
    line = f"Made by svc-analytics {version('svc-analytics')} from {facts.get('notebook', '')}"
    hidden = " Point at a rounded number to read every digit."
    return f'<div class="page-foot">{escape(single_line(line + read))}.{hidden}</div>'


def _without_path(notebook: Any, data_dir: Path) -> Any:
    """Replace the lake's folder on this machine by its name."""
    path = re.escape(str(data_dir.absolute()))
    pattern = re.compile(rf"(?<![\w<]){path}(?![\w-])")
    for cell in notebook.cells:
        cell.source = pattern.sub(data_dir.name, cell.source)
        for output in cell.get("outputs", ()):
            texts = output.get("data", output)
            for name, text in texts.items():
                if isinstance(text, str):
                    texts[name] = pattern.sub(data_dir.name, text)
    return notebook


def page_facts(names: Mapping[str, Any]) -> str:
    """Return merchant, period and status of what a notebook shows, as JSON.

    They are those of its statement `st`, or of the last one that it made; without a
    statement, those of its lake.
    """
    for desk in (value for value in names.values() if isinstance(value, Desk)):
        desk.settle()
    return json.dumps(_of_statement(names) or _of_lake(names.values()), ensure_ascii=False)


def _of_statement(names: Mapping[str, Any]) -> dict[str, str]:
    own = [getattr(value, "statement", value) for value in [*names.values(), names.get("st")]]
    statement = next(filter(is_statement, reversed(own)), None)
    if statement is None:
        return {}
    return {
        "merchant": names_of(statement.merchant),
        "period": statement.period.label,
        "status": status_word(statement),
        "look": status_look(statement),
        "standing": status_line_of(statement.tables["summary"]).text,
        "read_to": format_instant(statement.as_of),
    }


def _of_lake(values: Iterable[Any]) -> dict[str, str]:
    lake = next((value for value in values if isinstance(value, Lakehouse)), None)
    try:
        return {"merchant": names_of(lake.merchant)} if lake else {}
    except SvcError:  # it is empty: nothing was read
        return {}
